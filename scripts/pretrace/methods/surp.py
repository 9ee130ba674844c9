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
    empty_score="empty",
)
def surp(
    text: TokenStatistics, *, eps: Positive = 2.0, percentile: Percent = 40, empty: float = 0.0
) -> float:
    """Mean log-probability (nats) of the surprising tokens: {H_i < eps} and {l_i < percentile of l}.

    A text without one was not surprising and scores `empty`: 0, the maximum, which no other text reaches. The
    paper leaves this open; public code gives -100.
    Zhang and Wu, Adaptive Pre-training Data Detection for LLMs via Surprising Tokens, 2024.
    """
    assert text.entropies is not None
    surprising = text.logprobs[(text.entropies < eps) & (text.logprobs < text.percentiles[percentile])]
    return mean(surprising) if len(surprising) else empty
