"""The facts about every method by its id, whether it scores texts or asks questions."""

from collections import ChainMap
from collections.abc import Iterable, Mapping

from pretrace import methods
from pretrace.methods import (
    cross_fitted,
    empty_score,
    is_limit,
    parse_setting,
    settings,
)
from pretrace.methods.registry import QUESTION_METHODS, Control, Method, Value
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import JsonObject

__all__ = [
    "METHODS",
    "QUESTION_CONTROLS",
    "QUESTION_METHODS",
    "control_of",
    "controls_of",
    "cross_fitted",
    "empty_score",
    "is_control",
    "is_limit",
    "is_question",
    "parse_setting",
    "question_settings",
    "reads_benchmark",
]  # fmt: skip

METHODS: Mapping[str, Method] = ChainMap(methods.METHODS, QUESTION_METHODS)
"""Every registered method by its id."""

QUESTION_CONTROLS = tuple(
    id for id, method in QUESTION_METHODS.items() if method.control
)


def is_question(method: str) -> bool:
    """Return whether a method, or a variant of one, asks questions; any other scores
    texts."""
    return method.split(";")[0] in QUESTION_METHODS


def is_control(method: str) -> bool:
    """Return whether a method, or a variant of one, is a control: its results show no
    knowledge of the text."""
    return control_of(method) != ""


def control_of(method: str) -> Control:
    """Return what a control, or a variant of one, does not see; "" for other
    methods."""
    entry = METHODS.get(method.split(";")[0])
    return "" if entry is None else entry.control


def reads_benchmark(method: str) -> bool:
    """Return whether a method scores texts by the labels or shots of their benchmark,
    without a model."""
    entry = METHODS.get(method)
    return entry is not None and entry.scope == "benchmark"


def question_settings(
    id: str, parameters: JsonObject | None = None
) -> list[dict[str, Value]]:
    """List every setting that a run asks for, of parameters with a grid: the values it
    lists, else the grid's.

    Raises `InputError` for an unknown parameter, or a value that the method does not
    take.
    """
    grid = QUESTION_METHODS[id].grid
    for name in (parameters or {}).keys() - grid.keys():
        raise InputError(f"{id} has no parameter '{name}': {nearest(name, grid)}")
    listed = []
    for setting in settings(id, parameters):
        listed.append({name: setting[name] for name in grid})
    return listed


def controls_of(ids: Iterable[str]) -> list[str]:
    """List the controls that DE-COP adds to a run's question methods, without those
    that the run names."""
    named = set(ids)
    if "de_cop" not in named:
        return []
    return [id for id in QUESTION_CONTROLS if id not in named]
