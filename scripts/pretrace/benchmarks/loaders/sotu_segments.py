"""Dolma-Book's construction on State of the Union addresses: long segments of whole documents in or out.

Zhang and Wu, Adaptive Pre-training Data Detection for Large Language Models via Surprising Tokens, 2024:
an address of n segments gives its head (segment 0), its middle (n // 2) and its tail (the last two).
"""

import random
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from pretrace.benchmarks.loaders.sotu import addresses_between, nested_lengths, number_of_years
from pretrace.benchmarks.loaders.sotu_split import document_of
from pretrace.benchmarks.sources import BenchmarkEntry, Lengths, Text, cut, loader
from pretrace.benchmarks.speeches import Speech, speeches
from pretrace.runtime.schema import Downloaded, Span

SEGMENTS_NEEDED = 3  # head, middle and the end of the tail are then three segments


class SotuSegments(Downloaded, BenchmarkEntry):
    """Segments of whole addresses."""

    lengths: Lengths
    years: Span
    """First and last year of the addresses."""

    @property
    def texts_of_a_length(self) -> int | None:
        return number_of_years(self.years) * len(self.subsets)


@loader("sotu_segments", entry=SotuSegments)
def load(entry: SotuSegments, sources: list[Path], seed: int) -> list[Text]:
    """Head, middle and tail (the subsets) of every address of at least three segments of the longest length.

    An address is whole on one side: addresses are taken two by two in the order of their dates, and a coin
    says which is the member. The two share a fold: the one most like an address would else teach the
    opposite of its label (a bag of words fitted so has an AUC of 0.25 where there is nothing to find). Each
    is cut to whole segments of the longest length first, so that every shorter segment lies inside one of the
    longest of its subset.
    """
    lengths = nested_lengths(entry.lengths)
    longest = lengths[-1]
    found = addresses_between(speeches(sources[0]), entry.years, "years")
    addresses = [speech for speech in found if len(speech.text.split()) >= SEGMENTS_NEEDED * longest]
    sides = _sides(addresses, random.Random(seed))
    return [
        text
        for speech in addresses
        for length in lengths
        for text in _segments(speech, length, longest, *sides[document_of(speech)])
    ]


def _sides(addresses: Sequence[Speech], rng: random.Random) -> dict[str, tuple[int, str]]:
    """Document -> label and the pair it was drawn in."""
    documents = [document for document, _ in groupby(addresses, key=document_of)]
    sides: list[tuple[int, str]] = []
    for first in range(0, len(documents), 2):
        sides += [(label, documents[first]) for label in rng.sample([0, 1], 2)]
    return dict(zip(documents, sides, strict=False))  # an odd document's partner is missing


def _segments(speech: Speech, length: int, longest: int, label: int, pair: str) -> list[Text]:
    words = speech.text.split()
    about = {"label": label, "document": document_of(speech), "matched": pair}
    found = []
    for subset, index in segments(len(words), length, longest):
        text_id = f"{speech.fileid}-{subset}-{length:03d}-{index:04d}"
        found.append(cut(words, index * length, length, text_id=text_id, subset=subset, **about))
    return found


def segments(words: int, length: int, longest: int) -> list[tuple[str, int]]:
    """(head, middle or tail; number) of the segments taken of a document; none of one that is too short.

    The document is cut to whole segments of the longest length first, then into segments of `length`.
    """
    if words < SEGMENTS_NEEDED * longest:
        return []
    n = words // longest * longest // length
    return [("head", 0), ("middle", n // 2), ("tail", n - 2), ("tail", n - 1)]
