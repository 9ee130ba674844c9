"""Tests of differences: right by brute force, and rejecting a true null as often as they say."""

import itertools

import numpy as np
import pytest

from pretrace.evaluation.metrics import METRICS
from pretrace.evaluation.roc import Ranking
from pretrace.evaluation.significance import (
    bootstrap_test,
    chance,
    holm,
    percentile_interval,
    placements,
)


def auc(members, nonmembers):
    return np.mean([(m > n) + 0.5 * (m == n) for m, n in itertools.product(members, nonmembers)])


def test_placements_average_to_the_auc():
    scores = np.array([1.0, 2.0, 2.0, 3.0, 2.0, 1.0, 0.0])
    label = np.array([True, True, True, True, False, False, False])
    per_member, per_nonmember = placements(scores, label)
    expected = auc(scores[label], scores[~label])
    assert per_member.tolist() == pytest.approx([0.5, 2.5 / 3, 2.5 / 3, 1.0])
    assert per_member.mean() == pytest.approx(expected)
    assert per_nonmember.mean() == pytest.approx(expected)


def test_equal_scores_differ_by_nothing():
    result = bootstrap_test(np.zeros((1, 100)))
    assert (result.p[0], result.low[0], result.high[0]) == (1, 0, 0)


def test_bootstrap_p_counts_both_tails_and_is_never_zero():
    draws = np.array([[-1.0, 1, 2, 3, 4, 5, 6, 7, 8], [1.0, 1, 2, 3, 4, 5, 6, 7, 8], [0.0] * 4 + [1.0] * 5])
    assert bootstrap_test(draws).p.tolist() == pytest.approx([2 * 2 / 10, 2 * 1 / 10, 2 * 5 / 10])
    assert bootstrap_test(-draws).p.tolist() == pytest.approx([2 * 2 / 10, 2 * 1 / 10, 2 * 5 / 10])


def test_resamples_without_pairs_do_not_count():
    draws = np.array([[0.1, 0.2, np.nan, 0.3]])
    assert bootstrap_test(draws).p[0] == pytest.approx(2 / 4)
    assert percentile_interval(draws)[1][0] == pytest.approx(np.quantile([0.1, 0.2, 0.3], 0.975))


def test_what_cannot_be_told_has_no_p_and_is_in_no_family():
    assert np.isnan(bootstrap_test(np.full((1, 100), np.nan)).p).all()
    assert holm(np.array([np.nan, 0.03, 0.01])).tolist() == pytest.approx([np.nan, 0.03, 0.02], nan_ok=True)


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
