"""What a text looks like: the features by which an audit compares the form of texts."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log1p

from pretrace.documents.languages import unit_of, units


@dataclass(frozen=True)
class Look:
    """A text, its words (characters, where the language has no spaces) and its lines;
    at least one of each."""

    text: str
    words: Sequence[str]
    lines: Sequence[str]


Measure = Callable[[Look], float]

FORM: dict[str, Measure] = {}
"""Name of a feature -> how much of it a text has."""

SIZE: dict[str, Measure] = {
    "characters": lambda look: len(look.text),
    "words": lambda look: len(look.words),
}

MIXED = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")
BLANKS = re.compile(r"(?<=\S)[^\S\n]{2,}(?=\S)")
BRACKETS = frozenset("[](){}<>")
SIGNS = {
    "exclamation marks": "!\uff01",
    "question marks": "?\uff1f",
    "colons": ":\uff1a",
    "semicolons": ";\uff1b",
}
TYPESET = frozenset("\u2018\u2019\u201c\u201d\u2013\u2014\u2026")
"""Curly quotation marks, dashes and an ellipsis, which typewriters do not have."""

OF_FILES = frozenset({
    "curly quotation marks and dashes", "lines", "blank lines", "line lengths",
    "hyphens at line ends", "spaces", "double blanks", "decomposed letters",
})  # fmt: skip
"""Features that programs which write files leave in texts, and not their authors."""


def feature(name: str) -> Callable[[Measure], Measure]:
    """Register a measure of form under the name that the page prints."""

    def register(measure: Measure) -> Measure:
        FORM[name] = measure
        return measure

    return register


def _share(marks: Iterable[bool], of: Sequence[str]) -> float:
    return sum(marks) / len(of)


@feature("characters a word")
def _characters(look: Look) -> float:
    return len(look.text) / len(look.words)


@feature("bytes a character")
def _bytes(look: Look) -> float:
    return len(look.text.encode()) / len(look.text)


@feature("capital letters")
def _capitals(look: Look) -> float:
    return _share(map(str.isupper, look.text), look.text)


@feature("words in capitals")
def _shouted(look: Look) -> float:
    return _share((len(word) > 1 and word.isupper() for word in look.words), look.words)


@feature("letters beyond ASCII")
def _foreign(look: Look) -> float:
    if look.text.isascii():
        return 0.0  # most texts, which are not gone through
    return _share((c.isalpha() and not c.isascii() for c in look.text), look.text)


@feature("digits")
def _digits(look: Look) -> float:
    return _share(map(str.isdigit, look.text), look.text)


@feature("digits within words")
def _mixed(look: Look) -> float:
    return _share((bool(MIXED.search(word)) for word in look.words), look.words)


@feature("signs")
def _signs(look: Look) -> float:
    letters_and_digits = sum(map(str.isalnum, look.text))
    blanks = sum(map(str.isspace, look.text))
    return (len(look.text) - letters_and_digits - blanks) / len(look.text)


def _sign(signs: str, look: Look) -> float:
    return sum(map(look.text.count, signs)) / len(look.text)


for _name, _alike in SIGNS.items():
    FORM[_name] = partial(_sign, _alike)


@feature("brackets")
def _brackets(look: Look) -> float:
    return _share((c in BRACKETS for c in look.text), look.text)


@feature("curly quotation marks and dashes")
def _typeset(look: Look) -> float:
    return _share((c in TYPESET for c in look.text), look.text)


@feature("short words")
def _short(look: Look) -> float:
    return _share((len(word) <= 3 for word in look.words), look.words)


@feature("different words")
def _different(look: Look) -> float:
    return len({*look.words}) / len(look.words)


@feature("lines")
def _lines(look: Look) -> float:
    return len(look.lines) / len(look.words)


@feature("blank lines")
def _blank(look: Look) -> float:
    return _share((not line.strip() for line in look.lines), look.words)


@feature("line lengths")
def _lengths(look: Look) -> float:
    return log1p(sum(map(len, look.lines)) / len(look.lines))


@feature("hyphens at line ends")
def _hyphens(look: Look) -> float:
    return _share((line.rstrip().endswith("-") for line in look.lines), look.words)


@feature("repeated lines")
def _repeated(look: Look) -> float:
    return 1 - len({*look.lines}) / len(look.lines)


@feature("spaces")
def _spaces(look: Look) -> float:
    return _share(map(str.isspace, look.text), look.text)


@feature("double blanks")
def _double(look: Look) -> float:
    return len(BLANKS.findall(look.text)) / len(look.words)


@feature("decomposed letters")
def _decomposed(look: Look) -> float:
    return float(not unicodedata.is_normalized("NFC", look.text))


def measures(text: str, language: str, of: Iterable[Measure]) -> list[float]:
    """Return what each measure finds in a text."""
    words = units(text, unit_of(language))
    look = Look(text, words or [""], text.splitlines() or [""])
    return [measure(look) for measure in of]
