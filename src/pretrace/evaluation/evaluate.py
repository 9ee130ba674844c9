"""From scores to the tables of metrics and tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.comparison import compare, plan_comparisons
from pretrace.evaluation.documents import document_metrics, welch_tests
from pretrace.evaluation.metrics import FEW_TEXTS, METRIC_KEYS, METRICS, level_of
from pretrace.evaluation.resampling import FEWEST_DOCUMENTS, resample
from pretrace.evaluation.roc import Flags, Floats, Whole, compact
from pretrace.evaluation.scores import (
    EvaluationSet,
    Part,
    RankedUnits,
    Scores,
    UnitScores,
    parts_of,
    text_units,
)
from pretrace.evaluation.selection import (
    Choices,
    Estimand,
    RankingKey,
    Rankings,
    Settings,
    choose,
    mostly_empty,
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
from pretrace.questions import known
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import Progress, log
from pretrace.seeds import seed_of

METRIC_COLUMNS = [
    *METRIC_KEYS,
    "n_members",
    "n_nonmembers",
    "metric",
    "value",
    "low",
    "high",
    "marks",
]
TEST_COLUMNS = [
    *METRIC_KEYS,
    "baseline",
    "metric",
    "test",
    "difference",
    "low",
    "high",
    "p",
]

RowValues = list[tuple[Any, ...]]


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
    settings: Settings = known,
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
    label = text_units(benchmark)["label"]
    if label.nunique() < 2:
        raise InputError(
            f"benchmark '{benchmark_name}' has {(label == 1).sum()} members "
            f"(label 1) and {(label == 0).sum()} "
            "non-members (label 0): metrics need both classes. Add texts of the "
            "missing class, or ask for scores alone."
        )
    cut: list[tuple[str, UnitScores, Sequence[EvaluationSet]]] = []
    if "text" in scores:
        whole = scores["text"]._replace(units=scores["text"].units.assign(subset=""))
        cut = [
            ("text", of_texts, evaluation_sets)
            for of_texts in (scores["text"], *[whole] * pooled)
        ]
    if "document" in scores:
        cut.append(("document", scores["document"], (EvaluationSet(),)))
    metrics: RowValues = []
    tests: RowValues = []
    names = (study, model, benchmark_name)
    parts: list[Part] = []
    for unit, of_units, sets in cut:
        parts += parts_of(unit, of_units, sets)
    with Progress(
        f"evaluate {model}/{benchmark_name}", len(parts), "slices"
    ) as progress:
        for part in parts:
            rows, tested = _evaluate_units(part.ranked(), names, resamples, settings)
            metrics += rows
            tests += tested
            progress.update()
    without = sorted({chosen.name for chosen in evaluation_sets if chosen.draw is None})
    drawn = {
        column.method
        for units in scores.values()
        for column in units.scores
        if column.draw >= 0
    }
    if drawn and without:
        log.info(
            "%s/%s: %s have a prefix and no metrics on the evaluation set %s, "
            "whose texts include the prefix",
            model,
            benchmark_name,
            ", ".join(sorted(drawn)),
            ", ".join(without),
        )
    if not metrics:
        raise InputError(
            f"no score of {model} belongs to a labelled text of "
            f"'{benchmark_name}': metrics need "
            "scores of members and non-members. Check the run's subsets and "
            "lengths, or delete the scores "
            "file and run again."
        )
    return _frame(metrics, METRIC_COLUMNS), _frame(tests, TEST_COLUMNS)


def _evaluate_units(
    units: RankedUnits, names: tuple[str, ...], resamples: int, settings: Settings
) -> tuple[RowValues, RowValues]:
    rankings = Rankings(units)
    choices = choose(units, rankings, settings)
    grid: list[Estimand] = []
    for column, metric in product(range(len(units.columns)), range(len(METRICS))):
        grid.append(Estimand("grid", metric, RankingKey((column,))))
    shown = [*grid, *choices.estimands, *choices.of_variants]
    planned = plan_comparisons(units, choices.estimands)
    estimands = dict.fromkeys(shown)
    for group in planned:
        for pair in group:
            estimands[pair.ours] = None
            if pair.theirs is not None:
                estimands[pair.theirs] = None
    place = (
        units.unit,
        units.slice.subset,
        units.slice.length,
        units.evaluation_set,
        units.draw,
    )
    seed = seed_of(*names, *place)
    estimates = _estimate([*estimands], units, rankings, resamples, seed)
    values = dict(zip(estimands, estimates.values, strict=True))
    factors = _factors([*estimands], units, choices, settings, seed)
    draws = widen_resamples(estimates.draws, estimates.values, factors)
    low, high = _intervals([*estimands], draws, estimates.values, estimates.texts)
    ends = dict(zip(estimands, zip(low, high, strict=True), strict=True))
    describe = _Described(
        units,
        settings,
        choices,
        mostly_empty(units, settings),
        _learned(units, settings),
    )
    metrics: RowValues = []
    for estimand in shown:
        size = rankings.sizes(estimand.ranking)
        marks = describe.marks(estimand, size)
        numbers = map(float, (values[estimand], *ends[estimand]))
        metrics.append(
            (*describe.keys(estimand), *size, METRICS[estimand.metric], *numbers, marks)
        )
    tested = compare(
        planned, rankings, values, dict(zip(estimands, draws, strict=True))
    )
    if units.unit == "document":
        weights = np.concatenate(list(resample(units.groups, resamples, seed)), axis=1)
        for estimand, *value in document_metrics(units, shown, weights):
            size = rankings.sizes(estimand.ranking)
            metrics.append(
                (
                    *describe.keys(estimand),
                    *size,
                    *value,
                    describe.marks(estimand, size),
                )
            )
        tested += welch_tests(units, [*choices.estimands, *choices.of_variants])
    rows = [
        (*row[:-3], np.nan, np.nan, row[-1]) if FEW_TEXTS in row[-1] else row
        for row in metrics
    ]
    return rows, [(*describe.keys(test.row), *test[1:]) for test in tested]


@dataclass(frozen=True)
class _Estimates:
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
    values = rankings.values(estimands, np.ones((len(units.label), 1)))[:, 0]
    parts = []
    for weights in resample(units.groups, resamples, seed):
        parts.append(rankings.values(estimands, compact(weights)))
    texts = np.array([min(rankings.sizes(estimand.ranking)) for estimand in estimands])
    return _Estimates(values, texts, np.concatenate(parts, axis=1))


def _factors(
    estimands: Sequence[Estimand],
    units: RankedUnits,
    choices: Choices,
    settings: Settings,
    seed: int,
) -> Floats:
    """Return how much wider than by the bootstrap each estimand's interval must be,
    shape (estimands,)."""
    plain = widening_factors(units, settings)
    held_out = plain * selection_factors(units, choices, seed)
    factors = np.empty(len(estimands))
    for place, estimand in enumerate(estimands):
        of_columns = held_out if estimand.selection == "held_out" else plain
        factors[place] = of_columns[estimand.ranking.columns[0]]
    return factors


def _learned(units: RankedUnits, settings: Settings) -> Flags:
    """Tell of each column whether its scores are learned from the labels of other
    folds."""
    learned = []
    for column in units.columns:
        is_calibrated = "calibration=cross_fitted" in column.setting
        learned.append(settings.cross_fitted(column.method) or is_calibrated)
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
    rates = np.array(
        [level_of(METRICS[estimand.metric]) is not None for estimand in estimands]
    )
    low, high = percentile_interval(
        np.where(rates[:, None], centre_resamples(draws, values), draws)
    )
    least, greatest = wilson(values, np.maximum(texts, 1) * np.where(rates, 1.0, 3.0))
    return np.clip(np.minimum(low, least), 0, 1), np.clip(
        np.maximum(high, greatest), 0, 1
    )


@dataclass(frozen=True)
class _Described:
    """Tell what rows are of; `empty` (columns,) as `mostly_empty` gives it, `learned`
    (columns,): from labels."""

    units: RankedUnits
    settings: Settings
    choices: Choices
    empty: Flags
    learned: Flags

    def keys(self, estimand: Estimand) -> tuple[Any, ...]:
        """Return the keys of a row: its setting, or those of the folds in their
        order."""
        units = self.units
        columns = [units.columns[column] for column in estimand.ranking.columns]
        about = columns[0]._asdict() | {
            "setting": "|".join(column.setting for column in columns)
        }
        if columns[0].draw < 0:
            about["draw"] = units.draw
        place = (
            units.slice.subset,
            units.slice.length,
            units.evaluation_set,
            estimand.selection,
        )
        return (units.unit, *about.values(), *place)

    def marks(self, estimand: Estimand, size: tuple[int, int]) -> str:
        """Return the marks of a row; `size`: its members and non-members."""
        units, selection = self.units, estimand.selection
        columns = [*estimand.ranking.columns]
        convention = self.settings.METHODS[units.columns[columns[0]].method].convention
        level = level_of(METRICS[estimand.metric])
        few = selection == "held_out" and units.few_documents
        chosen = selection in ("best_on_test", "held_out") and not few
        marks = {
            # of a held-out value: in more than half of the folds
            "at_grid_edge": chosen and self.choices.at_edge[columns].mean() > 0.5,
            "few_documents": few,
            FEW_TEXTS: min(size) < FEWEST_DOCUMENTS,
            "conditional_on_documents": units.groups.conditional,
            "cross_fitted": self.learned[columns].any(),
            "convention_default": selection == "default" and bool(convention),
            "level_below_resolution": level is not None and level * size[1] < 100,
            "over_5_percent_empty": self.empty[columns].any(),
        }
        return ";".join(
            sorted(
                [
                    *(mark for mark, holds in marks.items() if holds),
                    *self._short_of_shots(columns),
                ]
            )
        )

    def _short_of_shots(self, columns: Sequence[int]) -> set[str]:
        """Return the mark of a prefix that lost shots because they do not fit into the
        model's context."""
        column = self.units.columns[columns[0]]
        asked = self.settings.parse_setting(column.method, column.setting).get(
            "shots", 0
        )
        used = min(self.units.shots_used.get(place, asked) for place in columns)
        return {f"{used} of {asked} shots"} if used < asked else set()


def _frame(rows: RowValues, columns: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=columns)
    whole = dict.fromkeys(("draw", "length"), "Int64") | {
        name: "int64" for name in ("n_members", "n_nonmembers") if name in columns
    }
    keys = [
        name for name in [*METRIC_KEYS, "baseline", "metric", "test"] if name in columns
    ]
    return frame.astype(whole).sort_values(keys, kind="stable", ignore_index=True)
