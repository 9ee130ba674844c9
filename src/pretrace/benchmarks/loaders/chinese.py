"""Chinese texts in jieba words: PatentMIA as released, and the People's Daily of
January 1998 in its format.

Zhang et al., Pretraining Data Detection for Large Language Models: A Divergence-based
Calibration Method, EMNLP 2024, section 4: Chinese patents published before 2023-01-01
(members) or with a priority after 2024-03-01 (non-members), 5,000 each, of each page
one snippet of 512 jieba words; a text of a shorter length is its first words.
"""

import random
from pathlib import Path

from pretrace.benchmarks.loaders.local import texts_of
from pretrace.benchmarks.packages import NEWS, lines_of
from pretrace.benchmarks.rows import single_file
from pretrace.benchmarks.sources import BenchmarkEntry, Lengths, Text, TwoDraws, loader
from pretrace.benchmarks.user_rows import given_rows
from pretrace.documents.languages import jieba_tokenizer
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Downloaded, Url

STRETCHES_OF_A_DOCUMENT = 10  # the People's Daily has no marks between articles


class PatentMia(BenchmarkEntry):
    """PatentMIA, as its authors released it."""

    lengths: Lengths
    url: Url
    """The archive of PatentMIA's authors."""


@loader("patentmia")
def load_patents(entry: PatentMia, sources: list[Path], seed: int) -> list[Text]:
    """Return the released texts (JSONL with `input` and `label`), and their first words
    for every shorter length."""
    path = single_file(sources[0], (".jsonl",), "patent")
    texts = []
    for number, page in enumerate(texts_of(given_rows(path))):
        words = jieba_words(page.text)
        for length in entry.lengths:
            text_id = f"{number:05d}-{length:03d}"
            text = "".join(words[:length])
            texts.append(Text(text_id, text, page.label, length=length))
    return texts


class PeoplesDaily(Downloaded, TwoDraws):
    """Stretches of the People's Daily."""


@loader("peoples_daily")
def load_news(entry: PeoplesDaily, sources: list[Path], seed: int) -> list[Text]:
    """Return `texts` stretches of each class, drawn from the month's stretches; a
    document is a block of 10 of them.

    The month is one text: part-of-speech tags taken off, repeated lines dropped, joined
    without spaces, cut by jieba. A stretch is as many words as the longest length;
    stretches do not overlap.
    """
    longest = max(entry.lengths)
    wanted = entry.texts
    untagged = []
    for line in lines_of(sources[0], [NEWS]):
        for tagged in line.split():
            untagged.append(tagged.rpartition("/")[0])
    words = jieba_words("".join(untagged))
    stretches = len(words) // longest
    log.info("%d words, %d stretches of %d", len(words), stretches, longest)
    if stretches < 2 * wanted:
        raise InputError(
            f"texts: {wanted} of each class are asked for, the month holds {stretches} "
            "stretches."
        )
    texts = []
    drawn = random.Random(seed).sample(range(stretches), 2 * wanted)
    for order, stretch in enumerate(drawn):
        label = int(order < wanted)
        block, place = divmod(stretch, STRETCHES_OF_A_DOCUMENT)
        document = f"block-{block:03d}"
        start = place * longest
        for length in entry.lengths:
            text_id = f"{document}-{length:03d}-{start // length:04d}"
            text = "".join(words[stretch * longest : stretch * longest + length])
            span = start, start + length
            texts.append(Text(text_id, text, label, "", length, document, span))
    return texts


def jieba_words(text: str) -> list[str]:
    """Return the words of jieba's default mode; joined again they are the text."""
    words: list[str] = jieba_tokenizer().lcut(text)
    return words
