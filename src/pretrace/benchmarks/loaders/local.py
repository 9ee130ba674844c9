"""Texts of your own: JSONL (also gzipped), CSV or Parquet, one row per text; or works, each a text of its own or cut
into passages: EPUB, DOCX, PDF, HTML, Markdown and text files, and folders of them.

Columns: `input` or `text`; optional `label` (1 member, 0 non-member, null or empty where unknown), `subset`,
`length` (words), `document`, `id`, and `title` and `author`, for questions and an audit's first page. Others are
ignored. Rows of a document are taken to be in its order.
Reading and checking need neither pandas nor, but for Parquet, pyarrow.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pretrace.benchmarks.passages import Cut, passages_of_works
from pretrace.benchmarks.rows import Columns, Label, Length, Name, Named, Row, Words, checked_row, rows
from pretrace.benchmarks.sources import BenchmarkEntry, Text, loader
from pretrace.benchmarks.works import are_works, work_rows
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


def texts_of(path: Path, known: Path | None = None, *, cut: Cut | None = None) -> list[Text]:
    """Return the texts of a file, and of one with known texts; those without an id are `known-000001` and so on."""
    own = [text for _, text in read_located(path, cut=cut)]
    if known is None:
        return own
    ids = {text.text_id for text in own}
    for where, text in read_located(known, numbered_as="known-", cut=cut):
        if text.label == 1:
            raise InputError(
                f"{where}: the label is 1, and the texts of this file are known non-members: give 0 or none."
            )
        if text.text_id in ids:
            raise InputError(f"{where}: the id '{text.text_id}' is also one of {path}; ids must be unique.")
        own.append(replace(text, label=0))
    return own


def number_passages(given: Iterable[Text]) -> list[Text]:
    """Return the texts as passages: `passage` counts the texts of one document and length, in their order."""
    numbers: Counter[tuple[str, int | None]] = Counter()
    passages = []
    for text in given:
        key = text.document, text.length
        passages.append(replace(text, passage=numbers[key]))
        numbers[key] += 1
    return passages


def check_texts(
    path: Path, known: Path | None = None, *, metrics: bool, cut: Cut | None = None
) -> list[Text]:
    """Return the texts of the whole files. Raises `InputError` (file, line, remedy) at the first thing wrong in it.

    With `metrics`, both classes must be there; without, texts may all be of one class, or of none.
    """
    own = texts_of(path, known, cut=cut)
    counts = Counter(text.label for text in own)
    if metrics and not (counts[0] and counts[1]):
        raise InputError(
            f"{path}: metrics and shots need members (label 1) and non-members (label 0), but it has {counts[1]} "
            f"members, {counts[0]} non-members and {counts[None]} unlabelled texts. Add the missing class, or, to "
            "audit texts without a label, name artifacts: [audit] in the study (docs/audit.md)."
        )
    return own


def texts(path: Path) -> Iterator[Text]:
    """Yield the rows of the file as texts, each checked. Without a column `id` the text_id is the row's number."""
    return (text for _, text in read_located(path))


def _check_names(where: str, row: Row) -> None:
    """Refuse a column such as `Label`, `labels` or ` label`: columns of other names are ignored."""
    known = set(LocalText.model_fields) - ({"input", "text"} if {"input", "text"} & row.keys() else set())
    for column in row:
        meant = str(column).strip().casefold()
        meant = meant if meant in known else meant.removesuffix("s")
        if meant in known and meant != column and meant not in row:
            raise InputError(f"{where}: the column {column!r} would be ignored; name it '{meant}'.")


class LocalText(Columns):
    """A text of your own."""

    input: Words = ""
    """a text with at least one word and without NUL characters"""
    text: Words = ""
    """a text with at least one word and without NUL characters"""
    label: Label = None
    """1 (member), 0 (non-member) or, where unknown, null (in CSV: empty)"""
    subset: Name = None
    """a name, in quotes, or null"""
    length: Length = None
    """a whole number of words, 1 to 10^9, or null"""
    document: Name = None
    """a name, in quotes, or null"""
    id: Named = ""
    """a name of its own in every row; or leave the column out"""
    title: Name = None
    """a title, in quotes, or null"""
    author: Name = None
    """a name, in quotes, or null"""


def read_located(path: Path, numbered_as: str = "", cut: Cut | None = None) -> Iterator[tuple[str, Text]]:
    """Yield the rows of a file, or the works of a folder or their passages, as texts, each with its place
    (`file:line`).

    Without a column `id` the text_id is the row's number with a prefix.
    """
    works = work_rows(path) if cut is None else passages_of_works(path, cut)
    return check_rows(works if are_works(path) else rows(path), str(path), numbered_as)


def check_rows(given: Iterable[tuple[str, Row]], source: str, prefix: str = "") -> Iterator[tuple[str, Text]]:
    """Yield rows, each with its position in the file, as texts; ids that are numbers get a prefix.

    Raises `InputError` at the first bad row, or if `source` has none.
    """
    seen: dict[str, str] = {}
    columns: set[str] = set()
    for number, (where, row) in enumerate(given, start=1):
        if not columns.issuperset(row):
            _check_names(where, row)
            columns.update(row)
        if len({"input", "text"} & row.keys()) != 1:
            place = f"{source}, header" if source.lower().endswith(".csv") else where
            columns_there = ", ".join(map(str, row)) or "none"
            needed = "one column must be 'input' or 'text', the one that holds the texts"
            raise InputError(f"{place}: {needed}; found: {columns_there}.")
        known: Row = {"id": f"{prefix}{number:06d}", "label": None} | checked_row(where, row, LocalText)
        text, text_id = known.pop("input", None) or known.pop("text"), known.pop("id")
        if text_id in seen:
            before = f"the id '{text_id}' was given before, at {seen[text_id]}"
            raise InputError(f"{where}: {before}; ids must be unique.")
        seen[text_id] = where
        yield where, Text(text_id, text, **known)
    if not seen:
        raise InputError(f"{source} holds no rows; it needs at least one text.")
