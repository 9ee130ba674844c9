from pretrace.methods.registry import method
from pretrace.methods.statistics import Natural, TokenStatistics, mean


@method("neighbor", needs=("logprobs", "neighbours"))
def neighbor(text: TokenStatistics, *, neighbours: Natural = 25) -> float:
    """-(L(x) - mean_j L(x~_j)) over the first `neighbours` neighbours (all, where a
    text has fewer), in nats.

    Mattern et al., Membership Inference Attacks against Language Models via
    Neighbourhood Comparison, ACL 2023.
    """
    chosen = text.neighbours[:neighbours]
    of_neighbours = sum(map(mean, chosen)) / len(chosen)
    return text.log_likelihood - of_neighbours
