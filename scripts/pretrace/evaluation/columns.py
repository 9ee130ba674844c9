"""The scores table as columns over the units, which takes a tenth of the memory of its rows."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from pretrace.evaluation.roc import Flags, Floats
from pretrace.runtime.errors import InputError

COLUMN_KEYS = ["method", "setting", "view", "start_token", "draw", "reference"]


class Column(NamedTuple):
    """One score of every unit: a method at one setting. `draw` is -1 where there is none."""

    method: str
    setting: str
    view: str
    start_token: str
    draw: int
    reference: str


ScoresByColumn = dict[Column, Floats]
"""The scores of each column in the order of the units, shape (units,), NaN where a unit has none."""


class OfUnit(NamedTuple):
    """The labelled units of a kind, as `cells.text_units` has texts, and their scores."""

    units: pd.DataFrame
    scores: ScoresByColumn


def columns_of(
    parts: Iterable[pd.DataFrame], units: Mapping[str, Callable[[], pd.DataFrame]]
) -> dict[str, OfUnit]:
    """Kind of unit -> its units and their scores, of the kinds that have scores.

    `parts` are parts of the scores table, in any order; `units` gives the units of a kind, with the column `id`.
    Scores of units that are not labelled leave here. Raises `InputError` for a score that is given twice or is no
    number.
    """
    found: dict[str, OfUnit] = {}
    places: dict[str, pd.Index] = {}
    for part in parts:
        for unit, rows in part.groupby("unit", sort=False):
            kind = str(unit)
            if kind not in found:
                found[kind] = OfUnit(units[kind](), {})
                places[kind] = pd.Index(found[kind].units["id"])
            _add(
                kind,
                rows.assign(draw=rows["draw"].fillna(-1).astype(np.int64)),
                places[kind],
                found[kind].scores,
            )
    return found


def _add(unit: str, rows: pd.DataFrame, places: pd.Index, scores: ScoresByColumn) -> None:
    _refuse(unit, rows, rows["score"].isna().to_numpy(), "is not a number")
    ids, values = pd.Index(rows["id"]), rows["score"].to_numpy(np.float64)
    place = places.get_indexer(ids)
    for key, at in rows.groupby(COLUMN_KEYS, sort=False).indices.items():
        column = Column(*cast("tuple[Any, ...]", key))
        if column not in scores:
            scores[column] = np.full(len(places), np.nan)
        values_of = scores[column]
        known = place[at] >= 0
        again = ids[at].duplicated()
        again[known] |= ~np.isnan(values_of[place[at][known]])
        _refuse(unit, rows.iloc[np.asarray(at)], again, "is there twice")
        values_of[place[at][known]] = values[at][known]


def _refuse(unit: str, rows: pd.DataFrame, wrong: Flags, what: str) -> None:
    for at in np.flatnonzero(wrong)[:1]:
        row = rows.iloc[at]
        raise InputError(
            f"the score of {unit} '{row['id']}' by {row['method']} {row['setting']} {what}. "
            "Delete the scores file and run the same command again."
        )
