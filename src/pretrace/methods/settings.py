"""A method at a setting, one value for each parameter: how it is written, and what it
needs of a run."""

import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pretrace.methods.registry import (
    ALTERED_VIEWS,
    CASELESS,
    METHODS,
    PREFIXES,
    QUESTION_METHODS,
    Method,
    Parameters,
    RunKeys,
    Value,
)
from pretrace.runtime.errors import InputError, require_name
from pretrace.runtime.schema import Keys
from pretrace.views.readings import ZERO_ACCESS, Prefix


class Column(NamedTuple):
    """What tells the scores of a text apart; tables of scores and of results have these
    columns.

    view, start_token  of the reading, "" if no text is read
    draw               of the shots, -1 without one (missing in tables)
    reference          the method's further input, or the wrong options; "" without one
    """

    method: str = ""
    setting: str = ""
    view: str = ""
    start_token: str = ""
    draw: int = -1
    reference: str = ""


def find(id: str) -> Method:
    """Return the method of an id that scores texts; `InputError` with the nearest id
    for an unknown one."""
    require_name(id, METHODS, f"unknown method '{id}'")
    return METHODS[id]


def find_any(id: str) -> Method:
    """Return the method of an id, whether it scores texts or asks questions;
    `InputError` as `find`."""
    return QUESTION_METHODS.get(id) or find(id)


def settings(
    id: str, parameters: Parameters | None = None
) -> Iterator[dict[str, Value]]:
    """Return every setting of a method, the first parameter varying slowest; the
    parameters are checked at once.

    `parameters` gives some parameters a value or a list of values in place of their
    grid (or default); the others keep theirs, and costly ones their default.
    """
    method = find_any(id)
    tried = {}
    for name, default in method.defaults.items():
        has_grid = name in method.grid and name not in method.costly
        tried[name] = method.grid[name] if has_grid else (default,)
    for name, value in (parameters or {}).items():
        tried[name] = _values(method, name, value)
    combinations = itertools.product(*tried.values())
    return (dict(zip(tried, values, strict=True)) for values in combinations)


def setting_name(id: str, params: Parameters) -> str:
    """Return `key=value;key=value`: grid parameters always, any other only if it is off
    its default.

    Parameters that are not given are at their defaults. Numbers by `format(x, "g")`,
    booleans in lower case.
    """
    method = find_any(id)
    values = dict(method.defaults)
    for name, value in params.items():
        values[name] = _value(method, name, value)
    parts = []
    for name, default in method.defaults.items():
        if name in method.grid or values[name] != default:
            parts.append(f"{name}={written_value(values[name])}")
    return ";".join(parts)


def parse_setting(id: str, setting: str) -> dict[str, Value]:
    """Return all the parameters that `setting_name` wrote."""
    method = find_any(id)
    params = dict(method.defaults)
    for part in setting.split(";") if setting else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"setting '{setting}' of '{id}': '{part}' is not key=value."
            )
        params[name] = _value(method, name, _parse_value(value))
    return params


def written_parameters(setting: str) -> dict[str, str]:
    """Return `a=0.01;upper_bound=false` as a mapping of strings."""
    parameters = {}
    for part in setting.split(";") if setting else []:
        name, _, value = part.partition("=")
        parameters[name] = value
    return parameters


def empty_score(id: str, setting: str) -> float | None:
    """Return the score that a setting gives a text with nothing to score; None for
    other methods."""
    name = find_any(id).empty_parameter
    return float(parse_setting(id, setting)[name]) if name else None


def is_limit(id: str, name: str, value: float) -> bool:
    """Return whether a parameter's range ends at a value, so that no grid goes beyond
    it: `k` of 1, one shot."""
    kind = find_any(id).types[name]
    if get_origin(kind) is not Annotated:
        return False
    kind, (above, most) = get_args(kind)
    return bool(value == most or (kind is int and value - 1 <= above))


def cross_fitted(id: str) -> bool:
    """Return whether the method learns a text's score from the labels of the other
    folds' texts."""
    return find_any(id).cross_fitted


def _values(method: Method, name: str, value: Any) -> tuple[Value, ...]:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    values = list(value) if is_list else [value]
    if not values:
        raise InputError(
            f"parameter '{name}' of method '{method.id}': the list is empty. Give a "
            "value."
        )
    return tuple(dict.fromkeys(_value(method, name, each) for each in values))


def _value(method: Method, name: str, value: Any) -> Value:
    """Return the value in the parameter's own type; `InputError` says what would be
    right."""
    where = f"parameter '{name}' of method '{method.id}'"
    require_name(
        name, method.defaults, f"method '{method.id}' has no parameter '{name}'"
    )
    kind = method.types[name]
    above, most = -math.inf, math.inf
    if get_origin(kind) is Annotated:
        kind, (above, most) = get_args(kind)
    if get_origin(kind) is Literal:
        require_name(
            value, get_args(kind), f"{where}: {value!r} is not one of its values"
        )
        return value
    accepted = int | float if kind is float else int
    # True is an int in Python
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, accepted):
        raise InputError(f"{where}: {value!r} is not {_NAMES[kind]}.")
    if not above < value <= most or not math.isfinite(value):
        bounds = f"above {above:g} and at most {most:g}"
        raise InputError(f"{where}: {value!r} is out of range; it must be {bounds}.")
    if kind is float and float(format(value, "g")) != value:
        digits = "has more than the 6 digits that a setting's name holds"
        raise InputError(f"{where}: {value!r} {digits}.")
    return kind(value)


