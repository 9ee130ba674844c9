import numpy as np
import numpy.typing as npt

from pretrace.methods.registry import method
from pretrace.methods.statistics import Percent, Positive, TokenStatistics, mean


@method(
    "surp",
    needs=("logprobs", "entropies"),
    grid={
        "eps": tuple(i / 2 for i in range(1, 21)),
        "percentile": tuple(range(10, 101, 10)),
    },
    convention=("eps", "percentile"),
    empty_parameter="empty",
)
def surp(
    text: TokenStatistics,
    *,
    eps: Positive = 2.0,
    percentile: Percent = 40,
    empty: float = 0.0,
) -> float:
    """Mean log-probability (nats) of the surprising tokens: {H_i < eps} and {l_i <
    percentile of l}.

    A text without one was not surprising and scores `empty`: 0, the maximum, which no
    other text reaches. The paper leaves this open; public code gives -100. Its "value
    k/100 of the way from the minimum to the maximum" is how numpy defines the
    percentile "in a sorted copy", so it is taken by rank, not as a point in the range.
    Zhang and Wu, Adaptive Pre-training Data Detection for LLMs via Surprising Tokens,
    2024.
    """
    logprobs = text.logprobs[is_surprising(text, eps, percentile)]
    return mean(logprobs) if len(logprobs) else empty


def is_surprising(
    text: TokenStatistics, eps: float, percentile: int
) -> npt.NDArray[np.bool_]:
    """Return [n], which tokens are surprising; both inequalities are strict."""
    is_sure = text.entropies < eps
    is_unlikely = text.logprobs < text.percentiles[percentile]
    return is_sure & is_unlikely
