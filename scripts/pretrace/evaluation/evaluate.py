"""From scores to the tables of metrics and tests."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.cells import EvaluationSet, RankedUnits, Scores, cells, text_units
from pretrace.evaluation.comparison import compare, plan_comparisons
from pretrace.evaluation.documents import document_metrics, welch_tests
from pretrace.evaluation.metrics import KEYS, METRICS, level_of
from pretrace.evaluation.permutation import relabelled_aucs
from pretrace.evaluation.resampling import resample
from pretrace.evaluation.roc import Flags, compact
from pretrace.evaluation.selection import (
    Estimate,
    Part,
    Rankings,
    Settings,
    choose,
    mostly_empty,
    widening,
)
from pretrace.evaluation.significance import AS_PUBLISHED_RESAMPLES, percentile_interval, widened
from pretrace.questions import known
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.runtime.logs import Progress, log

METRIC_COLUMNS = [*KEYS, "n_members", "n_nonmembers", "metric", "value", "low", "high", "marks"]
TEST_COLUMNS = [*KEYS, "baseline", "metric", "test", "difference", "low", "high", "p", "p_holm"]


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
    randomised: bool = False,
    settings: Settings = known,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute the tables metrics and tests of one model's scores on one benchmark, of texts and scored documents.

    `scores` as `cells.scores_of` gives them; their order does not matter.

    Selections: `grid`, a row a setting; `default`, `best_on_test` and `held_out`, the settings taken as given
    (`selection.choose`). Every row has an interval. Variants of a method (a parameter outside the grid off its default)
    choose for themselves, and enter no test. `pooled`: beside its subsets, the benchmark as a whole, whose rows have
    the subset "". The same `resamples` serve every method of one subset, length, evaluation set and draw. They redraw
    documents (or texts), each keeping its fold: redrawn within folds, which hold few documents, they would scatter too
    little.

    Tests: `bootstrap` on default and held-out, `delong` and `t_as_published` on default. `randomised`: members were
    drawn at random within each document, so that default and held-out AUCs are tested against chance by as many
    relabellings, too: `permutation`. Texts without a score, for one method, and without a label, for all, are left out.

    Raises InputError where labels or scores leave nothing to evaluate.
    """
    if resamples < AS_PUBLISHED_RESAMPLES:
        raise InputError(
            f"{resamples} resamples are too few for an interval: set at least {AS_PUBLISHED_RESAMPLES}."
        )
    _require_both_classes(text_units(benchmark), benchmark_name)
    cut = []
    if "text" in scores:
        units, of_texts = scores["text"]
        cut = [("text", units, of_texts, evaluation_sets)]
        cut += [("text", units.assign(subset=""), of_texts, evaluation_sets)] * pooled
    if "document" in scores:
        cut.append(("document", *scores["document"], (EvaluationSet(),)))
    metrics: list[tuple[Any, ...]] = []
    tests: list[tuple[Any, ...]] = []
    names = (study, model, benchmark_name)
    with Progress(f"evaluate {model}/{benchmark_name}", total=None, unit="cells") as progress:
        for unit, units, scores_of, sets in cut:
            for cell in cells(unit, units, scores_of, sets):
                rows, tested = _evaluate_cell(cell, names, resamples, settings, randomised=randomised)
                metrics += rows
                tests += tested
                progress.update()
    _log_prefixed(scores, evaluation_sets, names)
    if not metrics:
        raise InputError(
            f"no score of {model} belongs to a labelled text of '{benchmark_name}': metrics need "
            "scores of members and non-members. Check the run's subsets and lengths, or delete the scores "
            "file and run again."
        )
    return _frame(metrics, METRIC_COLUMNS), _frame(tests, TEST_COLUMNS)


def _log_prefixed(scores: Scores, evaluation_sets: Sequence[EvaluationSet], names: Sequence[str]) -> None:
    without = {evaluation_set.name for evaluation_set in evaluation_sets if evaluation_set.draw is None}
    prefixed = sorted(
        {column.method for units in scores.values() for column in units.scores if column.draw >= 0}
    )
    if prefixed and without:
        log.info(
            "%s: %s have a prefix and no metrics on the evaluation set %s, whose texts include the prefix",
            "/".join(names[1:]), ", ".join(prefixed), ", ".join(sorted(without)),
        )  # fmt: skip


def _require_both_classes(units: pd.DataFrame, benchmark: str) -> None:
    members, nonmembers = ((units["label"] == label).sum() for label in (1, 0))
    if not members or not nonmembers:
        raise InputError(
            f"benchmark '{benchmark}' has {members} members (label 1) and {nonmembers} non-members "
            "(label 0): metrics need both classes. Add texts of the missing class, or ask for scores alone."
        )


