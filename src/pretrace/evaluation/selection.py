"""Choose the setting that a metric is of: each, the default, the best on the test
texts, the best on other folds."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from pretrace.evaluation.roc import (
    Flags,
    Floats,
    Ranking,
    Weights,
    Whole,
    ranks_of,
    ratio,
)
from pretrace.evaluation.scores import RankedUnits
from pretrace.evaluation.significance import CROSS_FITTED, expansion
from pretrace.methods.settings import Column
from pretrace.questions import method_facts
from pretrace.runtime.logs import log


class RankingKey(NamedTuple):
    """What is ranked: the scores of a column, or of one a fold (in fold order), on the
    texts that `partner` scores too.

    Columns of several folds score the same texts, and so do the partner's; -1: no
    partner.
    """

    columns: tuple[int, ...]
    partner: int = -1


@dataclass(frozen=True)
class Estimand:
    """One number of the metrics table: a metric over one ranking."""

    selection: str
    metric: int
    ranking: RankingKey

    @property
    def column(self) -> int:
        """Return the column of scores; of several, that of the first fold."""
        return self.ranking.columns[0]

    def within(self, other: "Estimand") -> "Estimand":
        """Restrict the estimand to the texts that the other one scores too."""
        shared = self.ranking._replace(partner=other.column)
        return replace(self, ranking=shared)


@dataclass
class Rankings:
    """The rankings of some units, each sorted once.

    Settings that rank the units alike share one: in a grid of SURP that is two in five.
    """

    units: RankedUnits
    _known: dict[RankingKey, Ranking] = field(default_factory=dict)
    _distinct: dict[bytes, Ranking] = field(default_factory=dict)

    def _scores(self, columns: tuple[int, ...]) -> Floats:
        """Return a column's scores; of several, each text's rank among all texts at the
        setting of its fold.

        Ranks make scores of different settings comparable, and need no label. They keep
        the order of each setting, so that a method with one setting has the same values
        held out as by default.
        """
        if len(columns) == 1:
            return self.units.scores[columns[0]]
        ranks = ranks_of(self.units.scores[[*columns]])
        fold_of_text = np.searchsorted(self.units.folds, self.units.fold)
        texts = np.arange(len(fold_of_text))
        return ranks[fold_of_text, texts]

    def ranking(self, key: RankingKey) -> Ranking:
        if key not in self._known:
            is_ranked = self.units.scored[key.columns[0]]
            if key.partner >= 0:
                is_ranked = is_ranked & self.units.scored[key.partner]
            rows = np.flatnonzero(is_ranked)
            scores = self._scores(key.columns)
            ranking = Ranking.of(scores, self.units.label, rows)
            self._known[key] = self._distinct.setdefault(ranking.key, ranking)
        return self._known[key]

    def sizes(self, key: RankingKey) -> tuple[int, int]:
        """Count the members and non-members of a ranking."""
        ranking = self.ranking(key)
        return len(ranking.members), len(ranking.nonmembers)

    def metrics(
        self, keys: Iterable[RankingKey], weights: Weights
    ) -> dict[RankingKey, Floats]:
        """Return every metric of each ranking under weights of shape (texts,
        resamples): (metrics, resamples).

        NaN where a resample left no pair.
        """
        metrics = {}
        of_ranking = {}
        for key in keys:
            ranking = self.ranking(key)
            if id(ranking) not in of_ranking:
                of_ranking[id(ranking)] = ratio(*ranking.counts(weights))
            metrics[key] = of_ranking[id(ranking)]
        return metrics

    def values(self, estimands: Sequence[Estimand], weights: Weights) -> Floats:
        """Return every estimand under weights of shape (texts, resamples): shape
        (estimands, resamples)."""
        metrics = self.metrics((estimand.ranking for estimand in estimands), weights)
        values = []
        for estimand in estimands:
            values.append(metrics[estimand.ranking][estimand.metric])
        return np.stack(values)


def variant_of(setting: str, grid: Collection[str]) -> str:
    """Return the part of a setting that no selection chooses: parameters off their
    default, outside the grid."""
    fixed = []
    for part in setting.split(";"):
        name = part.split("=")[0]
        if part and name not in grid:
            fixed.append(part)
    return ";".join(fixed)


class Choices(NamedTuple):
    """What the selections choose among the settings of some units.

    `candidates` are the columns that a key chooses among, the default first; the key's
    `setting` names the variant. `estimands` are those of the methods as they are,
    `of_variants` those of methods with a parameter outside the grid off its default,
    such as `con_recall` with `access=zero`. `at_edge` (columns,): whether the setting
    lies at an edge of the settings that could be chosen.
    """

    candidates: dict[Column, list[int]]
    estimands: list[Estimand]
    of_variants: list[Estimand]
    at_edge: Flags


def choose(units: RankedUnits, rankings: Rankings) -> Choices:
    """Choose settings per method, variant, view, start token, draw and reference,
    separately for each metric.

    `default`: the paper's value or the project's; if the run leaves it out, the run's
    first setting. `best_on_test`: the best on the evaluated texts. `held_out`: for each
    fold the setting that is best on the texts of the other folds, and the metric over
    the texts of all folds, each ranked at the setting of its fold. Ties go to the
    default, then to the lower parameters. If the other folds lack a class, the default
    is used, and everywhere if a class has fewer documents than
    `resampling.LEAST_DOCUMENTS`.
    """
    criteria = _criteria(units, rankings)
    candidates = _candidates(units)
    choices = Choices(candidates, [], [], np.zeros(len(units.columns), dtype=bool))
    for key, among in candidates.items():
        order = np.array(among)
        tried = []
        for index in among:
            setting = units.columns[index].setting
            tried.append(grid_values(key.method, setting))
        choices.at_edge[order] = edges(key.method, tried)
        # of each metric: on the test texts, then outside each fold
        best = order[np.nan_to_num(criteria[order], nan=-1.0).argmax(axis=0)]
        estimands = choices.of_variants if key.setting else choices.estimands
        for metric, (on_test, *on_others) in enumerate(best.tolist()):
            default = (among[0],)
            held_out = tuple(on_others)
            if units.few_documents:
                held_out = default
            elif len(set(on_others)) == 1:
                held_out = (on_others[0],)
            estimands.append(Estimand("default", metric, RankingKey(default)))
            estimands.append(Estimand("best_on_test", metric, RankingKey((on_test,))))
            estimands.append(Estimand("held_out", metric, RankingKey(held_out)))
    is_undecided = np.isnan(criteria[:, 0, 1:]).all(axis=0)
    if is_undecided.any():
        log.info(
            "%s: in %d of %d folds the other folds lack a class; the default is used "
            "there",
            units.name,
            is_undecided.sum(),
            len(units.folds),
        )
    return choices


def _criteria(units: RankedUnits, rankings: Rankings) -> Floats:
    """Return every metric of each column on all texts and, for each fold, on the texts
    outside it: (columns, metrics, 1 + folds)."""
    # a text may decide on the setting of the folds that it lies outside of
    outside = units.fold[:, None] != np.array(units.folds)
    everywhere = np.ones((len(units.label), 1))
    weights = np.concatenate([everywhere, outside], axis=1)
    columns = [RankingKey((column,)) for column in range(len(units.columns))]
    metrics = rankings.metrics(columns, weights)
    return np.stack([*metrics.values()])


def edges(method: str, tried: Sequence[Mapping[str, Any]]) -> Flags:
    """Tell which of the settings that were tried lie at an edge of their grid: shape
    (settings,).

    There a parameter has the least or the greatest of more than two numbers, and could
    go beyond it: the best may lie outside the grid.
    """
    at_edge = np.zeros(len(tried), dtype=bool)
    for name in tried[0]:
        values = [setting[name] for setting in tried]
        are_numbers = all(isinstance(value, int | float) for value in values)
        if len(set(values)) <= 2 or not are_numbers:
            continue
        for end in (min(values), max(values)):
            if not method_facts.is_limit(method, name, end):
                at_edge |= np.equal(values, end)
    return at_edge


def _candidates(units: RankedUnits) -> dict[Column, list[int]]:
    """Return the columns to choose among for each key (its `setting`: the variant), the
    most preferred first.

    Nothing is chosen that is scored on other texts than the default: a sweep over one
    subset says nothing of how a setting ranks all texts.
    """
    groups: dict[Column, dict[int, Preference]] = {}
    for index, column in enumerate(units.columns):
        variant = variant_of(column.setting, method_facts.METHODS[column.method].grid)
        group = groups.setdefault(column._replace(setting=variant), {})
        group[index] = preference(column.method, column.setting)
    candidates = {}
    for key, group in sorted(groups.items()):
        ordered = sorted(group, key=lambda index: group[index])
        in_grid = [index for index in ordered if not group[index].beyond_grid]
        first, *others = in_grid or ordered
        comparable = []
        for index in others:
            if (units.scored[index] == units.scored[first]).all():
                comparable.append(index)
        candidates[key] = [first, *comparable]
        if len(comparable) < len(others):
            log.info(
                "%s: %s: %d of %d settings are not candidates, because they score "
                "other texts than the default",
                units.name,
                key.method,
                len(others) - len(comparable),
                1 + len(others),
            )
    return candidates


class Preference(NamedTuple):
    """The order of a method's settings: those of its grid first, of these the default,
    then by ascending parameters.

    Values that a run adds to a method's own grid, to draw what lies beyond it, are
    chosen only where the run has none of the grid.
    """

    beyond_grid: bool
    off_default: bool
    values: tuple[Any, ...]


def preference(method: str, setting: str) -> Preference:
    """Return the place of a setting among those of its method."""
    known = method_facts.METHODS[method]
    values = grid_values(method, setting)
    beyond_grid = off_default = False
    for name, value in values.items():
        beyond_grid |= value not in known.grid[name]
        off_default |= value != known.defaults[name]
    return Preference(beyond_grid, off_default, tuple(values.values()))


def grid_values(method: str, setting: str) -> dict[str, Any]:
    """Return a setting's values of its method's grid parameters."""
    parsed = method_facts.parse_setting(method, setting)
    return {name: parsed[name] for name in method_facts.METHODS[method].grid}


SAME_RANKS = 0.99
"""Spearman's correlation from which on two settings rank the texts alike."""

