"""Every method against every other method of its cell, and against chance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pretrace.evaluation.cells import Column, RankedUnits
from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.selection import Estimate, Part, Rankings
from pretrace.evaluation.significance import (
    Result,
    bootstrap_test,
    chance,
    delong_test,
    delong_variance,
    holm,
    permutation_test,
    placements,
    t_test_as_published,
)
from pretrace.runtime.logs import log

TESTED = ("auc", "tpr_at_1_fpr", "tpr_at_5_fpr", "tpr_at_10_fpr")
TESTED_SELECTIONS = ("default", "held_out")


@dataclass(frozen=True)
class Comparison:
    """Two estimates of one selection and metric; `baseline` None is chance.

    `ours` and `theirs` are the same estimates on the texts that both have scores for.
    """

    row: Estimate
    baseline: Column | None
    ours: Estimate
    theirs: Estimate | None


class Tested(NamedTuple):
    """A row of the tests table: the estimate that its keys are of, and what follows them."""

    row: Estimate
    baseline: str
    metric: str
    test: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float


def plan_comparisons(cell: RankedUnits, estimates: Sequence[Estimate]) -> list[list[Comparison]]:
    """Return the pairs of methods to compare, in groups of one selection and metric.

    Logged where a baseline is ambiguous, or lacks scores of some texts.
    """
    masks = [mask.tobytes() for mask in cell.scored]
    groups: list[list[Comparison]] = []
    partial, ambiguous = 0, set()
    for selection in TESTED_SELECTIONS:
        for metric in TESTED:
            rows = {
                cell.columns[estimate.parts[0].column]._replace(setting=""): estimate
                for estimate in estimates
                if estimate.selection == selection and METRICS[estimate.metric] == metric
            }
            planned: list[Comparison] = []
            for key, row in rows.items():
                planned.append(Comparison(row, None, row, None))
                for name in sorted({other.method for other in rows} - {key.method}):
                    baseline = partner(key, [other for other in rows if other.method == name])
                    if baseline is None:
                        ambiguous.add((key, name))
                        continue
                    theirs = rows[baseline]
                    same = all(
                        masks[a.column] == masks[b.column]
                        for a, b in zip(row.parts, theirs.parts, strict=True)
                    )
                    partial += not same
                    both = (row, theirs) if same else (row.within(theirs), theirs.within(row))
                    planned.append(Comparison(row, baseline, *both))
            groups += [planned] if planned else []
    if partial:
        log.info("%s: %d of %d comparisons use only the texts that both methods score",
                 cell.name, partial, sum(map(len, groups)))  # fmt: skip
    for key, name in sorted(ambiguous):
        log.info("%s: %s %s is not compared with %s, because that method has no single matching row",
                 cell.name, key.method, key.reference, name)  # fmt: skip
    return groups


def partner(row: Column, others: Sequence[Column]) -> Column | None:
    """Return the baseline's key that a row is compared with; None if there is none, or more than one.

    Start token and draw are equal, or mean nothing to one of the two; among fitting keys, equal keys go first,
    also an equal reference, then keys without one.
    """
    blank = Column("", "", "", "", -1, "")
    fitting = list(others)
    for field in (3, 4, 5):
        equal = [other for other in fitting if other[field] == row[field]]
        without = [other for other in fitting if other[field] == blank[field]]
        anything = fitting if field == 5 or row[field] == blank[field] else []
        fitting = equal or without or anything
    return fitting[0] if len(fitting) == 1 else None


def compare(
    groups: Iterable[Sequence[Comparison]],
    rankings: Rankings,
    values: dict[Estimate, float],
    draws: dict[Estimate, Floats],
    widening: Floats,
    relabelled: Mapping[Estimate, Floats],
) -> list[Tested]:
    """Run every test; none by resampling or DeLong's where a class has few documents (`RankedUnits.few_documents`).

    `values` and `draws` (resamples,) hold every estimate that a comparison names.

    `widening` (columns of the cell,) is that of `selection.widening`, which `draws` already have. `relabelled` holds
    the estimates that are tested by permutation, as `permutation.relabelled_aucs` has them.
    """
    tested: list[Tested] = []
    for group in groups:
        first = group[0].row
        baselines = np.array([_baseline_value(pair, rankings, values) for pair in group])
        differences = np.array([values[pair.ours] for pair in group]) - baselines
        drawn = np.stack([draws[pair.ours] for pair in group])
        drawn -= np.stack([draws[pair.theirs] if pair.theirs else np.full(drawn.shape[1], baselines[index])
                           for index, pair in enumerate(group)])  # fmt: skip
        few = rankings.cell.few_documents
        results = {} if few else {"bootstrap": bootstrap_test(drawn)}
        if first.selection == "default":
            results["t_as_published"] = t_test_as_published(drawn)
            if METRICS[first.metric] == "auc" and not few:
                results["delong"] = delong_test(differences, _delong_variances(group, rankings, widening))
        for test, result in results.items():
            tested += _rows(group, test, differences, result)
        exact = [pair for pair in group if pair.baseline is None and pair.row in relabelled]
        if exact:
            exact_result = permutation_test(np.stack([relabelled[pair.row] for pair in exact]))
            tested += _rows(exact, "permutation", *exact_result)
    return tested


def _baseline_value(pair: Comparison, rankings: Rankings, values: dict[Estimate, float]) -> float:
    if pair.theirs is not None:
        return values[pair.theirs]
    members, nonmembers = np.array([rankings.sizes(part) for part in pair.row.parts], dtype=np.float64).T
    pairs = members * nonmembers
    if not pairs.any():
        return np.nan  # no fold holds both classes
    return float(np.average(chance(METRICS[pair.row.metric], nonmembers), weights=pairs))


def _delong_variances(group: Sequence[Comparison], rankings: Rankings, widening: Floats) -> Floats:
    known: dict[Part, tuple[Floats, Floats]] = {}

    def components(estimate: Estimate) -> tuple[Floats, Floats]:
        part = estimate.parts[0]
        if part not in known:
            rows = rankings.rows(part)
            placed = placements(rankings.cell.scores[part.column, rows], rankings.cell.label[rows])
            known[part] = placed[0] * widening[part.column], placed[1] * widening[part.column]
        return known[part]

    variances = []
    for pair in group:
        per_member, per_nonmember = components(pair.ours)
        if pair.theirs is not None:
            their_member, their_nonmember = components(pair.theirs)
            per_member, per_nonmember = per_member - their_member, per_nonmember - their_nonmember
        variances.append(delong_variance(per_member, per_nonmember))
    return np.array(variances)


def _rows(group: Sequence[Comparison], test: str, differences: Floats, result: Result) -> list[Tested]:
    """Return the results of one test; Holm's family is all methods against one baseline."""
    adjusted = np.empty(len(group))
    for baseline in dict.fromkeys(pair.baseline for pair in group):
        family = [index for index, pair in enumerate(group) if pair.baseline == baseline]
        adjusted[family] = holm(result.p[family])
    numbers = zip(differences, result.low, result.high, result.p, adjusted, strict=True)
    return [
        Tested(pair.row, pair.baseline.method if pair.baseline else "chance", METRICS[pair.row.metric], test,
               *map(float, row))
        for pair, row in zip(group, numbers, strict=True)
    ]  # fmt: skip
