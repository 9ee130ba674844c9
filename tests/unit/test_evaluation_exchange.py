"""The exchange test: against all relabellings by brute force, and by how often it finds
nothing where nothing is."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from pretrace.audit.exchange_test import (
    AuditedTexts,
    Units,
    above,
    exchanged_p,
    normal_scores,
    units_of,
)
from pretrace.evaluation.resampling import DRAWN, relabellings, ways


def texts_of(sizes, suspects, rng, *, icc=0.2, shift=0.0, methods=1):
    """Texts of documents with these numbers of texts; the first `suspects` documents
    are in question."""
    code = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=len(sizes))[code]
    own = rng.normal(size=(len(code), methods))
    is_suspect = code < suspects
    scores = np.sqrt(icc) * shared[:, None] + np.sqrt(1 - icc) * own
    scores += shift * is_suspect[:, None]
    return AuditedTexts(scores, code, np.zeros_like(code), is_suspect)


def units(texts, combined=(0,)) -> Units:
    return units_of(texts, texts.ranks(combined)[:, -1])


def brute_force(scores, suspect, stratum) -> float:
    """The share of all ways to deal out each stratum's labels in which suspects have at
    least their sum."""
    strata = [np.flatnonzero(stratum == code) for code in np.unique(stratum)]
    choices = product(
        *(combinations(rows, int(suspect[rows].sum())) for rows in strata)
    )
    sums = np.array(
        [sum(scores[row] for chosen in choice for row in chosen) for choice in choices]
    )
    return float((sums >= scores[suspect].sum() - 1e-9).mean())


def welch(values, chosen) -> np.ndarray:
    """Welch's t of the chosen values against the others, for each row of `chosen`."""
    ours = values[chosen]
    number = ours.shape[1]
    others = len(values) - ours.shape[1]
    mean = ours.mean(axis=1)
    other_mean = (values.sum() - ours.sum(axis=1)) / others
    squares = (values**2).sum() - (ours**2).sum(axis=1) - others * other_mean**2
    error = ours.var(axis=1, ddof=1) / number + squares / (others - 1) / others
    return (mean - other_mean) / np.sqrt(error)


def test_normal_scores_are_the_quantiles_of_midranks_where_all_weigh_the_same():
    scores = np.random.default_rng(0).integers(0, 20, 47).astype(float)
    expected = stats.norm.ppf((stats.rankdata(scores) - 0.5) / 47)
    assert normal_scores(scores, np.ones(47)) == pytest.approx(expected)


def test_a_document_weighs_as_much_as_any_other_in_the_ranks():
    """Ten texts of one document move a rank as far as one text of another."""
    low, *_, middle, high = normal_scores(
        np.array([1.0] * 10 + [2.0, 3.0]), np.array([0.1] * 10 + [1.0, 1.0])
    )
    expected = stats.norm.ppf([1 / 6, 3 / 6, 5 / 6])
    assert [low, middle, high] == pytest.approx(expected)


@pytest.mark.parametrize(("suspects", "known"), [(1, 12), (2, 9), (4, 6)])
def test_p_of_documents_is_that_of_all_relabellings(suspects, known):
    rng = np.random.default_rng(suspects)
    found = units(texts_of([5] * (suspects + known), suspects, rng, shift=0.6))
    means = found.mean  # with as many texts each, p follows from the means
    assert found.p(seed=1) == pytest.approx(
        brute_force(means, found.suspect, found.stratum)
    )
    assert found.ways == len(list(combinations(range(suspects + known), suspects)))


def test_drawn_relabellings_come_near_to_all_of_them():
    rng = np.random.default_rng(5)
    found = units(texts_of([3] * 24, 6, rng, shift=0.3))
    assert found.ways > DRAWN + 1
    every = welch(found.standardised, np.array([*combinations(range(24), 6)]))
    exact = (every >= every[0] - 1e-9).mean()
    assert found.p(seed=1) == pytest.approx(exact, abs=4 * np.sqrt(exact / DRAWN))


def test_sides_that_differ_in_number_are_compared_by_welchs_t():
    """Seven of them scatter thrice as much as eighteen, around the same mean; a sum
    finds too much there."""
    suspect = np.arange(25) < 7
    stratum = np.zeros(25, dtype=int)
    low = {exchanged_p: 0, sum_p: 0}
    for seed in range(400):
        values = np.random.default_rng(seed).normal(size=25) * np.where(suspect, 3, 1)
        for test in low:
            low[test] += test(values, suspect, stratum, 0, 399) <= 0.05
    assert low[exchanged_p] <= stats.binom.ppf(0.999, 400, 0.06) < low[sum_p]


def sum_p(values, suspect, stratum, seed, drawn) -> float:
    sums = np.concatenate(
        [values @ labels for labels in relabellings(suspect, stratum, seed, drawn)]
    )
    return float((sums >= sums[0] - 1e-9).mean())


def test_welchs_t_is_summed_over_strata():
    rng = np.random.default_rng(8)
    values = rng.normal(size=18)
    stratum = np.arange(18) % 2
    suspect = np.isin(np.arange(18), [0, 2, 4, 1, 3, 5, 7, 9])
    parts = {}
    pooled_variance = {}
    for side in (True, False):
        squares = 0.0
        freedom = 0
        for code in (0, 1):
            part = values[(suspect == side) & (stratum == code)]
            squares += ((part - part.mean()) ** 2).sum()
            freedom += len(part) - 1
            parts[side, code] = part
        pooled_variance[side] = squares / freedom
    numerator = 0.0
    variance = 0.0
    for code in (0, 1):
        ours = parts[True, code]
        theirs = parts[False, code]
        weight = len(ours) * len(theirs) / 9
        numerator += weight * (ours.mean() - theirs.mean())
        of_ours = pooled_variance[True] / len(ours)
        of_theirs = pooled_variance[False] / len(theirs)
        variance += weight**2 * (of_ours + of_theirs)
    found = above(values, suspect[:, None].astype(float), stratum)
    assert found == pytest.approx(numerator / np.sqrt(variance))


