import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import (
    Natural,
    Share,
    TokenStatistics,
    mean_of_lowest,
    window_means,
)

# a prediction that is sure of its token has no spread to divide by
_SMALLEST_VARIANCE = 1e-8


@method("gap_k", needs=("logprobs", "variances", "highest"), grid={"window": (1, 3, 6)})
def gap_k(text: TokenStatistics, *, window: Natural = 3, k: Share = 0.2) -> float:
    """Mean of the k share of lowest gaps, each the mean over a window of successive
    tokens; at most 0, without unit.

    A gap is (l_i - max_v ln p(v)) / sigma_i: how far below the likeliest token the true
    one lies. sigma_i^2 is the variance of ln p under the model's own prediction, at
    least 1e-8. The authors use a window of 3, for LLaMA of 6. Gap-K%, arXiv 2601.19936,
    ACL 2026.
    """
    sigma = np.sqrt(np.maximum(text.variances, _SMALLEST_VARIANCE))
    gaps = (text.logprobs - text.highest) / sigma
    means = window_means(gaps, window)
    return mean_of_lowest(np.sort(means), share=k)
