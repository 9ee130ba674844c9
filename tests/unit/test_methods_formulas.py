"""Each method against its formula, written here in plain Python on hand-made
statistics; edge cases."""

import math
import zlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from made_up_statistics import (
    SPEECH,
    average,
    oracle_dc_pdd,
    oracle_surp,
    oracle_z,
    score,
    text_of,
    texts,
)

from pretrace.methods import METHODS, settings

few = examples(max_examples=50, deadline=None)
EXAMPLE = text_of(
    token_ids=[5, 7, 5, 9, 7],
    logprobs=[-1.0, -4.0, -0.5, -2.5, -8.0],
    entropies=[1.0, 3.0, 0.5, 1.5, 1.9],
    variances=[4.0, 9.0, 0.25, 1.0, 16.0],
    lowercase=[-2.0, -4.0, -3.0],
    highest=[-0.5, -1.0, -0.5, -0.75, -1.0],
    ranks=[1, 5, 0, 2, 30],
    reference=[-3.0, -5.0, -1.0, -2.0],
    aligned_reference=[-1.5, -3.0, -0.5, -2.0, -3.0],
    log_frequencies=[-3.0, -9.0, -3.0, -6.0, -9.0],
    neighbours=[[-6.0, -4.0], [-3.0], [-1.0, -2.0, -3.0]],
    given_nonmember=[-6.0, -2.0, -4.0, -1.0, -3.0, -8.0],
    given_member=[-5.0, -1.0, -2.0, -1.0, -2.0, -4.0],
    shadows=[[-2.0, -3.0], [-4.0, -5.0]],
)
# mean surprise of the example, its lower-cased text, its reference model
L = 3.2
L_LOWER = 3.0
L_REF = 2.75
L_NON, L_MEM = 4.0, 2.5  # after the prefix of non-members and of members
MEAN_OF_SHADOWS = (math.exp(-2) + math.exp(-3) + math.exp(-4) + math.exp(-5)) / 4
COMPRESSED = len(zlib.compress(SPEECH.encode()))  # in bytes


@pytest.mark.parametrize(
    ("id", "params", "expected"),
    [
        ("loss", {}, -L),
        ("loss", {"form": "perplexity"}, -math.exp(L)),
        ("zlib", {}, -L / COMPRESSED),
        ("zlib", {"form": "perplexity"}, -math.exp(L) / COMPRESSED),
        ("lowercase", {}, -L / L_LOWER),
        ("lowercase", {"form": "perplexity"}, -math.exp(L) / math.exp(L_LOWER)),
        ("ref", {}, -(L - L_REF)),
        ("ref", {"form": "ratio"}, -L / L_REF),
        ("ref", {"form": "con_recall_code"}, -L - math.exp(-L_REF)),
        ("neighbor", {}, -(L - (5.0 + 3.0 + 2.0) / 3)),
        ("neighbor", {"neighbours": 2}, -(L - (5.0 + 3.0) / 2)),
        ("rmia", {}, -L - math.log(MEAN_OF_SHADOWS)),
        ("option_likelihood", {}, -L + 2.0),
        ("option_likelihood", {"form": "likeliest"}, 0.0),
        ("recall", {}, -L_NON / -L),
        ("recall", {"shots": 3}, -L_NON / -L),
        ("con_recall", {}, (-L_NON - 0.5 * -L_MEM) / -L),
        ("con_recall", {"gamma": 1.0}, (-L_NON + L_MEM) / -L),
        ("con_recall", {"gamma": -0.3}, (-L_NON - 0.3 * L_MEM) / -L),
        ("con_recall", {"gamma": 0.0}, -L_NON / -L),
        ("con_recall", {"access": "zero"}, (-L_NON + 0.5 * L_MEM) / -L),
        ("min_k", {}, -8.0),
        ("min_k", {"k": 0.4}, -6.0),
        ("min_k", {"k": 1.0}, -L),
        ("min_k_pp", {"k": 0.4}, (-6.1 / 4 - 1.0) / 2),  # z: 0, -1/3, 0, -1, -1.525
        # 40th percentile of -8, -4, -2.5, -1, -0.5: position 1.6, so -3.1; below it -8
        # and -4
        ("surp", {}, -8.0),
        ("surp", {"eps": 3.5}, -6.0),
        ("surp", {"eps": 3.0}, -8.0),  # strict: the token of entropy 3 is not below 3
        # strict: the most likely token is left out
        ("surp", {"percentile": 100, "eps": 1.75}, -1.75),
        ("surp", {"eps": 1.0}, 0.0),
        ("surp", {"eps": 1.0, "empty": -100.0}, -100.0),
        # first occurrences are tokens 5, 7, 9 at positions 0, 1, 3
        (
            "dc_pdd",
            {"a": 10.0},
            (3 * math.exp(-1) + 9 * math.exp(-4) + 6 * math.exp(-2.5)) / 3,
        ),
        ("dc_pdd", {"a": 0.5}, (0.5 + 9 * math.exp(-4) + 6 * math.exp(-2.5)) / 3),
        ("dc_pdd", {}, 0.01),
    ],
)
def test_a_worked_example_gives_the_value_of_the_formula(id, params, expected):
    assert score(id, EXAMPLE, **params) == pytest.approx(expected, rel=1e-12)


