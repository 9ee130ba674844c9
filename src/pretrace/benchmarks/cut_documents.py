"""Cut documents of any format into the rows of a `local` benchmark."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.benchmarks.columns import checked_row, is_missing
from pretrace.benchmarks.rows import only_columns, rows
from pretrace.benchmarks.texts import TextColumns
from pretrace.benchmarks.user_rows import rows_of_work
from pretrace.documents.languages import (
    SIGNS_OF_A_WORD,
    language_of,
    unit_of,
    unit_spans,
)
from pretrace.documents.works import are_works, read_work, works_in
from pretrace.runtime.errors import InputError, first_names


class Document(NamedTuple):
    """A document's name and its text, with its title and author ("": not told)."""

    name: str
    text: str
    title: str = ""
    author: str = ""


def documents(
    paths: Sequence[Path], *, whole: bool = False
) -> tuple[Iterator[Document], list[Path]]:
    """Return the documents of files and folders, each with its name, and the files in
    folders that are left out.

    Documents of folders are works (`works_in`, which `whole` is for), and so is a
    document of any format. A row of another file is a document, named by its column
    `document` or `id`, else by its place; its text is in `text` or `input`.
    Raises `InputError` at a file that is missing, empty or cannot be read, and at two
    documents of one name.
    """
    works = {}
    left_out = []
    for path in paths:
        if path not in works and are_works(path):
            works[path], not_works = works_in(path, whole=whole)
            left_out += not_works

    def given() -> Iterator[tuple[str, Document]]:
        for path in paths:
            if path not in works:
                yield from _of_rows(path)
                continue
            for work in works[path]:
                read = read_work(work)
                about = read.report.title, read.report.author
                yield str(work.path), Document(work.name, read.text, *about)

    def named() -> Iterator[Document]:
        seen: dict[str, str] = {}
        for where, document in given():
            name = document.name
            if name in seen:
                raise InputError(
                    f"{where}: the document '{name}' was given before, at "
                    f"{seen[name]}; rename one of the two."
                )
            seen[name] = where
            yield document

    return named(), left_out


def _of_rows(path: Path) -> Iterator[tuple[str, Document]]:
    """Yield the place and the document of each row of a file."""
    empty = True
    columns = only_columns("text", "input", "document", "id", "title", "author")
    for where, row in rows(path, columns):
        empty = False
        text = row.get("text", row.get("input"))
        if not isinstance(text, str):
            raise InputError(
                f"{where}: there is no text in a column 'text' or 'input'; give the "
                "document's text."
            )
        if not text.strip():
            raise InputError(
                f"{where}: the document has no words; fill it, or leave it out."
            )
        given = {}
        for key in ("document", "id", "title", "author"):
            if not is_missing(row.get(key)):
                given[key] = row[key]
        about = checked_row(where, given, TextColumns)
        name = about.get("document") or about.get("id") or where
        of_work = about.get("title", ""), about.get("author", "")
        yield where, Document(name, text, *of_work)
    if empty:
        raise InputError(f"{path} holds no rows; it needs at least one document.")


def cut_documents(
    given: Iterable[Document],
    size: int,
    label: int | None,
    most: int | None,
    unit: str = "words",
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return passages of documents as rows of a `local` benchmark, and the names of
    documents shorter than a passage.

    A row's id is the document's name and the number of its first word, or character; a
    document without a title has its name as one. Raises `InputError` if every document
    is shorter, or if words are asked for of a document that is written without spaces.
    """
    cut: list[dict[str, Any]] = []
    short = []
    for name, text, title, author in given:
        if unit == "words" and unit_of(language := language_of(text)) != unit:
            raise InputError(
                f"{name}: the document has no spaces between words (language "
                f"{language}), so its words cannot be counted; give --characters "
                f"{SIGNS_OF_A_WORD * size} in place of --words {size}."
            )
        own = rows_of_work(name, text, size, label, most, unit)
        if not own:
            short.append(f"{name} ({len(unit_spans(text, unit))} {unit})")
        about = {"title": title or name, "author": author}
        for row in own:
            cut.append(row | about)
    if not cut:
        several = f"each of the {len(short)} documents"
        which = "the document" if len(short) == 1 else several
        raise InputError(
            f"{which} is shorter than a passage of {size} {unit}: "
            f"{first_names(short)}. Give a smaller --{unit}, or longer documents."
        )
    return cut, short
