"""The scores table as columns over the units, which takes a tenth of the memory of its rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from pretrace.evaluation.resampling import codes
from pretrace.evaluation.roc import Flags, Floats
from pretrace.questions.documents import document_units
from pretrace.runtime.errors import InputError


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
    """The labelled units of a kind and their scores."""

    units: pd.DataFrame
    scores: ScoresByColumn


Scores = dict[str, OfUnit]
"""Kind of unit (`text`, `document`) -> its units and their scores, of the kinds that have scores."""


def text_units(benchmark: pd.DataFrame) -> pd.DataFrame:
    """The labelled texts of a benchmark by id: label, subset, length (-1: none), fold, text and document.

    Text and document are codes, equal where these are equal; document -1 is none.
    """
    labelled = benchmark[benchmark["label"].notna()].sort_values("text_id", kind="stable")
    text, document = codes(labelled)
    return pd.DataFrame(
        {
            "id": labelled["text_id"].to_numpy(dtype=object),
            "label": labelled["label"].to_numpy(dtype=np.int64),
            "subset": labelled["subset"].to_numpy(dtype=object),
            "length": labelled["length"].fillna(-1).to_numpy(dtype=np.int64),
            "fold": labelled["fold"].to_numpy(dtype=np.int64),
            "text": text,
            "document": document,
        }
    )


def labelled_documents(benchmark: pd.DataFrame) -> pd.DataFrame:
    """The labelled documents as `text_units` has texts; each is drawn by itself."""
    units = document_units(benchmark)
    units = units[units["label"].notna()].reset_index(drop=True)
    alone = np.arange(len(units))
    return units[["id", "subset", "length", "fold"]].assign(
        label=units["label"].astype(np.int64), text=alone, document=-1
    )


UNITS = {"text": text_units, "document": labelled_documents}


def scores_of(parts: Iterable[pd.DataFrame], benchmark: pd.DataFrame) -> Scores:
    """The scores table of a benchmark, or its parts in any order, one of which is in memory at a time.

    Scores of units that are not labelled leave here. Raises `InputError` for a score that is given twice or is no
    number.
    """
    found: Scores = {}
    places: dict[str, pd.Index] = {}
    for part in parts:
        for unit, rows in part.groupby("unit", sort=False):
            kind = str(unit)
            if kind not in found:
                found[kind] = OfUnit(UNITS[kind](benchmark), {})
                places[kind] = pd.Index(found[kind].units["id"])
            rows = rows.assign(draw=rows["draw"].fillna(-1).astype(np.int64))
            _add(kind, rows, places[kind], found[kind].scores)
    return found


def _add(unit: str, rows: pd.DataFrame, places: pd.Index, scores: ScoresByColumn) -> None:
    _refuse(unit, rows, rows["score"].isna().to_numpy(), "is not a number")
    ids, values = pd.Index(rows["id"]), rows["score"].to_numpy(np.float64)
    place = places.get_indexer(ids)
    for key, at in rows.groupby(list(Column._fields), sort=False).indices.items():
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
