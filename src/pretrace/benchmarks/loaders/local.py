"""Texts of your own: JSONL, CSV or TSV (also packed) or Parquet, one row per text; or works, each a text of its own or
cut into passages: EPUB, DOCX, PDF, HTML, Markdown and text files, and folders of them.

Columns: `input` or `text`; optional `label` (1 member, 0 non-member, null or empty where unknown), `subset`,
`length` (words), `document`, `id`, and `title` and `author`, for questions and an audit's first page. Others are
ignored. Rows of a document are taken to be in its order.
Reading and checking need neither pandas nor, but for Parquet, pyarrow.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pretrace.benchmarks.passages import Cut, rows_of_works
from pretrace.benchmarks.rows import Row, rows
from pretrace.benchmarks.sources import BenchmarkEntry, Text, loader
from pretrace.benchmarks.texts import (
    check_classes,
    check_slices,
    columns_of_texts,
    number_passages,
    texts_of_rows,
)
from pretrace.benchmarks.works import are_works
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Maybe, Some


class LocalEntry(BenchmarkEntry):
    """Keys of a benchmark of your own texts."""

    path_is = "works"

    path: Some[str]
    """Your own file, document, or folder of works, relative to this file."""
    known: Maybe[Some[str]] = None
    """A second one, whose texts the model cannot have read. Their label is 0; it may be left out there."""
    cut: Maybe[Cut] = None
    """Cut works, that is, a folder or a document, into passages: `size`, `unit` (`words` or `characters`), `each`,
    `unwrap` (default, each work is one text)."""


@loader("local", entry=LocalEntry)
def load(entry: LocalEntry, sources: list[Path], seed: int) -> list[Text]:
    """Return every row of the files, in their order. Raises `InputError` with file and line of the first bad row.

    With the entry's key `question`, the texts are passages, numbered within each document and length.
    """
    own = texts_of(*sources, cut=entry.cut)
    return number_passages(own) if entry.question is not None else own


def texts_of(
    path: Path, known: Path | None = None, *, cut: Cut | None = None, prefix: str = ""
) -> list[Text]:
    """Return the texts of a file or of works, and those of a second one with known texts.

    Texts without an id are numbered, with the prefix; known ones are `known-000001` and so on.
    """
    own = texts_of_rows(_rows_of(path, cut), str(path), prefix)
    return own if known is None else own + _known_texts(known, cut, path, own)


def check_texts(
    path: Path, known: Path | None = None, *, metrics: bool, cut: Cut | None = None
) -> list[Text]:
    """Return the texts of the whole files. Raises `InputError` (file, line, remedy) at the first thing wrong in it.

    With `metrics`, both classes must be there; without, texts may all be of one class, or of none.
    """
    own = texts_of(path, known, cut=cut)
    if metrics:
        check_classes(own, str(path))
    check_slices(own, str(path))
    return own


def _rows_of(path: Path, cut: Cut | None) -> Iterator[tuple[str, Row]]:
    return rows_of_works(path, cut) if are_works(path) else rows(path, columns_of_texts)


def _known_texts(known: Path, cut: Cut | None, path: Path, own: list[Text]) -> list[Text]:
    """Return the texts of the file with known texts, with label 0; none may have an id of the first file's texts."""
    ids = {text.text_id for text in own}
    texts = []
    for text in texts_of(known, cut=cut, prefix="known-"):
        if text.label == 1:
            raise InputError(
                f"{text.where}: the label is 1, and the texts of this file are known non-members: give 0 or none."
            )
        if text.text_id in ids:
            raise InputError(
                f"{text.where}: the id '{text.text_id}' is also one of {path}; ids must be unique."
            )
        texts.append(replace(text, label=0))
    return texts
