"""What is done to a text before a model sees it: views by name. No model library is imported here."""

from collections.abc import Callable
from dataclasses import dataclass

from pretrace.runtime.errors import InputError, nearest

Variants = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class View:
    """`variants(text, seed)` gives variant 0, 1, ... of one text; it may depend on nothing else."""

    name: str
    variants: Variants


class _Views(dict[str, View]):
    def __missing__(self, name: str) -> View:
        raise InputError(f"there is no view '{name}': {nearest(name, self)}")


VIEWS: dict[str, View] = _Views()


def view(name: str) -> Callable[[Variants], Variants]:
    """Register a function `(text, seed) -> variants` as the view `name`."""

    def register(function: Variants) -> Variants:
        if name in VIEWS:
            raise ValueError(f"two views are called '{name}'")
        VIEWS[name] = View(name, function)
        return function

    return register


@view("original")
def original(text: str, seed: int) -> list[str]:
    """The text as it is."""
    return [text]


@view("lowercase")
def lowercase(text: str, seed: int) -> list[str]:
    """The text in lower case; equal to the text itself in scripts without case."""
    return [text.lower()]
