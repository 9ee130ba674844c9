"""Books of Project Gutenberg: the catalogue, the texts, and the removal of the licence.

Project Gutenberg asks robots to be slow: one request at a time, with a pause. The addresses are those that its pages
for robots and offline catalogues give. A mirror can be used instead.
"""

import csv
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks.rows import jsonl_rows
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import atomic_path
from pretrace.runtime.http import Fetcher
from pretrace.runtime.logs import log

CATALOGUE = "cache/epub/feeds/pg_catalog.csv"
PAUSE = 2.0
"""Seconds between two requests."""

_START = re.compile(
    r"^.*\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK.*$", re.IGNORECASE | re.MULTILINE
)
_END = re.compile(
    r"^.*(?:\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK|End of (?:the )?Project Gutenberg).*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEEDED = ("Text#", "Type", "Issued", "Language")


class Book(NamedTuple):
    """`id`: a name that is unique among the books of its source."""

    id: str
    text: str


def released_since(catalogue: Path, day: str) -> list[str]:
    """The ids of the English texts that Project Gutenberg released on `day` or later, in the catalogue's order."""
    with catalogue.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if lacking := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
            raise InputError(
                f"{catalogue} has no column {lacking[0]!r}; it is not Project Gutenberg's catalogue."
            )
        return [
            row["Text#"]
            for row in reader
            if row["Type"] == "Text"
            and row["Language"] == "en"
            and row["Issued"] >= day
            and row["Text#"].isdecimal()
        ]


def fetch_text(site: str, book: str, folder: Path, fetcher: Fetcher) -> str:
    """The text of the book of that id without header and licence; it is kept in `folder`, so that a later run does not
    ask again."""
    path = folder / f"pg{book}.txt"
    if not path.exists():
        fetcher.save(f"{site.rstrip('/')}/cache/epub/{book}/pg{book}.txt", path)
    return without_licence(path.read_text(encoding="utf-8-sig", errors="replace"))


def without_licence(text: str) -> str:
    """The text between Project Gutenberg's two marks; the whole text if it has no marks, as texts in Dolma may."""
    text = text.replace("\r\n", "\n")
    start = _START.search(text)
    text = text[start.end() :] if start else text
    end = _END.search(text)
    return (text[: end.start()] if end else text).strip()


def books_in(path: Path) -> Iterator[Book]:
    """The documents of one of Dolma's files of books: gzipped JSON lines with `id` and `text`."""
    for where, row in jsonl_rows(path):
        if not isinstance(row.get("text"), str):
            raise InputError(f"{where}: there is no 'text'. Delete the file and run again.")
        yield Book(str(row.get("id")), without_licence(row["text"]))


def write_books(books: list[Book], out: Path) -> None:
    """Gzipped JSON lines, without a time in them."""
    with (
        atomic_path(out) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file,
    ):
        for book in books:
            file.write(json.dumps(book._asdict(), ensure_ascii=False).encode() + b"\n")
    log.info("%s: %d books", out, len(books))
