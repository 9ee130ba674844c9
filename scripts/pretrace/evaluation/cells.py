"""Which scores are compared with each other: cells of one unit, subset, length, evaluation set, view."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from pretrace.evaluation.columns import Column, ScoresByColumn
from pretrace.evaluation.resampling import Groups, resampling_groups
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.runtime.logs import log


@dataclass(frozen=True)
class EvaluationSet:
    """A named choice of units. `ids` None: all of them. `draw` None: no texts were drawn as prefixes.

    A set of one draw holds that draw's rows and those of methods without a prefix, which then carry its
    `draw`; a set without a draw, the latter alone, because no prefix is evaluated on its own texts.
    `nonmembers`: in a placebo, the member document that plays the non-members.
    """

    name: str = "all"
    draw: int | None = None
    ids: Collection[str] | None = None
    nonmembers: str = ""


@dataclass(frozen=True)
class Cell:
    """The labelled units that are ranked against each other, and their scores.

    `label` (True: member), `fold`, `text` and `document` (codes) have shape (units,); `scores` has shape
    (columns, units) and is NaN where a unit has no score.
    """

    unit: str
    subset: str
    length: int | None
    evaluation_set: str
    draw: int | None
    label: Flags
    fold: Whole
    folds: tuple[int, ...]
    text: Whole
    document: Whole
    columns: tuple[Column, ...]
    scores: Floats

    @cached_property
    def groups(self) -> Groups:
        return resampling_groups(self.text, self.document, self.label)

    @cached_property
    def scored(self) -> Flags:
        return ~np.isnan(self.scores)

    @property
    def name(self) -> str:
        parts = (self.unit, self.subset, self.length, self.evaluation_set, self.draw)
        return "/".join(str(part) for part in parts if part not in ("", None))


Shown = Collection[tuple[str | None, int | None]]
"""Subsets and lengths that are looked at; None stands for every one."""


def cells(
    unit: str,
    units: pd.DataFrame,
    scores: ScoresByColumn,
    evaluation_sets: Sequence[EvaluationSet],
    shown: Shown = ((None, None),),
) -> Iterator[Cell]:
    """The cells of one unit that are shown, in order; one that holds a single class is logged and left out.

    A set of a draw is evaluated where a method has its prefix; elsewhere all texts are.
    """
    parts = sorted(set(zip(units["subset"], units["length"], strict=True)))
    views = sorted({column.view for column in scores})
    for chosen in evaluation_sets:
        inside = (
            np.ones(len(units), bool) if chosen.ids is None else units["id"].isin(set(chosen.ids)).to_numpy()
        )
        compared = sorted(column for column in scores if column.draw in (-1, chosen.draw))
        for (subset, length), view in product(parts, views):
            if not any(of in (None, subset) and words in (None, length) for of, words in shown):
                continue
            here = np.flatnonzero(inside & (units["subset"] == subset) & (units["length"] == length))
            found = {column: scores[column][here] for column in compared if column.view == view}
            found = {column: values for column, values in found.items() if not np.isnan(values).all()}
            if not found or (chosen.draw is not None and all(column.draw != chosen.draw for column in found)):
                continue
            cell = _cell(unit, chosen, units, here, found)
            if cell.label.all() or not cell.label.any():
                log.warning("%s, view %s: no metrics, since one class alone is there", cell.name, view)
                continue
            yield cell


def _cell(unit: str, chosen: EvaluationSet, units: pd.DataFrame, here: Whole, scores: ScoresByColumn) -> Cell:
    of = {name: units[name].to_numpy()[here] for name in units}
    length = int(of["length"][0])
    return Cell(
        unit=unit,
        subset=str(of["subset"][0]),
        length=length if length >= 0 else None,
        evaluation_set=chosen.name,
        draw=chosen.draw,
        label=of["label"] == 1,
        fold=of["fold"],
        folds=tuple(sorted(set(units["fold"]))),
        text=of["text"],
        document=of["document"],
        columns=tuple(scores),
        scores=np.stack(list(scores.values())),
    )
