"""Test a study with nothing to find: do more intervals miss chance than expected, and does any exact test reject it?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pretrace.evaluation.roc import Flags, Floats
from pretrace.evaluation.significance import holm

LEVEL = 0.05
"""The share of 95 % intervals that may exclude chance."""


@dataclass(frozen=True)
class Misses:
    """The intervals of a table of metrics that exclude chance, and the number expected by chance.

    `missed`, `p_holm` and `p_permutation_holm` have shape (rows,); the last is NaN where a row has no permutation test.
    `p_count` is the chance of as many misses, were the rows independent; `most_allowed` the largest number with a
    chance of 5 % or more.
    """

    missed: Flags
    p_holm: Floats
    p_permutation_holm: Floats
    p_count: float
    most_allowed: int

    @property
    def count(self) -> int:
        return int(self.missed.sum())


def misses(
    value: ArrayLike, low: ArrayLike, high: ArrayLike, p_permutation: ArrayLike, *, chance: float = 0.5
) -> Misses:
    """Count the 95 % intervals that do not hold `chance`; all arguments of shape (rows,), NaN in `p_permutation` alone.

    The count is binomial where rows are independent; methods on the same texts are not, which makes large
    counts likelier than `p_count` says. Each row's p is that of a normal error as wide as its interval,
    because a bootstrap p cannot fall below 2 / (resamples + 1), which no correction over many rows survives.
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    value, low, high, exact = (
        np.asarray(column, dtype=np.float64) for column in (value, low, high, p_permutation)
    )
    missed = (low > chance) | (high < chance)
    error = (high - low) / (2 * 1.959964)
    ratio = np.divide(np.abs(value - chance), error, out=np.full(len(value), np.inf), where=error > 0)
    p = np.where(value == chance, 1.0, 2 * ndtr(-ratio))
    return Misses(
        missed=missed,
        p_holm=holm(p),
        p_permutation_holm=holm(exact),
        p_count=float(binom.sf(missed.sum() - 1, len(value), LEVEL)),
        most_allowed=int(binom.isf(LEVEL, len(value), LEVEL)),
    )


def null_tests(frame: pd.DataFrame, chance: float) -> pd.DataFrame:
    """Add `chance`, `missed`, `p_holm` and `p_permutation_holm` to rows of metrics with `control, value, low, high,
    p_permutation`. Controls are not tested.
    """
    models = frame[~frame["control"]]
    counted = _misses(models, chance)
    missed = (frame["low"] > chance) | (frame["high"] < chance)
    corrected = {
        name: pd.Series(getattr(counted, name), models.index) for name in ("p_holm", "p_permutation_holm")
    }
    return frame.assign(chance=chance, missed=missed, **corrected)


def null_counts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Counts over rows of `null_tests`, by `block` and `panel`: the `models` of each panel, those of all panels (`all`,
    without a panel), and the `controls` of each panel.

    `methods` and `misses`; `expected` and `allowed` (`Misses.most_allowed`) misses; `p`, the chance of as many; the
    least `p_holm` and `p_permutation_holm`; `farthest`, the row that is farthest from chance.
    """
    models, controls = frame[~frame["control"]], frame[frame["control"]]
    return [
        *(_counted("models", panel, own) for panel, own in models.groupby("panel")),
        _counted("all", None, models),
        *(_counted("controls", panel, own) for panel, own in controls.groupby("panel")),
    ]


def _counted(block: str, panel: Any, own: pd.DataFrame) -> dict[str, Any]:
    counted = _misses(own, own["chance"].max())
    far = own.iloc[int((own["value"] - own["chance"]).abs().to_numpy().argmax())]
    counts = {"methods": len(own), "misses": counted.count, "expected": LEVEL * len(own)}
    limits = {"allowed": counted.most_allowed, "p": counted.p_count}
    least = {name: own[name].min() for name in ("p_holm", "p_permutation_holm")}
    return {"block": block, "panel": panel} | counts | limits | least | {"farthest": far.to_dict()}


def _misses(own: pd.DataFrame, chance: float) -> Misses:
    columns = (own[name].to_numpy(np.float64) for name in ("value", "low", "high", "p_permutation"))
    return misses(*columns, chance=chance)
