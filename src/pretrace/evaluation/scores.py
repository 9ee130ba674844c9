"""Read the scores table as columns over its labelled units, a tenth of its memory, and
cut it into what is ranked."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.evaluation.resampling import (
    LEAST_DOCUMENTS,
    Groups,
    codes,
    resampling_groups,
    too_few,
)
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.methods.settings import Column
from pretrace.questions.documents import document_units
from pretrace.runtime.logs import log
from pretrace.views.prefixes import balanced_ids, evaluated_ids

ScoresByColumn = dict[Column, Floats]
"""The scores of each column in the order of the units, shape (units,), NaN where a unit
has none."""


class UnitScores(NamedTuple):
    """The labelled units of a kind and their scores."""

    units: pd.DataFrame
    scores: ScoresByColumn
    shots_used: dict[Column, "Whole"]
    """How many shots of the prefix each unit was read after, shape (units,), of the
    columns with a prefix."""


Scores = dict[str, UnitScores]
"""Kind of unit (`text`, `document`) -> its units and their scores, of the kinds that
have scores."""


def text_units(benchmark: pd.DataFrame) -> pd.DataFrame:
    """Return the labelled texts of a benchmark by id: label, subset, length (-1: none),
    fold, text and document.

    Text and document are codes, equal where these are equal; document -1 is none.
    """
    labelled = benchmark[benchmark["label"].notna()]
    labelled = labelled.sort_values("text_id", kind="stable")
    text, document = codes(labelled)
    columns = ["text_id", "label", "subset", "length", "fold"]
    units = labelled[columns].rename(columns={"text_id": "id"}).reset_index(drop=True)
    types = dict.fromkeys(("label", "length", "fold"), np.int64)
    units = units.fillna({"length": -1}).astype(
        {**types, "id": object, "subset": object}
    )
    return units.assign(text=text, document=document)


def labelled_documents(benchmark: pd.DataFrame) -> pd.DataFrame:
    """Return the labelled documents with the columns of `text_units`; each is drawn by
    itself."""
    units = document_units(benchmark)
    units = units[units["label"].notna()].reset_index(drop=True)
    alone = np.arange(len(units))
    return units[["id", "subset", "length", "fold"]].assign(
        label=units["label"].astype(np.int64), text=alone, document=-1
    )


UNIT_TABLES = {"text": text_units, "document": labelled_documents}


def scores_of(parts: Iterable[pd.DataFrame], benchmark: pd.DataFrame) -> Scores:
    """Return the scores of labelled units from parts of a table, in any order; one part
    is in memory at a time."""
    scores = {}
    for part in parts:
        for unit, rows in part.groupby("unit", sort=False):
            kind = str(unit)
            if kind not in scores:
                scores[kind] = UnitScores(UNIT_TABLES[kind](benchmark), {}, {})
            _put(rows, scores[kind])
    return scores


def _put(rows: pd.DataFrame, of_units: UnitScores) -> None:
    """Write rows of the scores table into the columns of their units."""
    units, columns, shots_used = of_units
    rows = rows.assign(draw=rows["draw"].fillna(-1).astype(np.int64))
    ids = pd.Index(units["id"])
    places = ids.get_indexer(pd.Index(rows["id"]))
    values = rows["score"].to_numpy(np.float64)
    used = rows["shots_used"].fillna(-1).to_numpy(np.int16)
    by_column = rows.groupby(list(Column._fields), sort=False).indices
    for key, rows_of_column in by_column.items():
        column = Column._make(cast("tuple[Any, ...]", key))
        labelled = rows_of_column[places[rows_of_column] >= 0]
        here = places[labelled]
        scores = columns.setdefault(column, np.full(len(ids), np.nan))
        scores[here] = values[labelled]
        if (used[labelled] >= 0).any():
            no_shots: Whole = np.full(len(ids), -1, dtype=np.int16)
            shots = shots_used.setdefault(column, no_shots)
            shots[here] = used[labelled]


@dataclass(frozen=True)
class EvaluationSet:
    """A named choice of units. `ids` None: all of them. `draw` None: no texts were
    drawn as prefixes.

    A set of one draw holds that draw's rows and those of methods without a prefix,
    which then carry its `draw`; a set without a draw, the latter alone, because no
    prefix is evaluated on its own texts. `nonmembers`: in a placebo, the member
    document that plays the non-members.
    """

    name: str = "all"
    draw: int | None = None
    ids: Collection[str] | None = None
    nonmembers: str = ""


def evaluation_sets(
    benchmark: pd.DataFrame,
    prefixes: pd.DataFrame | None = None,
    draws: Collection[int] | None = None,
) -> list[EvaluationSet]:
    """Return `all`, and for each draw of `prefixes` (`views.prefixes.draw_prefixes`)
    its other two sets.

    `without_prefixes` leaves out the draw's whole pool and what overlaps it, or holds
    the texts that the benchmark names for it; `balanced_ids` then keeps as many of each
    class. `draws`: only these (default, every one).
    """
    sets = [EvaluationSet()]
    if prefixes is None:
        return sets
    for draw in sorted(map(int, prefixes["draw"].unique())):
        if draws is not None and draw not in draws:
            continue
        left = evaluated_ids(prefixes, benchmark, draw)
        balanced = balanced_ids(prefixes, benchmark, draw, left)
        of_draw = prefixes[prefixes["draw"].eq(draw)]
        nonmembers = str(of_draw["nonmembers"].iloc[0])
        sets.append(EvaluationSet("without_prefixes", draw, left, nonmembers))
        sets.append(EvaluationSet("balanced", draw, balanced, nonmembers))
        log.info(
            "draw %d: %d texts, %d without its prefixes, %d balanced",
            draw,
            len(benchmark),
            len(left),
            len(balanced),
        )
    return sets


@dataclass(frozen=True)
class RankedUnits:
    """The labelled units of a slice that are ranked against each other, and their
    scores.

    `label` (True: member), `fold`, `text` and `document` (codes) have shape (units,);
    `scores` has shape (columns, units) and is NaN where a unit has no score.
    `shots_used`: the least of a column's units, if it has shots.
    """

    unit: str
    slice: Slice
    evaluation_set: str
    draw: int | None
    label: Flags
    fold: Whole
    folds: tuple[int, ...]
    text: Whole
    document: Whole
    columns: tuple[Column, ...]
    scores: Floats
    shots_used: dict[int, int]

    @cached_property
    def groups(self) -> Groups:
        return resampling_groups(self.text, self.document, self.label)

    @cached_property
    def few_documents(self) -> bool:
        """Tell whether a class has too few documents for tests and held-out settings
        (`resampling.LEAST_DOCUMENTS`)."""
        classes = [self.document[self.label], self.document[~self.label]]
        if self.unit == "document":
            return min(map(len, classes)) < LEAST_DOCUMENTS
        return any(map(too_few, classes))

    @cached_property
    def scored(self) -> Flags:
        return ~np.isnan(self.scores)

    @property
    def name(self) -> str:
        return _name_of(self.unit, self.slice, self.evaluation_set, self.draw)


def _name_of(unit: str, part: Slice, evaluation_set: str, draw: int | None) -> str:
    """Return the keys of what is ranked together, as messages name it."""
    keys = (unit, part.subset, part.length, evaluation_set, draw)
    return "/".join(str(key) for key in keys if key not in ("", None))


class Part(NamedTuple):
    """What is ranked together: the labelled units of one evaluation set and slice, and
    the columns of one view that score any of them."""

    unit: str
    of_units: UnitScores
    chosen: EvaluationSet
    slice: Slice
    rows: Whole
    columns: tuple[Column, ...]

    def ranked(self) -> RankedUnits:
        """Return the part with its scores, which takes their memory once more."""
        units = self.of_units.units
        own = units.iloc[self.rows]
        scores = [self.of_units.scores[column][self.rows] for column in self.columns]
        return RankedUnits(
            unit=self.unit,
            slice=self.slice,
            evaluation_set=self.chosen.name,
            draw=self.chosen.draw,
            label=own["label"].to_numpy() == 1,
            fold=own["fold"].to_numpy(),
            folds=tuple(sorted(set(units["fold"]))),
            text=own["text"].to_numpy(),
            document=own["document"].to_numpy(),
            columns=self.columns,
            scores=np.stack(scores),
            shots_used=self._least_shots(scores),
        )

    def _least_shots(self, scores: Sequence[Floats]) -> dict[int, int]:
        least = {}
        for place, column in enumerate(self.columns):
            if column in self.of_units.shots_used:
                used = self.of_units.shots_used[column][self.rows]
                least[place] = int(used[~np.isnan(scores[place])].min())
        return least


def parts_of(
    unit: str, of_units: UnitScores, evaluation_sets: Sequence[EvaluationSet]
) -> list[Part]:
    """Return the parts of each evaluation set, slice and view; those of a single class
    are logged and left out.

    A set of a draw is evaluated where a method has its prefix; elsewhere all texts are.
    """
    units, scores, _ = of_units
    slices = sorted(set(zip(units["subset"], units["length"], strict=True)))
    views = sorted({column.view for column in scores})
    labels = units["label"].to_numpy()
    parts = []
    for chosen in evaluation_sets:
        inside = np.ones(len(units), bool)
        if chosen.ids is not None:
            inside = units["id"].isin(set(chosen.ids)).to_numpy()
        for (subset, length), view in product(slices, views):
            in_slice = (units["subset"] == subset) & (units["length"] == length)
            rows = np.flatnonzero(inside & in_slice)
            columns = _columns_scored(scores, rows, view, chosen.draw)
            if not columns:
                continue
            whole_length = int(length) if length >= 0 else None
            place = Slice(str(subset), whole_length)
            if len(set(labels[rows])) < 2:
                log.warning(
                    "%s, view %s: no metrics, because one class is missing",
                    _name_of(unit, place, chosen.name, chosen.draw),
                    view,
                )
                continue
            parts.append(Part(unit, of_units, chosen, place, rows, tuple(columns)))
    return parts


def _columns_scored(
    scores: ScoresByColumn, rows: Whole, view: str, draw: int | None
) -> list[Column]:
    """Return the columns of a view that score some of the rows, without a prefix or
    with that of the draw; none if no column has the draw's prefix."""
    columns = []
    for column in sorted(scores):
        if column.view != view or column.draw not in (-1, draw):
            continue
        if not np.isnan(scores[column][rows]).all():
            columns.append(column)
    draws = {column.draw for column in columns}
    if draw is not None and draw not in draws:
        return []
    return columns
