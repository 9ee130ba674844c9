"""What is known of methods of both kinds, by their ids."""

from typing import Any

import pytest

from pretrace.methods import METHODS, method
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


def test_a_method_of_ones_own_that_sees_the_texts_alone_is_a_control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: dict[str, Any] = {}
    monkeypatch.setattr("pretrace.methods.registry.METHODS", added)

    @method("count_words", needs=("texts",))
    def count_words(texts: Any) -> dict[str, float]:
        return {id: float(len(text)) for id, text in zip(texts.ids, texts.texts, strict=True)}

    monkeypatch.setitem(METHODS, "count_words", added["count_words"])
    assert known.is_control("count_words")
