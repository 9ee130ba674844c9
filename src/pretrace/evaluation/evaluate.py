"""From scores to the tables of metrics and tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pretrace.evaluation.comparison import Comparison, compare, plan_comparisons
from pretrace.evaluation.documents import Measured, document_metrics, welch_tests
from pretrace.evaluation.metrics import (
    FEW_DOCUMENTS,
    FEW_TEXTS,
    FEWEST_DOCUMENTS,
    METRIC_KEYS,
    METRICS,
    RANKS_AS,
    level_of,
)
from pretrace.evaluation.resampling import resample, whole_weights
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.evaluation.scores import (
    EvaluationSet,
    Part,
    RankedUnits,
    Scores,
    parts_of,
)
from pretrace.evaluation.selection import (
    Choices,
    Estimand,
    RankingKey,
    Rankings,
    choose,
    mostly_empty,
    same_ranks,
    selection_factors,
    widening_factors,
)
from pretrace.evaluation.significance import (
    AS_PUBLISHED_RESAMPLES,
    centre_resamples,
    percentile_interval,
    widen_resamples,
    wilson,
)
from pretrace.questions import method_facts
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress, log
from pretrace.seeds import seed_of

METRIC_COLUMNS = [
    *METRIC_KEYS, "n_members", "n_nonmembers", "metric", "value", "low", "high",
    "marks",
]  # fmt: skip
TEST_COLUMNS = [
    *METRIC_KEYS, "baseline", "metric", "test", "difference", "low", "high", "p",
]  # fmt: skip

Row = tuple[Any, ...]
"""A row of a table, in the order of its columns."""


def evaluate(
    scores: Scores,
    benchmark: pd.DataFrame,
    *,
    study: str,
    model: str,
    benchmark_name: str,
    resamples: int = 2000,
    evaluation_sets: Sequence[EvaluationSet] = (EvaluationSet(),),
    pooled: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute the tables metrics and tests of one model's scores on one benchmark, of
    texts and scored documents.

    `scores` as `scores.scores_of` gives them; their order does not matter.

    Selections: `grid`, a row a setting; `default`, `best_on_test` and `held_out`, the
    settings taken as given (`selection.choose`). A row of five or more texts of each
    class has an interval. Variants of a method (a parameter outside the grid off its
    default) choose for themselves, and enter no test. `pooled`: beside its subsets, the
    benchmark as a whole, whose rows have the subset "". The same `resamples` of
    documents (or texts) serve every method of one subset, length, evaluation set and
    draw.

    Tests: `bootstrap` on default and held-out, `t_as_published` on default. Texts
    without a score, for one method, and without a label, for all, are left out.

    Raises InputError where labels or scores leave nothing to evaluate.
    """
    if resamples < AS_PUBLISHED_RESAMPLES:
        raise InputError(
            f"{resamples} resamples are too few for an interval: set at least "
            f"{AS_PUBLISHED_RESAMPLES}."
        )
    label = benchmark["label"].dropna()
    if label.nunique() < 2:
        raise InputError(
            f"benchmark '{benchmark_name}' has {(label == 1).sum()} members (label 1) "
            f"and {(label == 0).sum()} non-members (label 0): metrics need both "
            "classes. Add texts of the missing class, or ask for scores alone."
        )
    metrics = []
    tests = []
    names = (study, model, benchmark_name)
    pair = f"{model}/{benchmark_name}"
    parts = _parts(scores, evaluation_sets, pooled)
    with Progress(f"evaluate {pair}", len(parts), "slices") as progress:
        for part in parts:
            rows, tested = _evaluate_units(part.ranked(), names, resamples)
            metrics += rows
            tests += tested
            progress.update()
    _note_unevaluated(scores, evaluation_sets, pair)
    if not metrics:
        raise InputError(
            f"no score of {model} belongs to a labelled text of '{benchmark_name}': "
            "metrics need scores of members and non-members. Check the run's subsets "
            "and lengths, or delete the scores file and run again."
        )
    return _table(metrics, METRIC_COLUMNS), _table(tests, TEST_COLUMNS)


def _parts(
    scores: Scores, evaluation_sets: Sequence[EvaluationSet], pooled: bool
) -> list[Part]:
    """Return all that is ranked: the texts of each subset, if `pooled` those of all
    subsets, and the documents."""
    parts = []
    if "text" in scores:
        texts = scores["text"]
        parts += parts_of("text", texts, evaluation_sets)
        if pooled:
            whole = texts._replace(units=texts.units.assign(subset=""))
            parts += parts_of("text", whole, evaluation_sets)
    if "document" in scores:
        parts += parts_of("document", scores["document"], (EvaluationSet(),))
    return parts


