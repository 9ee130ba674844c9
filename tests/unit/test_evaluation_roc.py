"""ROC AUC and true-positive rates: exact with ties and weights, by scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from pretrace.evaluation.metrics import LEVELS
from pretrace.evaluation.roc import Ranking, allowed_false

CONVENTIONS = [(level, strict) for level in LEVELS for strict in (False, True)]


def metrics_of(scores, label, weights=None):
    scores, label = np.asarray(scores, float), np.asarray(label, bool)
    weights = np.ones((len(scores), 1)) if weights is None else weights
    numerators, pairs = Ranking.of(scores, label, np.arange(len(scores))).counts(weights)
    return numerators / pairs


def from_sklearn(scores, label):
    false, true, _ = roc_curve(label, scores, drop_intermediate=False)
    rates = [
        true[(false < level / 100) if strict else (false <= level / 100)].max(initial=0.0)
        for level, strict in CONVENTIONS
    ]
    return np.array([roc_auc_score(label, scores), *rates])


@st.composite
def tied_scores(draw):
    label = np.array([True, False, *draw(st.lists(st.booleans(), max_size=60))])
    distinct = draw(st.integers(1, 8))
    scores = np.array(
        draw(st.lists(st.integers(0, distinct), min_size=len(label), max_size=len(label))), float
    )
    return scores, label


@settings(max_examples=100, deadline=None)
@given(tied_scores(), st.integers(0, 2**32 - 1))
def test_weights_are_repeated_texts(drawn, seed):
    scores, label = drawn
    weights = np.random.default_rng(seed).integers(0, 4, (len(scores), 3)).astype(float)
    weights[0] += 1
    weights[1] += 1
    ours = metrics_of(scores, label, weights)
    for column in range(3):
        repeat = weights[:, column].astype(int)
        expected = from_sklearn(np.repeat(scores, repeat), np.repeat(label, repeat))
        np.testing.assert_allclose(ours[:, column], expected, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("strict", ["", "_strict"])
def test_allowed_false_positives_are_exact_whole_numbers(level, strict):
    for nonmembers in range(1, 2001):
        wrong = np.arange(nonmembers + 1)
        fits = wrong * 100 < level * nonmembers if strict else wrong * 100 <= level * nonmembers
        assert allowed_false(f"tpr_at_{level}_fpr{strict}", nonmembers) == wrong[fits].max()


def test_a_class_that_a_resample_lost_leaves_no_pairs():
    numerators, pairs = Ranking.of(np.arange(4.0), np.arange(4) < 2, np.arange(4)).counts(
        np.array([[0.0, 0, 1, 1]]).T
    )
    assert pairs == 0
    assert not numerators.any()