_NAMES = {bool: "true or false", int: "a whole number", float: "a number"}


def written_value(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else format(value, "g")


def _parse_value(written: str) -> Value:
    if written in ("true", "false"):
        return written == "true"
    for number in (int, float):
        try:
            return number(written)
        except ValueError:
            continue
    return written


class Obstacle(NamedTuple):
    """Why a run cannot have rows of a method, and what to add so that it can ("" where
    nothing would help)."""

    reason: str
    remedy: str


def obstacle(
    id: str,
    run: RunKeys,
    parameters: Parameters | None = None,
    *,
    language: str,
    has_prefixes: bool = False,
    lacking: Collection[str] = (),
    log_probabilities: bool = True,
) -> Obstacle | None:
    """Return why a run cannot have rows of the method `id` in any of its settings; None
    if it can.

    `run`: the inputs that it names, as `InputKind.names` reads them. `language` is a
    language tag ("en", "zh-Hans"), "" if it is unknown; `has_prefixes` says whether
    shots are drawn from the benchmark; `lacking` are the statistics of tokens that the
    model does not give; `log_probabilities` is false for models that give none of a
    text's tokens.
    """
    method = find(id)
    needs = set(method.needs)
    if method.scope == "text" and not log_probabilities:
        return Obstacle("the model gives no log-probabilities of a text", "")
    kind = method.input
    if kind and not kind.names(run):
        remedy = f"add {kind.remedy} to the run"
        return Obstacle(f"the run names no {kind.noun}", remedy)
    if needs & PREFIXES.keys() and not has_prefixes:
        remedy = "add prefix: {pool: 7} to the benchmark's entry"
        return Obstacle("no prefixes are drawn from the benchmark", remedy)
    absent = needs & set(lacking)
    if absent:
        every = settings(id, parameters)
        if all(method.needs_of(setting) & absent for setting in every):
            return Obstacle("the model gives no full-vocabulary statistics", "")
    code = language.replace("_", "-").split("-")[0].lower()
    if "lowercase" in needs and code in CASELESS:
        return Obstacle(f"the script of '{language}' has no lower case", "")
    return None


def altered_views(ids: Iterable[str], neighbours: Iterable[str] = ()) -> set[str]:
    """Return the altered forms of the text that these methods need; `neighbours`: the
    run's own."""
    needs: set[str] = set()
    for id in ids:
        needs.update(find(id).needs)
    views = {ALTERED_VIEWS[need] for need in needs & ALTERED_VIEWS.keys()}
    if "neighbours" in needs:
        views.update(neighbours)
    return views


def prefix_passes(id: str, params: Parameters) -> dict[str, tuple[Prefix, int]]:
    """Return need -> (prefix, number of shots) of one setting of a method; empty for
    methods without a prefix."""
    method = find(id)
    values = method.defaults | dict(params)
    passes = {}
    for need, kind in PREFIXES.items():
        if need not in method.needs:
            continue
        zero_access = need == "member_prefix" and values.get("access") == "zero"
        kind = ZERO_ACCESS if zero_access else kind
        manipulated = bool(values.get("manipulate_prefix", False)) and not zero_access
        prefix = Prefix(kind, str(values.get("separator", "none")), manipulated)
        passes[need] = (prefix, int(values["shots"]))
    return passes


class Chosen(Keys):
    """A method of a run, with the parameters that the run narrows."""

    method: str
    parameters: dict[str, Any] = {}

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """The written parameters of each setting, by the setting's name."""
        return _named_settings(self.method, json.dumps(self.parameters, sort_keys=True))

    @property
    def shots(self) -> int:
        """The most shots that a setting takes, 0 if none takes any."""
        if not PREFIXES.keys() & set(find(self.method).needs):
            return 0
        every = settings(self.method, self.parameters)
        return max(int(str(params["shots"])) for params in every)

    @property
    def prefixes(self) -> set[tuple[Prefix, int]]:
        """The (prefix, number of shots) whose passes the settings need, in each of the
        run's draws and views.

        Methods that read texts alone need the shots, and no pass.
        """
        method = find(self.method)
        if method.scope != "text" or not PREFIXES.keys() & set(method.needs):
            return set()
        needed: set[tuple[Prefix, int]] = set()
        for params in settings(self.method, self.parameters):
            needed.update(prefix_passes(self.method, params).values())
        return needed


# the runs of a study name the same few choices thousands of times
@cache
def _named_settings(id: str, parameters: str) -> dict[str, dict[str, str]]:
    named = {}
    for values in settings(id, json.loads(parameters)):
        name = setting_name(id, values)
        named[name] = written_parameters(name)
    return named