def _note_unevaluated(
    scores: Scores, evaluation_sets: Sequence[EvaluationSet], pair: str
) -> None:
    """Log the methods whose scores are not evaluated on sets that hold their prefix."""
    without = {chosen.name for chosen in evaluation_sets if chosen.draw is None}
    with_prefix = set()
    for units in scores.values():
        for column in units.scores:
            if column.draw >= 0:
                with_prefix.add(column.method)
    if with_prefix and without:
        log.info(
            "%s: %s have a prefix and no metrics on the evaluation set %s, whose texts "
            "include the prefix",
            pair,
            ", ".join(sorted(with_prefix)),
            ", ".join(sorted(without)),
        )


def _evaluate_units(
    units: RankedUnits, names: tuple[str, ...], resamples: int
) -> tuple[list[Row], list[Row]]:
    """Return the rows of metrics and of tests of some units."""
    rankings = Rankings(units)
    choices = choose(units, rankings)
    chosen = [*choices.estimands, *choices.of_variants]
    shown = [*_grid(units), *chosen]
    planned = plan_comparisons(units, choices.estimands)
    estimands = _with_compared(shown, planned)
    part = units.slice
    ranked = (units.unit, part.subset, part.length, units.evaluation_set, units.draw)
    seed = seed_of(*names, *ranked)

    estimates = _estimate(estimands, units, rankings, resamples, seed)
    factors = _factors(estimands, units, choices, seed)
    draws = widen_resamples(estimates.draws, estimates.values, factors)
    low, high = _intervals(estimands, draws, estimates.values, estimates.texts)

    measured = []
    # the estimands that are shown are the first ones
    for place, estimand in enumerate(shown):
        of_estimand = Measured(
            estimand,
            METRICS[estimand.metric],
            float(estimates.values[place]),
            float(low[place]),
            float(high[place]),
        )
        measured.append(of_estimand)
    values = dict(zip(estimands, estimates.values, strict=True))
    resampled = dict(zip(estimands, draws, strict=True))
    tested = []
    for group in planned:
        tested += compare(group, rankings, values, resampled)
    if units.unit == "document":
        weights = whole_weights(units.groups, resamples, seed)
        measured += document_metrics(units, shown, weights)
        tested += welch_tests(units, chosen)

    empty, learned = mostly_empty(units), _learned(units)
    of_chosen: set[int] = set()
    for estimand in chosen:
        of_chosen.update(estimand.ranking.columns)
    other_method = same_ranks(units, of_chosen)
    describe = _Described(units, choices, empty, learned, other_method)
    metrics = []
    for row in measured:
        size = rankings.sizes(row.estimand.ranking)
        metrics.append(describe.metrics_row(row, size))
    tests = []
    for test in tested:
        tests.append((*describe.keys(test.row), *test[1:]))
    return metrics, tests


def _grid(units: RankedUnits) -> Iterator[Estimand]:
    """Yield every metric of each setting."""
    for column in range(len(units.columns)):
        for metric in range(len(METRICS)):
            yield Estimand("grid", metric, RankingKey((column,)))


def _with_compared(
    shown: Sequence[Estimand], planned: Sequence[Sequence[Comparison]]
) -> list[Estimand]:
    """Return the estimands that are shown, then those that are compared, each once."""
    estimands = dict.fromkeys(shown)
    for group in planned:
        for pair in group:
            estimands[pair.ours] = None
            if pair.theirs is not None:
                estimands[pair.theirs] = None
    return [*estimands]


class _Estimates(NamedTuple):
    """Of estimands: their `values` and the `texts` of the smaller class (estimands,),
    and resamples of them, `draws` (estimands, resamples).
    """

    values: Floats
    texts: Whole
    draws: Floats


def _estimate(
    estimands: Sequence[Estimand],
    units: RankedUnits,
    rankings: Rankings,
    resamples: int,
    seed: int,
) -> _Estimates:
    once = np.ones((len(units.label), 1))
    values = rankings.values(estimands, once)[:, 0]
    draws = []
    for weights in resample(units.groups, resamples, seed):
        draws.append(rankings.values(estimands, weights))
    texts = []
    for estimand in estimands:
        texts.append(min(rankings.sizes(estimand.ranking)))
    return _Estimates(values, np.array(texts), np.concatenate(draws, axis=1))


def _factors(
    estimands: Sequence[Estimand],
    units: RankedUnits,
    choices: Choices,
    seed: int,
) -> Floats:
    """Return how much wider than by the bootstrap each estimand's interval must be,
    shape (estimands,)."""
    plain = widening_factors(units)
    held_out = plain * selection_factors(units, choices, seed)
    factors = np.empty(len(estimands))
    for place, estimand in enumerate(estimands):
        of_columns = held_out if estimand.selection == "held_out" else plain
        factors[place] = of_columns[estimand.column]
    return factors


def _learned(units: RankedUnits) -> Flags:
    """Tell of each column whether its scores are learned from the labels of other
    folds."""
    learned = []
    for column in units.columns:
        is_calibrated = "calibration=cross_fitted" in column.setting
        learned.append(method_facts.cross_fitted(column.method) or is_calibrated)
    return np.array(learned)


