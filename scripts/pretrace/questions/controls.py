"""Answers to multiple-choice questions that see no model: what a right answer may owe to the options alone."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from pretrace.views.words import core, word_spans


def longest_option(options: Sequence[str]) -> int:
    """Return the index of the option with the most words, the first of several.

    On arXivTection the true passage has the most words in over 40 % of the questions.
    """
    lengths = [len(_words(option)) for option in options]
    return lengths.index(max(lengths))


def odd_one_out(options: Sequence[str]) -> int:
    """Return the index of the option that is least like the others, the first of several.

    The likeness of two options is 2 |A and B| / (|A| + |B|) over their words, lower-cased and counted with
    repetitions. The likeness of an option is its mean with the three others.
    """
    words = [Counter(_words(option)) for option in options]
    likeness = [
        math.fsum(
            2 * (own & other).total() / (own.total() + other.total())
            for other in words[:place] + words[place + 1 :]
            if own or other
        )
        for place, own in enumerate(words)
    ]
    return likeness.index(min(likeness))


def _words(text: str) -> list[str]:
    return [word.lower() for span in word_spans(text) if (word := text[slice(*core(text, span))])]


CHOICES: dict[str, Callable[[Sequence[str]], int]] = {
    "longest_option": longest_option,
    "odd_one_out": odd_one_out,
}
"""Control -> function from the four options, in order, to the index of the option that it chooses."""
