from pretrace.methods.registry import method
from pretrace.methods.statistics import Share, TokenStatistics, mean_of_lowest


@method("min_k", needs=("logprobs",), grid={"k": tuple(i / 10 for i in range(1, 11))})
def min_k(text: TokenStatistics, *, k: Share = 0.2) -> float:
    """Mean log-probability (nats) of the k share of tokens that the model found least likely.

    Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024.
    """
    return mean_of_lowest(text.sorted_logprobs, share=k)
