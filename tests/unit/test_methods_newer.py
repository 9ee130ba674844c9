"""Methods published since 2024: values that the authors' own functions gave, and
oracles written from the formulas."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as examples
from made_up_statistics import average, score, text_of, texts

from pretrace.methods.kinds import aligned_logprobs
from pretrace.methods.wbc import WIDTHS
from pretrace.views import VIEWS

few = examples(max_examples=50, deadline=None)
LOGPROBS = [-0.5, -2.0, -0.1, -4.0, -1.0, -0.3, -3.0, -0.8]
REFERENCE = [-0.7, -1.5, -0.4, -4.5, -0.9, -0.6, -2.6, -1.3]
HIGHEST = [-0.5, -0.7, -0.1, -1.2, -0.4, -0.3, -0.9, -0.8]
SIGMAS = [1, 2, 0.5, 1.6, 1.2, 0.8, 1.4, 1]
COPIES = [
    [-0.6, -2.5, -0.4, -5, -1.5, -0.9, -3.5, -1.1],
    [-0.9, -2.2, -0.2, -4.4, -1.9, -1, -4, -0.7],
]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, -0.8),
        ({"window": 6}, -0.7333333),
        ({"window": 1}, -1.75),
        ({"window": 9}, -1.75),
        ({"k": 0.5}, -0.7666667),
    ],
)
def test_gap_k_gives_the_values_of_the_authors_function(params, expected):
    variances = [sigma**2 for sigma in SIGMAS]
    text = text_of(logprobs=LOGPROBS, highest=HIGHEST, variances=variances)
    assert score("gap_k", text, **params) == pytest.approx(expected, abs=1e-6)


def lowest_windows(values: list[float], width: int) -> float:
    """The mean of the lowest fifth of the windows, or of the values of a text that is
    shorter than a window."""
    windows = []
    for end in range(width, len(values) + 1):
        windows.append(average(values[end - width : end]))
    ascending = sorted(windows or values)
    fifth = max(1, int(0.2 * len(ascending)))
    return average(ascending[:fifth])


@few
@given(texts())
def test_gap_k_and_windowed_min_k_equal_their_oracles(text):
    gaps = []
    for own, highest, variance in zip(
        text.logprobs, text.highest, text.variances, strict=True
    ):
        gaps.append((own - highest) / math.sqrt(max(variance, 1e-8)))
    for width in (1, 3, 6):
        gap_k = score("gap_k", text, window=width)
        expected = lowest_windows(gaps, width)
        assert gap_k == pytest.approx(expected, rel=1e-9, abs=1e-6)
        min_k = score("min_k", text, window=width)
        expected = lowest_windows(list(text.logprobs), width)
        assert min_k == pytest.approx(expected, abs=1e-9)


def test_max_renyi_is_the_mean_of_the_highest_entropies_whatever_the_tokens_are():
    entropies = [1.0, 4.0, 2.0, 3.0]
    highest = [-0.5, -0.1, -0.7, -0.2]
    text = text_of(logprobs=[-9.0] * 4, entropies=entropies, highest=highest)
    assert score("max_renyi", text) == -4.0  # at least one
    assert score("max_renyi", text, k=0.5) == -3.5
    assert score("max_renyi", text, k=1.0, entropy="min") == pytest.approx(-0.375)
    assert score("max_renyi", replace(text, logprobs=text.logprobs / 2)) == -4.0


@pytest.mark.parametrize(
    ("logprobs", "copies", "expected"),
    [
        (LOGPROBS, COPIES, 0.525),
        ([-number / 10 for number in range(1, 41)], [[-1.0]], -3.3),
        ([-1.0], [[-7.0]], 0.0),
    ],
)
def test_pac_gives_the_values_of_the_authors_function(logprobs, copies, expected):
    text = text_of(logprobs=logprobs, neighbours=copies)
    assert score("pac", text) == pytest.approx(expected, abs=1e-6)


SEVEN = [-1, -2, -0.5, -3, -1.5, -0.8, -2.2]
SEVEN_OF_REFERENCE = [-1.6, -1.5, -0.3, -3.6, -1.2, -0.4, -2.7]


@pytest.mark.parametrize(
    ("target", "reference", "widths", "expected"),
    [
        (LOGPROBS, REFERENCE, "one", 0.625),
        (LOGPROBS, REFERENCE, "code", 0.9238095),
        (LOGPROBS, REFERENCE, "paper", 0.9238095),
        (SEVEN, SEVEN_OF_REFERENCE, "code", 0.7366667),
        (SEVEN, SEVEN_OF_REFERENCE, "paper", 0.8033333),
        (SEVEN, SEVEN_OF_REFERENCE, "one", 0.4285714),
        ([-1, -2], [-2, -1], "code", 0.0),
        ([-0.1, -0.2], [-0.3, -0.0], "code", 0.0),  # a tie but for rounding
    ],
)
def test_wbc_gives_the_values_of_the_authors_function(
    target, reference, widths, expected
):
    text = text_of(logprobs=target, aligned_reference=reference)
    assert score("wbc", text, widths=widths) == pytest.approx(expected, abs=1e-6)


def test_wbc_widths_are_those_of_the_paper():
    assert WIDTHS["paper"] == (2, 3, 4, 5, 8, 11, 15, 21, 29, 40)


@pytest.mark.parametrize(
    ("positions", "code", "paper"),
    [
        ((1, 3, 4, 6), 0.5, 0.5),
        ((0, 1, 3, 7), 2.0, 2.0),  # 2.4 if the first position counted
        ((3, 7), 0.0, 1e12),  # nothing lost
        ((1,), 0.0, 0.0),  # one error, a loss
        ((), 0.0, 1e12),
    ],
)
def test_ez_mia_gives_the_values_of_the_code_and_of_the_paper(positions, code, paper):
    ranks = [float(place in positions) for place in range(len(LOGPROBS))]
    text = text_of(logprobs=LOGPROBS, ranks=ranks, aligned_reference=REFERENCE)
    assert score("ez_mia", text, edge="code") == pytest.approx(code, abs=1e-6)
    assert score("ez_mia", text) == pytest.approx(paper, abs=1e-6)


def test_a_reference_of_other_tokens_gives_no_aligned_log_probabilities():
    logprobs = [-4, -5, -6]
    text = text_of(token_ids=[1, 2, 3], logprobs=[-1, -2, -3])
    same = text_of(token_ids=[1, 2, 3], logprobs=logprobs)
    assert aligned_logprobs(text, same).tolist() == logprobs
    other = text_of(token_ids=[1, 2, 4], logprobs=logprobs)
    assert aligned_logprobs(text, other) is None
    shorter = text_of(token_ids=[1, 2], logprobs=[-4, -5])
    assert aligned_logprobs(text, shorter) is None
    unknown = text_of(token_ids=[-1, -1, -1], logprobs=logprobs)
    assert aligned_logprobs(unknown, unknown) is None
    assert aligned_logprobs(text, "no scored token") is None


def test_transpositions_keep_the_words_and_move_some():
    text = (
        "We the people of the United States in order to form a more perfect "
        "union\nestablish justice"
    )
    variants = VIEWS["transpositions-5"].variants
    copies = variants(text, 7)
    assert copies == variants(text, 7)
    assert copies != variants(text, 8)
    assert len(set(copies)) == 5
    words = text.split(" ")
    for copy in copies:
        words_of_copy = copy.split(" ")
        assert sorted(words_of_copy) == sorted(words)
        moved = 0
        for word, word_of_copy in zip(words, words_of_copy, strict=True):
            moved += word != word_of_copy
        assert 0 < moved <= 2 * 4  # 16 words, line breaks within them: 4 swaps
    assert variants("Justice", 7) == ["Justice"] * 5
