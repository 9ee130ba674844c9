"""Views made from a model's own embedding table: words are replaced by the nearest
words in it.

A word can be replaced, and can replace another, if it is one token of the model's
tokenizer (after a space; Chinese words without one). Words are compared by the cosine
of their embeddings after the table's mean is subtracted: the mean is common to all
words and would hide their differences.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pretrace.runtime.logs import log
from pretrace.views.wordnet import function_words
from pretrace.views.words import (
    NEIGHBOUR_PERCENT,
    Span,
    core,
    draw_sample,
    in_case_of,
    is_chinese,
    replace_spans,
    share_of,
    word_spans,
)

EmbeddingTable = npt.NDArray[np.floating[Any]]
"""Input embeddings [V, d] of a vocabulary."""

NEAREST = 5
"""How many nearest words a replacement is drawn from."""
_AT_ONCE = 512  # words whose cosines with all others are alive at a time
# letters of a word that carries meaning, in English and in Chinese
_SHORTEST = {False: 3, True: 2}


@dataclass(frozen=True)
class Replaceable:
    """A text, how many of its words are to be replaced, and for each replaceable word
    its place and its nearest words."""

    text: str
    swaps: int
    nearest: dict[Span, list[str]]

    def with_replaced(self, rng: random.Random) -> str:
        replacements = {}
        for span in draw_sample(rng, list(self.nearest), self.swaps):
            word = rng.choice(self.nearest[span])
            replacements[span] = in_case_of(word, self.text[slice(*span)])
        return replace_spans(self.text, replacements)


def synonyms_by_embeddings(
    texts: Sequence[str],
    embeddings: EmbeddingTable,
    tokenizer: Any,
    percent: int,
    seeds: Sequence[int],
    variants: int,
) -> list[list[str]]:
    """Make `variants` texts of each text, with int(words x percent / 100) of its words
    replaced.

    `embeddings` is the table of the model that `tokenizer` belongs to; `seeds` has one
    seed a text, so that the view of a text does not depend on the others. Each
    replacement is drawn from the NEAREST words. A text with too few replaceable words
    has all replaced, and the log counts such texts.
    """
    made = []
    replaceable = _replaceable(texts, embeddings, tokenizer, percent)
    for text, seed in zip(replaceable, seeds, strict=True):
        of_text = []
        for variant in range(variants):
            rng = random.Random(f"{seed}-{variant}")
            of_text.append(text.with_replaced(rng))
        made.append(of_text)
    return made


def neighbours_by_embeddings(
    texts: Sequence[str],
    embeddings: EmbeddingTable,
    tokenizer: Any,
    count: int,
    seeds: Sequence[int],
) -> list[list[str]]:
    """Make `count` neighbours of each text that differ from it in 5 % of its words, at
    least one.

    Arguments as in `synonyms_by_embeddings`. A text without a replaceable word has no
    neighbour.
    """
    neighbours = []
    replaceable = _replaceable(texts, embeddings, tokenizer, NEIGHBOUR_PERCENT, least=1)
    for text, seed in zip(replaceable, seeds, strict=True):
        rng = random.Random(seed)
        wanted = count if text.nearest else 0
        neighbours.append([text.with_replaced(rng) for _ in range(wanted)])
    return neighbours


def _replaceable(
    texts: Sequence[str],
    embeddings: EmbeddingTable,
    tokenizer: Any,
    percent: int,
    *,
    least: int = 0,
) -> list[Replaceable]:
    """Find the replaceable words of texts, of which `percent`, or at least so many, are
    to be replaced; each distinct word is compared with the vocabulary once."""
    vocabularies = {}
    wanted: dict[bool, set[str]] = {}
    read = []
    for text in texts:
        chinese = is_chinese(text)
        if chinese not in vocabularies:
            vocabularies[chinese] = _one_token_words(tokenizer, chinese=chinese)
            wanted[chinese] = set()
        spans = word_spans(text)
        places = {}
        for span in spans:
            place = core(text, span)
            word = text[slice(*place)].lower()
            if word in vocabularies[chinese]:
                places[place] = word
        swaps = max(least, share_of(len(spans), percent))
        read.append(_Words(text, swaps, places))
        wanted[chinese].update(places.values())
    # no word is of both kinds
    nearest: dict[str, list[str]] = {}
    for chinese, words in wanted.items():
        nearest |= _nearest_words(sorted(words), vocabularies[chinese], embeddings)
    replaceable = []
    short = 0
    for of_text in read:
        nearest_by_place = {}
        for place, word in of_text.places.items():
            if nearest[word]:
                nearest_by_place[place] = nearest[word]
        short += len(nearest_by_place) < of_text.swaps
        replaceable.append(Replaceable(of_text.text, of_text.swaps, nearest_by_place))
    if short:
        log.warning(
            "%d of %d texts have fewer words to replace than asked; all were replaced",
            short,
            len(texts),
        )
    return replaceable


class _Words(NamedTuple):
    """A text, how many of its words are to be replaced, and the lower-case words that
    are one token, by their places."""

    text: str
    swaps: int
    places: dict[Span, str]


def _one_token_words(tokenizer: Any, *, chinese: bool) -> dict[str, int]:
    """Return word -> token id of the lower-case words, no function words, that are one
    token inside a text."""
    decoded = tokenizer.batch_decode([[id] for id in range(len(tokenizer))])
    plain = set()
    for text in decoded:
        word = text.strip()
        is_plain = word.isalpha() and word == word.lower()
        is_long = len(word) >= _SHORTEST[chinese]
        if is_plain and is_long and is_chinese(word) == chinese:
            plain.add(word)
    words = sorted(plain - function_words())
    before = "\n" if chinese else "a "
    written = [before.strip(" "), *(before + word for word in words)]
    alone, *encoded = tokenizer(written, add_special_tokens=False)["input_ids"]
    tokens = {}
    for word, ids in zip(words, encoded, strict=True):
        if len(ids) == len(alone) + 1:
            tokens[word] = ids[-1]
    return tokens


def _nearest_words(
    wanted: list[str], tokens: dict[str, int], embeddings: EmbeddingTable
) -> dict[str, list[str]]:
    """Return for each wanted word at most NEAREST other words, the nearest first."""
    import torch  # its topk is ten times as fast as a partition of all cosines

    words = sorted(tokens)
    ids = [tokens[word] for word in words]
    table = embeddings[ids].astype(np.float32)
    table -= table.mean(axis=0)
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.maximum(lengths, 1e-12)
    rows = {word: row for row, word in enumerate(words)}
    number = min(NEAREST, len(words) - 1)
    nearest = {}
    for start in range(0, len(wanted), _AT_ONCE):
        part = wanted[start : start + _AT_ONCE]
        own = [rows[word] for word in part]
        cosines = table[own] @ table.T
        cosines[range(len(part)), own] = -np.inf
        best = torch.from_numpy(cosines).topk(number)
        for word, others in zip(part, best.indices.tolist(), strict=True):
            nearest[word] = [words[row] for row in others]
    return nearest
