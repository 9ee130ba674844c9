"""Tests of differences: right by brute force, and rejecting a true null as often as they say."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp, ttest_rel

from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.roc import Ranking
from pretrace.evaluation.significance import (
    bootstrap_test,
    chance,
    delong_test,
    delong_variance,
    holm,
    percentile_interval,
    placements,
    t_test_as_published,
)


def auc(members, nonmembers):
    return np.mean([(m > n) + 0.5 * (m == n) for m, n in itertools.product(members, nonmembers)])


def jackknife_variance(members, nonmembers, statistic):
    """Two-sample jackknife of a statistic of members and non-members; DeLong's variance is that of an AUC."""
    total = 0.0
    for sample, rebuild in (
        (members, lambda part: statistic(part, nonmembers)),
        (nonmembers, lambda part: statistic(members, part)),
    ):
        left_out = np.array([rebuild(np.delete(sample, at, axis=0)) for at in range(len(sample))])
        total += (len(sample) - 1) / len(sample) * ((left_out - left_out.mean()) ** 2).sum()
    return total


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_delong_variance_is_the_jackknife_of_one_auc_and_of_a_difference(decimals):
    rng = np.random.default_rng(decimals)
    label = np.arange(23) < 9
    both = np.round(rng.normal(size=(23, 2)) + rng.normal(size=(23, 1)) + label[:, None], decimals)
    (a, b), (c, d) = placements(both[:, 0], label), placements(both[:, 1], label)
    members, nonmembers = both[label], both[~label]
    one = jackknife_variance(members, nonmembers, lambda m, n: auc(m[:, 0], n[:, 0]))
    two = jackknife_variance(members, nonmembers, lambda m, n: auc(m[:, 0], n[:, 0]) - auc(m[:, 1], n[:, 1]))
    assert delong_variance(a, b) == pytest.approx(one, rel=1e-9)
    assert delong_variance(a - c, b - d) == pytest.approx(two, rel=1e-9)


def test_placements_average_to_the_auc():
    scores = np.array([1.0, 2.0, 2.0, 3.0, 2.0, 1.0, 0.0])
    label = np.array([True, True, True, True, False, False, False])
    per_member, per_nonmember = placements(scores, label)
    expected = auc(scores[label], scores[~label])
    assert per_member.tolist() == pytest.approx([0.5, 2.5 / 3, 2.5 / 3, 1.0])
    assert per_member.mean() == pytest.approx(expected)
    assert per_nonmember.mean() == pytest.approx(expected)


def test_equal_scores_differ_by_nothing():
    result = delong_test(np.zeros(1), np.zeros(1))
    assert (result.p[0], result.low[0], result.high[0]) == (1, 0, 0)
    assert bootstrap_test(np.zeros((1, 100))).p[0] == 1
    assert t_test_as_published(np.zeros((1, 100))).p[0] == 1


def test_bootstrap_p_counts_both_tails_and_is_never_zero():
    draws = np.array([[-1.0, 1, 2, 3, 4, 5, 6, 7, 8], [1.0, 1, 2, 3, 4, 5, 6, 7, 8], [0.0] * 4 + [1.0] * 5])
    assert bootstrap_test(draws).p.tolist() == pytest.approx([2 * 2 / 10, 2 * 1 / 10, 2 * 5 / 10])
    assert bootstrap_test(-draws).p.tolist() == pytest.approx([2 * 2 / 10, 2 * 1 / 10, 2 * 5 / 10])


def test_resamples_without_pairs_do_not_count():
    draws = np.array([[0.1, 0.2, np.nan, 0.3]])
    assert bootstrap_test(draws).p[0] == pytest.approx(2 / 4)
    assert percentile_interval(draws)[1][0] == pytest.approx(np.quantile([0.1, 0.2, 0.3], 0.975))


def test_what_cannot_be_told_has_no_p_and_is_in_no_family():
    draws = np.random.default_rng(0).normal(0.1, 0.1, size=(4, 100))
    draws[0] = np.nan
    draws[1, 9:] = np.nan
    draws[2, [0, 5]] = np.nan
    published = t_test_as_published(draws)
    assert np.isnan(published.p).tolist() == [True, True, False, False]
    assert published.p[2] == pytest.approx(ttest_1samp(np.delete(draws[2], [0, 5])[:10], 0).pvalue)
    assert np.isnan(bootstrap_test(draws[:1]).p).all()
    delong = delong_test(
        np.array([np.nan, 0.1, np.nan, 0.1, 0.0]), np.array([0.0, np.nan, np.nan, 0.01, np.nan])
    )
    assert np.isnan(delong.p).tolist() == [True, True, True, False, True]
    assert holm(np.array([np.nan, 0.03, 0.01])).tolist() == pytest.approx([np.nan, 0.03, 0.02], nan_ok=True)


def test_t_as_published_is_the_paired_t_test_over_ten_resamples():
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(0.6, 0.02, size=(2, 1, 500))
    expected = ttest_rel(ours[0, :10], theirs[0, :10])
    result = t_test_as_published(ours - theirs)
    assert result.p[0] == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (result.low[0], result.high[0]) == pytest.approx((interval.low, interval.high))


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04; never falling: .04 .06 .06 .06
    assert holm(np.array([0.03, 0.01, 0.04, 0.02])).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert holm(np.array([0.2])).tolist() == [0.2]


@pytest.mark.parametrize("nonmembers", [20, 67, 100, 335])
def test_chance_is_what_random_scores_reach(nonmembers):
    rng = np.random.default_rng(nonmembers)
    label = np.arange(nonmembers + 50) < 50
    rows = np.arange(len(label))
    reached = np.zeros(len(METRICS))
    for _ in range(2000):
        numerators, pairs = Ranking.of(rng.normal(size=len(label)), label, rows).counts(
            np.ones((len(label), 1))
        )
        reached += numerators[:, 0] / pairs / 2000
    expected = [chance(metric, np.array([float(nonmembers)]))[0] for metric in METRICS]
    np.testing.assert_allclose(reached, expected, atol=5 * 0.08 / np.sqrt(2000))
    if nonmembers == 67:
        assert expected[METRICS.index("tpr_at_5_fpr")] == pytest.approx(4 / 68)


def test_delongs_test_is_normal():
    difference, variance = np.array([0.1, -0.02]), np.array([0.002, 0.0005])
    result = delong_test(difference, variance)
    expected = norm(difference, np.sqrt(variance))
    assert np.stack([result.low, result.high]) == pytest.approx(np.stack(expected.interval(0.95)))
    assert result.p == pytest.approx(2 * norm.sf(np.abs(difference) / np.sqrt(variance)))
