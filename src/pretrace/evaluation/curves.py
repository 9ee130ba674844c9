"""Curves of single columns of scores: ROC points, and the densities of both classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.metrics import METRIC_KEYS
from pretrace.evaluation.roc import Flags, Floats
from pretrace.evaluation.scores import EvaluationSet, Scores, UnitScores
from pretrace.methods.settings import Column

DENSITY_GRID = np.linspace(0, 1, 201)
"""Where densities are evaluated."""

_Sets = dict[tuple[str, int | None], "pd.Series[bool] | bool"]
"""Name and draw of each evaluation set -> which texts it holds, True for all."""

CURVE_SELECTIONS = ("default", "best_on_test")
"""Held-out settings may differ from fold to fold."""


def roc_curves(
    metrics: pd.DataFrame, scores: Scores, evaluation_sets: Sequence[EvaluationSet]
) -> pd.DataFrame:
    """Compute ROC points of every method at its default setting and at the best: `KEYS,
    fpr, tpr`.

    `metrics` says which settings were chosen, `scores` as `scores.scores_of` gives
    them.
    """
    return _score_curves(metrics, scores, evaluation_sets, roc_points)


def density_curves(
    metrics: pd.DataFrame, scores: Scores, evaluation_sets: Sequence[EvaluationSet]
) -> pd.DataFrame:
    """Compute the densities of both classes as `roc_curves` computes points: `KEYS,
    label, x, y`.

    `x` is a score, scaled to run from 0 to 1 over both classes (min-max). A class of
    equal scores has no density.
    """

    def points(values: Floats, label: Flags) -> pd.DataFrame:
        frames = [pd.DataFrame({"x": [], "y": []})]
        if values.max() > values.min():
            for kind, y in densities(values, label).items():
                curve = {"x": DENSITY_GRID, "y": y, "label": kind}
                frames.append(pd.DataFrame(curve))
        return pd.concat(frames)

    return _score_curves(metrics, scores, evaluation_sets, points)


def _score_curves(
    metrics: pd.DataFrame,
    scores: Scores,
    evaluation_sets: Sequence[EvaluationSet],
    points: Callable[[Floats, Flags], pd.DataFrame],
) -> pd.DataFrame:
    """Compute the points of each metrics row whose scores of texts can be drawn as
    one."""
    chosen = metrics[(metrics["metric"] == "auc") & (metrics["unit"] == "text")]
    chosen = chosen[chosen["selection"].isin(CURVE_SELECTIONS)]
    if chosen.empty:
        return pd.DataFrame()
    texts = scores["text"]
    label = texts.units["label"].to_numpy() == 1
    of_set = {}
    for evaluated in evaluation_sets:
        ids = evaluated.ids
        inside = True if ids is None else texts.units["id"].isin(set(ids))
        of_set[evaluated.name, evaluated.draw] = inside
    # the default setting often is the best: then both have the same points
    drawn = {}
    frames = []
    about = []
    for row in chosen.to_dict("records"):
        keys = tuple(row[key] for key in METRIC_KEYS if key != "selection")
        if keys not in drawn:
            values = _values_of(row, texts)
            scored = _inside(row, texts.units, of_set) & ~np.isnan(values)
            drawn[keys] = points(values[scored], label[scored])
        frames.append(drawn[keys])
        about.append([row[key] for key in METRIC_KEYS])
    curves = pd.concat(frames, ignore_index=True)
    # at once: columns of each curve by itself take ten times as long as its points
    of_curves = pd.DataFrame(about, columns=METRIC_KEYS)
    of_points = of_curves.loc[of_curves.index.repeat([*map(len, frames)])]
    return curves.join(of_points.reset_index(drop=True))


def _values_of(row: Mapping[Any, Any], texts: UnitScores) -> Floats:
    """Return the scores of all texts that a metrics row is of, shape (texts,)."""
    column = Column._make(row[key] for key in Column._fields)
    # methods without a prefix have no draw, though the row may carry one
    without_prefix = column._replace(draw=-1)
    if without_prefix in texts.scores:
        return texts.scores[without_prefix]
    return texts.scores[column._replace(draw=int(row["draw"]))]


def _inside(row: Mapping[Any, Any], units: pd.DataFrame, of_set: _Sets) -> Flags:
    """Tell which texts a metrics row is of, shape (texts,)."""
    length = -1 if pd.isna(row["length"]) else row["length"]
    inside = units["length"].eq(length)
    name = row["evaluation_set"]
    draw = None if pd.isna(row["draw"]) else int(row["draw"])
    inside &= of_set[name, draw] if (name, draw) in of_set else of_set[name, None]
    if row["subset"]:
        inside &= units["subset"].eq(row["subset"])
    return inside.to_numpy()


def roc_points(scores: Floats, label: Flags) -> pd.DataFrame:
    """Return false and true positive rates (`fpr`, `tpr`) at every threshold: first no
    text counts as a member, last every text."""
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    falling = label[order]
    false = np.append(0, np.cumsum(~falling)[last_of_ties])
    true = np.append(0, np.cumsum(falling)[last_of_ties])
    return pd.DataFrame({"fpr": false / false[-1], "tpr": true / true[-1]})


def densities(scores: Floats, label: Flags) -> dict[int, Floats]:
    """Return the density at `DENSITY_GRID` of members (1) and non-members (0).

    Gaussian kernels, Scott's rule, of min-max scores. A class whose scores are all
    equal has none.
    """
    from scipy.stats import gaussian_kde

    scaled = (scores - scores.min()) / (scores.max() - scores.min())
    of_classes = {}
    for kind in (1, 0):
        own = scaled[label == kind]
        if np.ptp(own) > 0:
            of_classes[kind] = gaussian_kde(own)(DENSITY_GRID)
    return of_classes
