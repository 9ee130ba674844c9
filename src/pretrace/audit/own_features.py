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

SHARED = 6
"""Works that may share a cue: the running head of a series. Each trio of the known
works may have another one, which no single word shows."""

KINDS = ((50, 0), (200, 1), (1000, 1))
"""How neighbours are told apart, ever more finely: the commonest words and signs count
as themselves; of all others the case and 0 or 1 last letter say what may follow."""

BROKEN = 0.1
"""Share of neighbours that are strangers where an order is broken: line ends of two
columns that are read across."""

PRIOR = 50
"""Neighbours, by which few ones that were seen are drawn to what coarser kinds say."""


def own_term(presence: Any) -> Floats:
    """Return the greatest share of texts that hold one term, less that of the document
    after the first `SHARED` with this term, shape (documents,).

    `presence`: shares, sparse (documents, terms).
    """
    columns = presence.tocsc()
    starts, ends = columns.indptr[:-1], columns.indptr[1:]
    of_term = np.repeat(np.arange(len(starts)), ends - starts)
    falling = columns.data[np.lexsort((-columns.data, of_term))]
    next_one = np.zeros(len(starts))
    has_next = starts + SHARED < ends
    next_one[has_next] = falling[starts[has_next] + SHARED]
    greatest = np.zeros(presence.shape[0])
    np.maximum.at(greatest, columns.indices, columns.data - next_one[of_term])
    return greatest


def own_share(presence: Any) -> Floats:
    """Return the share of its terms that no other document has, shape (documents,)."""
    is_own = presence.getnnz(axis=0) == 1
    own = presence[:, is_own].sum(axis=1)
    return ratio(np.asarray(own).ravel(), np.asarray(presence.sum(axis=1)).ravel())


def order_of_words(texts: Iterable[str], language: str) -> Floats:
    """Return how usual it is for neighbours among each text's words to be neighbours,
    shape (texts,).

    Of each two neighbours: the log-likelihood ratio between an order as that of all
    others in the texts, and one of which the share `BROKEN` is by chance. Words are as
    they are written: after a full stop capitals follow.
    """
    unit = unit_of(language)
    tokens = [TOKENS[unit].findall(text) for text in texts]
    pairs = [max(0, len(own) - 1) for own in tokens]
    text = np.repeat(np.arange(len(tokens)), pairs)
    likelier: Floats | float = 1.0
    for common, letters in KINDS:
        first, second, kinds = _neighbours(tokens, common, letters)
        # each pair is left out of what it is compared with
        together = _count(first * kinds + second) - 1
        before, after = _count(first) - 1, _count(second) - 1
        by_chance = (after + 1) / (len(first) + kinds)
        likelier = (together / by_chance + PRIOR * likelier) / (before + PRIOR)
    usual = -np.log(1 - BROKEN + BROKEN / likelier)
    sums = np.bincount(text, usual, len(tokens)).astype(np.float64)
    return ratio(sums, np.array(pairs, float), empty=0.0)


def _neighbours(
    tokens: Iterable[Sequence[str]], common: int, letters: int
) -> tuple[Whole, Whole, int]:
    """Return the codes of the first and of the second one of all neighbours, and how
    many codes there are."""
    counts = Counter[str]()
    for own in tokens:
        counts.update(own)
    falling = sorted(counts, key=lambda token: (-counts[token], token))
    codes: dict[object, int] = {}
    code_of = {}
    for place, token in enumerate(falling):
        ending = token[1:][-1:].lower()  # none where a character is a token
        alike = (token[0].isupper(), ending * letters)
        kind = token if place < common else alike
        code_of[token] = codes.setdefault(kind, len(codes))
    firsts: list[int] = []
    seconds: list[int] = []
    for own in tokens:
        of_tokens = [code_of[token] for token in own]
        firsts += of_tokens[:-1]
        seconds += of_tokens[1:]
    return np.array(firsts, np.int64), np.array(seconds, np.int64), len(codes)


def _count(codes: Whole) -> Floats:
    """Return how often each of `codes` (pairs,) is among them, shape (pairs,)."""
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return counts[places].astype(np.float64)