def test_documents_exchange_with_those_of_the_same_slices():
    """Some documents have short texts, some long ones, some both."""
    rng = np.random.default_rng(3)
    document = np.repeat(np.arange(15), 2)
    slices = np.tile([0, 0, 1, 1, 0, 1], 5)
    scores = rng.normal(size=(30, 1))
    found = units(AuditedTexts(scores, document, slices, document % 5 == 0))
    assert len(np.unique(found.stratum)) == 3
    expected = brute_force(found.standardised, found.suspect, found.stratum)
    assert found.p(seed=0) == pytest.approx(expected)


def test_labels_drawn_within_documents_are_exchanged_there():
    """Four canaries with two, three or four twins."""
    rng = np.random.default_rng(4)
    document = np.repeat(np.arange(4), [3, 4, 5, 3])
    suspect = np.r_[True, np.diff(document) > 0]
    scores = rng.normal(size=(15, 1)) + document[:, None]
    slices = np.zeros(15, int)
    found = units(AuditedTexts(scores, document, slices, suspect, within=True))
    assert found.ways == 3 * 4 * 5 * 3 == ways(suspect, document)
    assert found.p(seed=0) == pytest.approx(brute_force(found.mean, suspect, document))
    texts = np.array([3, 4, 5, 3])
    gaps = []
    for d in range(4):
        canary, *twins = found.mean[document == d]
        gaps.append(canary - np.mean(twins))
    expected = np.average(gaps, weights=(texts - 1) / texts)
    assert found.effect == pytest.approx(expected)


def test_every_relabelling_comes_once_where_all_are_made():
    label = np.array([1, 0, 0, 1, 0, 1]) == 1
    stratum = np.array([0, 0, 0, 1, 1, 1])
    labels = np.concatenate(list(relabellings(label, stratum, 0)), axis=1)
    assert labels.shape == (6, 9)
    assert len({tuple(column) for column in labels.T}) == 9
    assert labels[:, 0].tolist() == label.tolist()
    assert (labels[:3].sum(axis=0) == 1).all()


def test_a_mean_of_few_texts_is_measured_by_how_much_such_means_vary():
    rng = np.random.default_rng(6)
    found = units(texts_of([2] * 10 + [30] * 10, 10, rng, icc=0.0))
    of_few = found.standardised[found.texts == 2].std()
    of_many = found.standardised[found.texts == 30].std()
    means_ratio = found.mean[:10].std() / found.mean[10:].std()
    assert 1 / 2 < of_few / of_many < 2 < means_ratio
    swapped = replace(found, suspect=~found.suspect)
    assert swapped.standardised == pytest.approx(found.standardised), (
        "labels play no part"
    )


def test_a_document_has_its_rank_among_the_known_ones():
    found = units(texts_of([4] * 14, 3, np.random.default_rng(7), shift=1.0))
    for unit in range(3):
        own = found.mean[unit]
        known = found.mean[3:]
        expected = (1 + (known >= own).sum()) / 12
        assert found.conformal_p[unit] == pytest.approx(expected)
        assert found.above_known[unit] == pytest.approx(own - known.mean())
    assert np.isnan(found.conformal_p[3:]).all()


def test_the_smallest_effect_is_found_in_four_of_five_cases():
    count = 0
    times = 200
    for number in range(times):
        rng = np.random.default_rng(number)
        effect = units(texts_of([5] * 28, 8, rng)).smallest_effect()
        count += units(texts_of([5] * 28, 8, rng, shift=effect)).p(seed=0) <= 0.05
    assert count / times == pytest.approx(0.8, abs=0.09)
    few = units(texts_of([5] * 11, 1, np.random.default_rng(0)))
    assert few.smallest_effect() == np.inf, "one document against ten"


FAMILIES = {
    "normal": lambda rng, count: rng.normal(size=count),
    "skewed": lambda rng, count: rng.lognormal(size=count),
    "mixture": lambda rng, count: (
        rng.normal(size=count) + 6 * (rng.random(count) < 0.1)
    ),
}


SIZES = [[6] * 16, [3] * 4 + [12] * 12, [20] * 4 + [4] * 12]
PAIRED = [*zip(SIZES, FAMILIES, strict=True)]
REST = [case for case in product(SIZES, FAMILIES) if case not in PAIRED]


@pytest.mark.parametrize(
    ("sizes", "family"),
    [*PAIRED, *(pytest.param(*case, marks=pytest.mark.full) for case in REST)],
)
def test_false_alarms_stay_at_their_level(family, sizes):
    """The full tables are in tests/bench/SIZE_AND_POWER.md, by tests/bench/bench_audit.py."""
    rng = np.random.default_rng(8)
    times = 300
    alarms = 0
    draw = FAMILIES[family]
    code = np.repeat(np.arange(16), sizes)
    for _ in range(times):
        scores = 0.5 * draw(rng, 16)[code] + draw(rng, len(code))
        alarms += (
            units(AuditedTexts(scores[:, None], code, np.zeros_like(code), code < 4)).p(
                seed=0
            )
            <= 0.05
        )
    assert alarms <= stats.binom.ppf(0.999, times, 0.06)
