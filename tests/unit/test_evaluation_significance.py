"""ROC AUC, rates and tests of differences: by scikit-learn, scipy and brute force, and
of the size that they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_rel
from sklearn.metrics import roc_auc_score, roc_curve

from pretrace.evaluation.metrics import LEVELS, METRICS
from pretrace.evaluation.roc import Ranking, allowed_false
from pretrace.evaluation.significance import (
    bootstrap_test,
    centre_resamples,
    chance,
    holm,
    percentile_interval,
    t_test_as_published,
)


def test_equal_scores_differ_by_nothing():
    assert bootstrap_test(np.zeros((1, 100))).p[0] == 1
    assert t_test_as_published(np.zeros((1, 100))).p[0] == 1


def test_bootstrap_p_counts_both_tails_and_is_never_zero():
    draws = np.array(
        [
            [-1.0, 1, 2, 3, 4, 5, 6, 7, 8],
            [1.0, 1, 2, 3, 4, 5, 6, 7, 8],
            [0.0, 0, 0, 0, 1, 1, 1, 1, 1],
        ]
    )
    expected = [2 * 2 / 10, 2 * 1 / 10, 2 * 5 / 10]
    for side in (draws, -draws):
        assert bootstrap_test(side).p == pytest.approx(expected)


def test_what_cannot_be_told_has_no_p_and_is_in_no_family():
    """Resamples without a pair do not count."""
    draws = np.random.default_rng(0).normal(0.1, 0.1, size=(4, 100))
    draws[0] = np.nan
    draws[1, 9:] = np.nan
    draws[2, [0, 5]] = np.nan
    published = t_test_as_published(draws).p
    assert np.isnan(published).tolist() == [True, True, False, False]
    first_ten = np.delete(draws[2], [0, 5])[:10]
    expected = ttest_1samp(first_ten, 0).pvalue
    assert published[2] == pytest.approx(expected)
    assert np.isnan(bootstrap_test(draws[:1]).p).all()
    few = np.array([[0.1, 0.2, np.nan, 0.3]])
    assert bootstrap_test(few).p[0] == pytest.approx(2 / 4)
    _, high = percentile_interval(few)
    assert high[0] == pytest.approx(np.quantile([0.1, 0.2, 0.3], 0.975))


def test_centred_resamples_have_the_estimate_as_their_mean():
    draws = np.array([[0.1, 0.2, 0.6], [0.2, np.nan, 0.4], [np.nan] * 3])
    moved = centre_resamples(draws, np.array([0.2, 0.1, 0.5]))
    expected = [[0.0, 0.1, 0.5], [0.0, np.nan, 0.2], [np.nan] * 3]
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_t_as_published_is_the_paired_t_test_over_ten_resamples():
    ours, theirs = np.random.default_rng(3).normal(0.6, 0.02, size=(2, 1, 500))
    expected = ttest_rel(ours[0, :10], theirs[0, :10])
    low, high = expected.confidence_interval()
    result = t_test_as_published(ours - theirs)
    assert result.p[0] == pytest.approx(expected.pvalue)
    assert result.low[0] == pytest.approx(low)
    assert result.high[0] == pytest.approx(high)


@pytest.mark.parametrize(
    ("p", "adjusted"),
    [
        # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04; never falling: .04 .06
        # .06 .06
        ([0.03, 0.01, 0.04, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([np.nan, 0.03, 0.01], [np.nan, 0.03, 0.02]),
    ],
)
def test_holm_by_hand(p, adjusted):
    assert holm(np.array(p)) == pytest.approx(adjusted, nan_ok=True)


def weighted_counts(scores, label, weights):
    return Ranking.of(scores, label, np.arange(len(label))).counts(weights)


@pytest.mark.parametrize("nonmembers", [20, 67, 100, 335])
def test_chance_is_what_random_scores_reach(nonmembers):
    rng = np.random.default_rng(nonmembers)
    label = np.arange(nonmembers + 50) < 50
    ones = np.ones((len(label), 1))
    reached = np.zeros(len(METRICS))
    for _ in range(2000):
        numerators, pairs = weighted_counts(rng.normal(size=len(label)), label, ones)
        reached += numerators[:, 0] / pairs / 2000
    expected = [chance(metric, nonmembers) for metric in METRICS]
    np.testing.assert_allclose(reached, expected, atol=5 * 0.08 / np.sqrt(2000))
    if nonmembers == 67:
        assert chance("tpr_at_5_fpr", nonmembers) == pytest.approx(4 / 68)


def from_sklearn(scores, label):
    """The AUC, and of each level the TPR at no more than that FPR and below it."""
    false, true, _ = roc_curve(label, scores, drop_intermediate=False)
    metrics = [roc_auc_score(label, scores)]
    for level in LEVELS:
        for is_allowed in (false <= level / 100, false < level / 100):
            metrics.append(true[is_allowed].max(initial=0.0))
    return np.array(metrics)


@st.composite
def tied_scores(draw):
    label = np.array([True, False, *draw(st.lists(st.booleans(), max_size=60))])
    n = len(label)
    score = st.integers(0, draw(st.integers(1, 8)))
    scores = draw(st.lists(score, min_size=n, max_size=n))
    return np.array(scores, float), label


@settings(max_examples=100, deadline=None)
@given(tied_scores(), st.integers(0, 2**32 - 1))
def test_weights_are_repeated_texts(drawn, seed):
    scores, label = drawn
    times = np.random.default_rng(seed).integers(0, 4, (len(scores), 3))
    times[:2] += 1  # a member and a non-member at least
    numerators, pairs = weighted_counts(scores, label, times.astype(float))
    metrics = numerators / pairs
    for column in range(3):
        repeat = times[:, column]
        expected = from_sklearn(np.repeat(scores, repeat), np.repeat(label, repeat))
        np.testing.assert_allclose(metrics[:, column], expected, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("strict", ["", "_strict"])
def test_allowed_false_positives_are_exact_whole_numbers(level, strict):
    metric = f"tpr_at_{level}_fpr{strict}"
    for nonmembers in range(1, 2001):
        wrong = np.arange(nonmembers + 1)
        most = level * nonmembers
        fits = wrong * 100 < most if strict else wrong * 100 <= most
        assert allowed_false(metric, nonmembers) == wrong[fits].max()


def test_a_class_that_a_resample_lost_leaves_no_pairs():
    text = np.arange(4)
    nonmembers_alone = np.array([[0.0], [0], [1], [1]])
    numerators, pairs = weighted_counts(text, text < 2, nonmembers_alone)
    assert pairs == 0
    assert not numerators.any()
