"""Controls of multiple-choice questions: options that are chosen without a model."""

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
    """Return the index of the option that is least like the others, the first of
    several.

    The likeness of an option is the sum of its likenesses to the three others.
    """
    words = [Counter(_words(option)) for option in options]
    likenesses = []
    for place, own in enumerate(words):
        others = words[:place] + words[place + 1 :]
        likenesses.append(math.fsum(_likeness(own, other) for other in others))
    return likenesses.index(min(likenesses))


def _likeness(own: Counter[str], other: Counter[str]) -> float:
    """Return 2 |A and B| / (|A| + |B|) of two options' words, which count with
    repetitions; 0 without words."""
    words = own.total() + other.total()
    return 2 * (own & other).total() / words if words else 0.0


def _words(text: str) -> list[str]:
    """Return the words of a text, lower-cased and without the marks around them."""
    words = []
    for span in word_spans(text):
        start, end = core(text, span)
        if start < end:
            words.append(text[start:end].lower())
    return words


CHOICES: dict[str, Callable[[Sequence[str]], int]] = {
    "longest_option": longest_option,
    "odd_one_out": odd_one_out,
}
"""Control -> function from the four options, in order, to the index of the option that
it chooses."""
