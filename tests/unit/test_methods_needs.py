"""What runs must offer for a method, and the passes that a plan must request for it."""

from typing import Any

import pytest

from pretrace.methods import Chosen, altered_views, obstacle
from pretrace.methods.registry import FULL_VOCABULARY, OF_WHOLE_PREDICTIONS


@pytest.mark.parametrize(
    ("lacking", "without"),
    [
        ({}, set()),
        ({"language": "zh"}, {"lowercase"}),
        ({"language": "zh-Hans"}, {"lowercase"}),
        ({"language": "ar_EG"}, {"lowercase"}),
        ({"language": "el"}, set()),
        ({"language": ""}, set()),
        ({"lacking": FULL_VOCABULARY}, {"min_k_pp", "surp", "ez_mia"}),
        ({"lacking": OF_WHOLE_PREDICTIONS}, {"min_k_pp", "surp"}),
        (
            {"log_probabilities": False},
            {"loss", "zlib", "lowercase", "min_k", "min_k_pp", "surp", "ez_mia"},
        ),
    ],
)
def test_a_method_applies_where_the_model_and_the_language_allow_it(lacking, without):
    ours = {"loss", "zlib", "lowercase", "min_k", "min_k_pp", "surp", "ez_mia", "blind"}
    run = {"references": ["small"]}
    assert {
        id for id in ours if obstacle(id, run, **{"language": "en"} | lacking)
    } == without


@pytest.mark.parametrize(
    ("entropy", "lacking", "applies"),
    [
        ("shannon", OF_WHOLE_PREDICTIONS, False),
        ("min", OF_WHOLE_PREDICTIONS, True),
        (["shannon", "min"], OF_WHOLE_PREDICTIONS, True),
        ("min", FULL_VOCABULARY, False),
    ],
)
def test_a_method_applies_in_the_settings_whose_statistics_there_are(
    entropy, lacking, applies
):
    hindered = obstacle(
        "max_renyi", {}, {"entropy": entropy}, language="en", lacking=lacking
    )
    assert (hindered is None) == applies


def test_neighbours_stand_beside_the_text_only_where_a_method_needs_them():
    assert altered_views(["loss", "lowercase"], ["transpositions-25"]) == {"lowercase"}
    assert altered_views(["neighbor"], ["transpositions-25", "neighbours-25"]) == {
        "transpositions-25",
        "neighbours-25",
    }


def entry(method: str, **parameters: Any) -> Chosen:
    return Chosen(method=method, parameters=parameters)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry("loss"), entry("blind"), entry("prefix_similarity")], set()),
        ([entry("recall")], {("nonmember", 7)}),
        ([entry("recall"), entry("con_recall")], {("nonmember", 7), ("member", 7)}),
        ([entry("recall", shots=[1, 2])], {("nonmember", 1), ("nonmember", 2)}),
        ([entry("con_recall", access="zero")], {("nonmember", 7), ("zero_access", 7)}),
        (
            [entry("con_recall", access=["zero", "partial"])],
            {("nonmember", 7), ("zero_access", 7), ("member", 7)},
        ),
        (
            [
                entry(
                    "con_recall",
                    separator="space",
                    access="zero",
                    manipulate_prefix=True,
                )
            ],
            {
                ("nonmember;separator=space;manipulate_prefix=true", 7),
                ("zero_access;separator=space", 7),
            },
        ),
    ],
)
def test_each_prefix_and_number_of_shots_is_one_pass(entries, expected):
    entry_prefixes = set()
    for item in entries:
        for prefix, shots in item.prefixes:
            entry_prefixes.add((prefix.name, shots))
    assert entry_prefixes == expected


def test_a_finer_gamma_needs_no_further_pass():
    wide = entry("con_recall", gamma=[i / 100 for i in range(-100, 101)])
    assert wide.prefixes == entry("con_recall").prefixes
