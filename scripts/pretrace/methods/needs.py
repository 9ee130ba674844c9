"""Tell whether a run offers what a method needs, and which further views and prefixes it needs."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from pretrace.methods.registry import find
from pretrace.methods.settings import settings
from pretrace.runtime.schema import Keys
from pretrace.views.readings import ZERO_ACCESS, Prefix

ALTERED_VIEWS = {"lowercase": "lowercase"}
"""Needs that a further view of the text answers -> the name of that view."""

PREFIXES = {"nonmember_prefix": "nonmember", "member_prefix": "member"}
"""Needs that a prefix answers -> the kind of its shots."""

OF_WHOLE_PREDICTIONS = ("entropies", "variances")
"""Needs that a model meets only with the probabilities of all tokens."""

FULL_VOCABULARY = (*OF_WHOLE_PREDICTIONS, "highest", "ranks", "top40")
"""Needs that a model meets only with the probabilities of further tokens than the text's own: all, or the likeliest."""

# fmt: off
CASELESS = frozenset({
    "am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "ka", "km", "kn", "ko",
    "ks", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sa", "sd", "si", "ta", "te", "th", "ti", "ug",
    "ur", "yi", "yue", "zh",
})
# fmt: on
"""ISO 639 codes of languages whose script has no lower case."""


class Obstacle(NamedTuple):
    """Why a run cannot have rows of a method, and what to add so that it can ("" where nothing would help)."""

    reason: str
    remedy: str


def obstacle(
    id: str,
    run: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    language: str,
    has_prefixes: bool = False,
    lacking: Collection[str] = (),
    log_probabilities: bool = True,
) -> Obstacle | None:
    """Return why a run cannot have rows of the method `id` in any of its settings; None if it can.

    `run`: the inputs that it names, as `InputKind.names` reads them. `language` is a language tag ("en", "zh-Hans"),
    "" if it is unknown; `has_prefixes` says whether shots are drawn from the benchmark; `lacking` are the statistics
    of tokens that the model does not give; `log_probabilities` is false for models without those of a text's tokens.
    """
    method = find(id)
    needs = set(method.needs)
    if method.reads_passes and not log_probabilities:
        return Obstacle("the model gives no log-probabilities of a text", "")
    kind = method.input
    if kind and not kind.names(run):
        return Obstacle(f"the run names no {kind.noun}", f"add {kind.remedy} to the run")
    if needs & PREFIXES.keys() and not has_prefixes:
        return Obstacle(
            "no prefixes are drawn from the benchmark", "add prefix: {pool: 7} to the benchmark's entry"
        )
    if needs & set(lacking) and all(
        method.needs_of(setting) & set(lacking) for setting in settings(id, parameters)
    ):
        return Obstacle("the model gives no full-vocabulary statistics", "")
    if "lowercase" in needs and language.replace("_", "-").split("-")[0].lower() in CASELESS:
        return Obstacle(f"the script of '{language}' has no lower case", "")
    return None


def altered_views(ids: Iterable[str], neighbours: Iterable[str] = ()) -> set[str]:
    """Return the altered forms of the text that these methods need; `neighbours`: the run's own."""
    needs = {need for id in ids for need in find(id).needs}
    fixed = {view for need, view in ALTERED_VIEWS.items() if need in needs}
    return fixed | set(neighbours if "neighbours" in needs else ())


def prefix_passes(id: str, params: Mapping[str, Any]) -> dict[str, tuple[Prefix, int]]:
    """Return need -> (prefix, number of shots) of one setting of a method; empty for methods without a prefix."""
    method = find(id)
    values = method.defaults | dict(params)
    passes = {}
    for need in (need for need in PREFIXES if need in method.needs):
        zero_access = need == "member_prefix" and values.get("access") == "zero"
        prefix = Prefix(
            ZERO_ACCESS if zero_access else PREFIXES[need],
            str(values.get("separator", "none")),
            bool(values.get("manipulate_prefix", False)) and not zero_access,
        )
        passes[need] = (prefix, int(values["shots"]))
    return passes


class Chosen(Keys):
    """A method of a run, with the parameters that the run narrows."""

    method: str
    parameters: dict[str, Any] = {}


def most_shots(methods: Iterable[Chosen]) -> int:
    """Return the most shots that any setting of a run's methods takes, 0 if none takes any."""
    counts = (
        int(str(params["shots"]))
        for chosen in methods
        if PREFIXES.keys() & set(find(chosen.method).needs)
        for params in settings(chosen.method, chosen.parameters)
    )
    return max(counts, default=0)


def prefix_needs(methods: Iterable[Chosen]) -> set[tuple[Prefix, int]]:
    """Return the (prefix, number of shots) whose passes a run's methods need, in each of its draws and views.

    Methods that read texts alone need the shots, and no pass.
    """
    return {
        wanted
        for chosen in methods
        if find(chosen.method).scope == "text" and PREFIXES.keys() & set(find(chosen.method).needs)
        for params in settings(chosen.method, chosen.parameters)
        for wanted in prefix_passes(chosen.method, params).values()
    }
