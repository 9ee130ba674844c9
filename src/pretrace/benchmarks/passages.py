"""Cut documents into passages of one length, for audits."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pretrace.benchmarks.columns import checked_row, is_missing
from pretrace.benchmarks.documents import conversion_of
from pretrace.benchmarks.languages import language_of, unit_of, unit_spans
from pretrace.benchmarks.layout import without_lines
from pretrace.benchmarks.rows import Row, only_columns, rows
from pretrace.benchmarks.signs import SignKind, write_alike
from pretrace.benchmarks.texts import TextColumns
from pretrace.benchmarks.works import are_works, read_work, stored_works, works_in
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Count, Keys


class Document(NamedTuple):
    """A document's name and its text, with its title and author ("": not told)."""

    name: str
    text: str
    title: str = ""
    author: str = ""


MARGIN = 0.1
"""Share of a text at its beginning, and at its end, that passages are not taken from:
they score unlike middles."""


class Cut(Keys):
    """Cut works into passages, as many of each, from the same places."""

    size: Count
    """length of a passage, in words or characters"""
    each: Count
    """Passages of a work. A work that has fewer is left out."""
    unit: Literal["words", "characters"] = "words"
    """What `size` counts: words, or characters without white space, where passages end
    with the nearest word."""
    unwrap: bool = False
    """Write each passage in one line, because the lines of some works end elsewhere
    than those of others."""
    alike: list[SignKind] = []
    """Write these signs as people type them, because some of the works have them
    typeset: `quotes`, `dashes`, `dots`, `blanks` (without a break, or of no width),
    `double blanks`, `letters` (composed)."""


def passages(
    text: str, size: int, most: int | None = None, unit: str = "words"
) -> list[tuple[int, str]]:
    """Return (number of its first word, passage) of each passage of `size` words, or
    characters.

    A passage has the text's own characters from the first word to the last, line breaks
    and indentation too; one of characters begins and ends between words. The text is
    cut into passages that follow each other, and a rest that is shorter is left out.
    With `most`, at most this many are taken, from the middles of equal parts of the
    text without its margins.
    """
    places = unit_spans(text, unit)
    count = len(places)
    starts = list(range(0, count - size + 1, size))
    if most is not None and starts:
        taken = min(most, whole_passages(count, size))
        part = (1 - 2 * MARGIN) * count / taken
        starts = []
        for number in range(taken):
            middle = MARGIN * count + (number + 0.5) * part
            starts.append(round(middle - size / 2))
    is_snapped = unit == "characters" and unit_of(language_of(text)) == "words"
    cut_out = []
    for start in starts:
        begin, end = places[start][0], places[start + size - 1][1]
        if is_snapped:
            begin, end = _between_words(text, begin, end)
        cut_out.append((start, text[begin:end]))
    return cut_out


def whole_passages(count: int, size: int) -> int:
    """Return how many passages of `size` a text of `count` words, or characters, has
    between its margins."""
    return max(int((1 - 2 * MARGIN) * count) // size, int(count >= size))


def _between_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a stretch from the beginning of its first word to the end of the last one
    that is whole, if any is."""
    first, last = begin, end
    while first and not text[first - 1].isspace():
        first -= 1
    while last > first and text[last : last + 1].strip() and text[last - 1].strip():
        last -= 1
    last = first + len(text[first:last].rstrip())
    return (first, last) if last > first else (begin, end)


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
    most: int | None = None,
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
                f"{2 * size} in place of --words {size}."
            )
        own = _rows(name, text, size, label, most, unit)
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


def _rows(
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


def written_alike(text: str, cut: Cut) -> str:
    """Return a work's text as its passages are cut from it, in the lines and signs that
    all works have."""
    return write_alike(without_lines(text) if cut.unwrap else text, cut.alike)


def rows_of_works(
    path: Path, cut: Cut | None, left_out: Sequence[str] = ()
) -> Iterator[tuple[str, Row]]:
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
        passages = _rows(work.name, text, cut.size, None, cut.each, cut.unit)
        if len(passages) < cut.each:
            continue
        # characters are matched where works differ in their words, so that one has a
        # length and another none
        exact = {} if cut.unit == "words" else {"length": None}
        for number, passage in enumerate(passages, start=1):
            yield f"{work.path}, passage {number}", passage | exact | about


def first_names(names: Sequence[str]) -> str:
    """Return the first five names, and the number of the others."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")


def not_read(names: Iterable[str]) -> Iterator[str]:
    """Yield lines that name the files that are not read: how each of another format is
    converted, then the others."""
    others = []
    for name in names:
        if conversion := conversion_of(name):
            yield f"{name}. Convert it: {conversion}"
        else:
            others.append(name)
    if others:
        yield f"{len(others)} file{'s' * (len(others) != 1)}: {first_names(others)}"
