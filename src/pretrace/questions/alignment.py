"""Which words of a work an answer gives back: blocks of equal words that follow each
other in both.

Two texts are compared in words (characters in languages without spaces) without case,
quotes and dashes. After Ahmed et al., Extracting books from production language models,
2026 (arXiv 2601.02671), whose blocks are of near-verbatim text.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pretrace.documents.languages import unit_spans

PASSAGE, CONTEXT = 64, 100
"""Words of the passages whose beginnings are the places where a model is asked to go
on, as in an audit, and words before a place in a prompt."""

FIRST, NEXT = 100, 400
"""Words that are asked for at a place, and of a model that gives the text back."""


class Sizes(NamedTuple):
    """Units: the fewest of a block that counts, the most between two stretches of a
    block, the fewest of a stretch."""

    block: int
    gap: int
    stretch: int


SIZES = {"words": Sizes(50, 5, 5), "characters": Sizes(100, 10, 10)}
"""A stretch of fewer than five equal words is chance or a common phrase."""

_NOWHERE = -9  # no place, and not beside one

_DROPPED = re.compile("[\"'`*_\u2018-\u201f\u00ab\u00bb\u2039\u203a]")
"""Quotes, and the signs around words that answers emphasise."""
_DASHES = re.compile("[\u2012-\u2015]|--+")


@lru_cache(1 << 16)
def _folded(unit: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", _DROPPED.sub("", unit)).casefold()
    return tuple(_DASHES.sub(" ", plain).split())


def words_of(text: str, unit: str = "words") -> list[str]:
    """Return the words of a text, or its characters, as they are compared."""
    return _words_in(text, unit_spans(text, unit))[0]


def _words_in(
    text: str, spans: Sequence[tuple[int, int]]
) -> tuple[list[str], list[int]]:
    """Return the words of a text as they are compared, and the span in which each
    lies: a word with a dash is two, and quotes alone are none."""
    words: list[str] = []
    places = []
    for place, (begin, end) in enumerate(spans):
        folded = _folded(text[begin:end])
        words += folded
        places += [place] * len(folded)
    return words, places


@dataclass(slots=True)
class _Stretch:
    """Equal words: where they begin in the answer and in the work, and how many they
    are."""

    answer: int
    work: int
    size: int

    def goes_on(self, later: "_Stretch", gap: int) -> bool:
        """Return whether a later stretch is of the same block: a little further in both
        texts."""
        in_answer = later.answer - self.answer
        in_work = later.work - self.work
        if min(in_answer, in_work) <= 0 or in_work + later.size <= self.size:
            return False
        return max(in_answer, in_work) - self.size <= gap


class IndexedWork:
    """A work's `text` and its `words`, found by runs of them; a run that the work
    repeats is found nowhere."""

    def __init__(self, text: str, unit: str = "words") -> None:
        self.text = text
        self.unit = unit
        self.spans = unit_spans(text, unit)
        self.words, self._unit_of_word = _words_in(text, self.spans)
        self._places: dict[tuple[str, ...], int] = {}
        for place, run in enumerate(self._runs(self.words)):
            self._places[run] = _NOWHERE if run in self._places else place

    @property
    def sizes(self) -> Sizes:
        return SIZES[self.unit]

    def _runs(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        size = self.sizes.stretch
        for place in range(len(words) - size + 1):
            yield tuple(words[place : place + size])

    def words_between(self, begin: int, end: int) -> range:
        """Return the places of the words of units `begin` to `end`."""
        first = bisect_left(self._unit_of_word, begin)
        return range(first, bisect_left(self._unit_of_word, end))

    def passage(self, words: Sequence[int]) -> str:
        """Return the text from the first to the last of these words."""
        begin, _ = self.spans[self._unit_of_word[words[0]]]
        _, end = self.spans[self._unit_of_word[words[-1]]]
        return self.text[begin:end]

    def until(self, answer: str, words: Sequence[int]) -> str:
        """Return an answer up to the last of these words of the work, without what it
        says after them."""
        run = [self.words[place] for place in words[-self.sizes.stretch :]]
        spans = unit_spans(answer, self.unit)
        words_told, places = _words_in(answer, spans)
        for after in range(len(words_told), len(run) - 1, -1):
            if words_told[after - len(run) : after] == run:
                _, end = spans[places[after - 1]]
                return answer[:end]
        return answer

    def blocks(self, answer: str, prompt: str, shown: range) -> list[list[int]]:
        """Return the blocks that an answer gives back, each as the places of its words,
        in the answer's order.

        A word that the `prompt` has in the same run is the prompt's, and so are the
        work's words at the places `shown`. Blocks of fewer words than `Sizes.block` are
        dropped; the words between stretches do not count.
        """
        blocks: list[list[_Stretch]] = []
        for stretch in self._stretches(answer, prompt):
            for block in reversed(blocks):
                if block[-1].goes_on(stretch, self.sizes.gap):
                    block.append(stretch)
                    break
            else:
                blocks.append([stretch])
        counted = []
        for block in blocks:
            words: set[int] = set()
            for stretch in block:
                words.update(range(stretch.work, stretch.work + stretch.size))
            words.difference_update(shown)
            if len(words) >= self.sizes.block:
                counted.append(sorted(words))
        return counted

    def _stretches(self, answer: str, prompt: str) -> list[_Stretch]:
        """Return the longest stretches of words that an answer shares with the work,
        and not with the prompt."""
        words = words_of(answer, self.unit)
        size = self.sizes.stretch
        of_prompt = {*self._runs(words_of(prompt, self.unit))}
        for place, run in enumerate([*self._runs(words)]):
            if run in of_prompt:
                words[place : place + size] = [""] * size
        stretches: list[_Stretch] = []
        before = _NOWHERE  # where the run that begins a word earlier is in the work
        for place, run in enumerate(self._runs(words)):
            in_work = self._places.get(run, _NOWHERE)
            if in_work != _NOWHERE:
                if before == in_work - 1:
                    stretches[-1].size += 1
                else:
                    stretches.append(_Stretch(place, in_work, size))
            before = in_work
        return stretches
