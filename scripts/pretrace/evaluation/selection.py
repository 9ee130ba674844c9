"""The setting a metric is of: each one, the default, the best on the test texts, the best on other folds."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from pretrace.evaluation.cells import Column, RankedUnits
from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.roc import Flags, Floats, Ranking, Whole
from pretrace.evaluation.significance import CROSS_FITTED
from pretrace.runtime.logs import log

LEAST_ANSWERED = 30
"""Of the documents that questions are asked about. With fewer of them there is no held-out value: a fold has only a
few, and its AUC only a few values."""


class Settings(Protocol):
    """Look up methods and their settings, as the module `known` has them."""

    METHODS: Mapping[str, Any]

    def parse_setting(self, method: str, setting: str, /) -> dict[str, Any]: ...
    def empty_score(self, method: str, setting: str, /) -> float | None: ...
    def cross_fitted(self, method: str, /) -> bool: ...
    def is_limit(self, method: str, name: str, value: Any, /) -> bool: ...


class Part(NamedTuple):
    """A column's scores on one fold's texts (None: all) that column `partner` scores too (-1: no partner)."""

    column: int
    fold: int | None
    partner: int = -1


@dataclass(frozen=True)
class Estimate:
    """One number of the metrics table: a metric over one part, or over a part a fold with its setting."""

    selection: str
    metric: int
    parts: tuple[Part, ...]

    def within(self, other: "Estimate") -> "Estimate":
        """Restrict the estimate to the texts that the other estimate's parts score too."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Estimate(
            self.selection, self.metric, tuple(Part(a.column, a.fold, b.column) for a, b in pairs)
        )


