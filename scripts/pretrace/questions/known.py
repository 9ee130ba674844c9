"""What is known of every method by its id, whether it scores texts or asks questions."""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from pretrace import methods
from pretrace.questions.registry import QUESTION_METHODS, parse_question_setting

METHODS: Mapping[str, Any] = ChainMap[str, Any](methods.METHODS, QUESTION_METHODS)
"""Every method that is registered; both kinds have `defaults`, a `grid` and `convention`."""


def is_question(method: str) -> bool:
    """Whether a method, or a variant of one, asks questions; any other scores texts."""
    return method.split(";")[0] in QUESTION_METHODS


def is_control(method: str) -> bool:
    """Whether a method sees no model, so that what it reaches shows nothing about one; so of a variant."""
    id = method.split(";")[0]
    if id in QUESTION_METHODS:
        return QUESTION_METHODS[id].control
    return id in methods.METHODS and methods.METHODS[id].scope == "benchmark"


def parse_setting(method: str, setting: str) -> dict[str, Any]:
    """All parameters of a setting, by its name in a table of scores."""
    return dict((parse_question_setting if is_question(method) else methods.parse_setting)(method, setting))


def empty_score(method: str, setting: str) -> float | None:
    """The score of a text with nothing to score; None where there is no such thing."""
    return None if is_question(method) else methods.empty_score(method, setting)


def is_limit(method: str, name: str, value: float) -> bool:
    """Whether a parameter's range ends at a value, so that no grid goes beyond it."""
    return not is_question(method) and methods.is_limit(method, name, value)


def cross_fitted(method: str) -> bool:
    """Whether a text's score is learned from the labels of the other folds' texts."""
    return not is_question(method) and methods.cross_fitted(method)
