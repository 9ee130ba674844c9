"""Signs that are typeset in one text and typed in another: quotes, dashes, dots,
blanks, letters with accents.

They say how a file was made and nothing of its author. A model scores typed and typeset
signs unlike, and a check of an audit finds them. So where the works of an audit differ
in them, all of them are written in one way.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

SignKind = Literal["letters", "blanks", "double blanks", "dots", "quotes", "dashes"]

APART = 0.02
"""Difference of two works' shares of typeset signs from which on signs are written
alike."""


class _Signs(NamedTuple):
    """A kind of sign: `typeset` and `typed` count it in a text; `write` returns a text
    that has it typed."""

    typeset: Callable[[str], int]
    typed: Callable[[str], int]
    write: Callable[[str], str]


def _counter(pattern: str) -> Callable[[str], int]:
    compiled = re.compile(pattern)
    return lambda text: sum(1 for _ in compiled.finditer(text))


def _writer(*changes: tuple[str, str]) -> Callable[[str], str]:
    compiled = [(re.compile(pattern), sign) for pattern, sign in changes]

    def write(text: str) -> str:
        for pattern, sign in compiled:
            text = pattern.sub(sign, text)
        return text

    return write


_DOUBLE, _SINGLE = (
    "[\u201c\u201d\u201e\u201f\u00ab\u00bb]",
    "[\u2018\u2019\u201a\u201b\u2039\u203a]",
)
_NO_BREAK, _NO_WIDTH = (
    "[\u00a0\u2002-\u200a\u202f\u205f]",
    "[\u200b\u200e\u200f\u2060\ufeff]",
)
_DASH = "[\u2014\u2015\u2e3a\u2e3b]"
_RANGE = r"(?<=\d)\u2013(?=\d)"  # between two numbers, where people type a hyphen

_SIGNS: Mapping[SignKind, _Signs] = {
    "letters": _Signs(
        lambda text: not unicodedata.is_normalized("NFC", text),
        lambda text: unicodedata.is_normalized("NFC", text),
        lambda text: unicodedata.normalize("NFC", text),
    ),
    "blanks": _Signs(
        _counter(f"{_NO_BREAK}|{_NO_WIDTH}"), lambda text: 1,
        _writer((_NO_WIDTH, ""), (_NO_BREAK, " "))
    ),
    "double blanks": _Signs(
        _counter(r"(?<=\S) {2,}(?=\S)"), _counter(r"(?<=[.!?]) (?=\S)"),
        _writer((r"(?<=\S) {2,}(?=\S)", " "))
    ),
    "dots": _Signs(
        _counter("\u2026"), _counter(r"\.\.\.|\.(?: \.){2}"),
        _writer((r"[ \u00a0]?(?:\u2026|\.(?: ?\.){2})", "..."))
    ),
    "quotes": _Signs(
        _counter(f"{_DOUBLE}|{_SINGLE}"),
        _counter("[\"'`]"),
        _writer((f"``|''|{_DOUBLE}", '"'), (f"`|{_SINGLE}", "'")),
    ),
    "dashes": _Signs(
        _counter(rf"{_DASH}|(?<=\s)\u2013(?=\s)|{_RANGE}"),
        _counter(r"-{2,3}|(?<=[^\s\d]) - (?=[^\s\d])"),
        _writer(
            (_RANGE, "-"),
            (
                rf"[ \u00a0]?(?:{_DASH}|(?<!-)-{{2,3}}(?!-)|(?<=\s)\u2013(?=\s)|(?<=[^\s\d] )-(?= [^\s\d]))[ \u00a0]?",
                "--",
            ),
        ),
    ),
}  # fmt: skip


def typeset_shares(text: str) -> dict[SignKind, float]:
    """Return the share of each kind of sign that is typeset in a text; a kind that it
    has not is missing."""
    shares = {}
    for kind, signs in _SIGNS.items():
        typeset, typed = signs.typeset(text), signs.typed(text)
        if typeset + typed:
            shares[kind] = round(typeset / (typeset + typed), 4)
    return shares


def kinds_apart(
    shares: Iterable[Mapping[SignKind, float]], by: float = APART
) -> list[SignKind]:
    """Return the kinds of sign in which two of the texts differ by more than `by`, by
    their `typeset_shares`."""
    texts = list(shares)
    apart = []
    for kind in _SIGNS:
        own = [text[kind] for text in texts if kind in text]
        if own and max(own) - min(own) > by:
            apart.append(kind)
    return apart


ALL_KINDS = tuple(_SIGNS)


def write_alike(text: str, kinds: Iterable[SignKind]) -> str:
    """Return a text whose signs of some kinds are written as people type them: `"`,
    `'`, `--`, `...`, a blank."""
    asked = set(kinds)
    for kind, signs in _SIGNS.items():
        if kind in asked:
            text = signs.write(text)
    return text
