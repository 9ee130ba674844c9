"""Dolma-Book, rebuilt: books that are in Dolma against books that Project Gutenberg
released later.

Zhang and Wu, Adaptive Pre-training Data Detection for Large Language Models via
Surprising Tokens, 2024: 978 books released after 2024-01-01 and as many of Dolma's; of
each its head, its middle and, as its tail, its last two segments, of 1,024 and of 512
words. The authors released no texts.

Project Gutenberg asks robots to be slow: one request at a time, with a pause. The
addresses are those that its pages for robots and offline catalogues give. A mirror can
be used instead.
"""

import csv
import gzip
import heapq
import json
import re
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks.loaders.sotu import SEGMENTS_NEEDED, segments
from pretrace.benchmarks.rows import jsonl_rows, rows
from pretrace.benchmarks.sources import FromHub, Lengths, Text, cut, loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import atomic_path, write_json
from pretrace.runtime.http import Fetcher, NotFoundError
from pretrace.runtime.hub import MANIFEST, Snapshot, fetched_files, snapshot
from pretrace.runtime.logs import Progress, log
from pretrace.runtime.schema import Count, Day, Hub, Url
from pretrace.seeds import seed_of

CATALOGUE = "cache/epub/feeds/pg_catalog.csv"
PAUSE = 2.0
"""Seconds between two requests."""

