"""Is one score better than another, or than chance? Tests on paired values, and Holm's
correction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pretrace.evaluation.metrics import level_of
from pretrace.evaluation.roc import Floats, allowed_false, ratio

AS_PUBLISHED_RESAMPLES = 10
"""Replicates of the t-test that papers' stars probably are; its p falls as they grow,
so it gives no star."""

Z = 1.959963984540054
"""Standard errors to each end of a 95 % interval."""

CROSS_FITTED = 2**0.5
"""How much wider than its bootstrap the interval of a score learned from the other
folds' labels is.

The bootstrap takes scores as given. A learned score is a sum over the texts it was
learned from, of their labels times their likeness to the text; two texts of different
folds that are alike so count twice, once in each one's score, and one draw of labels
moves both. Where nothing is to be learned, and likeness is symmetric, the true variance
is therefore twice that of the bootstrap, also of one that draws documents of both
classes as one. In simulated draws of the random split of one era of State of the Union
addresses (four designs of 240 to 300 texts in 22 to 33 documents, 120 draws each) plain
95 % intervals of the blind control miss 0.5 in 17 to 24 % of the draws, widened ones in
5 to 13 %; the true spread is 1.4 to 1.6 times the bootstrap's. A learned score that
just misses chance says little.
"""


@dataclass(frozen=True)
class Result:
    """A difference's 95 % interval and two-sided p; arrays of shape (differences,), NaN
    where nothing can be told."""

    low: Floats
    high: Floats
    p: Floats


def percentile_interval(draws: Floats) -> tuple[Floats, Floats]:
    """Return the middle 95 % of the resamples, shape (estimates, resamples); those
    without a pair do not count.

    NaN where no resample counts.
    """
    shares = [0.025, 0.975]
    missing = np.isnan(draws)
    if not missing.any():
        low, high = np.quantile(draws, shares, axis=1)
        return low, high
    ends = np.full((2, len(draws)), np.nan)
    known = ~missing.all(axis=1)
    if known.any():
        ends[:, known] = np.nanquantile(draws[known], shares, axis=1)
    low, high = ends
    return low, high


def interval(draws: Floats) -> dict[str, float]:
    """Return the ends `low` and `high` of one estimate's `percentile_interval`; draws
    of shape (resamples,)."""
    low, high = percentile_interval(draws[None])
    return {"low": float(low[0]), "high": float(high[0])}


def centre_resamples(draws: Floats, values: Floats) -> Floats:
    """Return resamples (estimates, resamples) moved so that their mean is the estimate,
    shape (estimates,).

    Resamples of a true positive rate lie above it: the few non-members that score
    highest, which set the threshold, are often not drawn. That bias of a resample is
    about that of the estimate itself (Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, 10.2). Moved, they cover the mean of such estimates over data of
    this size: `tests/bench/bench_intervals.py`, docs/size_and_power.md. A resample
    without a pair stays NaN.
    """
    known = ~np.isnan(draws)
    sums = np.where(known, draws, 0).sum(axis=1)
    means = ratio(sums, known.sum(axis=1))
    return draws + (values - means)[:, None]


def widen_resamples(draws: Floats, values: Floats, factors: Floats) -> Floats:
    """Return resamples (estimates, resamples) `factors` times as far from the values
    (estimates,), within 0 to 1."""
    centres = values[:, None]
    return np.clip(centres + factors[:, None] * (draws - centres), 0, 1)


def expansion(groups: int) -> float:
    """Return how much wider than their percentiles the intervals from few groups are.

    Resamples scatter too little by (n - 1) / n in variance, and few groups call for
    Student's t. T. Hesterberg, What Teachers Should Know About the Bootstrap, The
    American Statistician 69, 2015. 1 for a single group, whose resamples are all alike.
    """
    from scipy.special import stdtrit

    if groups <= 1:
        return 1.0
    too_little = (groups / (groups - 1)) ** 0.5
    return float(too_little * stdtrit(groups - 1, 0.975) / Z)


def simultaneous(values: ArrayLike, ends: ArrayLike, methods: ArrayLike) -> Floats:
    """Return an end of 95 % intervals so that they hold for several methods at once:
    Bonferroni's.

    Whichever of the methods is chosen, as the best, its interval holds. NaN without an
    end.
    """
    from scipy.special import ndtri

    values, ends = np.asarray(values, np.float64), np.asarray(ends, np.float64)
    wider = ndtri(1 - 0.025 / np.asarray(methods)) / Z
    return np.clip(values + wider * (ends - values), 0, 1)


def wilson(share: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's 95 % interval of shares. E. B. Wilson, J. American
    Statistical Association, 1927."""
    z2 = Z**2
    scale = 1 + z2 / trials
    centre = (share + z2 / (2 * trials)) / scale
    variance = (share * (1 - share) + z2 / (4 * trials)) * z2 / trials
    half = variance**0.5 / scale
    low = np.maximum(0.0, centre - half)
    high = np.minimum(1.0, centre + half)
    return low, high


