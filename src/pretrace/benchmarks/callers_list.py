"""A caller's list of texts, as `pretrace.score` takes it: rows with the caller's own
index as their places."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from pretrace.benchmarks.rows import LocatedRow
from pretrace.runtime.errors import InputError


@dataclass(frozen=True, eq=False)
class ListedRows:
    """The rows of a list, each with its place, and the index of its values: a Series'
    own, else 0, 1, ..."""

    rows: list[LocatedRow]
    index: Any


def rows_of_list(texts: Any, labels: Any) -> ListedRows:
    """Return a list, an array, a generator or a Series of texts as rows; `labels` is
    another one, or None.

    Raises `InputError` for what is no list, or if there is not a label for each text.
    """
    given = _values(texts, "texts")
    known = [None] * len(given) if labels is None else _values(labels, "labels")
    if len(known) != len(given):
        raise InputError(
            f"score: {len(given)} texts and {len(known)} labels; give a label for each "
            "text, or none."
        )
    index = texts.index if _is_series(texts) else range(len(given))
    if (
        _is_series(texts)
        and _is_series(labels)
        and not texts.index.equals(labels.index)
    ):
        raise InputError(
            "score: the Series of labels has another index than that of texts, so that "
            "a label may belong to another text; take both from one table, or give "
            "labels=LABELS.tolist() if their order is the same."
        )
    rows: list[LocatedRow] = []
    for number, text in enumerate(given):
        label = known[number]
        if isinstance(label, bool):  # of a mask, as YEARS < 2020
            label = int(label)
        row = {"id": f"{number:09d}", "text": text, "label": label}
        rows.append((f"score: texts[{index[number]!r}]", row))
    return ListedRows(rows, index)


def _values(given: Any, what: str) -> list[Any]:
    """Return the values of a list, those of numpy as Python's."""
    if type(given).__name__ == "DataFrame":
        raise InputError(
            f"score: {what} is a DataFrame; give one of its columns: TABLE['COLUMN']."
        )
    if isinstance(given, str | bytes):
        raise InputError(f"score: {what} is one string; give a list of texts.")
    if isinstance(given, Mapping | Set) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise InputError(
            f"score: {what} is a {kind}; give a list, an array, a generator or a "
            "Series."
        )
    # masked ones of numpy are None
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    if not isinstance(values, list):
        raise InputError(f"score: {what} is an array without a dimension; give a list.")
    return [
        value.item() if isinstance(value, np.generic) else value for value in values
    ]


def _is_series(given: Any) -> bool:
    return type(given).__name__ == "Series" and hasattr(given, "index")
