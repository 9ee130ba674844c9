"""Curves of single columns of scores: ROC points, and the densities of both classes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.cells import Column, EvaluationSet, Scores
from pretrace.evaluation.metrics import KEYS
from pretrace.evaluation.roc import Flags, Floats

PLACES = np.linspace(0, 1, 201)
"""Where densities are evaluated."""


SELECTIONS = ("default", "best_on_test")
"""Held-out settings differ from fold to fold, and their scores are never drawn as one."""

Points = Callable[[Floats, Flags], pd.DataFrame]


def roc_curves(
    metrics: pd.DataFrame, scores: Scores, evaluation_sets: Sequence[EvaluationSet]
) -> pd.DataFrame:
    """Compute ROC points of every method at its default setting and at the best: `KEYS, fpr, tpr`.

    `metrics` says which settings were chosen, `scores` as `cells.scores_of` gives them.
    """

    def points(values: Floats, label: Flags) -> pd.DataFrame:
        false, true = roc_points(values, label)
        return pd.DataFrame({"fpr": false, "tpr": true})

    return _score_curves(metrics, scores, evaluation_sets, points)


def density_curves(
    metrics: pd.DataFrame, scores: Scores, evaluation_sets: Sequence[EvaluationSet]
) -> pd.DataFrame:
    """Compute the densities of both classes as `roc_curves` computes points: `KEYS, label, x, y`.

    `x` is a score, scaled to run from 0 to 1 over both classes (min-max). Equal scores have no density.
    """

    def points(values: Floats, label: Flags) -> pd.DataFrame:
        if values.max() == values.min():
            return pd.DataFrame({"x": [], "y": []})
        classes = zip((1, 0), densities(values, label), strict=True)
        return pd.concat([pd.DataFrame({"x": PLACES, "y": y, "label": kind}) for kind, y in classes])

    return _score_curves(metrics, scores, evaluation_sets, points)


def _score_curves(
    metrics: pd.DataFrame, scores: Scores, evaluation_sets: Sequence[EvaluationSet], points: Points
) -> pd.DataFrame:
    """Compute the points of each metrics row whose scores of texts can be drawn as one."""
    chosen = metrics[(metrics["metric"] == "auc") & (metrics["unit"] == "text")]
    ids = {(texts.name, texts.draw): texts.ids for texts in evaluation_sets}
    # the default setting often is the best: then both have the same points
    drawn: dict[tuple[Any, ...], pd.DataFrame] = {}
    frames = []
    for _, row in chosen[chosen["selection"].isin(SELECTIONS)].iterrows():
        keys = tuple(row[key] for key in KEYS if key != "selection")
        if keys not in drawn:
            drawn[keys] = points(*_scores_of_row(scores, row, ids))
        frames.append(drawn[keys].assign(**{key: row[key] for key in KEYS}))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _scores_of_row(
    scores: Scores, row: "pd.Series[Any]", ids: Mapping[tuple[str, int | None], Collection[str] | None]
) -> tuple[Floats, Flags]:
    """Return the scores that a metrics row is about, and which of them are members'; shape (texts,)."""
    units, columns = scores["text"]
    here = (units["subset"] == row["subset"]) | (row["subset"] == "")
    here &= units["length"] == (-1 if pd.isna(row["length"]) else row["length"])
    draw = None if pd.isna(row["draw"]) else int(row["draw"])
    inside = ids[row["evaluation_set"], draw if (row["evaluation_set"], draw) in ids else None]
    if inside is not None:
        here &= units["id"].isin(set(inside))
    keys = {key: row[key] for key in ("method", "setting", "view", "start_token", "reference")}
    # methods without a prefix have no draw, though the row may carry one
    candidates = [Column(**keys, draw=number) for number in (-1, draw) if number is not None]
    values = next(columns[column] for column in candidates if column in columns)
    scored = here.to_numpy() & ~np.isnan(values)
    return values[scored], units["label"].to_numpy()[scored] == 1


def roc_points(scores: Floats, label: Flags) -> tuple[Floats, Floats]:
    """Return false and true positive rates at every threshold: first no text counts as a member, last every text."""
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    false, true = (np.append(0, np.cumsum(kind[order])[last_of_ties]) for kind in (~label, label))
    return false / false[-1], true / true[-1]


def densities(scores: Floats, label: Flags) -> tuple[Floats, Floats]:
    """Return the density of members and non-members at `PLACES`: Gaussian kernels, Scott's rule, of min-max scores."""
    from scipy.stats import gaussian_kde

    scaled = (scores - scores.min()) / (scores.max() - scores.min())
    members, nonmembers = (np.asarray(gaussian_kde(scaled[kind])(PLACES)) for kind in (label, ~label))
    return members, nonmembers
