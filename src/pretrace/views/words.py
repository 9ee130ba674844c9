"""The words of a text as spans, and texts with some of their words replaced."""

import random
import re
from collections.abc import Mapping

from pretrace.documents.languages import jieba_tokenizer

Span = tuple[int, int]

NEIGHBOUR_PERCENT = 5
"""Share of the words in which a neighbour differs from its text."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")


def is_chinese(text: str) -> bool:
    """Return whether most letters of the text are Chinese characters, so that no spaces
    separate its words."""
    return 2 * len(_HAN.findall(text)) > len(_LETTER.findall(text))


def word_spans(text: str) -> list[Span]:
    """Return the words' half-open character ranges: runs without white space; Chinese
    ones as jieba cuts them."""
    if not is_chinese(text):
        return [match.span() for match in re.finditer(r"\S+", text)]
    spans = []
    for word, start, end in jieba_tokenizer().tokenize(text):
        if not word.isspace():
            spans.append((start, end))
    return spans


def core(text: str, span: Span) -> Span:
    """Strip the punctuation around a word; an empty span if it is nothing else."""
    match = re.fullmatch(r"([\W_]*)(.*?)[\W_]*", text[slice(*span)], flags=re.DOTALL)
    assert match is not None
    start = span[0]
    return start + match.start(2), start + match.end(2)


def replace_spans(text: str, replacements: Mapping[Span, str]) -> str:
    """Replace each span of the text; spans must not overlap."""
    parts, done = [], 0
    for (start, end), new in sorted(replacements.items()):
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])


def in_case_of(word: str, model: str) -> str:
    """Write `word` with a capital first letter, or all capitals, if `model` has
    them."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    if model[:1].isupper():
        return word[:1].upper() + word[1:]
    return word


def share_of(count: int, percent: int) -> int:
    """Return int(count x percent / 100), without the rounding of floats."""
    return count * percent // 100


def draw_sample(rng: random.Random, population: list[Span], count: int) -> list[Span]:
    """Draw `count` of the population, or all if it has fewer."""
    return rng.sample(population, min(count, len(population)))
