"""WikiMIA's construction on State of the Union addresses: non-members by a temporal cut-off.

Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024. Addresses given after a model's
release play the non-members, addresses from before it are presumed members. A snippet is as many consecutive words
(split at white space, joined by single spaces) as the longest length; snippets do not overlap. A text of a shorter
length is a snippet's first words.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pretrace.benchmarks.sources import BenchmarkEntry, Lengths, Text, cut, loader
from pretrace.benchmarks.speeches import Speech, speeches
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Count, Downloaded, Keys, Span

Window = tuple[int, int]
"""(address, start): a run of words of one length, by its address's place in the list and its first word."""


class YearsOf(Keys):
    """The addresses of one class."""

    years: Span
    """First and last year, both included."""


class TwoClasses(Downloaded, BenchmarkEntry):
    """Members from some years, non-members from others."""

    lengths: Lengths
    members: YearsOf
    """The addresses of the members, as `years: [first, last]`."""
    nonmembers: YearsOf
    """The addresses of the non-members."""


class Sotu(TwoClasses):
    """Snippets of each address."""

    texts: Count
    """Snippets of each address."""

    @property
    def texts_of_a_length(self) -> int | None:
        return self.texts * (number_of_years(self.members.years) + number_of_years(self.nonmembers.years))


def number_of_years(years: Sequence[int]) -> int:
    """Return the number of years from the first to the last, both included: about as many addresses were given."""
    first, last = years
    return last - first + 1


@loader("sotu", entry=Sotu)
def load(entry: Sotu, sources: list[Path], seed: int) -> list[Text]:
    """`texts` snippets of each address, drawn at random, as texts of every length.

    Each address gives as many, so that any one of them can play the non-members (`evaluation.placebos`).
    """
    rng = random.Random(seed)
    return [
        text
        for label, addresses in classes_of(entry, sources).items()
        for speech in addresses
        for text in _snippets(speech, entry.lengths, entry.texts, rng, label)
    ]


def classes_of(entry: TwoClasses, sources: list[Path]) -> dict[int, list[Speech]]:
    """Label -> the addresses of the entry's `members` (1) and `nonmembers` (0); one of both is a non-member."""
    addresses = speeches(sources[0])
    nonmembers = addresses_between(addresses, entry.nonmembers.years, "nonmembers")
    members = addresses_between(addresses, entry.members.years, "members")
    return {1: [speech for speech in members if speech not in nonmembers], 0: nonmembers}


def _snippets(
    speech: Speech, lengths: Sequence[int], count: int, rng: random.Random, label: int
) -> list[Text]:
    windows = address_windows([speech], max(lengths))
    if len(windows) < count:
        raise InputError(
            f"texts: the address {speech.fileid} holds {len(windows)} snippets of {max(lengths)} words where "
            f"{count} are asked for; ask for fewer, or for shorter lengths."
        )
    words = speech.text.split()
    return [
        snippet(speech, words, start, length, label=label)
        for _, start in sorted(rng.sample(windows, count))
        for length in lengths
    ]


def nested_lengths(lengths: Sequence[int]) -> list[int]:
    """Ascending; `InputError` where one does not divide the next."""
    ordered = sorted(set(lengths))
    for shorter, longer in pairwise(ordered):
        if longer % shorter:
            raise InputError(
                f"lengths: {shorter} does not divide {longer}, so longer texts would not contain the shorter "
                f"ones whole; choose lengths that do, such as [32, 64, 128, 256]."
            )
    return ordered


def addresses_between(addresses: list[Speech], years: Sequence[int], which: str) -> list[Speech]:
    """The addresses of `years: [first, last]`, both included; `InputError` where there is none."""
    first, last = years
    found = [speech for speech in addresses if first <= speech.year <= last]
    if not found:
        raise InputError(
            f"{which}: no address was given in the years {first} to {last}; "
            f"they run from {addresses[0].year} to {addresses[-1].year}, some years without one."
        )
    return found


def address_windows(addresses: list[Speech], length: int) -> list[Window]:
    """The whole runs of `length` words of each address, one after the other."""
    return [
        (address, start)
        for address, speech in enumerate(addresses)
        for start in range(0, len(speech.text.split()) - length + 1, length)
    ]


def take_turns(free: list[Window], turns: list[int], count: int, rng: random.Random) -> list[Window]:
    """`count` of the windows (all, if fewer), address by address in the order of `turns`.

    The address whose turn is next stays first in `turns`.
    """
    drawn: dict[int, list[Window]] = {address: [] for address in turns}
    for window in rng.sample(free, len(free)):
        drawn[window[0]].append(window)
    taken: list[Window] = []
    while len(taken) < count and any(drawn.values()):
        address = turns.pop(0)
        turns.append(address)
        if drawn[address]:
            taken.append(drawn[address].pop())
    return taken


def snippet(speech: Speech, words: Sequence[str], start: int, length: int, **more: Any) -> Text:
    """`length` of an address's words from `start` on; `more` are fields of `Text`, the document among them."""
    text_id = f"{speech.fileid}-{length:03d}-{start // length:04d}"
    return cut(words, start, length, **{"text_id": text_id, "document": speech.fileid} | more)
