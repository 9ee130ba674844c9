"""Views by name: single ones, and families whose names carry a number (`delete-10`) or
a maker."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pretrace.runtime.errors import InputError, nearest

Variants = Callable[[str, int], list[str]]
NumberedVariants = Callable[[str, int, int], list[str]]

_SLUG = r"[A-Za-z0-9._~-]+"


@dataclass(frozen=True, slots=True)
class View:
    """A change to a text, by name.

    source  "text": `variants` gives the view of a text, a pure function of the text and
            a seed; "data": such a function that reads data of this machine; made once
            and stored as a table, as the next; "model": made once by the checkpoint of
            `model` and stored as a table (text_id, variant, text); "benchmark": a file
            in the benchmark's entry or released with it, stored as such a table
    number  percent of the words that change, or how many variants a text has; None
            where the name has none
    """

    name: str
    family: str
    source: Literal["text", "data", "model", "benchmark"]
    number: int | None = None
    model: str = ""
    function: Variants | None = field(default=None, repr=False)

    @property
    def materialised(self) -> bool:
        """Whether the view is a stored table, an input of the jobs that use it."""
        return self.source != "text"

    def variants(self, text: str, seed: int) -> list[str]:
        """Make variant 0, 1, ... of one text; only views of source "text" and "data"
        are functions of it."""
        if self.function is None:
            raise ValueError(
                f"view '{self.name}' is a stored table, not a function of the text"
            )
        return self.function(text, seed)


class _Views(dict[str, View]):
    """The registered views; members of a family (`delete-12`) are made when they are
    looked up."""

    def __missing__(self, name: str) -> View:
        if member := _of_family(name):
            return member
        raise InputError(f"there is no view '{name}': {nearest(name, self)}")

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        return isinstance(name, str) and _of_family(name) is not None


VIEWS: dict[str, View] = _Views()


class _Family(NamedTuple):
    """The numbers and the function of views `{family}-{number}`."""

    source: Literal["text", "data"]
    numbers: range
    function: NumberedVariants


_FAMILIES: dict[str, _Family] = {}


def view(name: str) -> Callable[[Variants], Variants]:
    """Register a function `(text, seed) -> variants` as the view `name`."""

    def register(function: Variants) -> Variants:
        if name in VIEWS:
            raise ValueError(f"two views are called '{name}'")
        VIEWS[name] = View(name, name, "text", function=function)
        return function

    return register


def family(
    name: str,
    *,
    numbers: range,
    usual: tuple[int, ...],
    source: Literal["text", "data"] = "text",
) -> Callable[[NumberedVariants], NumberedVariants]:
    """Register `(text, seed, number) -> variants` as views `{name}-{number}`; `usual`
    ones are listed."""

    def register(function: NumberedVariants) -> NumberedVariants:
        if name in _FAMILIES:
            raise ValueError(f"two families of views are called '{name}'")
        _FAMILIES[name] = _Family(source, numbers, function)
        for number in usual:
            member = f"{name}-{number}"
            VIEWS[member] = VIEWS[member]  # made when it is looked up
        return function

    return register


PERCENT = range(1, 100)  # 0 would be the original, and of 100 nothing is left
COUNT = range(1, 1001)

_MADE_BY_MODELS = {"synonym": PERCENT, "substitution": PERCENT, "neighbours": COUNT}
"""Families of `{family}_by_{model}-{number}`."""

PARAPHRASING = ("paraphrase", "substitution")
"""Families of views whose three variants can be the wrong options of a question."""
PARAPHRASES = 3  # beside the true passage, the wrong ones of four options

_MADE = re.compile(rf"(?P<family>[a-z]+)_by_(?P<model>{_SLUG})-(?P<number>[1-9]\d*)")
_PARAPHRASE = re.compile(rf"paraphrase(_by_{_SLUG})?")
_NEIGHBOURS = re.compile(r"neighbours-(?P<number>[1-9]\d*)")


def _of_family(name: str) -> View | None:
    if made := _MADE.fullmatch(name):
        kind, number = made["family"], int(made["number"])
        if number in _MADE_BY_MODELS.get(kind, ()):
            return View(name, kind, "model", number, made["model"])
    if _PARAPHRASE.fullmatch(name):
        return View(name, "paraphrase", "benchmark")
    if neighbours := _NEIGHBOURS.fullmatch(name):
        return View(name, "neighbours", "benchmark", int(neighbours["number"]))
    stem, _, written = name.rpartition("-")
    if stem not in _FAMILIES or not re.fullmatch(r"[1-9]\d*", written):
        return None
    numbered = _FAMILIES[stem]
    number = int(written)
    if number not in numbered.numbers:
        return None

    def variants(text: str, seed: int) -> list[str]:
        return numbered.function(text, seed, number)

    return View(name, stem, numbered.source, number, function=variants)
