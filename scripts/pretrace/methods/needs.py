"""Whether a run offers what a method needs, and which further views and prefixes it needs."""

from collections.abc import Iterable, Mapping
from typing import Any

from pretrace.methods.registry import REFERENCES, find
from pretrace.methods.settings import settings
from pretrace.views import Prefix

COMPANIONS = {"lowercase": "lowercase"}
"""Needs that a further view of the text answers -> the name of that view."""

PREFIXES = {"nonmember_prefix": "nonmember", "member_prefix": "member"}
"""Needs that a prefix answers -> the kind of its shots."""

# fmt: off
CASELESS = frozenset({
    "am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "ka", "km", "kn", "ko",
    "ks", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sa", "sd", "si", "ta", "te", "th", "ti", "ug",
    "ur", "yi", "yue", "zh",
})
# fmt: on
"""ISO 639 codes of languages whose script has no lower case."""


def obstacle(
    id: str,
    *,
    language: str,
    has_corpus: bool,
    has_references: bool,
    has_neighbours: bool = False,
    has_shadows: bool = False,
    has_prefixes: bool = False,
    full_vocabulary: bool = True,
    log_probabilities: bool = True,
) -> str:
    """Why a run cannot have rows of the method `id`, as words for a log; "" where it can.

    `language` is a language tag ("en", "zh-Hans") or "" where it is unknown; `has_neighbours` says whether
    the run names views of neighbours, `has_shadows` models with shadow models, `has_prefixes` whether shots are
    drawn from its benchmark; `full_vocabulary` is false for models that return log-probabilities alone,
    `log_probabilities` for those that return none of a text's own tokens.
    """
    needs = set(find(id).needs)
    if find(id).scope == "text" and not log_probabilities:
        return "the model gives no log-probabilities of a text"
    offered = {
        "frequencies": has_corpus,
        "reference": has_references,
        "neighbours": has_neighbours,
        "shadows": has_shadows,
    }
    lacking = [need for need in sorted(needs & offered.keys()) if not offered[need]]
    if lacking:
        return f"the run names no {_WORDS[lacking[0]]}"
    if needs & PREFIXES.keys() and not has_prefixes:
        return "no prefixes are drawn from the benchmark"
    if needs & {"entropies", "variances"} and not full_vocabulary:
        return "the model gives no full-vocabulary statistics"
    if "lowercase" in needs and language.replace("_", "-").split("-")[0].lower() in CASELESS:
        return f"the script of '{language}' has no lower case"
    return ""


_WORDS = {
    "frequencies": "corpus",
    "reference": "reference model",
    "neighbours": "view of neighbours",
    "shadows": "model with shadow models",
}
assert _WORDS.keys() == REFERENCES.keys()


def applies(id: str, **offers: Any) -> bool:
    """Whether a run offers all that the method `id` needs; keywords as `obstacle`."""
    return not obstacle(id, **offers)


def companions(ids: Iterable[str], neighbours: Iterable[str] = ()) -> set[str]:
    """The further views that these methods need beside the target text; `neighbours`: those the run names."""
    needs = {need for id in ids for need in find(id).needs}
    fixed = {view for need, view in COMPANIONS.items() if need in needs}
    return fixed | (set(neighbours) if "neighbours" in needs else set())


def prefix_passes(id: str, params: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Need -> (name of the prefix, shots) of one setting of a method; empty for methods without a prefix."""
    method = find(id)
    values = method.defaults | dict(params)
    passes = {}
    for need in (need for need in PREFIXES if need in method.needs):
        zero_access = need == "member_prefix" and values.get("access") == "zero"
        prefix = Prefix(
            "zero_access" if zero_access else PREFIXES[need],
            str(values.get("separator", "none")),
            bool(values.get("manipulate_prefix", False)) and not zero_access,
        )
        passes[need] = (prefix.name, int(values["shots"]))
    return passes


def prefix_needs(entries: Iterable[Mapping[str, Any]]) -> set[tuple[str, int]]:
    """The (prefix, shots) whose passes a run's methods need: `entries` as the run's `methods`.

    Each is a pass request of its own with that `prefix` and `shots`, in every draw and view of the run.
    Methods that read texts alone need the shots, and no pass.
    """
    return {
        wanted
        for entry in entries
        if find(entry["method"]).scope == "text" and PREFIXES.keys() & set(find(entry["method"]).needs)
        for params in settings(entry["method"], entry.get("parameters"))
        for wanted in prefix_passes(entry["method"], params).values()
    }
