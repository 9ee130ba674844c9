"""What is known of methods of both kinds, by their ids."""

from pretrace.methods import METHODS
from pretrace.questions import known
from pretrace.questions.methods import QUESTION_METHODS

CONTROLS = {"blind", "prefix_similarity", "unigram", "longest_option", "odd_one_out"}


def test_methods_of_both_kinds_are_known() -> None:
    assert set(known.METHODS) == {*METHODS, *QUESTION_METHODS}
    assert known.parse_setting("min_k", "k=0.3") == {"k": 0.3}
    assert known.parse_setting("completion", "k=50") == {"k": 50}
    assert known.empty_score("surp", "eps=2;percentile=40") == 0
    assert known.empty_score("de_cop", "") is None
    assert [known.cross_fitted(id) for id in ("blind", "loss", "de_cop")] == [True, False, False]


def test_controls_are_the_methods_that_see_no_model() -> None:
    assert {id for id in known.METHODS if known.is_control(id)} == CONTROLS
    assert known.is_control("longest_option;calibration=held")
    assert not known.is_control("con_recall;access=zero")
    assert not known.is_control("combined")
