"""Overlap of a text with the training stream, in n-grams of words.

Duan et al., Do Membership Inference Attacks Work on Large Language Models?, COLM 2024: a non-member that
shares most of its n-grams with members is hardly one.
"""

from collections.abc import Iterable

NGram = tuple[str, ...]


def ngrams(text: str, n: int) -> list[NGram]:
    """The runs of n words (split at white space, case kept) of a text, each as often as it stands there."""
    words = text.split()
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def ngrams_of_all(texts: Iterable[str], n: int) -> set[NGram]:
    """The n-grams within the texts; none reaches from one text into the next."""
    return {ngram for text in texts for ngram in ngrams(text, n)}


def overlap(text: str, stream: set[NGram], n: int) -> float:
    """The share of the text's n-grams that stand in `stream`, 0 to 1; 0 for a text of fewer than n words."""
    found = [ngram in stream for ngram in ngrams(text, n)]
    return sum(found) / len(found) if found else 0.0
