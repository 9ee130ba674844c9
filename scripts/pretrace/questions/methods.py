"""The methods that ask a model questions, their settings in a run, and their controls. Light to import."""

from collections.abc import Iterable, Mapping
from typing import Any

from pretrace.methods.registry import QUESTION_METHODS, Value
from pretrace.methods.settings import settings
from pretrace.runtime.errors import InputError, nearest

__all__ = ["CONTROLS", "QUESTION_METHODS", "controls_of", "question_settings"]

CONTROLS = tuple(id for id, method in QUESTION_METHODS.items() if method.control)


def question_settings(id: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Value]]:
    """List every setting that a run asks for, of parameters with a grid: the values it lists, else the grid's.

    Raises:
        InputError: an unknown parameter, or a value that the method does not take.
    """
    grid = QUESTION_METHODS[id].grid
    for name in (parameters or {}).keys() - grid.keys():
        raise InputError(f"{id} has no parameter '{name}': {nearest(name, grid)}")
    return [{name: setting[name] for name in grid} for setting in settings(id, parameters)]


def controls_of(ids: Iterable[str]) -> list[str]:
    """List the controls that DE-COP adds to a run's question methods, without those that the run names."""
    named = set(ids)
    return [id for id in CONTROLS if id not in named] if "de_cop" in named else []
