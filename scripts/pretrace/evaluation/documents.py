"""Results for documents only: accuracies, the AUC as DE-COP publishes it, and Welch's test."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pretrace.evaluation.cells import RankedUnits
from pretrace.evaluation.comparison import Tested
from pretrace.evaluation.metrics import ACCURACIES, AUC_AS_PUBLISHED
from pretrace.evaluation.roc import Flags, Floats
from pretrace.evaluation.selection import Estimate
from pretrace.evaluation.significance import AS_PUBLISHED_RESAMPLES, holm, percentile_interval
from pretrace.questions.known import is_question

MEAN_SCORE = "mean_score"
"""The metric that Welch's test is of: a class's mean over documents of the document's score."""

NO_SPREAD = 1e-12
"""A standard error below it is rounding."""

NONMEMBERS = "nonmembers"
"""The baseline that Welch's test compares the members with."""


def document_metrics(
    cell: RankedUnits, estimates: Iterable[Estimate], weights: Floats
) -> Iterator[tuple[Estimate, str, float, float, float]]:
    """Yield (estimate, metric, value, low, high) of documents alone.

    `auc_as_published` of every estimate of one column, and the accuracies of question methods' default and grid.
    `weights` (documents, resamples) are those of the cell's bootstrap. The AUC as published is the mean over the first
    ten resamples, its interval that of a single one. An accuracy is the mean over the documents of one class; those of
    settings chosen by their AUC are not reported.
    """
    for estimate in estimates:
        if len(estimate.parts) > 1 or estimate.metric != 0:
            continue
        column = estimate.parts[0].column
        there = cell.scored[column]
        scores, label, weight = cell.scores[column, there], cell.label[there], weights[there]
        draws = youden_accuracy(scores, label, weight)
        published = float(np.nanmean(draws[:AS_PUBLISHED_RESAMPLES]))
        yield estimate, AUC_AS_PUBLISHED, published, *_interval(draws)
        if is_question(cell.columns[column].method) and estimate.selection in ("grid", "default"):
            for metric, kind in zip(ACCURACIES, (label, ~label), strict=True):
                total = weight[kind].sum(axis=0)
                draws = np.divide(
                    scores[kind] @ weight[kind], total, out=np.full(len(total), np.nan), where=total > 0
                )
                mean = float(scores[kind].mean()) if kind.any() else np.nan
                yield estimate, metric, mean, *_interval(draws)


def _interval(draws: Floats) -> tuple[float, float]:
    low, high = percentile_interval(draws[None])
    return float(low[0]), float(high[0])


def youden_accuracy(scores: Floats, label: Flags, weights: Floats) -> Floats:
    """Return balanced accuracy at the threshold that separates the classes best, shape (resamples,).

    That is the area under the ROC curve of the scores binarised there, which DE-COP's code prints as its AUC:
    (1 + max(TPR - FPR)) / 2. `scores`, `label` have shape (documents,), `weights` (documents, resamples).
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.diff(scores[order]) != 0, True)
    rates = []
    for kind in (label, ~label):
        above = np.cumsum(weights[order] * kind[order, None], axis=0)
        total = above[-1]
        rates.append(np.divide(above, total, out=np.full_like(above, np.nan), where=total > 0)[ends])
    return np.asarray((1 + np.maximum((rates[0] - rates[1]).max(axis=0), 0)) / 2)


def welch_tests(cell: RankedUnits, estimates: Sequence[Estimate]) -> list[Tested]:
    """Run Welch's t-test between the scores of members and non-members, of every default setting.

    Holm's family is the cell's methods. A class of one document leaves nothing to test.
    """
    tests = []
    for estimate in estimates:
        if estimate.selection != "default" or estimate.metric != 0:
            continue
        column = estimate.parts[0].column
        there = cell.scored[column]
        classes = (cell.scores[column, there & kind] for kind in (cell.label, ~cell.label))
        if (result := _welch(*classes)) is not None:
            tests.append((estimate, result))
    adjusted = holm(np.array([result[3] for _, result in tests]))
    return [
        Tested(estimate, NONMEMBERS, MEAN_SCORE, "welch", *result, float(p))
        for (estimate, result), p in zip(tests, adjusted, strict=True)
    ]


def _welch(members: Floats, nonmembers: Floats) -> tuple[float, float, float, float] | None:
    """Return members' mean minus non-members', 95 % interval and two-sided p (unequal variances); None without spread.

    B. L. Welch, Biometrika 34 (1947).
    """
    from scipy.special import stdtr, stdtrit

    if min(len(members), len(nonmembers)) < 2:
        return None
    squares = np.array([values.var(ddof=1) / len(values) for values in (members, nonmembers)])
    error = float(np.sqrt(squares.sum()))
    if error < NO_SPREAD:
        return None
    degrees = squares.sum() ** 2 / (squares**2 / (len(members) - 1, len(nonmembers) - 1)).sum()
    difference = float(members.mean() - nonmembers.mean())
    half = float(stdtrit(degrees, 0.975)) * error
    p = float(2 * stdtr(degrees, -abs(difference) / error))
    return difference, difference - half, difference + half, p
