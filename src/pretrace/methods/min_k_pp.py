import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import TENTHS, Share, TokenStatistics, mean_of_lowest

# a prediction that is sure of its token has no spread to divide by
_SMALLEST_VARIANCE = 1e-6


@method(
    "min_k_pp",
    needs=("logprobs", "entropies", "variances"),
    grid={"k": TENTHS},
)
def min_k_pp(text: TokenStatistics, *, k: Share = 0.2) -> float:
    """Mean of the k share of lowest z_i = (l_i - mu_i) / sqrt(var_i), without unit.

    mu_i = -H_i and var_i are mean and variance of ln p under the model's own
    prediction, var_i at least 1e-6. Zhang et al., Min-K%++: Improved Baseline for
    Detecting Pre-Training Data from LLMs, ICLR 2025.
    """
    sigma = np.sqrt(np.maximum(text.variances, _SMALLEST_VARIANCE))
    z = (text.logprobs + text.entropies) / sigma
    return mean_of_lowest(np.sort(z), share=k)
