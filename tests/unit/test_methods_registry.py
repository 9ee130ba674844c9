"""The register: how a method is added, what a configuration may ask of it, and the
names of its settings."""

import sys

import pytest

from pretrace import methods
from pretrace.methods import METHODS, TokenStatistics, is_limit, method, registry
from pretrace.runtime.errors import InputError


@pytest.fixture
def spare_register(monkeypatch):
    """A copy of the register, so that a test can add to it."""
    copy = dict(METHODS)
    for module in (registry, sys.modules["pretrace.methods.settings"]):
        monkeypatch.setattr(module, "METHODS", copy)
    return copy


def test_a_costly_parameter_stays_at_its_default_unless_a_run_lists_values():
    """Each number of shots is a forward pass over every text; gamma is arithmetic."""
    expected = [f"gamma={i / 10:g};shots=7" for i in range(1, 11)]
    assert setting_names("con_recall") == expected
    assert len(setting_names("recall", shots=list(range(1, 11)))) == 10


def setting_names(id, **parameters):
    settings = methods.settings(id, parameters)
    return [methods.setting_name(id, values) for values in settings]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"a": 0.01}, ["a=0.01"]),
        ({"a": [10, 0.001]}, ["a=10", "a=0.001"]),
        ({"a": [10, 10.0]}, ["a=10"]),
        (
            {"a": 0.5, "first_occurrence": [True, False]},
            ["a=0.5", "a=0.5;first_occurrence=false"],
        ),
        (
            {"first_occurrence": False, "upper_bound": False, "a": 0.01},
            ["a=0.01;upper_bound=false;first_occurrence=false"],
        ),
    ],
)
def test_parameters_narrow_and_extend_the_grid(parameters, expected):
    assert setting_names("dc_pdd", **parameters) == expected


@pytest.mark.parametrize(
    ("id", "parameters", "words"),
    [
        ("dc_pdd", {"uper_bound": False},
         ["no parameter 'uper_bound'", "did you mean 'upper_bound'"]),
        ("loss", {"k": 0.2}, ["no parameter 'k'", "valid: form"]),
        ("blind", {"k": 0.2}, ["no parameter 'k'", "none to choose from"]),
        ("min_k", {"k": "0.2"}, ["'k' of method 'min_k'", "'0.2' is not a number"]),
        ("min_k", {"k": True}, ["True is not a number"]),
        ("min_k", {"k": None}, ["None is not a number"]),
        ("min_k", {"k": []}, ["empty"]),
        ("min_k", {"k": 20}, ["20 is out of range", "above 0 and at most 1"]),
        ("min_k", {"k": 0}, ["0 is out of range"]),
        ("min_k", {"k": float("nan")}, ["out of range"]),
        ("min_k", {"k": 0.12345678}, ["6 digits"]),
        ("surp", {"percentile": 40.5}, ["40.5 is not a whole number"]),
        ("surp", {"empty": float("-inf")}, ["out of range"]),
        ("dc_pdd", {"upper_bound": 1}, ["1 is not true or false"]),
        ("dc_pdd", {"upper_bound": "false"}, ["'false' is not true or false"]),
        ("ref", {"form": "rati"}, ["'rati'", "did you mean 'ratio'"]),
        ("ref", {"form": ["ratio", 3]}, ["3 is not one of its values"]),
        ("min_k_p", {}, ["unknown method 'min_k_p'", "did you mean 'min_k_pp'"]),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_an_error_that_says_what_would_be_right(
    id, parameters, words
):
    with pytest.raises(InputError) as error:
        methods.settings(id, parameters)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("id", list(METHODS))
def test_a_setting_is_read_back_as_it_was_written(id):
    for params in methods.settings(id):
        assert methods.parse_setting(id, methods.setting_name(id, params)) == params


@pytest.mark.parametrize(
    ("id", "params", "name"),
    [
        ("loss", {}, ""),
        ("loss", {"form": "perplexity"}, "form=perplexity"),
        ("min_k", {}, "k=0.2"),
        ("surp", {"empty": -100}, "eps=2;percentile=40;empty=-100"),
        ("dc_pdd", {"a": 10}, "a=10"),
        ("dc_pdd", {"upper_bound": False}, "a=0.01;upper_bound=false"),
    ],
)
def test_a_setting_names_grid_parameters_always_and_others_off_their_default(
    id, params, name
):
    assert methods.setting_name(id, params) == name
    assert methods.parse_setting(id, name) == METHODS[id].defaults | params


@pytest.mark.parametrize(
    ("setting", "word"),
    [("k", "not key=value"), ("q=1", "no parameter"), ("k=x", "not a number")],
)
def test_a_setting_that_no_method_wrote_is_an_error(setting, word):
    with pytest.raises(InputError, match=word):
        methods.parse_setting("min_k", setting)


def test_the_score_of_an_empty_set_follows_the_setting():
    assert methods.empty_score("surp", "eps=2;percentile=40") == 0.0
    assert methods.empty_score("surp", "eps=2;percentile=40;empty=-100") == -100.0
    assert methods.empty_score("min_k", "k=0.2") is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid": {"kk": (1,)}}, "'kk' is not a parameter"),
        ({"grid": {"k": (0.5,)}}, "lacks its default 0.2"),
        ({"needs": ("texts",)}, "without a model. Add control='no model'"),
        ({"convention": ("q",)}, "'q' is not a parameter"),
        ({"empty_parameter": "empty"}, "'empty' is not a parameter"),
        ({"needs": ("logprob",)}, "unknown need 'logprob': did you mean 'logprobs'"),
        ({"needs": ("reference", "frequencies")}, "cannot need several"),
        ({"needs": ("neighbours", "reference")}, "cannot need several"),
        ({"costly": ("k",)}, "'k' has no grid"),
        ({"id": "loss"}, r"'loss'.*taken by .*loss\.py"),
    ],
)
def test_a_method_that_contradicts_itself_is_not_registered(
    spare_register, options, words
):
    with pytest.raises(InputError, match=words):

        @method(**{"id": "new", "needs": ("logprobs",)} | options)
        def new(text: TokenStatistics, *, k: float = 0.2) -> float:
            return k

    assert "new" not in spare_register


@pytest.mark.parametrize(
    ("method", "name", "value", "ends"),
    [
        ("min_k", "k", 1.0, True),
        ("min_k", "k", 0.9, False),
        ("surp", "percentile", 100, True),
        ("recall", "shots", 1, True),
        ("recall", "shots", 10, False),
        ("con_recall", "gamma", 1.0, False),
        ("dc_pdd", "a", 10.0, False),
    ],
)
def test_a_grid_ends_where_the_range_of_its_parameter_ends(method, name, value, ends):
    assert is_limit(method, name, value) is ends
