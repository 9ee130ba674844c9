"""For which tokenizers a document's tokens are the tokens of its segments, read from the parts of
tokenizer.json.

A tokenizer that is not recognised here part by part encodes every document: `cutting_of` gives None.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pretrace.corpora.segments import METASPACE, WHITE_SPACE

_INSIDE = re.compile(f"[^{WHITE_SPACE}{METASPACE}] ")
_CUT = re.compile(f"(?<=[^{WHITE_SPACE}{METASPACE}])(?= +[^ ])")

# None of these matches U+0020 after another character, and none leaves a character out: each cut is a
# boundary.
_ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CL100K = rf"{_CONTRACTIONS}|{_LEAD}\p{{L}}+|\p{{N}}{{1,3}}|{_SIGNS}|{_ENDS}"  # Llama 3 too
_QWEN = rf"{_CONTRACTIONS}|{_LEAD}\p{{L}}+|\p{{N}}|{_SIGNS}|{_ENDS}"
_O200K = (
    rf"{_LEAD}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_LEAD}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_ENDS}"
)
_SPLITS = frozenset({_GPT_2, _CL100K, _QWEN, _O200K})
# These match no white space, so whatever they split, a cut stays where it is.
_SPLITS_WITHOUT_SPACE = frozenset({r"\p{N}", r"\p{N}{1,3}", r"\d", r"[0-9]", r"[0-9][0-9][0-9]"})


@dataclass(frozen=True, slots=True)
class Cutting:
    """How segments are encoded.

    `prepends`: the normalizer puts U+2581 before a text, so that a segment that opens no document leaves one
    space out. `composes`: the normalizer is NFC. `foreign`: a document that holds one of these texts is not
    the sum of its segments (added tokens that reach over a cut, take white space in or change what is
    prepended; U+2581).
    """

    prepends: bool
    composes: bool
    foreign: tuple[str, ...]

    @property
    def traces(self) -> tuple[str, ...]:
        """For each foreign text a part that lies inside one segment of any document that holds the text."""
        return tuple(sorted({max(_CUT.split(text.rstrip(" ") or text), key=len) for text in self.foreign}))


def cutting_of(tokenizer: dict[str, Any]) -> Cutting | None:
    """The cutting that is exact for a tokenizer (the content of tokenizer.json), None where none is known."""
    normalizers = list(_flat(tokenizer["normalizer"], "normalizers"))
    stages = list(_flat(tokenizer["pre_tokenizer"], "pretokenizers"))
    kinds = {part["type"] for part in normalizers}
    replaces, prepends, composes = ("Replace" in kinds, "Prepend" in kinds, "NFC" in kinds)
    if not all(map(_is_known_normalizer, normalizers)) or (prepends and not replaces):
        return None
    if tokenizer["model"].get("dropout"):
        return None
    at_cuts = not replaces and _splits_at_cuts(stages)
    in_words = at_cuts or (not replaces and _splits_at_metaspaces(stages))
    if not in_words and not (_leaves_whole(stages, replaces) and _never_joins(tokenizer["model"])):
        return None
    foreign = set(_foreign(tokenizer["added_tokens"], every=not in_words))
    if not at_cuts:
        foreign.add(METASPACE)
    if composes:
        foreign |= {unicodedata.normalize("NFC", text) for text in foreign}
    return None if " " in foreign else Cutting(prepends, composes, tuple(sorted(foreign)))


def _flat(part: dict[str, Any] | None, inner: str) -> Iterator[dict[str, Any]]:
    if part is None:
        return
    if part["type"] != "Sequence":
        yield part
        return
    for each in part[inner]:
        yield from _flat(each, inner)


def _is_known_normalizer(part: dict[str, Any]) -> bool:
    match part:
        case {"type": "NFC"}:
            return True
        case {"type": "Prepend", "prepend": mark}:
            return bool(mark == METASPACE)
        case {"type": "Replace", "pattern": {"String": " "}, "content": mark}:
            return bool(mark == METASPACE)
    return False


def _splits_at_cuts(stages: list[dict[str, Any]]) -> bool:
    """Whether the stages are known ones and split at every cut (a ByteLevel, which hides spaces, is last)."""
    at_cuts = False
    for number, stage in enumerate(stages, start=1):
        match stage:
            case {"type": "ByteLevel", "use_regex": use_regex} if number == len(stages):
                at_cuts |= use_regex
            case {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}:
                if pattern not in _SPLITS | _SPLITS_WITHOUT_SPACE:
                    return False
                at_cuts |= pattern in _SPLITS
            case {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}:
                if pattern not in _SPLITS:
                    return False
                at_cuts = True
            case {"type": "Digits"} | {"type": "Punctuation", "behavior": "Isolated" | "Contiguous"}:
                pass
            case _:
                return False
    return at_cuts


def _splits_at_metaspaces(stages: list[dict[str, Any]]) -> bool:
    return len(stages) == 1 and _is_metaspace(stages[0]) and bool(stages[0]["split"])


def _is_metaspace(stage: dict[str, Any]) -> bool:
    return stage["type"] == "Metaspace" and stage["replacement"] == METASPACE


def _leaves_whole(stages: list[dict[str, Any]], replaces: bool) -> bool:
    """Whether spaces are U+2581 when the model sees the text, which is one piece."""
    if not stages:
        return replaces
    if len(stages) > 1:
        return False
    if replaces and stages[0]["type"] == "Split":
        return bool(stages[0]["pattern"] == {"String": " "})  # Gemma: no space is left to split at
    return _is_metaspace(stages[0])


def _never_joins(model: dict[str, Any]) -> bool:
    """Whether no BPE merge reaches over a cut: U+2581 is known and follows no other character in a token."""
    if model["type"] != "BPE" or model.get("ignore_merges"):
        return False
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return False
    joins = re.compile(f"[^{METASPACE}]{METASPACE}")
    return METASPACE in model["vocab"] and not any(map(joins.search, model["vocab"]))


def _foreign(added: list[dict[str, Any]], every: bool) -> Iterator[str]:
    for token in added:
        text = token["content"]
        reaches = token["lstrip"] or token["rstrip"] or token["single_word"] or _INSIDE.search(text)
        if every:
            yield from (text, text.replace(METASPACE, " "))
        elif reaches or METASPACE in text:
            yield text