ENOUGH_RANKED = 30
"""Texts from which on such a correlation is hardly chance."""


def same_ranks(units: RankedUnits, columns: Collection[int]) -> dict[int, str]:
    """Return for each of these columns the method with fewer parameters that ranks the
    units as it does, at one of its settings; "" without one.

    At an edge of its grid a method may be another one: Min-K% at k = 1 is Loss, SURP at
    an entropy that no token exceeds is Min-K%.
    """
    parameters = []
    for known in units.columns:
        parameters.append(len(method_facts.METHODS[known.method].grid))
    most_parameters = max([parameters[column] for column in columns], default=0)
    ranked = [*columns]
    for place, number in enumerate(parameters):
        if number < most_parameters:
            ranked.append(place)
    ranks = np.empty_like(units.scores)
    ranks[ranked] = ranks_of(units.scores[ranked])
    others = {}
    for column in columns:
        own, is_scored = units.columns[column], units.scored[column]
        simpler = []
        for place, other in enumerate(units.columns):
            is_simpler = parameters[place] < parameters[column]
            is_alike = is_simpler and other.view == own.view
            if is_alike and (units.scored[place] == is_scored).all():
                simpler.append(place)
        others[column] = ""
        if simpler and is_scored.sum() >= ENOUGH_RANKED:
            correlations = _correlations(ranks[[column, *simpler]][:, is_scored])
            most = int(correlations.argmax())
            if correlations[most] >= SAME_RANKS:
                others[column] = units.columns[simpler[most]].method
    return others


