"""MIMIR's construction on State of the Union addresses: members are what a controlled model is trained on.

Duan et al., Do Membership Inference Attacks Work on Large Language Models?, COLM 2024. A snippet is as many
consecutive words of an address as the longest length, snippets do not overlap, and a text of a shorter length
is a snippet's first words: every length has the same snippets. Members and non-members are drawn at random
(`sotu_split`) or from different years (`sotu_temporal`); addresses take turns, so none fills a class.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pretrace.benchmarks.loaders.sotu import (
    TwoClasses,
    Window,
    address_windows,
    addresses_between,
    snippet,
    take_turns,
)
from pretrace.benchmarks.sources import Text, TwoDraws, loader
from pretrace.benchmarks.speeches import Speech, speeches
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Count, Downloaded, Maybe, Some, Span

WHOLE_YEARS = frozenset({1945, 1953, 1956, 1961, 1972, 1973, 1974, 1978, 1979, 1980})
"""Years with a spoken and a written version, or two presidents' addresses: one tells much of the other."""


class SotuSplit(Downloaded, TwoDraws):
    """State of the Union addresses, split at random, as MIMIR."""

    eras: Some[list[Span]]
    """First and last year of each subset. Its name is the two years, as `1930-1952`."""
    repetitions: Maybe[Annotated[list[Count], Field(min_length=2)]] = None
    """How often members are repeated in the training stream, as `[1, 3, 10]`. Each number gets an equal share of
    the members, drawn at random. The subsets are then `1x`, `3x`, `10x`, each with all non-members."""


@loader("sotu_split", entry=SotuSplit)
def load_split(entry: SotuSplit, sources: list[Path], seed: int) -> list[Text]:
    """`texts` snippets of each class, split at random, as many from each of `eras`; subset = era, or dose."""
    every = speeches(sources[0])
    rng = random.Random(seed)
    snippets: list[Sequence[Text]] = []
    for number, (first, last) in enumerate(entry.eras):
        addresses = addresses_between(every, (first, last), "eras")
        quota = share_of(entry.texts, number, len(entry.eras))
        for label, windows in _split(addresses, max(entry.lengths), rng).items():
            drawn = _draw(windows, quota, rng, f"era {first}-{last}")
            snippets += _snippets(addresses, drawn, entry.lengths, label, f"{first}-{last}")
    if entry.repetitions is not None:
        snippets = _dosed(snippets, entry.repetitions, rng)
    return [text for snippet in snippets for text in snippet]


class SotuTemporal(TwoDraws, TwoClasses):
    """State of the Union addresses, split by their years."""


@loader("sotu_temporal", entry=SotuTemporal)
def load_temporal(entry: SotuTemporal, sources: list[Path], seed: int) -> list[Text]:
    """`texts` snippets of each class, members and non-members from different years."""
    every = speeches(sources[0])
    rng = random.Random(seed)
    texts: list[Text] = []
    for label, which, of_class in ((1, "members", entry.members), (0, "nonmembers", entry.nonmembers)):
        addresses = addresses_between(every, of_class.years, which)
        windows = address_windows(addresses, max(entry.lengths))
        drawn = _draw(windows, entry.texts, rng, which)
        snippets = _snippets(addresses, drawn, entry.lengths, label, "")
        texts += [text for snippet in snippets for text in snippet]
    return texts


def document_of(speech: Speech) -> str:
    """The address, or the year where its addresses belong together."""
    return str(speech.year) if speech.year in WHOLE_YEARS else speech.fileid


def share_of(total: int, number: int, parts: int) -> int:
    """The size of part `number` where `total` is cut into parts as equal as can be."""
    return total * (number + 1) // parts - total * number // parts


def _split(addresses: list[Speech], length: int, rng: random.Random) -> dict[int, list[Window]]:
    """Label -> its windows: half of each address's, but whole years go in turn to one class or the other."""
    whole = sorted({speech.year for speech in addresses} & WHOLE_YEARS)
    rng.shuffle(whole)
    first = rng.randrange(2)
    label_of = {year: (first + place) % 2 for place, year in enumerate(whole)}
    split: dict[int, list[Window]] = {1: [], 0: []}
    windows = address_windows(addresses, length)
    for place, speech in enumerate(addresses):
        own = [window for window in windows if window[0] == place]
        if speech.year in label_of:
            split[label_of[speech.year]] += own
            continue
        rng.shuffle(own)
        half = (len(own) + rng.randrange(2)) // 2
        split[1] += own[:half]
        split[0] += own[half:]
    return split


def _draw(windows: list[Window], count: int, rng: random.Random, which: str) -> list[Window]:
    if len(windows) < count:
        raise InputError(
            f"{which}: these years hold {len(windows)} snippets of one class where {count} are asked for; "
            f"give more years or fewer texts."
        )
    turns = sorted({address for address, _ in windows})
    rng.shuffle(turns)
    return sorted(take_turns(windows, turns, count, rng))


def _snippets(
    addresses: list[Speech], windows: list[Window], lengths: Sequence[int], label: int, subset: str
) -> list[Sequence[Text]]:
    """The texts of each window, one of each length."""
    words = [speech.text.split() for speech in addresses]
    found: list[Sequence[Text]] = []
    for address, start in windows:
        speech = addresses[address]
        about = {"label": label, "subset": subset, "document": document_of(speech)}
        found.append([snippet(speech, words[address], start, length, **about) for length in lengths])
    return found


def _dosed(
    snippets: Sequence[Sequence[Text]], doses: Sequence[int], rng: random.Random
) -> list[Sequence[Text]]:
    """A subset a dose: the members that a training stream repeats so often, drawn at random, and all non-members.

    Doses have as many members each, as far as they go. A subset is called by its dose: `3x`.
    """
    members = [snippet for snippet in snippets if snippet[0].label == 1]
    dealt = {id(one): doses[at % len(doses)] for at, one in enumerate(rng.sample(members, len(members)))}

    def dosed(text: Text, dose: int) -> Text:
        repetitions = dose if text.label else 0
        return replace(text, text_id=f"{text.text_id}-{dose}x", subset=f"{dose}x", repetitions=repetitions)

    return [
        [dosed(text, dose) for text in snippet]
        for dose in doses
        for snippet in snippets
        if dealt.get(id(snippet), dose) == dose
    ]