def _evaluate_cell(
    cell: RankedUnits,
    names: tuple[str, ...],
    resamples: int,
    settings: Settings,
    *,
    randomised: bool,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    rankings = Rankings(cell)
    choices = choose(cell, rankings, settings)
    grid = [
        Estimate("grid", metric, (Part(column, None),))
        for column in range(len(cell.columns))
        for metric in range(len(METRICS))
    ]  # fmt: skip
    planned = plan_comparisons(cell, choices.estimates)
    compared = (side for group in planned for pair in group for side in (pair.ours, pair.theirs) if side)
    chosen = [*choices.estimates, *choices.of_variants]
    drawn = list(dict.fromkeys([*chosen, *grid, *compared]))
    values = rankings.values(drawn, np.ones((len(cell.label), 1)))[:, 0]
    seed = seed_of(*names, cell.unit, cell.subset, cell.length, cell.evaluation_set, cell.draw)
    parts = [rankings.values(drawn, compact(weights)) for weights in resample(cell.groups, resamples, seed)]
    factors = widening(cell, settings)
    of_drawn = np.array([factors[estimate.parts[0].column] for estimate in drawn])
    draws = widened(np.concatenate(parts, axis=1), values, of_drawn)
    interval = dict(zip(drawn, zip(*percentile_interval(draws), strict=True), strict=True))
    known = dict(zip(drawn, values, strict=True))
    empty = mostly_empty(cell, settings)
    metrics = []
    for estimate in [*grid, *chosen]:
        low, high = interval[estimate]
        # a fold that lacks a class does not count
        sizes = [size for size in map(rankings.sizes, estimate.parts) if all(size)]
        marks = _marks(estimate, cell, sizes, empty, choices.at_edge, settings)
        totals = (sum(size[kind] for size in sizes) for kind in (0, 1))
        name = METRICS[estimate.metric]
        metrics.append(
            (*_keys(cell, estimate), *totals, name, float(known[estimate]), float(low), float(high), marks)
        )
    of_texts = randomised and cell.unit == "text"
    relabelled = relabelled_aucs(cell, choices, settings, resamples, seed) if of_texts else {}
    tested = compare(planned, rankings, known, dict(zip(drawn, draws, strict=True)), factors, relabelled)
    if cell.unit == "document":
        weights = np.concatenate(list(resample(cell.groups, resamples, seed)), axis=1)
        for estimate, *value in document_metrics(cell, [*grid, *chosen], weights):
            size = rankings.sizes(estimate.parts[0])
            marks = _marks(estimate, cell, [size], empty, choices.at_edge, settings)
            metrics.append((*_keys(cell, estimate), *size, *value, marks))
        tested += welch_tests(cell, chosen)
    return metrics, [(*_keys(cell, test.row), *test[1:]) for test in tested]


def _keys(cell: RankedUnits, estimate: Estimate) -> tuple[Any, ...]:
    """Return the keys of a row: settings in fold order; empty where a method has none."""
    first = cell.columns[estimate.parts[0].column]
    setting = "|".join(cell.columns[part.column].setting for part in estimate.parts)
    draw = first.draw if first.draw >= 0 else cell.draw
    return (
        cell.unit, first.method, setting if setting.strip("|") else "", first.view, first.start_token, draw,
        first.reference, cell.subset, cell.length, cell.evaluation_set, estimate.selection,
    )  # fmt: skip


def _marks(
    estimate: Estimate,
    cell: RankedUnits,
    sizes: Iterable[tuple[int, int]],
    empty: Flags,
    at_edge: Flags,
    settings: Settings,
) -> str:
    columns = [part.column for part in estimate.parts]
    scored = [cell.columns[column] for column in columns]
    level = level_of(METRICS[estimate.metric])
    conventions = settings.METHODS[cell.columns[columns[0]].method].convention
    chosen = estimate.selection == "best_on_test" or (
        estimate.selection == "held_out" and not cell.few_documents
    )
    marks = {
        # of a held-out value: in more than half of the folds
        "at_grid_edge": chosen and at_edge[columns].mean() > 0.5,
        "few_documents": estimate.selection == "held_out" and cell.few_documents,
        "conditional_on_documents": cell.groups.conditional,
        "cross_fitted": any(
            settings.cross_fitted(column.method) or "calibration=cross_fitted" in column.setting
            for column in scored
        ),
        "convention_default": estimate.selection == "default" and bool(conventions),
        "level_below_resolution": level is not None and any(level * size[1] < 100 for size in sizes),
        "over_5_percent_empty": bool(empty[columns].any()),
    }
    return ";".join(sorted(mark for mark, holds in marks.items() if holds))


def _frame(rows: list[tuple[Any, ...]], columns: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=columns)
    whole = dict.fromkeys(("draw", "length"), "Int64") | {
        name: "int64" for name in ("n_members", "n_nonmembers") if name in columns
    }
    keys = [name for name in [*KEYS, "baseline", "metric", "test"] if name in columns]
    return frame.astype(whole).sort_values(keys, kind="stable", ignore_index=True)
