"""Views that are functions of the text alone."""

import random

from pretrace.views.names import COUNT, PERCENT, family, view
from pretrace.views.words import (
    core,
    draw_sample,
    in_case_of,
    is_chinese,
    replace_spans,
    share_of,
    word_spans,
)

TRANSPOSED_PERCENT = 30


@view("original")
def original(text: str, seed: int) -> list[str]:
    """Return the text unchanged."""
    return [text]


@view("lowercase")
def lowercase(text: str, seed: int) -> list[str]:
    """Write the text in lower case; scripts without case stay unchanged."""
    return [text.lower()]


@family("delete", numbers=PERCENT, usual=(10, 15, 20))
def delete(text: str, seed: int, percent: int) -> list[str]:
    """Take int(words x percent / 100) words out of the text, each with the space before
    it.

    Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive
    Decoding, 2024, section 5.1.
    """
    spans = word_spans(text)
    count = share_of(len(spans), percent)
    deleted = set(draw_sample(random.Random(seed), spans, count))
    taken_out = {}
    begin = spans[0][0] if spans else 0
    for span in spans:
        _, end = span
        if span in deleted:
            taken_out[begin, end] = ""
        # the space after a word goes with the next word
        begin = end
    shortened = replace_spans(text, taken_out)
    if spans and spans[0] in deleted:
        shortened = shortened.lstrip()
    return [shortened]


@family("synonym", numbers=PERCENT, usual=(10, 15, 20), source="data")
def synonym(text: str, seed: int, percent: int) -> list[str]:
    """Replace int(words x percent / 100) of the text's words by WordNet synonyms, fewer
    if fewer have one.

    Needs WordNet's data on this machine, else `InputError`. English only.
    Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive
    Decoding, 2024, section 5.1.
    """
    from pretrace.views.wordnet import installed_wordnet

    wordnet = installed_wordnet()
    rng = random.Random(seed)
    spans = word_spans(text)
    synonyms = {}
    for span in spans:
        place = core(text, span)
        of_word = wordnet.synonyms(text[slice(*place)])
        if of_word:
            synonyms[place] = of_word
    count = share_of(len(spans), percent)
    replacements = {}
    for place in draw_sample(rng, list(synonyms), count):
        word = rng.choice(synonyms[place])
        replacements[place] = in_case_of(word, text[slice(*place)])
    return [replace_spans(text, replacements)]


@family("transpositions", numbers=COUNT, usual=(5,))
def transpositions(text: str, seed: int, count: int) -> list[str]:
    """Make `count` copies; in each, two words change places 30 times for 100 words, at
    least once.

    Words are what single spaces separate; Chinese ones are cut by jieba. One swap may
    undo another, and one that draws the same word three times changes nothing. A text
    of one word is its own copy. Ye et al., Data Contamination Calibration for Black-box
    LLMs, 2024, arXiv 2405.11930.
    """
    rng = random.Random(seed)
    if is_chinese(text):
        between = ""
        original = [text[slice(*span)] for span in word_spans(text)]
    else:
        between = " "
        original = text.split(between)
    swaps = max(1, share_of(len(original), TRANSPOSED_PERCENT))
    copies = []
    for _ in range(count):
        words = list(original)
        for _ in range(swaps):
            first = rng.randrange(len(words))
            second = _another_place(rng, first, len(words))
            words[first], words[second] = words[second], words[first]
        copies.append(between.join(words))
    return copies


def _another_place(rng: random.Random, first: int, words: int) -> int:
    """Draw another place than the first, at most three times; the first if every draw
    gives it."""
    for _ in range(3):
        place = rng.randrange(words)
        if place != first:
            return place
    return first
