import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import (
    TENTHS,
    Natural,
    Share,
    TokenStatistics,
    mean_of_lowest,
    window_means,
)


@method("min_k", needs=("logprobs",), grid={"k": TENTHS})
def min_k(text: TokenStatistics, *, k: Share = 0.2, window: Natural = 1) -> float:
    """Mean log-probability (nats) of the k share of tokens that the model found least
    likely.

    With a `window`, the mean log-probabilities of that many successive tokens take the
    place of single tokens, as in Gap-K%.
    Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024.
    """
    if window == 1:
        return mean_of_lowest(text.sorted_logprobs, share=k)
    means = window_means(text.logprobs, window)
    return mean_of_lowest(np.sort(means), share=k)
