"""Register methods that score texts and methods that ask questions: needs, parameters,
defaults, grids."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pretrace.runtime.errors import InputError, nearest

Value = bool | int | float | str
Control = Literal["", "no model", "no true token"]
F = TypeVar("F", bound=Callable[..., Any])

Parameters = Mapping[str, Any]
"""Parameter -> value, or the values that a run lists."""

RunKeys = Mapping[str, Any]
"""A resolved run, as jobs get it."""

NEEDS: dict[str, str] = {
    "text": "the text itself",
    "token_ids": "the ids of the scored tokens",
    "logprobs": "the log-probabilities of the scored tokens",
    "entropies": "the entropies of the model's predictions (full vocabulary)",
    "variances": "the variances of ln p under the model's predictions (full "
    "vocabulary)",
    "highest": "the log-probabilities of the likeliest tokens (full vocabulary)",
    "ranks": "how many tokens are likelier than the scored ones (full vocabulary)",
    "top40": "the probabilities of the 40 likeliest tokens together (full vocabulary)",
    "lowercase": "log-probabilities of the lower-cased text",
    "aligned_reference": "log-probabilities of the same tokens under a reference "
    "model with the same tokenizer",
    "nonmember_prefix": "log-probabilities of the text after a prefix of non-members",
    "member_prefix": "log-probabilities of the text after a prefix of members",
    "texts": "all texts of the benchmark with labels and folds, and no model",
    "stream": "the members that a controlled model is trained on, each as often as "
    "it is",
}
"""The words for what a method can ask for; each kind of input adds its own."""

ALTERED_VIEWS = {"lowercase": "lowercase"}
"""Needs that a further view of the text answers -> the name of that view."""

PREFIXES = {"nonmember_prefix": "nonmember", "member_prefix": "member"}
"""Needs that a prefix answers -> the kind of its shots."""

OF_WHOLE_PREDICTIONS = ("entropies", "variances")
"""Needs that a model meets only with the probabilities of all tokens."""

FULL_VOCABULARY = (*OF_WHOLE_PREDICTIONS, "highest", "ranks", "top40")
"""Needs that a model meets only with the probabilities of further tokens than the
text's own: all, or the likeliest."""

# fmt: off
CASELESS = frozenset({
    "am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "ka",
    "km", "kn", "ko",
    "ks", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sa", "sd", "si", "ta", "te",
    "th", "ti", "ug",
    "ur", "yi", "yue", "zh",
})
# fmt: on
"""ISO 639 codes of languages whose script has no lower case."""


@dataclass(frozen=True)
class InputKind:
    """An input that runs name; each score of a method that needs it names one of them
    as its `reference`.

    need             the word that methods ask for it by, and the key of its files in
                     a job
    noun, example    what a run lacks without it, and an entry of its list, for messages
    key              the key of a run that lists the names; "" for
                     `inputs: {need: [...]}`
    complete         (the job's inputs, a plain pass, a name) -> a function that adds
                     the input to a text's statistics
    """

    need: str
    noun: str
    example: str
    key: str
    complete: Callable[..., Any] = field(repr=False)

    @property
    def remedy(self) -> str:
        """Say what to add to a run so that it has the input."""
        if self.key:
            return f"{self.key}: [{self.example}]"
        return f"inputs: {{{self.need}: [{self.example}]}}"

    def names(self, run: RunKeys) -> list[str]:
        """Return the names that a run, as jobs get it, lists of the input."""
        if self.key:
            return list(run.get(self.key, ()))
        return list(run.get("inputs", {}).get(self.need, ()))


INPUTS: dict[str, InputKind] = {}


def input_kind(
    need: str, meaning: str, *, noun: str, example: str, key: str = ""
) -> Callable[[F], F]:
    """Register a kind of input under the word `need`, which methods ask for it by;
    `meaning` says it in a log.

    The function gets the job's `Inputs`, the key of the plain pass over the texts, and
    a name that the run lists. It returns a function that adds the input to a text's
    statistics: (text id, statistics) -> statistics. A kind without a key of its own has
    the file `results/STUDY/NEED/NAME/BENCHMARK.parquet`, which a rule makes.
    """

    def register(function: F) -> F:
        NEEDS[need] = meaning
        INPUTS[need] = InputKind(need, noun, example, key, function)
        return function

    return register


