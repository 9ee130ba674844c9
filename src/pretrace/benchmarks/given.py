"""What a user gives as texts, whatever kind of file it is: a file of rows, a document,
or a folder of works."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pretrace.benchmarks.passages import Cut, rows_of_works
from pretrace.benchmarks.rows import Row, rows
from pretrace.benchmarks.texts import columns_of_texts
from pretrace.benchmarks.works import are_works


@dataclass(frozen=True)
class GivenRows:
    """Rows, each with its place, which can be read once; `source` is what messages call
    them."""

    source: str
    rows: Iterable[tuple[str, Row]]


def given_rows(
    path: Path, cut: Cut | None = None, left_out: Sequence[str] = ()
) -> GivenRows:
    """Return the rows of a file of texts, or those of works that are not left out:
    whole, or cut into passages."""
    if are_works(path):
        return GivenRows(str(path), rows_of_works(path, cut, left_out))
    return GivenRows(str(path), rows(path, columns_of_texts))