def wilson_row(successes: int, trials: int) -> dict[str, float]:
    """Return a share of `n` trials with `wilson`'s interval as the columns of a
    table."""
    share = successes / trials
    low, high = wilson(np.array(share), np.array(trials))
    return {"n": trials, "value": share, "low": float(low), "high": float(high)}


def bootstrap_test(draws: Floats) -> Result:
    """Test differences (differences, resamples) by percentile bootstrap: p = 2 min(P(d
    <= 0), P(d >= 0)).

    Both shares count one more, so that p is never 0 (Davison and Hinkley, Bootstrap
    Methods, 1997, 4.2.5); p is the level at which the percentile interval touches 0.
    """
    count = (~np.isnan(draws)).sum(axis=1)
    below = ((draws <= 0).sum(axis=1) + 1) / (count + 1)
    above = ((draws >= 0).sum(axis=1) + 1) / (count + 1)
    p = np.minimum(1.0, 2 * np.minimum(below, above))
    p[count == 0] = np.nan
    low, high = percentile_interval(draws)
    return Result(low, high, p)


def t_test_as_published(draws: Floats) -> Result:
    """Run a two-tailed paired t-test on the first ten resamples of differences, shape
    (differences, resamples).

    Resamples without a pair do not count; NaN where fewer than ten have one.
    """
    from scipy.special import stdtr, stdtrit

    known_first = np.argsort(np.isnan(draws), axis=1, kind="stable")
    first = known_first[:, :AS_PUBLISHED_RESAMPLES]
    few = np.take_along_axis(draws, first, axis=1)
    count = few.shape[1]
    error = few.std(axis=1, ddof=1) / np.sqrt(count)
    half = stdtrit(count - 1, 0.975) * error
    mean = few.mean(axis=1)
    # without any spread p is 0, and 1 where there is no difference
    t = ratio(np.abs(mean), error, empty=np.inf)
    p = 2 * stdtr(count - 1, -t)
    p = np.where(mean == 0, 1.0, p)
    return Result(mean - half, mean + half, p)


def chance(metric: str, nonmembers: int) -> float:
    """Return the expected value of an uninformative score, given the non-members: 0.5,
    or near the FPR level.

    With k false positives allowed, a TPR is the share of members above the (k+1)-th
    highest of n non-members, on average (k + 1) / (n + 1): the level itself only where
    n is large. Takes texts as exchangeable: of the few highest, those of one document
    go together, which puts the average of a TPR above this and its test above its level
    (in a simulation of 24 documents of 12 texts, correlated by 0.7, to 8 % at 5 %).
    """
    if level_of(metric) is None:
        return 0.5
    return (allowed_false(metric, nonmembers) + 1) / (nonmembers + 1)


def holm(p: Floats) -> Floats:
    """Return Holm's step-down adjusted p of one family of tests, shape (tests,). Scand.
    J. Statistics, 1979.

    A test without a p (NaN) is none of the family, and has none afterwards.
    """
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    raised = p[order] * np.arange(len(order), 0, -1)
    steps = np.maximum.accumulate(raised)
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def empirical_p(scores: ArrayLike, nonmembers: ArrayLike) -> Floats:
    """Return (1 + non-members that score at least as high) / (1 + non-members), shape
    of `scores`.

    At most `level` of the texts that are exchangeable with the non-members have p <=
    level. V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World,
    2005, section 2.2. NaN where a score is NaN; non-members without a score do not
    count.
    """
    scores = np.asarray(scores, np.float64)
    known = np.asarray(nonmembers, np.float64)
    ascending = np.sort(known[~np.isnan(known)])
    count = len(ascending)
    as_high = count - np.searchsorted(ascending, scores, side="left")
    p = (1 + as_high) / (1 + count)
    return np.where(np.isnan(scores), np.nan, p)