_START = re.compile(
    r"^.*\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK.*$",
    re.IGNORECASE | re.MULTILINE,
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


def released_since(catalogue: Path, day: str) -> list[tuple[str, str]]:
    """Return (day, id) of the English texts that Project Gutenberg released on `day` or
    later, in order of release."""
    books = []
    with catalogue.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        for name in _NEEDED:
            if name not in (reader.fieldnames or ()):
                raise InputError(
                    f"{catalogue} has no column {name!r}: not Project Gutenberg's "
                    "catalogue."
                )
        for row in reader:
            is_english = row["Type"] == "Text" and row["Language"] == "en"
            released, id = row["Issued"], row["Text#"]
            if is_english and released >= day and id.isdecimal():
                books.append((released, id))
    return sorted(books, key=lambda book: (book[0], int(book[1])))


def without_licence(text: str) -> str:
    """Return the text between Project Gutenberg's two marks; the whole text if it has
    none, as texts in Dolma may."""
    text = text.replace("\r\n", "\n")
    start = _START.search(text)
    text = text[start.end() :] if start else text
    end = _END.search(text)
    return (text[: end.start()] if end else text).strip()


def books_in(path: Path) -> Iterator[Book]:
    """Yield the documents of one of Dolma's files of books: gzipped JSON lines with
    `id` and `text`."""
    for where, row in jsonl_rows(path):
        if not isinstance(row.get("text"), str):
            raise InputError(
                f"{where}: there is no 'text'. Delete the file and run again."
            )
        yield Book(str(row.get("id")), without_licence(row["text"]))


def write_books(books: list[Book], out: Path) -> None:
    """Write gzipped JSON lines, without a time in them: equal books give equal
    bytes."""
    with (
        atomic_path(out) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file,
    ):
        for book in books:
            file.write(json.dumps(book._asdict(), ensure_ascii=False).encode() + b"\n")
    log.info("%s: %d books", out, len(books))


_FILES = {1: "members.jsonl.gz", 0: "nonmembers.jsonl.gz"}
_URLS = "urls/v1_5.txt"  # the version that OLMo-1B and -7B were trained on
_BOOKS = "/books/"
_DOLMA = "dolma"  # where Dolma's own files lie until the books are drawn


class DolmaBook(FromHub):
    """Built as the paper built Dolma-Book."""

    hub: Hub
    lengths: Lengths
    documents: Count
    """Books of each class."""
    gutenberg: Url
    """The address of Project Gutenberg or of a mirror. Texts are fetched one by one,
    two seconds apart, and kept, so that a stopped run continues."""
    released_after: Day
    """The non-members are the first `documents` books that Project Gutenberg released
    on or after this day (YYYY-MM-DD)."""


@loader("dolma_book")
def load(entry: DolmaBook, sources: list[Path], seed: int) -> list[Text]:
    """Return head, middle and tail (the subsets) of every book; a book is a document.

    Each length has a grid of its own, as in the paper: the tail of 512 words ends at
    the last whole 512.
    """
    files = dict(fetched_files(sources[0]))
    texts = []
    for label, name in _FILES.items():
        if name not in files:
            raise InputError(
                f"{sources[0]} has no {name}; its books were not fetched, or the "
                "folder is another."
            )
        for _, row in rows(files[name]):
            words = row["text"].split()
            book = f"{'member' if label else 'nonmember'}-{row['id']}"
            for length in entry.lengths:
                for subset, index in segments(len(words), length, length):
                    text_id = f"{book}-{subset}-{length:04d}-{index:05d}"
                    about = {"label": label, "subset": subset, "document": book}
                    texts.append(cut(words, index * length, length, text_id, **about))
    return texts


def addresses(entry: DolmaBook) -> list[str]:
    """Return the addresses to ask before a thousand books are fetched: one of Dolma's
    files, and the catalogue."""
    return [_files_of_dolma(entry)[1][0], f"{entry.gutenberg.rstrip('/')}/{CATALOGUE}"]


def fetch_books(entry: DolmaBook, folder: Path, seed: int, attempts: int) -> None:
    """Fetch and draw the books of both classes into `folder`; `files.json`, written
    last, describes them.

    The non-members are the first `documents` books of Project Gutenberg that are long
    enough, in order of release: the paper took all of its day. As many members are
    drawn from Dolma, in the order of a hash of seed and id. What a run that was cut
    short has fetched stays in `folder`; Dolma's files go when all is done.
    """
    listed, members = _dolma(entry, folder, seed, attempts)
    later = _gutenberg(entry, folder, attempts)
    for label, books in ((1, members), (0, later)):
        if len(books) < entry.documents:
            counts = (len(books), label, entry.documents)
            log.warning(
                "%d books of class %d are long enough; %d were asked for", *counts
            )
        write_books(
            sorted(books, key=lambda book: book.id), folder / listed.hub / _FILES[label]
        )
    described = {
        "hub": listed.hub,
        "revision": listed.revision,
        "commit": listed.commit,
    }
    files = dict.fromkeys(_FILES.values(), "")
    write_json(folder / MANIFEST, {"repositories": [described | {"files": files}]})
    shutil.rmtree(folder / _DOLMA)


def _is_long_enough(entry: DolmaBook, text: str) -> bool:
    return len(text.split()) >= SEGMENTS_NEEDED * max(entry.lengths)


def _gutenberg(entry: DolmaBook, folder: Path, attempts: int) -> list[Book]:
    """Return books of the catalogue in order of release, fetched one by one until
    enough are long enough.

    Texts that a run before has fetched are not asked for again.
    """
    fetcher = Fetcher(attempts, PAUSE)
    site = entry.gutenberg.rstrip("/")
    catalogue = folder / "pg_catalog.csv"
    if not catalogue.exists():
        fetcher.save(f"{site}/{CATALOGUE}", catalogue)
    listed = released_since(catalogue, entry.released_after)
    log.info(
        "%d English books were released on %s or later",
        len(listed),
        entry.released_after,
    )
    books: list[Book] = []
    without = []
    with Progress("Project Gutenberg", entry.documents, "books") as progress:
        last = entry.released_after
        for day, id in listed:
            if len(books) == entry.documents:
                break
            path = folder / "gutenberg" / f"pg{id}.txt"
            try:
                if not path.exists():
                    fetcher.save(f"{site}/cache/epub/{id}/pg{id}.txt", path)
            except NotFoundError:
                without.append(id)
                continue
            text = without_licence(
                path.read_text(encoding="utf-8-sig", errors="replace")
            )
            if _is_long_enough(entry, text):
                books.append(Book(id, text))
                last = day
                progress.update()
    log.info("%d books, released from %s to %s", len(books), entry.released_after, last)
    if without:
        log.warning(
            "%d books of the catalogue have no plain text: %s",
            len(without),
            ", ".join(without[:5]),
        )
    return books


def _files_of_dolma(entry: DolmaBook) -> tuple[Snapshot, list[str]]:
    """Fetch Dolma's list of files; return it with the addresses of books in it."""
    listed = snapshot(entry.hub, "dataset", entry.revision, [_URLS])
    if _URLS not in listed.files:
        raise InputError(
            f"{entry.hub} at {listed.commit} has no {_URLS}, the list of Dolma's files."
        )
    urls = []
    for line in (listed.folder / _URLS).read_text(encoding="utf-8").split():
        if _BOOKS in line:
            urls.append(line)
    if not urls:
        raise InputError(f"{entry.hub}: {_URLS} names no file of books ({_BOOKS}).")
    return listed, urls


def _dolma(
    entry: DolmaBook, folder: Path, seed: int, attempts: int
) -> tuple[Snapshot, list[Book]]:
    """Return Dolma's list of files, and the long enough books with the smallest
    hashes."""
    listed, urls = _files_of_dolma(entry)
    fetcher = Fetcher(attempts)
    books: list[Book] = []
    for url in urls:
        path = folder / _DOLMA / url.rpartition("/")[2]
        if not path.exists():
            fetcher.save(url, path)
        long = (book for book in books_in(path) if _is_long_enough(entry, book.text))
        every = chain(books, long)
        books = heapq.nsmallest(
            entry.documents, every, lambda book: seed_of("dolma_book", seed, book.id)
        )
    return listed, books
