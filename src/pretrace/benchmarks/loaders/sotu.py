"""State of the Union addresses, cut and split as WikiMIA, MIMIR, Dolma-Book and
BookTection are.

A snippet is as many consecutive words (split at white space, joined by single spaces)
as the longest length; snippets do not overlap. A text of a shorter length is a
snippet's first words: every length has the same snippets.

`sotu`: Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024 (a
temporal cut-off). `sotu_split`, `sotu_temporal`: Duan et al., Do Membership Inference
Attacks Work on Large Language Models?, COLM 2024. `sotu_segments`: Zhang and Wu,
Adaptive Pre-training Data Detection for Large Language Models via Surprising Tokens,
2024. `sotu_questions`: Duarte et al., DE-COP: Detecting Copyrighted Content in Language
Models Training Data, ICML 2024.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pretrace.benchmarks.packages import Speech, speeches
from pretrace.benchmarks.sources import (
    BenchmarkEntry,
    Lengths,
    QuestionKind,
    Text,
    TwoDraws,
    cut,
    loader,
)
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Count, Downloaded, Keys, Maybe, Some, Years

Stretch = tuple[int, ...]
"""(address, start): a run of words of one length, by its address's place in the list
and its first word. A pair of one address is (address, start, start), the member
first."""

WHOLE_YEARS = frozenset({1945, 1953, 1956, 1961, 1972, 1973, 1974, 1978, 1979, 1980})
"""Years with a spoken and a written version, or two presidents' addresses: one tells
much of the other."""

SEGMENTS_NEEDED = 3  # head, middle and the end of the tail are then three segments


class YearsOf(Keys):
    """The addresses of one class."""

    years: Years
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
        members = number_of_years(self.members.years)
        return self.texts * (members + number_of_years(self.nonmembers.years))


@loader("sotu")
def load_sotu(entry: Sotu, sources: list[Path], seed: int) -> list[Text]:
    """Return `texts` snippets of each address, drawn at random, as texts of every
    length.

    Each address gives as many, so that any one of them can play the non-members
    (`evaluation.placebos`).
    """
    rng = random.Random(seed)
    longest = max(entry.lengths)
    texts = []
    for label, addresses in _classes(entry, sources).items():
        for speech in addresses:
            starts = _starts(speech, longest)
            if len(starts) < entry.texts:
                raise InputError(
                    f"texts: the address {speech.fileid} holds {len(starts)} snippets "
                    f"of {longest} words where {entry.texts} are asked for; ask for "
                    "fewer, or for shorter lengths."
                )
            for start in sorted(rng.sample(starts, entry.texts)):
                texts += _snippet(speech, start, entry.lengths, label, speech.fileid)
    return texts


class SotuSplit(Downloaded, TwoDraws):
    """State of the Union addresses, split at random, as MIMIR."""

    eras: Some[list[Years]]
    """First and last year of each subset. Its name is the two years, as `1930-1952`."""
    repetitions: Maybe[Annotated[list[Count], Field(min_length=2)]] = None
    """How often members are repeated in the training stream, as `[1, 3, 10]`. Each
    number gets an equal share of the members, drawn at random. The subsets are then
    `1x`, `3x`, `10x`, each with all non-members."""


@loader("sotu_split")
def load_split(entry: SotuSplit, sources: list[Path], seed: int) -> list[Text]:
    """Return `texts` snippets of each class, as many from each of `eras`; subset = era,
    or dose.

    Snippets are drawn in pairs of one address and of like length (`_pairs`), and a coin
    says which is the member: by chance alone, members of other draws were shorter than
    the non-members (p = 0.001). `WHOLE_YEARS` are left out.
    """
    every = speeches(sources[0])
    rng = random.Random(seed)
    snippets: list[list[Text]] = []
    for number, (first, last) in enumerate(entry.eras):
        within = _addresses_between(every, (first, last), "eras")
        addresses = [speech for speech in within if speech.year not in WHOLE_YEARS]
        quota = part_size(entry.texts, number, len(entry.eras))
        era = f"{first}-{last}"
        drawn = _draw(_pairs(addresses, entry.lengths, rng), quota, rng, f"era {era}")
        for side, label in enumerate((1, 0), start=1):
            for place, start in sorted((pair[0], pair[side]) for pair in drawn):
                speech = addresses[place]
                name = _document_name(speech)
                snippets.append(
                    _snippet(speech, start, entry.lengths, label, name, era)
                )
    if entry.repetitions is not None:
        snippets = _make_doses(snippets, entry.repetitions, rng)
    return list(chain.from_iterable(snippets))


class SotuTemporal(TwoDraws, TwoClasses):
    """State of the Union addresses, split by their years."""


@loader("sotu_temporal")
def load_temporal(entry: SotuTemporal, sources: list[Path], seed: int) -> list[Text]:
    """Return `texts` snippets of each class, members and non-members from different
    years."""
    every = speeches(sources[0])
    rng = random.Random(seed)
    texts = []
    for label, which, chosen in (
        (1, "members", entry.members),
        (0, "nonmembers", entry.nonmembers),
    ):
        addresses = _addresses_between(every, chosen.years, which)
        stretches: list[Stretch] = []
        for place, speech in enumerate(addresses):
            for start in _starts(speech, max(entry.lengths)):
                stretches.append((place, start))
        for place, start in _draw(stretches, entry.texts, rng, which):
            speech = addresses[place]
            name = _document_name(speech)
            texts += _snippet(speech, start, entry.lengths, label, name)
    return texts


def _pairs(
    addresses: list[Speech], lengths: Sequence[int], rng: random.Random
) -> list[Stretch]:
    """Pair the snippets of each address that have most alike numbers of characters; one
    that is left over is dropped.

    The characters are the sum over the lengths of those a word, so that the texts of
    each length are alike.
    """
    pairs = []
    for place, speech in enumerate(addresses):
        starts = list(_starts(speech, max(lengths)))
        rng.shuffle(starts)
        even = starts[: len(starts) // 2 * 2]
        characters = dict.fromkeys(even, 0.0)
        for start in even:
            for length in lengths:
                text = " ".join(speech.words[start : start + length])
                characters[start] += len(text) / length
        alike = sorted(even, key=characters.__getitem__)
        for k in range(0, len(alike), 2):
            pairs.append((place, *rng.sample(alike[k : k + 2], 2)))
    return pairs


def _draw(
    stretches: list[Stretch], count: int, rng: random.Random, which: str
) -> list[Stretch]:
    """Draw `count` stretches, sorted; addresses take turns, so that none fills a
    class."""
    if len(stretches) < count:
        raise InputError(
            f"{which}: these years hold {len(stretches)} snippets of a class where "
            f"{count} are asked for; give more years or fewer texts."
        )
    turns = sorted({stretch[0] for stretch in stretches})
    rng.shuffle(turns)
    return sorted(_take_turns(stretches, turns, count, rng))


def _make_doses(
    snippets: list[list[Text]], doses: Sequence[int], rng: random.Random
) -> list[list[Text]]:
    """Make a subset a dose: the members that a training stream repeats so often, drawn
    at random, and all non-members.

    Doses have equally many members where their number allows it. A subset is called by
    its dose: `3x`.
    """
    members = [snippet for snippet in snippets if snippet[0].label == 1]
    dose_of = {}
    for place, member in enumerate(rng.sample(members, len(members))):
        dose_of[id(member)] = doses[place % len(doses)]
    dosed = []
    for dose in doses:
        for snippet in snippets:
            if dose_of.get(id(snippet), dose) != dose:
                continue
            changes: dict[str, Any] = {"subset": f"{dose}x"}
            changes["repetitions"] = dose if snippet[0].label else 0
            copy = []
            for text in snippet:
                copy.append(replace(text, text_id=f"{text.text_id}-{dose}x", **changes))
            dosed.append(copy)
    return dosed


class SotuSegments(Downloaded, BenchmarkEntry):
    """Segments of whole addresses."""

    lengths: Lengths
    years: Years
    """First and last year of the addresses."""

    @property
    def texts_of_a_length(self) -> int | None:
        return number_of_years(self.years) * len(self.subsets)


@loader("sotu_segments")
def load_segments(entry: SotuSegments, sources: list[Path], seed: int) -> list[Text]:
    """Return head, middle and tail (the subsets) of every address of at least three
    segments of the longest length.

    An address is whole on one side: addresses are taken two by two in the order of
    their dates, and a coin says which is the member. The two share a fold: the one most
    like an address would else teach the opposite of its label (a bag of words fitted so
    has an AUC of 0.25 although nothing differs). Each is cut to whole segments of the
    longest length first, so that every shorter segment lies inside one of the longest
    of its subset.
    """
    lengths = nested_lengths(entry.lengths)
    rng = random.Random(seed)
    in_years = _addresses_between(speeches(sources[0]), entry.years, "years")
    addresses = []
    for speech in in_years:
        if len(speech.words) >= SEGMENTS_NEEDED * lengths[-1]:
            addresses.append(speech)
    documents = list(dict.fromkeys(map(_document_name, addresses)))
    # the two of a pair are named by the first; an odd document has no partner
    sides = {}
    for k in range(0, len(documents), 2):
        pair = documents[k : k + 2]
        for document, label in zip(pair, rng.sample([0, 1], 2), strict=False):
            sides[document] = {
                "label": label,
                "document": document,
                "matched": pair[0],
            }
    texts = []
    for speech in addresses:
        side = sides[_document_name(speech)]
        for length in lengths:
            for subset, index in segments(len(speech.words), length, lengths[-1]):
                text_id = f"{speech.fileid}-{subset}-{length:03d}-{index:04d}"
                about = side | {"subset": subset}
                texts.append(
                    cut(speech.words, index * length, length, text_id, **about)
                )
    return texts


def segments(words: int, length: int, longest: int) -> list[tuple[str, int]]:
    """Return (head, middle or tail; number) of the segments taken of a document; none
    of one that is too short.

    The document is cut to whole segments of the longest length first, then into n
    segments of `length`. The head is segment 0, the middle n // 2, the tail the last
    two.
    """
    if words < SEGMENTS_NEEDED * longest:
        return []
    n = words // longest * longest // length
    return [("head", 0), ("middle", n // 2), ("tail", n - 2), ("tail", n - 1)]


class SotuQuestions(TwoClasses):
    """Passages of sections of addresses."""

    question: QuestionKind
    documents: Count
    """Sections of each class."""
    passages: Count
    """Passages of each section and length."""

    @property
    def texts_of_a_length(self) -> int | None:
        return 2 * self.documents * self.passages


@loader("sotu_questions")
def load_questions(entry: SotuQuestions, sources: list[Path], seed: int) -> list[Text]:
    """Return `passages` of each length from each of `documents` sections of either
    class.

    Every address is cut into `documents` sections of as many words; the addresses of a
    class take turns in giving one. A passage is a run of words inside its section, and
    begins with its passages of the shorter lengths. Only one address was given after
    the model's release, so documents are sections: they are not independent, and tests
    on them describe.
    """
    rng = random.Random(seed)
    texts = []
    for label, addresses in _classes(entry, sources).items():
        turns = list(range(len(addresses)))
        rng.shuffle(turns)
        sections: list[Stretch] = []
        for address in turns:
            for number in range(entry.documents):
                sections.append((address, number))
        drawn = _take_turns(sections, turns, entry.documents, rng)
        for address, number in sorted(drawn):
            texts += _passages(addresses[address], number, entry, rng, label)
    return texts


def _passages(
    speech: Speech, number: int, entry: SotuQuestions, rng: random.Random, label: int
) -> list[Text]:
    lengths = nested_lengths(entry.lengths)
    size = len(speech.words) // entry.documents
    places = range(number * size, (number + 1) * size - lengths[-1] + 1, lengths[-1])
    if len(places) < entry.passages:
        raise InputError(
            f"passages: a section of {speech.fileid} has {size} words, too few for "
            f"{entry.passages} passages of {lengths[-1]}; ask for fewer or shorter "
            "ones, or for fewer documents."
        )
    document = f"{speech.fileid}-{number + 1}"
    about = {"label": label, "document": document, "author": speech.speaker}
    about["title"] = f"State of the Union Address of {speech.year}"
    passages = []
    for passage, start in enumerate(sorted(rng.sample(places, entry.passages))):
        for length in lengths:
            text_id = f"{document}-{length:03d}-{passage:02d}"
            passages.append(
                cut(speech.words, start, length, text_id, passage=passage, **about)
            )
    return passages


def number_of_years(years: Sequence[int]) -> int:
    """Return the number of years from the first to the last, both included: about as
    many addresses were given."""
    first, last = years
    return last - first + 1


def nested_lengths(lengths: Sequence[int]) -> list[int]:
    """Return the lengths in ascending order; `InputError` if one does not divide the
    next."""
    ordered = sorted(set(lengths))
    for shorter, longer in pairwise(ordered):
        if longer % shorter:
            raise InputError(
                f"lengths: {shorter} does not divide {longer}, so longer texts would "
                "not contain the shorter ones whole; choose lengths that do, such as "
                "[32, 64, 128, 256]."
            )
    return ordered


def part_size(total: int, number: int, parts: int) -> int:
    """Return the size of part `number` if `total` is cut into parts that differ by at
    most one."""
    return total * (number + 1) // parts - total * number // parts


def _addresses_between(
    addresses: list[Speech], years: Sequence[int], which: str
) -> list[Speech]:
    """Return the addresses of `years: [first, last]`, both included; `InputError` if no
    address is of these years."""
    first, last = years
    chosen = [speech for speech in addresses if first <= speech.year <= last]
    if not chosen:
        raise InputError(
            f"{which}: no address was given in the years {first} to {last}; they run "
            f"from {addresses[0].year} to {addresses[-1].year}, some years without one."
        )
    return chosen


def _classes(entry: TwoClasses, sources: list[Path]) -> dict[int, list[Speech]]:
    """Return label -> addresses of the entry's `members` (1) and `nonmembers` (0); one
    of both is a non-member."""
    addresses = speeches(sources[0])
    nonmembers = _addresses_between(addresses, entry.nonmembers.years, "nonmembers")
    members = _addresses_between(addresses, entry.members.years, "members")
    return {
        1: [speech for speech in members if speech not in nonmembers],
        0: nonmembers,
    }


def _document_name(speech: Speech) -> str:
    """Name the address, or the year if its addresses belong together."""
    return str(speech.year) if speech.year in WHOLE_YEARS else speech.fileid


def _starts(speech: Speech, length: int) -> range:
    """Return the first words of the whole runs of `length` words, one after the
    other."""
    return range(0, len(speech.words) - length + 1, length)


def _take_turns(
    free: list[Stretch], turns: list[int], count: int, rng: random.Random
) -> list[Stretch]:
    """Take `count` of the stretches (all, if fewer), address by address in the order of
    `turns`."""
    drawn: dict[int, list[Stretch]] = {address: [] for address in turns}
    for stretch in rng.sample(free, len(free)):
        drawn[stretch[0]].append(stretch)
    taken: list[Stretch] = []
    while len(taken) < count and any(drawn.values()):
        for address in turns:
            if drawn[address]:
                taken.append(drawn[address].pop())
    return taken[:count]


def _snippet(
    speech: Speech,
    start: int,
    lengths: Sequence[int],
    label: int,
    document: str,
    subset: str = "",
) -> list[Text]:
    """Return the texts of an address's words from `start` on, one of each length."""
    about = {"label": label, "subset": subset, "document": document}
    snippet = []
    for length in lengths:
        snippet.append(
            cut(
                speech.words,
                start,
                length,
                f"{speech.fileid}-{length:03d}-{start // length:04d}",
                **about,
            )
        )
    return snippet
