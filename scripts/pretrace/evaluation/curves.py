"""Curves of single columns of scores: ROC points, and the densities of both classes."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.cells import Column, EvaluationSet, Scores
from pretrace.evaluation.metrics import KEYS
from pretrace.evaluation.roc import Flags, Floats

COLUMNS = [*KEYS, "curve", "label", "x", "y", "low", "high", "weight"]
"""A row a point of a curve. `label` (1 member, 0 non-member) is missing where a curve is of both classes.

roc         x false, y true positive rate at every threshold
density     x a score, scaled to run from 0 to 1 over both classes together (min-max); y the density there
share       `weight` percent of a class's tokens lie in the hexagon around x (entropy), y (log-probability), in nats
token       a surprising token, x and y as above
mean        mean log-probability y of the surprising tokens around entropy x, with its 95 % interval
"""

PLACES = np.linspace(0, 1, 201)
"""Where densities are evaluated."""


def score_curves(
    metrics: pd.DataFrame,
    scores: Scores,
    evaluation_sets: Sequence[EvaluationSet],
    asked: Iterable[Mapping[str, Any]],
) -> pd.DataFrame:
    """The curves that are asked for, of every method at its setting: columns `COLUMNS`.

    `metrics` says which settings were chosen, `scores` as `cells.scores_of` gives them. Asked are `statistic` (`roc`,
    `density`), `selection` and, each None for every one, `subset` and `length`. A density of equal scores is left out.
    """
    rows = metrics[(metrics["metric"] == "auc") & (metrics["unit"] == "text")]
    chosen = {(one["statistic"], at): row for one in asked for at, row in _rows(rows, one).items()}
    ids = {(one.name, one.draw): one.ids for one in evaluation_sets}
    frames = []
    for (curve, _), row in chosen.items():
        units, columns = scores["text"]
        here = (units["subset"] == row["subset"]) | (row["subset"] == "")
        here &= units["length"] == (-1 if pd.isna(row["length"]) else row["length"])
        draw = None if pd.isna(row["draw"]) else int(row["draw"])
        inside = ids[row["evaluation_set"], draw if (row["evaluation_set"], draw) in ids else None]
        if inside is not None:
            here &= units["id"].isin(set(inside))
        values = _column(columns, row, draw)
        scored = here.to_numpy() & ~np.isnan(values)
        points = _points(curve, values[scored], units["label"].to_numpy()[scored] == 1)
        frames.append(points.assign(curve=curve, **{key: row[key] for key in KEYS}))
    return pd.concat([nothing(), *frames], ignore_index=True)


def nothing() -> pd.DataFrame:
    """The empty table of curves."""
    numbers = dict.fromkeys(("x", "y", "low", "high", "weight"), "float64")
    return pd.DataFrame(columns=COLUMNS).astype(dict.fromkeys(("draw", "length", "label"), "Int64") | numbers)


def _rows(metrics: pd.DataFrame, asked: Mapping[str, Any]) -> dict[Hashable, dict[str, Any]]:
    """The rows that are asked for, by their index."""
    keep = (metrics["selection"] == asked["selection"]) & (metrics["selection"] != "held_out")
    for key in ("subset", "length"):
        if asked[key] is not None:
            keep &= metrics[key].eq(asked[key]).fillna(False)
    return {at: {str(key): row[key] for key in row.index} for at, row in metrics[keep].iterrows()}


def _column(scores: Mapping[Column, Floats], row: Mapping[str, Any], draw: int | None) -> Floats:
    """The scores of a metrics row; those without a prefix have no draw, though the row may carry one."""
    keys = {key: row[key] for key in ("method", "setting", "view", "start_token", "reference")}
    columns = [Column(**keys, draw=at) for at in (-1, draw) if at is not None]
    return next(scores[column] for column in columns if column in scores)


def _points(curve: str, scores: Floats, label: Flags) -> pd.DataFrame:
    if curve == "roc":
        false, true = roc_points(scores, label)
        return pd.DataFrame({"x": false, "y": true})
    if scores.max() == scores.min():
        return pd.DataFrame({"x": [], "y": []})
    members, nonmembers = densities(scores, label)
    of_class = [
        pd.DataFrame({"x": PLACES, "y": y, "label": kind}) for kind, y in ((1, members), (0, nonmembers))
    ]
    return pd.concat(of_class).astype({"label": "Int64"})


def roc_points(scores: Floats, label: Flags) -> tuple[Floats, Floats]:
    """False and true positive rates at every threshold, from none that is called a member to all."""
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    false, true = (np.append(0, np.cumsum(kind[order])[last_of_ties]) for kind in (~label, label))
    return false / false[-1], true / true[-1]


def densities(scores: Floats, label: Flags) -> tuple[Floats, Floats]:
    """The members' and the non-members' density at `PLACES`: Gaussian kernels, Scott's rule, of min-max scores."""
    from scipy.stats import gaussian_kde

    scaled = (scores - scores.min()) / (scores.max() - scores.min())
    members, nonmembers = (np.asarray(gaussian_kde(scaled[kind])(PLACES)) for kind in (label, ~label))
    return members, nonmembers
