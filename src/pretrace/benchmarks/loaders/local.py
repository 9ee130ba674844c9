"""Texts of your own: JSONL, CSV or TSV (also packed) or Parquet, one row per text; or
works, each a text of its own or cut into passages: EPUB, DOCX, ODT, RTF, PDF, HTML,
Markdown and text files, and folders of them.

Columns: `input` or `text`; optional `label` (1 member, 0 non-member, null or empty
where unknown), `subset`, `length` (words), `document`, `id`, and `title` and `author`,
for questions and an audit's first page. Others are ignored. Rows of a document are
taken to be in its order.
Reading and checking need neither pandas nor, but for Parquet, pyarrow.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pretrace.benchmarks.sources import BenchmarkEntry, Text, loader
from pretrace.benchmarks.texts import (
    check_classes,
    check_slices,
    number_passages,
    texts_of_rows,
)
from pretrace.benchmarks.user_rows import GivenRows, given_rows
from pretrace.documents.passages import Cut
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Maybe, Some, Unique


class LocalEntry(BenchmarkEntry):
    """Keys of a benchmark of your own texts."""

    path_is = "works"

    path: Some[str]
    """Your own file, document, or folder of works, relative to this file."""
    known: Maybe[Some[str]] = None
    """A second one, whose texts the model cannot have read. Their label is 0; it may be
    left out there."""
    cut: Maybe[Cut] = None
    """Cut works, that is, a folder or a document, into passages: `size`, `unit`
    (`words` or `characters`), `each`, `unwrap`, `alike` (default, each work is one
    text)."""
    left_out: Unique[str] = []
    """Names of works that are not read. On the command line, `unreadable=leave_out`
    fills in those that cannot be."""


@loader("local")
def load(entry: LocalEntry, sources: list[Path], seed: int) -> list[Text]:
    """Return every row of the files, in their order. Raises `InputError` with file and
    line of the first bad row.

    With the entry's key `question`, the texts are passages, numbered within each
    document and length.
    """
    own = texts_of(*(given_rows(path, entry.cut, entry.left_out) for path in sources))
    return number_passages(own) if entry.question is not None else own


def texts_of(
    given: GivenRows, known: GivenRows | None = None, *, prefix: str = ""
) -> list[Text]:
    """Return rows as checked texts, and those of a second file, or of second works,
    with known texts.

    Texts without an id are numbered, with the prefix; known ones are `known-000001` and
    so on.
    """
    own = texts_of_rows(given.rows, given.source, prefix)
    return own if known is None else own + _known_texts(known, given.source, own)


def check_texts(
    path: Path,
    known: Path | None = None,
    *,
    metrics: bool,
    cut: Cut | None = None,
    left_out: Sequence[str] = (),
) -> list[Text]:
    """Return the texts of the whole files. Raises `InputError` (file, line, remedy) at
    the first thing wrong in it.

    With `metrics`, both classes must be there; without, texts may all be of one class,
    or of none.
    """
    known_rows = None if known is None else given_rows(known, cut, left_out)
    own = texts_of(given_rows(path, cut, left_out), known_rows)
    if metrics:
        check_classes(own, str(path))
    check_slices(own, str(path))
    return own


def _known_texts(known: GivenRows, source: str, own: list[Text]) -> list[Text]:
    """Return the known texts, with label 0; none may have an id of the texts of
    `source`."""
    ids = {text.text_id for text in own}
    texts = []
    for text in texts_of(known, prefix="known-"):
        if text.label == 1:
            raise InputError(
                f"{text.where}: the label is 1, and the texts of this file are known "
                "non-members: give 0 or none."
            )
        if text.text_id in ids:
            raise InputError(
                f"{text.where}: the id '{text.text_id}' is also one of {source}; ids "
                "must be unique."
            )
        texts.append(replace(text, label=0))
    return texts