def _correlations(rows: Floats) -> Floats:
    """Return the correlation of the first row with each of the others."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.maximum(np.linalg.norm(centred, axis=1), 1e-12)
    return centred[1:] @ centred[0] / (lengths[1:] * lengths[0])


def mostly_empty(units: RankedUnits) -> Flags:
    """Tell for each column whether over 5 % of its texts score as a text in which the
    method finds nothing to score."""
    of_empty = []
    for column in units.columns:
        score = method_facts.empty_score(column.method, column.setting)
        of_empty.append(np.nan if score is None else score)
    is_empty = units.scores == np.array(of_empty)[:, None]
    return is_empty.sum(axis=1) > 0.05 * units.scored.sum(axis=1)


def widening_factors(units: RankedUnits) -> Floats:
    """Return how much wider than by the bootstrap each column's intervals must be."""
    learned = [method_facts.cross_fitted(column.method) for column in units.columns]
    for_learning = np.where(learned, CROSS_FITTED, 1.0)
    return for_learning * expansion(units.groups.least)


RELABELLINGS = 200
"""They measure a spread to about 5 %."""


def selection_factors(units: RankedUnits, choices: Choices, seed: int) -> Floats:
    """Return how much wider than by the bootstrap the held-out intervals of each
    column's method must be: (columns,).

    The bootstrap takes the settings of the folds as given. Where nothing is to be found
    the choice follows the noise of the other folds, and the held-out AUC scatters more
    than that of one setting, the more the less the settings rank the texts alike.
    `_excess` measures this on the texts themselves; 1 for a method with one setting.
    """
    factors = np.ones(len(units.columns))
    chosen = [among for among in choices.candidates.values() if len(among) > 1]
    # of few documents, the default setting is taken
    if units.few_documents or not chosen:
        return factors
    labels = np.repeat(units.label[None], 1 + RELABELLINGS, axis=0)
    labels[1:] = np.random.default_rng(seed).permuted(labels[1:], axis=1)
    # einsum takes five times as long over truth values
    of_texts = labels.T.astype(float)
    for among in chosen:
        scored = units.scored[among[0]]
        scores = units.scores[np.ix_(among, scored)]
        factors[among] = _excess(scores, units.fold[scored], of_texts[scored])
    return factors


