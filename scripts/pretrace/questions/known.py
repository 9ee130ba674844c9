"""The facts about every method by its id, whether it scores texts or asks questions."""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from pretrace import methods
from pretrace.methods import cross_fitted, empty_score, is_limit, parse_setting
from pretrace.methods.registry import QUESTION_METHODS

__all__ = ["METHODS", "cross_fitted", "empty_score", "is_control", "is_limit", "is_question", "parse_setting"]

METHODS: Mapping[str, Any] = ChainMap[str, Any](methods.METHODS, QUESTION_METHODS)
"""Every method that is registered; both kinds have `defaults`, a `grid` and `convention`."""


def is_question(method: str) -> bool:
    """Tell whether a method, or a variant of one, asks questions; any other scores texts."""
    return method.split(";")[0] in QUESTION_METHODS


def is_control(method: str) -> bool:
    """Tell whether a method, or a variant of one, sees no model, so that its results show nothing about one."""
    id = method.split(";")[0]
    if id in QUESTION_METHODS:
        return QUESTION_METHODS[id].control
    return id in methods.METHODS and methods.METHODS[id].scope == "benchmark"
