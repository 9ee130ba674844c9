import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import Positive, TokenStatistics, mean


@method(
    "dc_pdd",
    needs=("token_ids", "logprobs", "frequencies"),
    grid={"a": (0.001, 0.01, 0.1, 1.0, 10.0)},
)
def dc_pdd(
    text: TokenStatistics,
    *,
    a: Positive = 0.01,
    upper_bound: bool = True,
    first_occurrence: bool = True,
) -> float:
    """Mean over first occurrences of min(a, -p_i ln q(x_i)) in nats; p the model's, q
    the corpus' frequency.

    The paper's ablation: CLD has neither the upper bound a nor the restriction to first
    occurrences, +LUP the former, +SFO both.
    Zhang et al., Pretraining Data Detection for Large Language Models: A
    Divergence-based Calibration Method, EMNLP 2024.
    """
    divergence = -np.exp(text.logprobs) * text.log_frequencies
    if upper_bound:
        divergence = np.minimum(a, divergence)
    if first_occurrence:
        divergence = divergence[text.first_occurrences]
    return mean(divergence)
