"""Test a study with nothing to find: do more intervals miss chance than expected, and does any exact test reject it?"""

from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.significance import LEVEL, holm


def null_tests(frame: pd.DataFrame, chance: float) -> pd.DataFrame:
    """Add `chance`, `missed`, `p_holm` and `p_permutation_holm` to rows of metrics with `control, value, low, high,
    p_permutation` (NaN: not tested by permutation). Controls are not tested.

    `missed`: the 95 % interval excludes chance. `p_holm` is of a normal error as wide as the interval, because a
    bootstrap p cannot fall below 2 / (resamples + 1), which no correction over many rows survives.
    """
    from scipy.special import ndtr

    models = frame[~frame["control"]]
    error = (models["high"] - models["low"]) / (2 * 1.959964)
    p = 2 * ndtr(-(models["value"] - chance).abs() / error)
    p = p.where(models["value"] != chance, 1.0).to_numpy(np.float64)
    exact = models["p_permutation"].to_numpy(np.float64)
    return frame.assign(
        chance=chance,
        missed=(frame["low"] > chance) | (frame["high"] < chance),
        p_holm=pd.Series(holm(p), models.index),
        p_permutation_holm=pd.Series(holm(exact), models.index),
    )


def null_counts(frame: pd.DataFrame) -> list[Record]:
    """Count over rows of `null_tests`, by `block` and `panel`: the `models` of each panel, those of all panels (`all`,
    without a panel), and the `controls` of each panel.

    `methods` and `misses`; `expected` and `allowed` misses, the largest number with a chance of 5 % or more; `p`, the
    chance of as many; the least `p_holm` and `p_permutation_holm`; `farthest`, the row that is farthest from chance.
    Both chances take rows as independent. Methods on the same texts are not, which makes large counts likelier.
    """
    models, controls = frame[~frame["control"]], frame[frame["control"]]
    return [
        *(_counted("models", panel, own) for panel, own in models.groupby("panel")),
        _counted("all", None, models),
        *(_counted("controls", panel, own) for panel, own in controls.groupby("panel")),
    ]


def _counted(block: str, panel: Any, own: pd.DataFrame) -> Record:
    from scipy.stats import binom

    misses, methods = int(own["missed"].sum()), len(own)
    far = own.iloc[int((own["value"] - own["chance"]).abs().to_numpy().argmax())]
    return {
        "block": block,
        "panel": panel,
        "methods": methods,
        "misses": misses,
        "expected": LEVEL * methods,
        "allowed": int(binom.isf(LEVEL, methods, LEVEL)),
        "p": float(binom.sf(misses - 1, methods, LEVEL)),
        "p_holm": own["p_holm"].min(),
        "p_permutation_holm": own["p_permutation_holm"].min(),
        "farthest": far.to_dict(),
    }
