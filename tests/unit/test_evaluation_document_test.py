"""The test of a document: against the formulas written out, and by how often it finds nothing where nothing is."""

import numpy as np
import pytest
from scipy import stats

from pretrace.evaluation.document_test import ScoredTexts, compare, comparisons, normal_scores

ONE = np.zeros(1, dtype=int)


def of_slice(scores, document):
    """Texts of one slice, with scores of shape (texts, methods), or (texts,) of one method."""
    return ScoredTexts(scores.reshape(len(document), -1), document, np.zeros_like(document))


def documents(sizes, icc, rng, *, shift=0.0):
    """Scores of texts of documents with these numbers of texts, and the documents' codes; variance 1."""
    code = np.repeat(np.arange(len(sizes)), sizes)
    shared, own = rng.normal(size=len(sizes))[code], rng.normal(size=len(code))
    return np.sqrt(icc) * shared + np.sqrt(1 - icc) * own + shift, code


def test_normal_scores_are_the_quantiles_of_midranks_where_all_weigh_the_same():
    rng = np.random.default_rng(0)
    known, suspect = rng.integers(0, 20, 40).astype(float), rng.integers(0, 20, 7).astype(float)
    ranks = stats.rankdata(np.concatenate([known, suspect]))
    expected = stats.norm.ppf((ranks - 0.5) / 47)
    given = np.concatenate(normal_scores(known, np.ones(40), suspect, 1.0))
    assert given == pytest.approx(expected)


def test_a_document_weighs_as_much_as_any_other_in_the_ranks():
    """Ten texts of one document move a rank as far as one text of another."""
    known, weights = np.array([1.0] * 10 + [3.0]), np.array([0.55] * 10 + [5.5])
    (low, *_, high), (middle,) = normal_scores(known, weights, np.array([2.0]), 1.0)
    assert [low, middle, high] == pytest.approx(stats.norm.ppf([2.75 / 12, 6 / 12, 9.25 / 12]))


def test_the_comparison_is_the_prediction_test_of_a_balanced_analysis_of_variance():
    rng = np.random.default_rng(1)
    count, texts, own = 12, 5, 3
    scores, code = documents([texts] * count, 0.3, rng)
    suspect = rng.normal(size=own) + 1
    table = scores.reshape(count, texts)
    between = texts * table.mean(axis=1).var(ddof=1)  # MSB
    within = table.var(axis=1, ddof=1).mean()  # MSW
    first, second = between / texts * (1 + 1 / count) ** 2, within * (1 / own - 1 / texts)
    degrees = (first + second) ** 2 / (first**2 / (count - 1) + second**2 / (count * (texts - 1)))
    effect = suspect.mean() - table.mean()
    result = compare(scores, code, suspect, np.zeros(own, dtype=int))
    assert result.effect == pytest.approx(effect)
    assert result.p == pytest.approx(stats.t.sf(effect / np.sqrt(first + second), degrees))
    component = (between - within) / texts
    assert result.icc == pytest.approx(component / (component + within))


def test_documents_of_one_text_are_compared_by_students_prediction_interval():
    rng = np.random.default_rng(2)
    scores, count = rng.normal(size=30), 30
    result = compare(scores, np.arange(count), np.array([1.7]), ONE)
    t = (1.7 - scores.mean()) / (scores.std(ddof=1) * (1 + 1 / count))
    assert result.p == pytest.approx(stats.t.sf(t, count - 1))
    assert np.isnan(result.icc)
    assert result.two_sided == pytest.approx(2 * min(result.p, 1 - result.p))


def test_a_document_with_more_texts_is_compared_by_the_known_means_alone_if_that_finds_more():
    """With 20 texts against 4 in each of 12 known documents, Satterthwaite's degrees can fall below one."""
    known, code = documents([4] * 12, 0.0, np.random.default_rng(27))
    means = known.reshape(12, 4).mean(axis=1)
    suspect = np.full(20, 0.9)
    t = (0.9 - means.mean()) / (means.std(ddof=1) * (1 + 1 / 12))
    result = compare(known, code, suspect, np.zeros(20, dtype=int))
    assert result.p == pytest.approx(stats.t.sf(t, 11))
    within = known.reshape(12, 4).var(axis=1, ddof=1).mean()
    first, second = means.var(ddof=1) * (1 + 1 / 12) ** 2, within * (1 / 20 - 1 / 4)
    degrees = (first + second) ** 2 / (first**2 / 11 + second**2 / 36)
    assert degrees < 1
    assert stats.t.sf((0.9 - means.mean()) / np.sqrt(first + second), degrees) > 3 * result.p, "with them"


def test_the_smallest_effect_is_found_in_four_of_five_cases():
    rng = np.random.default_rng(3)
    count = 0
    for _ in range(400):
        known, code = documents([6] * 30, 0.2, rng)
        suspect, _ = documents([6], 0.2, rng)
        effect = compare(known, code, suspect, np.zeros(6, dtype=int)).smallest_effect(0.05)
        count += compare(known, code, suspect + effect, np.zeros(6, dtype=int)).p <= 0.05
    assert count / 400 == pytest.approx(0.8, abs=0.06)


def test_texts_needed_are_the_fewest_with_that_smallest_effect():
    rng = np.random.default_rng(7)
    known, code = documents([8] * 40, 0.02, rng)
    result = compare(known, code, np.zeros(1), ONE)
    needed = result.texts_needed(1.0, 0.05)
    effects = [
        compare(known, code, np.zeros(count), np.zeros(count, dtype=int)).smallest_effect(0.05)
        for count in (needed - 1, needed)
    ]
    assert effects[1] <= 1.0 < effects[0]
    assert result.texts_needed(0.01, 0.05) is None


def test_methods_are_compared_one_by_one_and_together():
    rng = np.random.default_rng(4)
    known, code = documents([4] * 20, 0.2, rng)
    suspect = rng.normal(size=(4, 2)) + 1
    both = np.stack([known, rng.normal(size=80)], axis=1)
    both[::7, 1] = np.nan
    group = np.full(4, 99)
    given = comparisons(of_slice(both, code), of_slice(suspect, group), [0, 1])
    alone = comparisons(of_slice(known, code), of_slice(suspect[:, 0], group), [])
    assert len(given) == 3
    assert len(alone) == 1
    assert given[0] == alone[0]
    assert min(given[0].effect, given[1].effect) < given[2].effect < max(given[0].effect, given[1].effect)


@pytest.mark.parametrize(
    ("count", "texts", "own", "icc"), [(10, 20, 4, 0.3), (20, 10, 1, 0.7), (40, 5, 20, 0.1), (12, 4, 20, 0.3)]
)
def test_false_alarms_stay_at_their_level(count, texts, own, icc):
    """The full tables are in docs/size_and_power.md, by tests/bench/bench_audit.py."""
    rng, times = np.random.default_rng(6), 600
    alarms = 0
    for _ in range(times):
        known, code = documents([texts] * count, icc, rng)
        suspect, _ = documents([own], icc, rng)
        (result,) = comparisons(of_slice(known, code), of_slice(suspect, np.full(own, count)), [])
        alarms += result.p <= 0.05
    assert stats.binom.ppf(0.001, times, 0.035) <= alarms <= stats.binom.ppf(0.999, times, 0.055)