@dataclass(frozen=True)
class Method:
    """A method that scores texts by a function, or one that asks questions: its score
    is the share of right answers.

    defaults         parameter -> value, in the order of the function's keyword
                     parameters
    grid             parameter -> the values that hyperparameter selection tries, or
                     that a run of questions may list
    only_for         need -> the values of parameters that have it, where not every
                     setting does
    types            parameter -> what a configuration is checked against: `bool`,
                     `int`, `float`, a `Literal` of strings, or a range of `statistics`
    convention       parameters whose default is this project's choice, since the paper
                     fixes none
    costly           parameters of the grid whose every value costs a forward pass: a
                     run tries the values that it lists
    empty_parameter  the parameter that is the score of a text with nothing to score, ""
                     without one
    cross_fitted     whether a text's score is learned from the labels of the other
                     folds, so that intervals are wider
    on_request       whether runs have this control only if they name it
    control          what a control does not see, so that its results show no knowledge
                     of the text; "" for others
    options          whether it chooses among a passage and its paraphrases, so that a
                     score names the paraphraser
    """

    id: str
    needs: tuple[str, ...] = ()
    defaults: dict[str, Value] = field(default_factory=dict)
    grid: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict, repr=False)
    only_for: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    convention: tuple[str, ...] = ()
    costly: tuple[str, ...] = ()
    empty_parameter: str = ""
    cross_fitted: bool = False
    on_request: bool = False
    control: Control = ""
    options: bool = False
    function: Callable[..., Any] = field(default=lambda text: None, repr=False)

    def needs_of(self, parameters: Parameters) -> frozenset[str]:
        values = (self.defaults | dict(parameters)).items()
        needs = set(self.needs)
        for need, only in self.only_for.items():
            if not only.items() <= values:
                needs.discard(need)
        return frozenset(needs)

    @property
    def scope(self) -> str:
        """Return `text` for a function of one `TokenStatistics`, `benchmark` for one of
        a slice's `LabelledTexts`."""
        return "benchmark" if "texts" in self.needs else "text"

    @property
    def input(self) -> InputKind | None:
        """Return the kind of input that its scores name as their reference."""
        for need in self.needs:
            if need in INPUTS:
                return INPUTS[need]
        return None


METHODS: dict[str, Method] = {}
"""The methods that score texts, by id."""

Calibration = Literal["none", "given", "held", "cross_fitted"]

QUESTION_METHODS: dict[str, Method] = {}
"""The methods that ask questions, in the order of every table."""


def _asks(id: str, **facts: Any) -> None:
    QUESTION_METHODS[id] = Method(id, **facts)


_asks(
    "de_cop",
    defaults={"calibration": "none"},
    types={"calibration": Calibration},
    options=True,
)
_asks(
    "completion",
    defaults={"k": 32},  # tokens of a prefix
    grid={"k": (32, 50)},
    types={"k": Annotated[int, (0, inf)]},
)
_asks("name_cloze")
_asks("longest_option", control="no model", options=True)
_asks("odd_one_out", control="no model", options=True)


def method(
    id: str,
    *,
    needs: Sequence[str],
    grid: Mapping[str, Sequence[Value]] | None = None,
    **facts: Any,
) -> Callable[[F], F]:
    """Register a function as the method `id`; its keyword parameters are the method's,
    with types and defaults.

    `needs` are words of `NEEDS`; `grid` and `facts` are fields of `Method`. Raises
    `InputError` for a method that contradicts itself.
    """

    def register(function: F) -> F:
        where = f"method '{id}' in {inspect.getsourcefile(function)}"
        if id in METHODS:
            other = inspect.getsourcefile(METHODS[id].function)
            raise InputError(f"{where}: the id is taken by {other}. Choose another id.")
        defaults = {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not parameter.KEYWORD_ONLY:
                continue
            if parameter.empty in (parameter.default, parameter.annotation):
                raise InputError(
                    f"{where}: parameter '{name}' needs a type and a default value."
                )
            defaults[name] = parameter.default
        grids = {name: tuple(values) for name, values in (grid or {}).items()}
        types = get_type_hints(function, include_extras=True)
        entry = Method(
            id, tuple(needs), defaults, grids, types, function=function, **facts
        )
        for mistake in _mistakes(entry):
            raise InputError(f"{where}: {mistake}")
        METHODS[id] = entry
        return function

    return register


def _mistakes(entry: Method) -> Iterator[str]:
    """Yield what a method contradicts itself in."""
    for need in entry.needs:
        if need not in NEEDS:
            yield f"unknown need '{need}': {nearest(need, NEEDS)}"
    if len(INPUTS.keys() & set(entry.needs)) > 1:
        yield (
            "a score names one reference; it cannot need several of "
            f"{', '.join(INPUTS)}."
        )
    if entry.scope == "benchmark" and entry.control != "no model":
        yield "it reads the texts without a model. Add control='no model'."
    named = [*entry.grid, *entry.convention, *entry.costly]
    for only in entry.only_for.values():
        named += only
    if entry.empty_parameter:
        named.append(entry.empty_parameter)
    for name in named:
        if name not in entry.defaults:
            hint = nearest(name, entry.defaults)
            yield f"'{name}' is not a parameter of the function: {hint}"
    for name in set(entry.costly) - entry.grid.keys():
        yield (
            f"costly parameter '{name}' has no grid. Add a grid, or remove the "
            "parameter from costly."
        )
    for name, values in entry.grid.items():
        default = entry.defaults[name]
        if default not in values:
            yield f"the grid of '{name}' lacks its default {default!r}. Add it."
