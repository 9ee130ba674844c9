"""Every method against every other method on the same units, and against chance."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from pretrace.evaluation.metrics import METRICS, level_of
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.scores import RankedUnits
from pretrace.evaluation.selection import Estimand, Rankings
from pretrace.evaluation.significance import (
    bootstrap_test,
    centre_resamples,
    chance,
    t_test_as_published,
)
from pretrace.methods.settings import Column
from pretrace.runtime.logs import log

TESTED = ("auc", "tpr_at_1_fpr", "tpr_at_5_fpr", "tpr_at_10_fpr")
TESTED_SELECTIONS = ("default", "held_out")

LEAST_NONMEMBERS = 20
"""A true positive rate of fewer has no p: equally good methods would differ too often
(docs/size_and_power.md)."""


class Comparison(NamedTuple):
    """Two estimands of one selection and metric; `baseline` None is chance.

    `ours` and `theirs` are the same estimands on the texts that both have scores for.
    """

    row: Estimand
    baseline: Column | None
    ours: Estimand
    theirs: Estimand | None


class Tested(NamedTuple):
    """A row of the tests table: the estimand that its keys are of, and what follows
    them."""

    row: Estimand
    baseline: str
    metric: str
    test: str
    difference: float
    low: float
    high: float
    p: float


def plan_comparisons(
    units: RankedUnits, estimands: Sequence[Estimand]
) -> list[list[Comparison]]:
    """Return the pairs of methods to compare, in groups of one selection and metric.

    Logged where a baseline is ambiguous, or lacks scores of some texts.
    """
    scored = [mask.tobytes() for mask in units.scored]
    groups = []
    partial = 0
    ambiguous = set()
    for selection, metric in product(TESTED_SELECTIONS, TESTED):
        rows = _rows_of(units, estimands, selection, metric)
        methods = {key.method for key in rows}
        group = []
        for key, row in rows.items():
            group.append(Comparison(row, None, row, None))
            for name in sorted(methods - {key.method}):
                of_name = [other for other in rows if other.method == name]
                baseline = partner(key, of_name)
                if baseline is None:
                    ambiguous.add((key, name))
                    continue
                ours, theirs = row, rows[baseline]
                if scored[ours.column] != scored[theirs.column]:
                    partial += 1
                    ours, theirs = ours.within(theirs), theirs.within(ours)
                group.append(Comparison(row, baseline, ours, theirs))
        if group:
            groups.append(group)
    if partial:
        log.info(
            "%s: %d of %d comparisons use only the texts that both methods score",
            units.name,
            partial,
            sum(map(len, groups)),
        )
    for key, name in sorted(ambiguous):
        log.info(
            "%s: %s %s is not compared with %s, because that method has no single "
            "matching row",
            units.name,
            key.method,
            key.reference,
            name,
        )
    return groups


def _rows_of(
    units: RankedUnits, estimands: Sequence[Estimand], selection: str, metric: str
) -> dict[Column, Estimand]:
    """Return the estimands of a selection and metric by their column without its
    setting."""
    rows = {}
    for estimand in estimands:
        if estimand.selection != selection or METRICS[estimand.metric] != metric:
            continue
        column = units.columns[estimand.column]
        rows[column._replace(setting="")] = estimand
    return rows


def partner(row: Column, others: Sequence[Column]) -> Column | None:
    """Return the baseline's key that a row is compared with; None if there is none, or
    more than one.

    Start token and draw are equal, or mean nothing to one of the two; among fitting
    keys, equal keys go first, also an equal reference, then keys without one.
    """
    fitting = list(others)
    for key in ("start_token", "draw", "reference"):
        value, blank = getattr(row, key), getattr(Column(), key)
        equal = [other for other in fitting if getattr(other, key) == value]
        without = [other for other in fitting if getattr(other, key) == blank]
        may_differ = key == "reference" or value == blank
        if equal or without or not may_differ:
            fitting = equal or without
    return fitting[0] if len(fitting) == 1 else None


def compare(
    group: Sequence[Comparison],
    rankings: Rankings,
    values: dict[Estimand, float],
    draws: dict[Estimand, Floats],
) -> list[Tested]:
    """Run the tests of comparisons of one selection and metric; the bootstrap's not
    where a class has few documents (`RankedUnits.few_documents`).

    Nothing has a p that has fewer than `LEAST_DOCUMENTS` texts of a class, nor a rate
    of fewer than `LEAST_NONMEMBERS`. The p are not corrected for their number: a table
    corrects over what it shows.

    `values` and `draws` (resamples,) hold every estimand that a comparison names.
    """
    first = group[0]
    metric = METRICS[first.row.metric]
    is_rate = level_of(metric) is not None
    differences = np.empty(len(group))
    drawn = np.empty((len(group), len(draws[first.ours])))
    is_small = np.empty(len(group), dtype=bool)
    for place, pair in enumerate(group):
        members, nonmembers = rankings.sizes(pair.ours.ranking)
        baseline = chance(metric, nonmembers)
        of_baseline: float | Floats = baseline
        if pair.theirs is not None:
            baseline = values[pair.theirs]
            of_baseline = draws[pair.theirs]
        differences[place] = values[pair.ours] - baseline
        drawn[place] = draws[pair.ours] - of_baseline
        has_few = min(members, nonmembers) < LEAST_DOCUMENTS
        is_small[place] = has_few or (is_rate and nonmembers < LEAST_NONMEMBERS)

    results = {}
    if not rankings.units.few_documents:
        resampled = centre_resamples(drawn, differences) if is_rate else drawn
        results["bootstrap"] = bootstrap_test(resampled)
    if first.row.selection == "default":
        results["t_as_published"] = t_test_as_published(drawn)

    tested = []
    for test, result in results.items():
        result.p[is_small] = np.nan
        for place, pair in enumerate(group):
            of_pair = Tested(
                row=pair.row,
                baseline=pair.baseline.method if pair.baseline else "chance",
                metric=metric,
                test=test,
                difference=float(differences[place]),
                low=float(result.low[place]),
                high=float(result.high[place]),
                p=float(result.p[place]),
            )
            tested.append(of_pair)
    return tested