def _excess(scores: Floats, fold: Whole, labels: Floats) -> float:
    """Return the spread around 0.5 of the held-out AUC over random labels, by that of
    the settings that are chosen with the true ones; at least 1.

    The bootstrap scatters as the latter does, also where most texts tie at the default.
    `scores` (settings, texts), `fold` (texts,), `labels` (texts, 1 + relabellings), the
    true ones first.
    """
    folds, place = np.unique(fold, return_inverse=True)
    chosen = np.empty((len(folds), labels.shape[1]), dtype=np.intp)
    for number in range(len(folds)):
        others = place != number
        ranks_of_others = ranks_of(scores[:, others])
        areas = _areas(ranks_of_others, labels[others])
        chosen[number] = np.nan_to_num(areas, nan=-1.0).argmax(axis=0)
    texts = np.arange(len(fold))[:, None]
    ranks_at_chosen = ranks_of(scores)[chosen[place], texts]
    mixed = ranks_of(ranks_at_chosen.T)
    relabelled = labels[:, 1:]
    chosen_anew = _areas(mixed[1:], relabelled, paired=True)
    as_given = _areas(mixed[:1], relabelled)
    usual = _spread(as_given)
    # where all texts score the same, nothing scatters
    return max(1.0, _spread(chosen_anew) / usual) if usual else 1.0


def _spread(areas: Floats) -> float:
    return float(np.sqrt(np.nanmean((areas - 0.5) ** 2)))


def _areas(ranks: Floats, labels: Floats, *, paired: bool = False) -> Floats:
    """Return the AUCs of rankings (settings, texts) under labels (texts, relabellings):
    (settings, relabellings).

    `paired`: of a ranking for each relabelling, shape (relabellings,). NaN where a
    class is missing.
    """
    members = labels.sum(axis=0)
    nonmembers = len(labels) - members
    sums = np.einsum("rn,nr->r", ranks, labels) if paired else ranks @ labels
    least = members * (members + 1) / 2
    return ratio(sums - least, members * nonmembers)
