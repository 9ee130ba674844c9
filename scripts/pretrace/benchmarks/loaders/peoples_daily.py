"""The People's Daily of January 1998 in the format of DC-PDD's PatentMIA, split at random as MIMIR does.

Zhang et al., Pretraining Data Detection for Large Language Models: A Divergence-based Calibration Method,
EMNLP 2024: Chinese texts of 64 to 512 jieba words, a shorter text is the first words of the longest.
"""

import logging
import random
from pathlib import Path

from pretrace.benchmarks.packages import NEWS, lines_of
from pretrace.benchmarks.sources import Text, TwoDraws, loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Downloaded

WINDOWS_OF_A_DOCUMENT = 10  # the source has no marks between articles


class PeoplesDaily(Downloaded, TwoDraws):
    """Windows of the People's Daily."""


@loader("peoples_daily", entry=PeoplesDaily)
def load(entry: PeoplesDaily, sources: list[Path], seed: int) -> list[Text]:
    """`texts` windows of each class, drawn from the month's windows; a document is a block of 10 of them.

    The month is one text: part-of-speech tags taken off, repeated lines dropped, joined without spaces, cut
    by jieba. A window is as many words as the longest length; windows do not overlap.
    """
    longest, wanted = max(entry.lengths), entry.texts
    tagged = (word for line in lines_of(sources[0], (NEWS,)) for word in line.split())
    words = jieba_words("".join(word.rpartition("/")[0] for word in tagged))
    windows = len(words) // longest
    log.info("%d words, %d windows of %d", len(words), windows, longest)
    if windows < 2 * wanted:
        raise InputError(f"texts: {wanted} of each class are asked for, the month holds {windows} windows.")
    drawn = random.Random(seed).sample(range(windows), 2 * wanted)
    return [
        text
        for place, window in enumerate(drawn)
        for text in _texts(words, window, entry.lengths, label=int(place < wanted))
    ]


def jieba_words(text: str) -> list[str]:
    """The words of jieba's default mode; joined again they are the text."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut(text)


def _texts(words: list[str], window: int, lengths: list[int], label: int) -> list[Text]:
    longest = max(lengths)
    block, place = divmod(window, WINDOWS_OF_A_DOCUMENT)
    document = f"block-{block:03d}"
    return [
        Text(
            text_id=f"{document}-{length:03d}-{place * longest // length:04d}",
            text="".join(words[window * longest : window * longest + length]),
            label=label,
            length=length,
            document=document,
            span=(place * longest, place * longest + length),
        )
        for length in lengths
    ]