def _intervals(
    estimands: Sequence[Estimand], draws: Floats, values: Floats, texts: Whole
) -> tuple[Floats, Floats]:
    """Return the ends of the estimands' 95 % intervals, given their resamples `draws`
    (estimands, resamples).

    Resamples of a value near 0 or 1 hardly scatter. So no interval is shorter than
    Wilson's of as many trials as the smaller class has `texts`, of an AUC three times
    as many: near 1, its variance for n texts of each class is about that of a share of
    3n.
    """
    metrics = [METRICS[estimand.metric] for estimand in estimands]
    is_rate = np.array([level_of(metric) is not None for metric in metrics])
    centred = np.where(is_rate[:, None], centre_resamples(draws, values), draws)
    low, high = percentile_interval(centred)
    trials = np.maximum(texts, 1) * np.where(is_rate, 1.0, 3.0)
    least, greatest = wilson(values, trials)
    low = np.clip(np.minimum(low, least), 0, 1)
    high = np.clip(np.maximum(high, greatest), 0, 1)
    return low, high


@dataclass(frozen=True)
class _Described:
    """Tell what rows are of; `empty` (columns,) as `mostly_empty` gives it, `learned`
    (columns,): from labels; `other_method`: `same_ranks` of each chosen column."""

    units: RankedUnits
    choices: Choices
    empty: Flags
    learned: Flags
    other_method: Mapping[int, str]

    def keys(self, estimand: Estimand) -> Row:
        """Return the keys of a row: its setting, or those of the folds in their
        order."""
        units = self.units
        settings = [units.columns[place].setting for place in estimand.ranking.columns]
        column = units.columns[estimand.column]
        about = column._asdict()
        about["setting"] = "|".join(settings)
        # a method without a prefix has the draw of the set that it is evaluated on
        if column.draw < 0:
            about["draw"] = units.draw
        return (
            units.unit,
            *about.values(),
            units.slice.subset,
            units.slice.length,
            units.evaluation_set,
            estimand.selection,
        )

    def metrics_row(self, measured: Measured, size: tuple[int, int]) -> Row:
        """Return a row of metrics; `size`: its members and non-members. So few texts
        that an interval says nothing have none."""
        marks = sorted(self._marks(measured.estimand, size))
        low, high = measured.low, measured.high
        if FEW_TEXTS in marks:
            low = high = np.nan
        return (
            *self.keys(measured.estimand),
            *size,
            measured.metric,
            measured.value,
            low,
            high,
            ";".join(marks),
        )

    def _marks(self, estimand: Estimand, size: tuple[int, int]) -> set[str]:
        units, selection = self.units, estimand.selection
        columns = [*estimand.ranking.columns]
        method = method_facts.METHODS[units.columns[estimand.column].method]
        level = level_of(METRICS[estimand.metric])
        marks = self._short_of_shots(columns)
        if selection == "held_out" and units.few_documents:
            marks.add(FEW_DOCUMENTS)
        elif selection in ("best_on_test", "held_out"):
            # of a held-out value: in more than half of the folds
            if self.choices.at_edge[columns].mean() > 0.5:
                marks.add("at_grid_edge")
        elif selection == "default" and method.convention:
            marks.add("convention_default")
        if selection != "grid":
            others = [self.other_method[column] for column in columns]
            # of a held-out value: in more than half of the folds
            other = max(others, key=others.count)
            if other and others.count(other) > len(others) / 2:
                marks.add(RANKS_AS + other)
        if min(size) < FEWEST_DOCUMENTS:
            marks.add(FEW_TEXTS)
        if level is not None and level * size[1] < 100:
            marks.add("level_below_resolution")
        if units.groups.conditional:
            marks.add("conditional_on_documents")
        if self.learned[columns].any():
            marks.add("cross_fitted")
        if self.empty[columns].any():
            marks.add("over_5_percent_empty")
        return marks

    def _short_of_shots(self, columns: Sequence[int]) -> set[str]:
        """Return the mark of a prefix that lost shots because they do not fit into the
        model's context."""
        shots_used = self.units.shots_used
        if shots_used.keys().isdisjoint(columns):
            return set()
        column = self.units.columns[columns[0]]
        parameters = method_facts.parse_setting(column.method, column.setting)
        asked = int(parameters.get("shots", 0))
        used = min(shots_used.get(place, asked) for place in columns)
        return {f"{used} of {asked} shots"} if used < asked else set()


def _table(rows: Sequence[Row], columns: list[str]) -> pd.DataFrame:
    whole = {"draw": "Int64", "length": "Int64"}
    if "n_members" in columns:
        whole |= {"n_members": "int64", "n_nonmembers": "int64"}
    keys = [*METRIC_KEYS, "baseline", "metric", "test"]
    sorted_by = [name for name in keys if name in columns]
    table = pd.DataFrame(rows, columns=columns).astype(whole)
    return table.sort_values(sorted_by, kind="stable", ignore_index=True)
