"""The facts about every method by its id, whether it scores texts or asks questions."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

from pretrace import methods
from pretrace.methods import cross_fitted, empty_score, is_limit, parse_setting, settings
from pretrace.methods.registry import QUESTION_METHODS, Method, Value
from pretrace.runtime.errors import InputError, nearest

__all__ = [
    "METHODS",
    "QUESTION_CONTROLS",
    "QUESTION_METHODS",
    "controls_of",
    "cross_fitted",
    "empty_score",
    "is_control",
    "is_limit",
    "is_question",
    "parse_setting",
    "question_settings",
]  # fmt: skip

METHODS: Mapping[str, Method] = ChainMap(methods.METHODS, QUESTION_METHODS)
"""Every registered method by its id."""

QUESTION_CONTROLS = tuple(id for id, method in QUESTION_METHODS.items() if method.control)


def is_question(method: str) -> bool:
    """Return whether a method, or a variant of one, asks questions; any other scores texts."""
    return method.split(";")[0] in QUESTION_METHODS


def is_control(method: str) -> bool:
    """Return whether a method, or a variant of one, sees no model, so that its results show nothing about one."""
    entry = METHODS.get(method.split(";")[0])
    return entry is not None and (entry.control or entry.scope == "benchmark")


def question_settings(id: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Value]]:
    """List every setting that a run asks for, of parameters with a grid: the values it lists, else the grid's.

    Raises `InputError` for an unknown parameter, or a value that the method does not take.
    """
    grid = QUESTION_METHODS[id].grid
    for name in (parameters or {}).keys() - grid.keys():
        raise InputError(f"{id} has no parameter '{name}': {nearest(name, grid)}")
    return [{name: setting[name] for name in grid} for setting in settings(id, parameters)]


def controls_of(ids: Iterable[str]) -> list[str]:
    """List the controls that DE-COP adds to a run's question methods, without those that the run names."""
    named = set(ids)
    return [id for id in QUESTION_CONTROLS if id not in named] if "de_cop" in named else []
