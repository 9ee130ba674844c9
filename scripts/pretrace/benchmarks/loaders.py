"""What a loader gives, and the loaders by the source they read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pretrace.runtime.errors import InputError, nearest


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a benchmark, before folds are assigned.

    `label` is 1 for a member, 0 for a non-member, None where unknown; `length` counts words; `document` is ""
    where the source names none. `span` is the half-open range of words of the document that the text covers,
    where the source tells; without it, a document's texts are taken to be in the document's order.
    `repetitions` says how often a text stands in the training stream of a model that is trained on the members.
    `matched` names documents whose labels were drawn together, such as a pair of which one is the member: "" where
    a text's label was drawn by itself.
    `title`, `author` and `passage` (running number within the document and length) are those of a passage that
    questions are asked about.
    """

    text_id: str
    text: str
    label: int | None
    subset: str = ""
    length: int | None = None
    document: str = ""
    span: tuple[int, int] | None = None
    repetitions: int = 1
    matched: str = ""
    title: str = ""
    author: str = ""
    passage: int | None = None


Loader = Callable[[Mapping[str, Any], list[Path], int], list[Text]]
"""(the benchmark's entry, the files it reads, a seed) -> its texts, in the source's order."""


Bringer = Callable[[Mapping[str, Any], list[Path]], Mapping[str, Mapping[str, list[str]]]]
"""(the benchmark's entry, the files it reads) -> view -> text id -> its variants, in order."""


class _Loaders(dict[str, Loader]):
    def __missing__(self, source: str) -> Loader:
        raise InputError(f"benchmarks have no source '{source}': {nearest(source, self)}")


LOADERS: dict[str, Loader] = _Loaders()


def loader(source: str) -> Callable[[Loader], Loader]:
    """Register a loader for the benchmarks whose entry says `source: <source>`."""

    def register(function: Loader) -> Loader:
        if source in LOADERS:
            raise ValueError(f"two loaders read '{source}'")
        LOADERS[source] = function
        return function

    return register


BRINGERS: dict[str, Bringer] = {}


def brings(source: str) -> Callable[[Bringer], Bringer]:
    """Register what gives the views that a source holds beside its texts, as paraphrases."""

    def register(function: Bringer) -> Bringer:
        if source in BRINGERS:
            raise ValueError(f"two functions give the views of '{source}'")
        BRINGERS[source] = function
        return function

    return register
