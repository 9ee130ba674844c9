"""Results for documents only: accuracies, the AUC as DE-COP publishes it, and Welch's
test."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pretrace.evaluation.comparison import Tested
from pretrace.evaluation.metrics import ACCURACIES, AUC_AS_PUBLISHED, FEWEST_DOCUMENTS
from pretrace.evaluation.roc import Flags, Floats, Weights, ratio
from pretrace.evaluation.scores import RankedUnits
from pretrace.evaluation.selection import Estimand
from pretrace.evaluation.significance import AS_PUBLISHED_RESAMPLES, interval
from pretrace.questions.method_facts import is_question

MEAN_SCORE = "mean_score"
"""The metric that Welch's test is of: a class's mean over documents of the document's
score."""

NO_SPREAD = 1e-12
"""A standard error below it is rounding."""

NONMEMBERS = "nonmembers"
"""The baseline that Welch's test compares the members with."""


class Measured(NamedTuple):
    """An estimand's value by a metric, and the ends of its 95 % interval."""

    estimand: Estimand
    metric: str
    value: float
    low: float
    high: float


def document_metrics(
    units: RankedUnits, estimands: Iterable[Estimand], weights: Weights
) -> Iterator[Measured]:
    """Yield the metrics of documents alone.

    `auc_as_published` of every estimand but held-out ones, and the accuracies of
    question methods' default and grid. `weights` (documents, resamples) are those of
    the bootstrap. The AUC as published is the mean over the first ten resamples, its
    interval that of a single one. An accuracy is the mean over the documents of one
    class; those of settings chosen by their AUC are not reported.
    """
    for estimand in estimands:
        if estimand.selection == "held_out" or estimand.metric != 0:
            continue
        scored = units.scored[estimand.column]
        scores = units.scores[estimand.column, scored]
        label, of_scored = units.label[scored], weights[scored]
        draws = youden_accuracy(scores, label, of_scored)
        published = float(np.nanmean(draws[:AS_PUBLISHED_RESAMPLES]))
        yield Measured(estimand, AUC_AS_PUBLISHED, published, **interval(draws))
        asks = is_question(units.columns[estimand.column].method)
        if not asks or estimand.selection not in ("grid", "default"):
            continue
        for metric, is_own in zip(ACCURACIES, (label, ~label), strict=True):
            own, times = scores[is_own], of_scored[is_own]
            draws = ratio(own @ times, times.sum(axis=0))
            mean = float(own.mean()) if len(own) else np.nan
            yield Measured(estimand, metric, mean, **interval(draws))


def youden_accuracy(scores: Floats, label: Flags, weights: Floats) -> Floats:
    """Return balanced accuracy at the threshold that separates the classes best, shape
    (resamples,).

    That is the area under the ROC curve of the scores binarised there, which DE-COP's
    code prints as its AUC: (1 + max(TPR - FPR)) / 2. `scores`, `label` have shape
    (documents,), `weights` (documents, resamples).
    """
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    rates = []
    for is_own in (label, ~label):
        above = np.cumsum(weights[order] * is_own[order, None], axis=0)
        rates.append(ratio(above, above[-1])[last_of_ties])
    apart = (rates[0] - rates[1]).max(axis=0)
    return (1 + np.maximum(apart, 0)) / 2


def welch_tests(units: RankedUnits, estimands: Sequence[Estimand]) -> list[Tested]:
    """Run Welch's t-test between the scores of members and non-members, of every
    default setting.

    A class of fewer than `FEWEST_DOCUMENTS`, or scores without spread, leave
    nothing to test.
    """
    from scipy.stats import ttest_ind

    tests = []
    for estimand in estimands:
        if estimand.selection != "default" or estimand.metric != 0:
            continue
        scored = units.scored[estimand.column]
        scores = units.scores[estimand.column]
        members = scores[scored & units.label]
        nonmembers = scores[scored & ~units.label]
        if min(len(members), len(nonmembers)) < FEWEST_DOCUMENTS:
            continue
        of_members = members.var(ddof=1) / len(members)
        of_nonmembers = nonmembers.var(ddof=1) / len(nonmembers)
        if np.sqrt(of_members + of_nonmembers) < NO_SPREAD:
            continue
        with warnings.catch_warnings():
            # scipy warns of rounding where the scores of a class are equal: their
            # variance is 0, which is right
            warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
            test = ttest_ind(members, nonmembers, equal_var=False)
        low, high = test.confidence_interval(0.95)
        tested = Tested(
            row=estimand,
            baseline=NONMEMBERS,
            metric=MEAN_SCORE,
            test="welch",
            difference=float(members.mean() - nonmembers.mean()),
            low=float(low),
            high=float(high),
            p=float(test.pvalue),
        )
        tests.append(tested)
    return tests
