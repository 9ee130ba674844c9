"""Register methods that score texts and methods that ask questions: needs, parameters, defaults, grids."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pretrace.runtime.errors import InputError, nearest

Value = bool | int | float | str
F = TypeVar("F", bound=Callable[..., Any])

NEEDS: dict[str, str] = {
    "text": "the text itself",
    "token_ids": "the ids of the scored tokens",
    "logprobs": "the log-probabilities of the scored tokens",
    "entropies": "the entropies of the model's predictions (full vocabulary)",
    "variances": "the variances of ln p under the model's predictions (full vocabulary)",
    "highest": "the log-probabilities of the likeliest tokens (full vocabulary)",
    "ranks": "how many tokens are likelier than the scored ones (full vocabulary)",
    "top40": "the probabilities of the 40 likeliest tokens together (full vocabulary)",
    "lowercase": "log-probabilities of the lower-cased text",
    "aligned_reference": "log-probabilities of the same tokens under a reference model with the same tokenizer",
    "nonmember_prefix": "log-probabilities of the text after a prefix of non-members",
    "member_prefix": "log-probabilities of the text after a prefix of members",
    "texts": "all texts of the benchmark with labels and folds, and no model",
    "stream": "the members that a controlled model is trained on, each as often as it is",
}
"""The words for what a method can ask for; each kind of input adds its own."""


@dataclass(frozen=True)
class InputKind:
    """An input that runs name; each score of a method that needs it names one of them as its `reference`.

    need             the word that methods ask for it by, and the key of its files in a job
    noun, example    what a run lacks without it, and an entry of its list, for messages
    key              the key of a run that lists the names; "" for `inputs: {need: [...]}`
    without_passes   whether its methods read no log-probabilities of the run's model
    complete         (the job's inputs, a plain pass, a name) -> a function that adds the input to a text's statistics
    """

    need: str
    noun: str
    example: str
    key: str
    without_passes: bool
    complete: Callable[..., Any] = field(repr=False)

    @property
    def remedy(self) -> str:
        """Say what to add to a run so that it has the input."""
        listed = f"{self.need}: [{self.example}]"
        return f"{self.key}: [{self.example}]" if self.key else f"inputs: {{{listed}}}"

    def names(self, run: Mapping[str, Any]) -> list[str]:
        """Return the names that a run, as jobs get it, lists of the input."""
        return list(run.get(self.key, ()) if self.key else run.get("inputs", {}).get(self.need, ()))


INPUTS: dict[str, InputKind] = {}


def input_kind(
    need: str, meaning: str, *, noun: str, example: str, key: str = "", without_passes: bool = False
) -> Callable[[F], F]:
    """Register a kind of input under the word `need`, which methods ask for it by; `meaning` says it in a log.

    The function gets the job's `Inputs`, the key of the plain pass over the texts, and a name that the run lists. It
    returns a function that adds the input to a text's statistics: (text id, statistics) -> statistics. A kind without
    a key of its own has the file `results/STUDY/NEED/NAME/BENCHMARK.parquet`, which a rule makes.
    """

    def register(function: F) -> F:
        NEEDS[need] = meaning
        INPUTS[need] = InputKind(need, noun, example, key, without_passes, function)
        return function

    return register


@dataclass(frozen=True)
class Method:
    """A registered method. Its parameters have the order of the function's keyword parameters."""

    id: str
    needs: tuple[str, ...]
    defaults: dict[str, Value]
    grid: dict[str, tuple[Value, ...]]
    convention: tuple[str, ...]
    """Parameters whose default is this project's choice, since the paper fixes none."""
    costly: tuple[str, ...]
    """Parameters of the grid whose every value costs a forward pass: a run tries the values that it lists."""
    empty_parameter: str
    """The parameter that is the score of a text with nothing to score; "" where there is no such thing."""
    cross_fitted: bool
    """Whether a text's score is learned from the labels of the other folds' texts."""
    on_request: bool
    """Whether a control is left out of runs that do not name it."""
    function: Callable[..., Any] = field(repr=False)
    types: dict[str, Any] = field(repr=False)

    @property
    def scope(self) -> str:
        """Return `text` if the function gets one `TokenStatistics`, `benchmark` if it gets all `LabelledTexts` of a
        slice.
        """
        return "benchmark" if "texts" in self.needs else "text"

    @property
    def reads_passes(self) -> bool:
        """Tell whether a score is made of log-probabilities."""
        return self.scope == "text" and not (self.input and self.input.without_passes)

    @property
    def input(self) -> InputKind | None:
        """Return the kind of input that its scores name as their reference."""
        return next((INPUTS[need] for need in self.needs if need in INPUTS), None)


METHODS: dict[str, Method] = {}


@dataclass(frozen=True)
class QuestionMethod:
    """A method whose score of a document is the share of its answers that are right.

    `grid` holds the parameters that a run can list values of; any other is off its default where the evaluation
    derives a further score from the same answers. `control`: it sees no model. `options`: it chooses among a passage
    and its paraphrases, so that a score names the paraphraser.
    """

    id: str
    defaults: dict[str, Value] = field(default_factory=dict)
    grid: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    control: bool = False
    options: bool = False
    convention: tuple[str, ...] = ()
    costly: tuple[str, ...] = ()
    empty_parameter: str = ""
    cross_fitted: bool = False


Calibration = Literal["none", "given", "held", "cross_fitted"]

QUESTION_METHODS: dict[str, QuestionMethod] = {
    method.id: method
    for method in (
        QuestionMethod("de_cop", {"calibration": "none"}, types={"calibration": Calibration}, options=True),
        QuestionMethod("completion", {"k": 32}, {"k": (32, 50)}, types={"k": Annotated[int, (0, inf)]}),
        QuestionMethod("name_cloze"),
        QuestionMethod("longest_option", control=True, options=True),
        QuestionMethod("odd_one_out", control=True, options=True),
    )
}
"""In the order of every table. `k`: tokens of a prefix."""


def method(
    id: str,
    *,
    needs: Sequence[str],
    grid: Mapping[str, Sequence[Value]] | None = None,
    convention: Sequence[str] = (),
    costly: Sequence[str] = (),
    empty_score: str = "",
    cross_fitted: bool = False,
    on_request: bool = False,
) -> Callable[[F], F]:
    """Register a function as the method `id`; its keyword parameters are the method's, with their defaults.

    `needs` are words of `NEEDS`; `grid` maps parameters to the values tried by hyperparameter selection,
    default among them; `convention` names the parameters whose default no paper fixes; `costly` those of the
    grid that stay at their default unless a run lists values; `empty_score` names the parameter that is
    returned where a text holds nothing to score; `cross_fitted` says that a text's score is learned from the
    labels of the other folds, for which its intervals are widened; `on_request` that only runs that name this
    control have it. A parameter's annotation (`bool`,
    `int`, `float`, a `Literal` of strings, or a range of `statistics`) is what a configuration is checked
    against.
    """

    def register(function: F) -> F:
        where = f"method '{id}' in {inspect.getsourcefile(function)}"
        if id in METHODS:
            other = inspect.getsourcefile(METHODS[id].function)
            raise InputError(f"{where}: the id is taken by {other}. Choose another id.")
        defaults = _defaults(function, where)
        entry = Method(
            id=id,
            needs=tuple(needs),
            defaults=defaults,
            grid={name: tuple((grid or {})[name]) for name in defaults if name in (grid or {})},
            convention=tuple(convention),
            costly=tuple(costly),
            empty_parameter=empty_score,
            cross_fitted=cross_fitted,
            on_request=on_request,
            function=function,
            types=get_type_hints(function, include_extras=True),
        )
        _check(entry, [*(grid or {}), *convention, *costly, *([empty_score] if empty_score else [])], where)
        METHODS[id] = entry
        return function

    return register


def _defaults(function: Callable[..., Any], where: str) -> dict[str, Value]:
    keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for parameter in keywords:
        if parameter.default is parameter.empty or parameter.annotation is parameter.empty:
            raise InputError(f"{where}: parameter '{parameter.name}' needs a type and a default value.")
    return {parameter.name: parameter.default for parameter in keywords}


def _check(entry: Method, named: Sequence[str], where: str) -> None:
    for need in entry.needs:
        if need not in NEEDS:
            raise InputError(f"{where}: unknown need '{need}': {nearest(need, NEEDS)}")
    if len(INPUTS.keys() & set(entry.needs)) > 1:
        raise InputError(
            f"{where}: a score names one reference; it cannot need several of {', '.join(INPUTS)}."
        )
    for name in named:
        if name not in entry.defaults:
            raise InputError(
                f"{where}: '{name}' is not a parameter of the function: {nearest(name, entry.defaults)}"
            )
    for name in entry.costly:
        if name not in entry.grid:
            raise InputError(
                f"{where}: costly parameter '{name}' has no grid. Add a grid, or remove the parameter from costly."
            )
    for name, values in entry.grid.items():
        if entry.defaults[name] not in values:
            raise InputError(
                f"{where}: the grid of '{name}' lacks its default {entry.defaults[name]!r}. Add it."
            )


def find(id: str) -> Method:
    """Return the method of an id that scores texts; `InputError` with the nearest id for an unknown one."""
    if id not in METHODS:
        raise InputError(f"unknown method '{id}': {nearest(id, METHODS)}")
    return METHODS[id]
