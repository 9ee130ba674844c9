from typing import Literal

import numpy as np

from pretrace.methods.registry import method
from pretrace.methods.statistics import TokenStatistics

STRONGEST = 1e12  # above every ratio of sums of nats, and finite, because scores are


@method("ez_mia", needs=("logprobs", "ranks", "reference", "aligned_reference"))
def ez_mia(text: TokenStatistics, *, edge: Literal["paper", "code"] = "paper") -> float:
    """P / N over the tokens that are not the model's likeliest: P sums the gains on a
    reference model, N the losses.

    A gain is the log-probability minus that under the reference model, which must have
    the same tokenizer. The first scored token is left out, as in the authors' code.
    Where nothing is lost, the paper sees the strongest sign of membership (1e12 here).
    The code sees the weakest, 0 (`edge=code`), also with fewer than two such tokens.
    EZ-MIA, arXiv 2601.12104.
    """
    all_gains = text.logprobs - text.aligned_reference
    not_likeliest = text.ranks[1:] > 0
    gains = all_gains[1:][not_likeliest]
    gained = float(np.maximum(gains, 0).sum())
    lost = float(np.maximum(-gains, 0).sum())
    if edge == "paper":
        return gained / lost if lost > 0 else STRONGEST
    if len(gains) < 2 or not lost > 0:
        return 0.0
    return gained / (lost + 1e-12)
