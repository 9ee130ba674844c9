"""What a document has and the others have not: words of its own, an order of its own."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pretrace.documents.languages import unit_of
from pretrace.evaluation.roc import Floats, Whole, ratio

OWN_WORD, OWN_PHRASE = "a word or sign of one work", "a phrase of one work"
OWN_WORDS, ORDER = "words of one work", "order of words"
"""Features of a document among others: in how many texts it repeats what hardly another
one has; how many words it has that no other one has; how usual neighbours of words are.
"""

TOKENS = {"words": re.compile(r"\w+|[^\w\s]"), "characters": re.compile(r"\S")}

COMMON = 200
"""The commonest words and signs, which count as themselves: of all others the last
letter and the first one's case say what may follow them."""

BROKEN = 0.1
"""Share of neighbours that are strangers where an order is broken: line ends of two
columns that are read across."""

PRIOR = 50
"""Neighbours, by which few ones that were seen are drawn to chance."""


def own_term(presence: Any) -> Floats:
    """Return the greatest share of texts that hold one term, less that of the third
    document with this term, shape (documents,).

    `presence`: shares, sparse (documents, terms). Two works may share a cue: from three
    works on it tells them apart as a word.
    """
    columns = presence.tocsc()
    starts, ends = columns.indptr[:-1], columns.indptr[1:]
    of_term = np.repeat(np.arange(len(starts)), ends - starts)
    falling = columns.data[np.lexsort((-columns.data, of_term))]
    third = np.zeros(len(starts))
    has_third = starts + 2 < ends
    third[has_third] = falling[starts[has_third] + 2]
    greatest = np.zeros(presence.shape[0])
    np.maximum.at(greatest, columns.indices, columns.data - third[of_term])
    return greatest


def own_share(presence: Any) -> Floats:
    """Return the share of its terms that no other document has, shape (documents,)."""
    is_own = presence.getnnz(axis=0) == 1
    own = presence[:, is_own].sum(axis=1)
    return ratio(np.asarray(own).ravel(), np.asarray(presence.sum(axis=1)).ravel())


def order_of_words(texts: Iterable[str], of_text: Whole, language: str) -> Floats:
    """Return how usual it is for each document's neighbours of words to be neighbours,
    shape (documents,).

    Of each two neighbours: the log-likelihood ratio between an order as that of all
    other neighbours in the documents, and one of which the share `BROKEN` is by chance.
    `of_text` is the code of each text's document. Words are as they are written: after
    a full stop capitals follow.
    """
    unit = unit_of(language)
    tokens = [TOKENS[unit].findall(text) for text in texts]
    kinds = _kinds_of_words(tokens)
    firsts: list[int] = []
    seconds: list[int] = []
    for own in tokens:
        codes = [kinds[token] for token in own]
        firsts += codes[:-1]
        seconds += codes[1:]
    first, second = np.array(firsts, np.int64), np.array(seconds, np.int64)
    pairs = [max(0, len(own) - 1) for own in tokens]
    document = np.repeat(of_text, pairs)
    # each pair is left out of what it is compared with
    together = _count(first * len(kinds) + second) - 1
    before, after = _count(first) - 1, _count(second) - 1
    by_chance = (after + 1) / (len(first) + len(kinds))
    likelier = (together / by_chance + PRIOR) / (before + PRIOR)
    usual = -np.log(1 - BROKEN + BROKEN / likelier)
    documents = int(of_text.max(initial=-1)) + 1
    sums = np.bincount(document, usual, documents)
    return ratio(sums, np.bincount(document, minlength=documents), empty=0.0)


def _kinds_of_words(tokens: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return a code for each token: one of its own, or of all that end alike."""
    counts = Counter[str]()
    for own in tokens:
        counts.update(own)
    falling = sorted(counts, key=lambda token: (-counts[token], token))
    codes: dict[object, int] = {}
    kinds = {}
    for place, token in enumerate(falling):
        alike = (token[-1].lower(), token[0].isupper())
        kind = token if place < COMMON else alike
        kinds[token] = codes.setdefault(kind, len(codes))
    return kinds


def _count(codes: Whole) -> Floats:
    """Return how often each of `codes` (pairs,) is among them, shape (pairs,)."""
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return counts[places].astype(np.float64)
