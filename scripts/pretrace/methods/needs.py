"""Whether a run offers what a method needs, and which further views it needs."""

from collections.abc import Iterable

from pretrace.methods.registry import find

COMPANIONS = {"lowercase": "lowercase"}
"""Needs that a further view of the text answers -> the name of that view."""

# fmt: off
CASELESS = frozenset({
    "am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "ka", "km", "kn", "ko",
    "ks", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sa", "sd", "si", "ta", "te", "th", "ti", "ug",
    "ur", "yi", "yue", "zh",
})
# fmt: on
"""ISO 639 codes of languages whose script has no lower case."""


def obstacle(
    id: str, *, language: str, has_corpus: bool, has_references: bool, full_vocabulary: bool = True
) -> str:
    """Why a run cannot have rows of the method `id`, as words for a log; "" where it can.

    `language` is a language tag ("en", "zh-Hans") or "" where it is unknown; `full_vocabulary` is false for
    models that return log-probabilities alone.
    """
    needs = set(find(id).needs)
    if "frequencies" in needs and not has_corpus:
        return "the run names no corpus"
    if "reference" in needs and not has_references:
        return "the run names no reference model"
    if needs & {"entropies", "variances"} and not full_vocabulary:
        return "the model gives no full-vocabulary statistics"
    if "lowercase" in needs and language.replace("_", "-").split("-")[0].lower() in CASELESS:
        return f"the script of '{language}' has no lower case"
    return ""


def applies(
    id: str, *, language: str, has_corpus: bool, has_references: bool, full_vocabulary: bool = True
) -> bool:
    """Whether a run offers all that the method `id` needs."""
    return not obstacle(
        id,
        language=language,
        has_corpus=has_corpus,
        has_references=has_references,
        full_vocabulary=full_vocabulary,
    )


def companions(ids: Iterable[str]) -> set[str]:
    """The further views that these methods need beside the target text."""
    return {COMPANIONS[need] for id in ids for need in find(id).needs if need in COMPANIONS}