SHARED = {"entropies": [1.0] * 100, "variances": [1.0] * 100}


@few
# 0.29 * 100 is 28.999999999999996
@example(text_of(logprobs=-np.arange(100.0), **SHARED), 29)
@given(texts(), st.integers(1, 100))
def test_min_k_and_min_k_pp_are_means_of_the_exact_share_of_lowest_values(
    text, percent
):
    count = max(1, math.floor(Fraction(percent, 100) * len(text.logprobs)))
    for id, values in (("min_k", text.logprobs), ("min_k_pp", oracle_z(text))):
        expected = average(sorted(values)[:count])
        actual = score(id, text, k=percent / 100)
        assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


@few
@given(
    texts(),
    st.sampled_from([s / 2 for s in range(1, 21)]),
    st.sampled_from(range(10, 101, 10)),
)
def test_surp_is_the_mean_over_confident_and_unlikely_tokens(text, eps, percent):
    for empty in (0.0, -100.0):
        expected = oracle_surp(text, eps, percent, empty)
        actual = score("surp", text, eps=eps, percentile=percent, empty=empty)
        assert actual == pytest.approx(expected, abs=1e-9)


@few
@given(
    texts(),
    st.sampled_from([0.001, 0.01, 0.1, 1.0, 10.0]),
    st.booleans(),
    st.booleans(),
)
def test_dc_pdd_is_the_mean_divergence_with_and_without_its_two_restrictions(
    text, a, upper_bound, first_occurrence
):
    expected = oracle_dc_pdd(text, a, upper_bound, first_occurrence)
    actual = score(
        "dc_pdd", text, a=a, upper_bound=upper_bound, first_occurrence=first_occurrence
    )
    assert actual == pytest.approx(expected, rel=1e-9, abs=1e-12)


TEXT_METHODS = [id for id, method in METHODS.items() if method.scope == "text"]


@pytest.mark.parametrize(
    ("logprobs", "entropies", "variances", "frequencies"),
    [
        pytest.param([-2.0], [1.0], [2.0], [-5.0], id="one token"),
        pytest.param(
            [-2.0] * 6, [1.0] * 6, [2.0] * 6, [-5.0] * 6, id="all tokens equal"
        ),
        pytest.param(
            [0.0, 0.0],
            [0.0, 0.0],
            [0.0, 0.0],
            [-5.0, -6.0],
            id="certain: p = 1 and no variance",
        ),
        pytest.param(
            [-90.0, -100.0],
            [10.0, 11.0],
            [0, 0],
            [-25.0, -0.0],
            id="hopeless: p = e-40",
        ),
    ],
)
def test_edge_cases_score_finite_numbers_in_every_setting(
    logprobs, entropies, variances, frequencies
):
    """With altered texts that are as likely, and with one that is certain."""
    text = text_of(
        text="",
        logprobs=logprobs,
        entropies=entropies,
        variances=variances,
        log_frequencies=frequencies,
        lowercase=logprobs,
        reference=[0.0],
        neighbours=[logprobs],
        shadows=(logprobs, [0.0]),
        given_nonmember=logprobs,
        given_member=[0.0],
        highest=logprobs,
        ranks=[0.0] * len(logprobs),
        aligned_reference=logprobs,
    )
    form_of_loss = {"form": ["log_perplexity", "perplexity"]}
    grids = {
        "loss": form_of_loss,
        "zlib": form_of_loss,
        "lowercase": form_of_loss,
        "ref": {"form": ["difference", "ratio", "con_recall_code"]},
        "option_likelihood": {"form": ["margin", "likeliest"]},
        "max_renyi": {"entropy": ["shannon", "min"]},
        "wbc": {"widths": ["paper", "code", "one"]},
        "ez_mia": {"edge": ["paper", "code"]},
        "min_k": {"window": [1, 3]},
    }
    for id in TEXT_METHODS:
        for params in settings(id, grids.get(id, {})):
            assert math.isfinite(score(id, text, **params)), (id, params)


@pytest.mark.parametrize(
    "id", [id for id in TEXT_METHODS if "logprobs" in METHODS[id].needs]
)
def test_a_text_that_the_model_knows_scores_higher(id):
    """Member-like: every token has half the surprise, all else equal."""
    known = replace(EXAMPLE, logprobs=EXAMPLE.logprobs / 2)
    params = {"a": 10.0} if id == "dc_pdd" else {}
    assert score(id, known, **params) > score(id, EXAMPLE, **params)


def test_zlib_counts_bytes_of_the_utf8_text():
    chinese = "人民日报" * 9
    compressed = zlib.compress(chinese.encode("utf-8"))
    text = text_of(text=chinese, logprobs=[-2.0])
    assert score("zlib", text) == -2.0 / len(compressed)
