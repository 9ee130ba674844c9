from typing import Literal

from pretrace.methods.registry import method
from pretrace.methods.statistics import (
    SMALLEST_LOSS,
    TENTHS,
    Natural,
    Separator,
    TokenStatistics,
    Weight,
    mean,
)


@method(
    "con_recall",
    needs=("logprobs", "nonmember_prefix", "member_prefix"),
    grid={"gamma": TENTHS, "shots": tuple(range(1, 11))},
    convention=("gamma",),
    costly=("shots",),
)
def con_recall(
    text: TokenStatistics,
    *,
    gamma: Weight = 0.5,
    shots: Natural = 7,
    access: Literal["partial", "zero"] = "partial",
    separator: Separator = "none",
    manipulate_prefix: bool = False,
) -> float:
    """(LL(x given P_non) - gamma LL(x given P_mem)) / LL(x); the other parameters
    choose the prefixes.

    `access=zero`: without known members, P_mem is the model's own completion of the
    openings of known events.

    Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive
    Decoding, 2024.
    """
    contrast = mean(text.given_nonmember) - gamma * mean(text.given_member)
    return -contrast / max(-text.log_likelihood, SMALLEST_LOSS)
