from pretrace.methods.registry import method
from pretrace.methods.statistics import (
    Natural,
    Separator,
    TokenStatistics,
    loss_ratio,
    mean,
)


@method(
    "recall",
    needs=("logprobs", "nonmember_prefix"),
    grid={"shots": tuple(range(1, 11))},
    costly=("shots",),
)
def recall(
    text: TokenStatistics,
    *,
    shots: Natural = 7,
    separator: Separator = "none",
    manipulate_prefix: bool = False,
) -> float:
    """LL(x given P_non) / LL(x), P_non a prefix of `shots` non-members; the parameters
    say which prefix.

    Xie et al., ReCaLL: Membership Inference via Relative Conditional Log-Likelihoods,
    EMNLP 2024.
    """
    return loss_ratio(mean(text.given_nonmember), text.log_likelihood)
