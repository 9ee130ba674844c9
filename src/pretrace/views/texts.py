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
    """Take int(words x percent / 100) words out of the text, each with the space before it.

    Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive Decoding, 2024, section 5.1.
    """
    spans = word_spans(text)
    before = {span: end for span, (_, end) in zip(spans[1:], spans, strict=False)}
    deleted = draw_sample(random.Random(seed), spans, share_of(len(spans), percent))
    shortened = replace_spans(text, {(before.get(span, span[0]), span[1]): "" for span in deleted})
    return [shortened.lstrip() if spans and spans[0] in deleted else shortened]


@family("synonym", numbers=PERCENT, usual=(10, 15, 20), source="data")
def synonym(text: str, seed: int, percent: int) -> list[str]:
    """Replace int(words x percent / 100) of the text's words by WordNet synonyms, fewer if fewer have one.

    Needs WordNet's data on this machine, else `InputError`. English only.
    Wang et al., Con-ReCall: Detecting Pre-training Data in LLMs via Contrastive Decoding, 2024, section 5.1.
    """
    from pretrace.views.wordnet import installed_wordnet

    wordnet, rng, spans = installed_wordnet(), random.Random(seed), word_spans(text)
    places = (core(text, span) for span in spans)
    synonyms = {place: wordnet.synonyms(text[slice(*place)]) for place in places}
    chosen = draw_sample(rng, [place for place in synonyms if synonyms[place]], share_of(len(spans), percent))
    words = {place: in_case_of(rng.choice(synonyms[place]), text[slice(*place)]) for place in chosen}
    return [replace_spans(text, words)]


@family("transpositions", numbers=COUNT, usual=(5,))
def transpositions(text: str, seed: int, count: int) -> list[str]:
    """Make `count` copies; in each, two words change places 30 times for 100 words, at least once.

    Words are what single spaces separate; Chinese ones are cut by jieba. One swap may undo another, and one that draws
    the same word three times changes nothing. A text of one word is its own copy.
    Ye et al., Data Contamination Calibration for Black-box LLMs, 2024, arXiv 2405.11930.
    """
    rng = random.Random(seed)
    between = "" if is_chinese(text) else " "
    original = text.split(between) if between else [text[slice(*span)] for span in word_spans(text)]

    def copy() -> str:
        words = list(original)
        for _ in range(max(1, share_of(len(words), TRANSPOSED_PERCENT))):
            first = rng.randrange(len(words))
            others = (rng.randrange(len(words)) for _ in range(3))
            second = next((other for other in others if other != first), first)
            words[first], words[second] = words[second], words[first]
        return between.join(words)

    return [copy() for _ in range(count)]