@dataclass
class Rankings:
    """The rankings of a cell's parts, each sorted once.

    Settings that rank the units alike share one: in a grid of SURP that is two in five.
    """

    cell: RankedUnits
    _known: dict[Part, Ranking] = field(default_factory=dict)
    _distinct: dict[bytes, Ranking] = field(default_factory=dict)
    _sizes: dict[Part, tuple[int, int]] = field(default_factory=dict)

    def rows(self, part: Part) -> Whole:
        taken = self.cell.scored[part.column]
        if part.partner >= 0:
            taken = taken & self.cell.scored[part.partner]
        if part.fold is not None:
            taken = taken & (self.cell.fold == part.fold)
        return np.flatnonzero(taken)

    def of(self, part: Part) -> Ranking:
        if part not in self._known:
            ranking = Ranking.of(self.cell.scores[part.column], self.cell.label, self.rows(part))
            self._known[part] = self._distinct.setdefault(ranking.key, ranking)
        return self._known[part]

    def counts(self, parts: Iterable[Part], weights: Floats) -> dict[Part, tuple[Floats, Floats]]:
        """Return `Ranking.counts` of each part."""
        rankings = {part: self.of(part) for part in parts}
        distinct = {id(ranking): ranking for ranking in rankings.values()}
        counted = {key: ranking.counts(weights) for key, ranking in distinct.items()}
        return {part: counted[id(ranking)] for part, ranking in rankings.items()}

    def sizes(self, part: Part) -> tuple[int, int]:
        """Count the members and non-members of a part."""
        if part not in self._sizes:
            label = self.cell.label[self.rows(part)]
            self._sizes[part] = int(label.sum()), int((~label).sum())
        return self._sizes[part]

    def values(self, estimates: Sequence[Estimate], weights: Floats) -> Floats:
        """Return every estimate under weights of shape (texts, resamples): shape (estimates, resamples).

        Folds are averaged with weights n_members x n_nonmembers: the sum of numerators over the sum of pairs.
        Scores of different parts are never ranked against each other. NaN where a resample left no pair.
        """
        counts = self.counts((part for estimate in estimates for part in estimate.parts), weights)
        values = np.empty((len(estimates), weights.shape[1]))
        for row, estimate in enumerate(estimates):
            numerator = sum(counts[part][0][estimate.metric] for part in estimate.parts)
            pairs = np.asarray(sum(counts[part][1] for part in estimate.parts))
            values[row] = np.divide(numerator, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
        return values


def variant_of(setting: str, grid: Collection[str]) -> str:
    """Return the part of a setting that no selection chooses: parameters off their default, outside the grid."""
    return ";".join(part for part in setting.split(";") if part and part.split("=")[0] not in grid)


@dataclass(frozen=True)
class Choices:
    """Every setting's metrics on a whole cell, and what the selections choose among them.

    `values` has shape (columns, metrics). `candidates` are the columns that a key chooses among, the default first;
    the key's `setting` names the variant. `estimates` are those of the methods as they are, `of_variants` those of
    methods with a parameter outside the grid off its default, such as `con_recall` with `access=zero`.
    `at_edge` (columns,): whether the setting lies at an edge of the settings that could be chosen.
    """

    values: Floats
    candidates: dict[Column, list[int]]
    estimates: list[Estimate]
    of_variants: list[Estimate]
    at_edge: Flags


def choose(cell: RankedUnits, rankings: Rankings, settings: Settings) -> Choices:
    """Choose settings per method, variant, view, start token, draw and reference, separately for each metric.

    `default`: the paper's value or the project's; if the run leaves it out, the run's first setting. `best_on_test`:
    the best on the evaluated texts. `held_out`: for each fold the setting that is best on the texts of the other
    folds, and the metric inside the fold. Ties go to the default, then to the lower parameters. If the other folds
    lack a class, the default is used. Where questions are asked about fewer than
    `LEAST_ANSWERED` documents there is no `held_out`; where a class has fewer than `resampling.LEAST_DOCUMENTS`, it is
    the default.
    """
    weights = np.concatenate([np.ones((len(cell.label), 1)), training_weights(cell)], axis=1)
    whole = [Part(column, None) for column in range(len(cell.columns))]
    counted = rankings.counts(whole, weights).values()
    numerators = np.stack([numerator for numerator, _ in counted])
    pairs = np.stack([pair for _, pair in counted])[:, None, :]
    criteria = np.divide(numerators, pairs, out=np.full(numerators.shape, np.nan), where=pairs > 0)
    estimates: list[Estimate] = []
    of_variants: list[Estimate] = []
    at_edge = np.zeros(len(cell.columns), dtype=bool)
    few = cell.unit == "document" and len(cell.label) < LEAST_ANSWERED
    candidates = _candidates(cell, settings)
    for key, among in candidates.items():
        order = np.array(among)
        tried = [grid_values(cell.columns[index], settings) for index in among]
        at_edge[order] = edges(key.method, tried, settings)
        best = order[np.nan_to_num(criteria[order], nan=-1.0).argmax(axis=0)]
        for metric in range(len(METRICS)):
            held_out = tuple(
                Part(int(best[metric, 1 + index]), fold) for index, fold in enumerate(cell.folds)
            )
            held_out = (Part(among[0], None),) if cell.few_documents else held_out
            (of_variants if key.setting else estimates).extend(
                [
                    Estimate("default", metric, (Part(among[0], None),)),
                    Estimate("best_on_test", metric, (Part(int(best[metric, 0]), None),)),
                    *([] if few else [Estimate("held_out", metric, held_out)]),
                ]
            )
    if few:
        log.info("%s: %d documents, fewer than %d: no held-out values",
                 cell.name, len(cell.label), LEAST_ANSWERED)  # fmt: skip
    undecided = int(np.isnan(criteria[:, 0, 1:]).all(axis=0).sum())
    if undecided:
        log.info("%s: in %d of %d folds the other folds lack a class; the default is used there",
                 cell.name, undecided, len(cell.folds))  # fmt: skip
    return Choices(criteria[:, :, 0], candidates, estimates, of_variants, at_edge)


def edges(method: str, tried: Sequence[Mapping[str, Any]], settings: Settings) -> Flags:
    """Tell which of the settings that were tried lie at an edge of their grid: shape (settings,).

    There a parameter has the least or the greatest of more than two numbers, and could go beyond it: the best may
    lie outside the grid.
    """
    at_edge = np.zeros(len(tried), dtype=bool)
    for name in tried[0]:
        values = [setting[name] for setting in tried]
        distinct = set(values)
        if len(distinct) > 2 and all(isinstance(value, int | float) for value in distinct):
            ends = [end for end in (min(distinct), max(distinct)) if not settings.is_limit(method, name, end)]
            at_edge |= np.isin(values, ends)
    return at_edge


def training_weights(cell: RankedUnits) -> Floats:
    """Return weights (texts, folds): 1 where a text lies outside the fold and may decide on the fold's setting."""
    return (cell.fold[:, None] != np.array(cell.folds)).astype(np.float64)


def _candidates(cell: RankedUnits, settings: Settings) -> dict[Column, list[int]]:
    """Return the columns to choose among for each key (its `setting`: the variant), the most preferred first.

    Values that a run adds to a method's own grid, to draw what lies beyond it, are chosen only where the run
    has none of the grid. Nothing is chosen that is scored on other texts than the default: a sweep over one
    subset says nothing of how a setting ranks all texts.
    """
    groups: dict[Column, list[int]] = {}
    for index, column in enumerate(cell.columns):
        variant = variant_of(column.setting, settings.METHODS[column.method].grid)
        groups.setdefault(column._replace(setting=variant), []).append(index)
    candidates = {}
    for key in sorted(groups):
        first, *others = _in_order(cell, settings, groups[key])
        comparable = [index for index in others if (cell.scored[index] == cell.scored[first]).all()]
        candidates[key] = [first, *comparable]
        if len(comparable) < len(others):
            log.info(
                "%s: %s: %d of %d settings are not candidates, because they score other texts than the default",
                cell.name, key.method, len(others) - len(comparable), 1 + len(others),
            )  # fmt: skip
    return candidates


def _in_order(cell: RankedUnits, settings: Settings, among: Sequence[int]) -> list[int]:
    """Return the grid's columns: at the defaults first, then by ascending parameters."""
    method = settings.METHODS[cell.columns[among[0]].method]
    chosen = {index: grid_values(cell.columns[index], settings) for index in among}
    inside = [
        index for index in among if all(value in method.grid[name] for name, value in chosen[index].items())
    ]
    defaults = {name: method.defaults[name] for name in method.grid}
    return sorted(
        inside or among, key=lambda index: (chosen[index] != defaults, tuple(chosen[index].values()))
    )


def grid_values(column: Column, settings: Settings) -> dict[str, Any]:
    """Return the column's values of its method's grid parameters."""
    parsed = settings.parse_setting(column.method, column.setting)
    return {name: parsed[name] for name in settings.METHODS[column.method].grid}


def mostly_empty(cell: RankedUnits, settings: Settings) -> Flags:
    """Tell for each column whether over 5 % of its texts score as a text in which the method finds nothing to score."""
    empty = [settings.empty_score(column.method, column.setting) for column in cell.columns]
    level = np.array([np.nan if score is None else score for score in empty])
    return (cell.scores == level[:, None]).sum(axis=1) > 0.05 * cell.scored.sum(axis=1)


def widening(cell: RankedUnits, settings: Settings) -> Floats:
    """Return how much wider than by the bootstrap each column's intervals must be; 1 if the bootstrap is enough."""
    return np.array([CROSS_FITTED if settings.cross_fitted(c.method) else 1.0 for c in cell.columns])
