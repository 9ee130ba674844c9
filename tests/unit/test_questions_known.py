"""What is known of methods of both kinds, by their ids."""

from pretrace.questions import known

CONTROLS = {"blind", "prefix_similarity", "unigram", "longest_option", "odd_one_out"}


def test_controls_are_the_methods_that_see_no_model():
    assert {id for id in known.METHODS if known.is_control(id)} == CONTROLS
    assert known.is_control("longest_option;calibration=held")
    assert not known.is_control("con_recall;access=zero")
    assert not known.is_control("combined")
