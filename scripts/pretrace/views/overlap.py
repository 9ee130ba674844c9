"""Texts of a benchmark that share words with given ones."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pretrace.views.words import is_chinese

if TYPE_CHECKING:
    import pandas as pd

RUN = 13
"""Words in a row (characters, in Chinese) that two texts of a document share only where they overlap."""


def overlapping(benchmark: "pd.DataFrame", text_ids: Iterable[str]) -> set[str]:
    """Return the ids of the given texts and of every text that overlaps one of them.

    Texts of one document overlap if they share RUN words in a row, or all words of the shorter one. If one of two texts
    names no document, they overlap if one contains the other. Equal texts always overlap.
    """
    given = benchmark[benchmark["text_id"].isin(set(text_ids))]
    by_document: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for document, text in zip(given["document"], given["text"], strict=True):
        by_document[document].append(_units(text))
    everything = _Given([units for several in by_document.values() for units in several])
    unnamed = _Given(by_document.pop("", []))
    named = {document: _Given(several) for document, several in by_document.items()}
    equal = set(given["text"])
    overlapping_ids = set()
    for text_id, text, document in zip(
        benchmark["text_id"], benchmark["text"], benchmark["document"], strict=True
    ):
        units = _units(text)
        if (
            text in equal
            or (document in named and named[document].shares_run(units))
            or (unnamed if document else everything).contains_or_is_in(units)
        ):
            overlapping_ids.add(text_id)
    return overlapping_ids


class _Given:
    """The given texts of one kind: their runs, and the texts themselves as strings of words."""

    def __init__(self, texts: Sequence[tuple[str, ...]]) -> None:
        self._runs = {run for units in texts for run in _runs(units)}
        self._texts = [_padded(units) for units in texts]

    def shares_run(self, units: tuple[str, ...]) -> bool:
        return any(run in self._runs for run in _runs(units)) or self.contains_or_is_in(units)

    def contains_or_is_in(self, units: tuple[str, ...]) -> bool:
        own = _padded(units)
        return any(own in other or other in own for other in self._texts)


def _units(text: str) -> tuple[str, ...]:
    return tuple("".join(text.split())) if is_chinese(text) else tuple(text.split())


def _runs(units: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return (units[i : i + RUN] for i in range(len(units) - RUN + 1))


def _padded(units: tuple[str, ...]) -> str:
    return f" {' '.join(units)} "
