"""The first words of each chapter of the Bible: famous chapters against the others.

All chapters were probably read in training. What differs is how often the web repeats them.
"""

import random
from collections.abc import Mapping
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Required

from pretrace.benchmarks.sources import BenchmarkEntry, Text, cut, loader
from pretrace.benchmarks.verses import Chapter, Verse, daily_verses, verses
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Count


class Chapters(BenchmarkEntry, total=False):
    """The first words of each chapter of a book, famous ones against the others."""

    quoted_by: Required[str]
    """A slug of `downloads.yaml`: the package whose verses of the day say which chapters are famous. These are the
    chapters in which such a verse begins within the words that are read."""
    others: Count
    """Number of chapters with label 0, drawn at random (default, all)."""


@loader("chapters", needs=["download", "lengths"], entry=Chapters)
def load(entry: Mapping[str, Any], sources: list[Path], seed: int) -> list[Text]:
    """The first words of every chapter that is long enough, under the chapter's name (`Psalms 23`).

    Label 1: a verse of the day begins within these words. `sources`: the book and the package of daily verses.
    """
    book, quotes = sources
    chapters = {
        chapter: list(of_chapter)
        for chapter, of_chapter in groupby(verses(book), lambda verse: verse.chapter)
    }
    quoted = daily_verses(quotes)
    if unknown := sorted(chapter for chapter, _ in quoted if chapter not in chapters):
        raise InputError(f"{quotes} cites {_name(unknown[0])}, which {book} does not have.")
    texts = [
        text
        for length in entry["lengths"]
        for text in _of_length(chapters, quoted, length, entry.get("others"), random.Random(seed))
    ]
    return texts


def _of_length(
    chapters: Mapping[Chapter, list[Verse]],
    quoted: set[tuple[Chapter, int]],
    length: int,
    others: int | None,
    rng: random.Random,
) -> list[Text]:
    """The texts of one length: every famous chapter, and all of the others or a random draw of them."""
    words = {chapter: " ".join(verse.text for verse in own).split() for chapter, own in chapters.items()}
    long_enough = [chapter for chapter in chapters if len(words[chapter]) >= length]
    short = [_name(chapter) for chapter in chapters if len(words[chapter]) < length]
    famous = [chapter for chapter in long_enough if quoted & _openings(chapters[chapter], length)]
    rest = [chapter for chapter in long_enough if chapter not in famous]
    log.info(
        "%d words: %d famous chapters, %d others; left out as shorter: %d (%s)",
        length, len(famous), len(rest), len(short), ", ".join(short) or "none",
    )  # fmt: skip
    if others is not None:
        if others > len(rest):
            raise InputError(
                f"others: {others} chapters are asked for, and there are {len(rest)}; ask for fewer."
            )
        rest = rng.sample(rest, others)
    chosen = {*famous, *rest}
    return [
        cut(
            words[chapter],
            0,
            length,
            text_id=_name(chapter),
            label=int(chapter in famous),
            document=_name(chapter),
        )
        for chapter in long_enough
        if chapter in chosen
    ]


def _openings(of_chapter: list[Verse], length: int) -> set[tuple[Chapter, int]]:
    """The verses of a chapter that begin within its first `length` words."""
    ends = accumulate((len(verse.text.split()) for verse in of_chapter), initial=0)
    return {
        (verse.chapter, verse.number)
        for verse, start in zip(of_chapter, ends, strict=False)
        if start < length
    }


def _name(chapter: Chapter) -> str:
    return f"{chapter[0]} {chapter[1]}"
