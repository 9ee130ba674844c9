"""BookTection's construction on State of the Union addresses: passages of documents, suspect and clean.

Duarte et al., DE-COP: Detecting Copyrighted Content in Language Models Training Data, ICML 2024, section 3. A document
is a section of an address, since only one address was given after the model's release: documents of one address are
not independent, and tests on them describe, no more.
"""

import random
from pathlib import Path

from pretrace.benchmarks.loaders.sotu import TwoClasses, classes_of, nested_lengths, take_turns
from pretrace.benchmarks.sources import Text, Wording, cut, loader
from pretrace.benchmarks.speeches import Speech
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Count


class SotuQuestions(TwoClasses):
    """Passages of sections of addresses."""

    question: Wording
    documents: Count
    """Sections of each class."""
    passages: Count
    """Passages of each section and length."""

    @property
    def texts_of_a_length(self) -> int | None:
        return 2 * self.documents * self.passages


@loader("sotu_questions", entry=SotuQuestions)
def load(entry: SotuQuestions, sources: list[Path], seed: int) -> list[Text]:
    """`passages` of each length from each of `documents` sections of either class.

    Every address is cut into `documents` sections of as many words; the addresses of a class take turns in giving
    one. A passage is a run of words inside its section, and begins with those of the shorter lengths.
    """
    rng = random.Random(seed)
    classes = classes_of(entry, sources).items()
    return [text for label, addresses in classes for text in _class(addresses, entry, rng, label=label)]


def _class(addresses: list[Speech], entry: SotuQuestions, rng: random.Random, *, label: int) -> list[Text]:
    lengths = nested_lengths(entry.lengths)
    turns = list(range(len(addresses)))
    rng.shuffle(turns)
    sections = [(address, number) for address in turns for number in range(entry.documents)]
    chosen = sorted(take_turns(sections, turns, entry.documents, rng))
    return [
        text
        for address, number in chosen
        for text in _passages(addresses[address], number, entry, lengths, rng, label)
    ]


def _passages(
    speech: Speech, number: int, entry: SotuQuestions, lengths: list[int], rng: random.Random, label: int
) -> list[Text]:
    words = speech.text.split()
    size = len(words) // entry.documents
    places = range(number * size, (number + 1) * size - lengths[-1] + 1, lengths[-1])
    if len(places) < entry.passages:
        raise InputError(
            f"passages: a section of {speech.fileid} has {size} words, too few for {entry.passages} passages of "
            f"{lengths[-1]}; ask for fewer or shorter ones, or for fewer documents."
        )
    document = f"{speech.fileid}-{number + 1}"
    about = {"label": label, "document": document, "author": speech.speaker}
    about["title"] = f"State of the Union Address of {speech.year}"
    return [
        cut(words, start, length, text_id=f"{document}-{length:03d}-{passage:02d}", passage=passage, **about)
        for passage, start in enumerate(sorted(rng.sample(places, entry.passages)))
        for length in lengths
    ]
