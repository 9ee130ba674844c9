"""The rows of what a user gives as texts, whatever kind of file it is: a file of rows, a
document, or a folder of works."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.benchmarks.rows import LocatedRow, rows
from pretrace.benchmarks.texts import columns_of_texts
from pretrace.documents.languages import language_of, unit_of
from pretrace.documents.passages import Cut, passages, written_alike
from pretrace.documents.works import are_works, stored_works


class GivenRows(NamedTuple):
    """Rows, each with its place, which can be read once; `source` is what messages call
    them."""

    source: str
    rows: Iterable[LocatedRow]


def given_rows(
    path: Path, cut: Cut | None = None, left_out: Sequence[str] = ()
) -> GivenRows:
    """Return the rows of a file of texts, or those of works that are not left out:
    whole, or cut into passages."""
    if are_works(path):
        return GivenRows(str(path), rows_of_works(path, cut, left_out))
    return GivenRows(str(path), rows(path, columns_of_texts))


def rows_of_works(
    path: Path, cut: Cut | None, left_out: Sequence[str] = ()
) -> Iterator[LocatedRow]:
    """Yield the works of a folder, or of a document, or their passages: each with its
    place, as a row of `local`.

    Works of files that are `left_out` are not there; a work that has fewer passages
    than are cut of each, neither.
    """
    for work, read in stored_works(path, left_out):
        about = {
            "document": work.name,
            "title": read.report.title,
            "author": read.report.author,
        }
        if cut is None:
            row = {"id": work.name, "text": read.text, "label": None}
            yield str(work.path), row | about
            continue
        text = written_alike(read.text, cut)
        passages = rows_of_work(work.name, text, cut.size, None, cut.each, cut.unit)
        if len(passages) < cut.each:
            continue
        # characters are matched where works differ in their words, so that one has a
        # length and another none
        exact = {} if cut.unit == "words" else {"length": None}
        for number, passage in enumerate(passages, start=1):
            yield f"{work.path}, passage {number}", passage | exact | about


def rows_of_work(
    name: str, text: str, size: int, label: int | None, most: int | None, unit: str
) -> list[dict[str, Any]]:
    """Return the passages of a document as rows; they name their length if all have it
    exactly."""
    length = size if unit == unit_of(language_of(text)) else None
    rows = []
    for start, passage in passages(text, size, most, unit):
        rows.append(
            {
                "id": f"{name}-{start:06d}",
                "text": passage,
                "label": label,
                "document": name,
                "length": length,
            }
        )
    return rows
