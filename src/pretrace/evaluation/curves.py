"""Curves of single columns of scores: ROC points, and the densities of both classes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.metrics import METRIC_KEYS
from pretrace.evaluation.roc import Flags, Floats
from pretrace.evaluation.scores import EvaluationSet, Scores
from pretrace.methods.settings import Column

DENSITY_GRID = np.linspace(0, 1, 201)
"""Where densities are evaluated."""

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

    def points(values: Floats, label: Flags) -> pd.DataFrame:
        false, true = roc_points(values, label)
        return pd.DataFrame({"fpr": false, "tpr": true})

    return _score_curves(metrics, scores, evaluation_sets, points)


def density_curves(
    metrics: pd.DataFrame, scores: Scores, evaluation_sets: Sequence[EvaluationSet]
) -> pd.DataFrame:
    """Compute the densities of both classes as `roc_curves` computes points: `KEYS,
    label, x, y`.

    `x` is a score, scaled to run from 0 to 1 over both classes (min-max). A class of
    equal scores has no density.
    """

    def points(values: Floats, label: Flags) -> pd.DataFrame:
        if values.max() == values.min():
            return pd.DataFrame({"x": [], "y": []})
        classes = densities(values, label).items()
        nothing = pd.DataFrame({"x": [], "y": []})
        return pd.concat(
            [
                nothing,
                *(
                    pd.DataFrame({"x": DENSITY_GRID, "y": y, "label": kind})
                    for kind, y in classes
                ),
            ]
        )

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
    units, columns, _ = scores["text"]
    label, length = units["label"].to_numpy() == 1, units["length"].to_numpy()
    inside = {
        (texts.name, texts.draw): units["id"].isin(set(texts.ids))
        if texts.ids is not None
        else True
        for texts in evaluation_sets
    }
    # the default setting often is the best: then both have the same points
    drawn: dict[tuple[Any, ...], pd.DataFrame] = {}
    frames = []
    for row in chosen.to_dict("records"):
        keys = tuple(row[key] for key in METRIC_KEYS if key != "selection")
        if keys not in drawn:
            draw = None if pd.isna(row["draw"]) else int(row["draw"])
            of_set = inside[
                row["evaluation_set"],
                draw if (row["evaluation_set"], draw) in inside else None,
            ]
            column = Column._make(row[key] for key in Column._fields)
            # methods without a prefix have no draw, though the row may carry one
            candidates = [
                column._replace(draw=number)
                for number in (-1, draw)
                if number is not None
            ]
            values = next(columns[column] for column in candidates if column in columns)
            here = (units["subset"] == row["subset"]) | (row["subset"] == "")
            here &= of_set & (
                length == (-1 if pd.isna(row["length"]) else row["length"])
            )
            scored = here.to_numpy() & ~np.isnan(values)
            drawn[keys] = points(values[scored], label[scored])
        frames.append(drawn[keys].assign(**{key: row[key] for key in METRIC_KEYS}))
    return pd.concat(frames, ignore_index=True)


def roc_points(scores: Floats, label: Flags) -> tuple[Floats, Floats]:
    """Return false and true positive rates at every threshold: first no text counts as
    a member, last every text."""
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    false, true = (
        np.append(0, np.cumsum(kind[order])[last_of_ties]) for kind in (~label, label)
    )
    return false / false[-1], true / true[-1]


def densities(scores: Floats, label: Flags) -> dict[int, Floats]:
    """Return the density at `DENSITY_GRID` of members (1) and non-members (0).

    Gaussian kernels, Scott's rule, of min-max scores. A class whose scores are all
    equal has none.
    """
    from scipy.stats import gaussian_kde

    scaled = (scores - scores.min()) / (scores.max() - scores.min())
    classes = {1: scaled[label], 0: scaled[~label]}
    return {
        kind: gaussian_kde(own)(DENSITY_GRID)
        for kind, own in classes.items()
        if np.ptp(own) > 0
    }
