"""The methods that ask a model questions, their parameters, and the controls beside them. Light to import."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pretrace.runtime.errors import InputError, nearest

Value = int | str


@dataclass(frozen=True)
class QuestionMethod:
    """A method whose score of a document is the share of its answers that are right.

    `grid` holds the parameters that a run can list values of; any other is off its default where the evaluation
    derives a further score from the same answers. `control`: it sees no model.
    """

    id: str
    defaults: Mapping[str, Value] = field(default_factory=dict)
    grid: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    control: bool = False
    options: bool = False
    """Whether it chooses among a passage and its paraphrases, so that a score names the paraphraser."""
    convention: tuple[str, ...] = ()


QUESTION_METHODS: dict[str, QuestionMethod] = {
    method.id: method
    for method in (
        QuestionMethod("de_cop", {"calibration": "none"}, options=True),
        QuestionMethod("completion", {"k": 32}, {"k": (32, 50)}),
        QuestionMethod("name_cloze"),
        QuestionMethod("longest_option", control=True, options=True),
        QuestionMethod("odd_one_out", control=True, options=True),
    )
}
"""In the order of every table. `calibration`: none, given, held or cross_fitted; `k`: tokens of a prefix."""

CONTROLS = tuple(id for id, method in QUESTION_METHODS.items() if method.control)


def question_settings(id: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Value]]:
    """Every setting that a run asks for: the values it lists, else the grid's.

    Raises:
        InputError: an unknown parameter, or a value that the method does not take.
    """
    method = QUESTION_METHODS[id]
    chosen = dict(method.grid)
    for name, given in (parameters or {}).items():
        if name not in method.grid:
            raise InputError(f"{id} has no parameter '{name}': {nearest(name, method.grid)}")
        values = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        wrong = [value for value in values if type(value) is not int or value < 1]
        if wrong or not values:
            raise InputError(f"parameter '{name}' of {id}: give whole numbers from 1, not {given!r}")
        chosen[name] = tuple(dict.fromkeys(values))
    return [dict(zip(chosen, values, strict=True)) for values in itertools.product(*chosen.values())]


def question_setting_name(id: str, parameters: Mapping[str, Value]) -> str:
    """`key=value;key=value`: parameters of the grid always, any other where it is not at its default."""
    method = QUESTION_METHODS[id]
    values = dict(method.defaults) | dict(parameters)
    shown = (name for name in values if name in method.grid or values[name] != method.defaults[name])
    return ";".join(f"{name}={values[name]}" for name in shown)


def parse_question_setting(id: str, setting: str) -> dict[str, Value]:
    """The parameters, all of them, that `question_setting_name` wrote."""
    given = dict(part.split("=", 1) for part in setting.split(";") if part)
    return dict(QUESTION_METHODS[id].defaults) | {
        name: int(value) if value.isdigit() else value for name, value in given.items()
    }


def controls_beside(ids: Iterable[str]) -> list[str]:
    """The controls that stand beside a run's question methods and are not among them: those of DE-COP."""
    named = set(ids)
    return [id for id in CONTROLS if id not in named] if "de_cop" in named else []
