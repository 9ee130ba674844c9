"""Results for documents only: accuracies, the AUC as DE-COP publishes it, and Welch's
test."""

import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pretrace.evaluation.comparison import Tested
from pretrace.evaluation.metrics import ACCURACIES, AUC_AS_PUBLISHED
from pretrace.evaluation.resampling import FEWEST_DOCUMENTS
from pretrace.evaluation.roc import Flags, Floats, ratio
from pretrace.evaluation.scores import RankedUnits
from pretrace.evaluation.selection import Estimand
from pretrace.evaluation.significance import AS_PUBLISHED_RESAMPLES, interval
from pretrace.questions.known import is_question

MEAN_SCORE = "mean_score"
"""The metric that Welch's test is of: a class's mean over documents of the document's
score."""

NO_SPREAD = 1e-12
"""A standard error below it is rounding."""

NONMEMBERS = "nonmembers"
"""The baseline that Welch's test compares the members with."""


def document_metrics(
    units: RankedUnits, estimands: Iterable[Estimand], weights: Floats
) -> Iterator[tuple[Estimand, str, float, float, float]]:
    """Yield (estimand, metric, value, low, high) of documents alone.

    `auc_as_published` of every estimand but held-out ones, and the accuracies of
    question methods' default and grid. `weights` (documents, resamples) are those of
    the bootstrap. The AUC as published is the mean over the first ten resamples, its
    interval that of a single one. An accuracy is the mean over the documents of one
    class; those of settings chosen by their AUC are not reported.
    """
    for estimand in estimands:
        if estimand.selection == "held_out" or estimand.metric != 0:
            continue
        column = estimand.ranking.columns[0]
        scored = units.scored[column]
        scores, label, weight = (
            units.scores[column, scored],
            units.label[scored],
            weights[scored],
        )
        draws = youden_accuracy(scores, label, weight)
        published, ends = (
            float(np.nanmean(draws[:AS_PUBLISHED_RESAMPLES])),
            interval(draws),
        )
        yield estimand, AUC_AS_PUBLISHED, published, ends["low"], ends["high"]
        if is_question(units.columns[column].method) and estimand.selection in (
            "grid",
            "default",
        ):
            for metric, kind in zip(ACCURACIES, (label, ~label), strict=True):
                ends = interval(
                    ratio(scores[kind] @ weight[kind], weight[kind].sum(axis=0))
                )
                mean = float(scores[kind].mean()) if kind.any() else np.nan
                yield estimand, metric, mean, ends["low"], ends["high"]


def youden_accuracy(scores: Floats, label: Flags, weights: Floats) -> Floats:
    """Return balanced accuracy at the threshold that separates the classes best, shape
    (resamples,).

    That is the area under the ROC curve of the scores binarised there, which DE-COP's
    code prints as its AUC: (1 + max(TPR - FPR)) / 2. `scores`, `label` have shape
    (documents,), `weights` (documents, resamples).
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.diff(scores[order]) != 0, True)
    rates = []
    for kind in (label, ~label):
        above = np.cumsum(weights[order] * kind[order, None], axis=0)
        rates.append(ratio(above, above[-1])[ends])
    return np.asarray((1 + np.maximum((rates[0] - rates[1]).max(axis=0), 0)) / 2)


def welch_tests(units: RankedUnits, estimands: Sequence[Estimand]) -> list[Tested]:
    """Run Welch's t-test between the scores of members and non-members, of every
    default setting.

    A class of fewer than `FEWEST_DOCUMENTS`, or scores without spread, leave
    nothing to test.
    """
    from scipy.stats import ttest_ind

    tests: list[Tested] = []
    for estimand in estimands:
        if estimand.selection != "default" or estimand.metric != 0:
            continue
        column = estimand.ranking.columns[0]
        members, nonmembers = (
            units.scores[column, units.scored[column] & kind]
            for kind in (units.label, ~units.label)
        )
        if min(len(members), len(nonmembers)) < FEWEST_DOCUMENTS:
            continue
        error = np.sqrt(
            sum(values.var(ddof=1) / len(values) for values in (members, nonmembers))
        )
        if error >= NO_SPREAD:
            with warnings.catch_warnings():
                # scipy warns of rounding where the scores of a class are equal: their
                # variance is 0, which is right
                warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
                test = ttest_ind(members, nonmembers, equal_var=False)
            low, high = test.confidence_interval(0.95)
            numbers = (members.mean() - nonmembers.mean(), low, high, test.pvalue)
            tests.append(
                Tested(estimand, NONMEMBERS, MEAN_SCORE, "welch", *map(float, numbers))
            )
    return tests
