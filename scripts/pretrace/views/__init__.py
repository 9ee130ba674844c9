"""What is done to a text before a model sees it. Views register by name; importing this needs no model library."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pretrace.runtime.errors import InputError, nearest

_registered: dict[str, "View"] = {}
VIEWS: Mapping[str, "View"] = MappingProxyType(_registered)


@dataclass(frozen=True, slots=True)
class View:
    """`variants(text, seed)` gives variant 0, 1, ... of one text; it may depend on nothing else."""

    name: str
    variants: Callable[[str, int], list[str]]


def view(name: str) -> Callable[[Callable[[str, int], list[str]]], Callable[[str, int], list[str]]]:
    """Register a function `(text, seed) -> variants` as the view `name`."""

    def register(function: Callable[[str, int], list[str]]) -> Callable[[str, int], list[str]]:
        if name in _registered:
            raise ValueError(f"two views are called '{name}'")
        _registered[name] = View(name, function)
        return function

    return register


def get_view(name: str) -> View:
    """The view called `name`; raises `InputError` with the nearest name where there is none."""
    if name not in VIEWS:
        raise InputError(f"there is no view '{name}': {nearest(name, VIEWS)}")
    return VIEWS[name]


@view("original")
def original(text: str, seed: int) -> list[str]:
    """The text as it is."""
    return [text]


@view("lowercase")
def lowercase(text: str, seed: int) -> list[str]:
    """The text in lower case; equal to the text itself in scripts without case."""
    return [text.lower()]
