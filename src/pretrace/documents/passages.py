"""Cut the text of a document into passages of one length."""

from typing import Literal

from pretrace.documents.languages import language_of, unit_of, unit_spans
from pretrace.documents.layout import without_lines
from pretrace.documents.typesetting import SignKind, write_alike
from pretrace.runtime.schema import Count, Keys

MARGIN = 0.1
"""Share of a text at its beginning, and at its end, that passages are not taken from:
they score unlike middles."""


class Cut(Keys):
    """Cut works into passages, as many of each, from the same places."""

    size: Count
    """length of a passage, in words or characters"""
    each: Count
    """Passages of a work. A work that has fewer is left out."""
    unit: Literal["words", "characters"] = "words"
    """What `size` counts: words, or characters without white space, where passages end
    with the nearest word."""
    unwrap: bool = False
    """Write each passage in one line, because the lines of some works end elsewhere
    than those of others."""
    alike: list[SignKind] = []
    """Write these signs as people type them, because some of the works have them
    typeset: `quotes`, `dashes`, `dots`, `blanks` (without a break, or of no width),
    `double blanks`, `letters` (composed)."""


def passages(
    text: str, size: int, most: int | None = None, unit: str = "words"
) -> list[tuple[int, str]]:
    """Return (number of its first word, passage) of each passage of `size` words, or
    characters.

    A passage has the text's own characters from the first word to the last, line breaks
    and indentation too; one of characters begins and ends between words. The text is
    cut into passages that follow each other, and a rest that is shorter is left out.
    With `most`, at most this many are taken, from the middles of equal parts of the
    text without its margins.
    """
    places = unit_spans(text, unit)
    count = len(places)
    starts = list(range(0, count - size + 1, size))
    if most is not None and starts:
        taken = min(most, whole_passages(count, size))
        part = (1 - 2 * MARGIN) * count / taken
        starts = []
        for number in range(taken):
            middle = MARGIN * count + (number + 0.5) * part
            starts.append(round(middle - size / 2))
    is_snapped = unit == "characters" and unit_of(language_of(text)) == "words"
    cut_out = []
    for start in starts:
        begin, end = places[start][0], places[start + size - 1][1]
        if is_snapped:
            begin, end = _between_words(text, begin, end)
        cut_out.append((start, text[begin:end]))
    return cut_out


def whole_passages(count: int, size: int) -> int:
    """Return how many passages of `size` a text of `count` words, or characters, has
    between its margins."""
    return max(int((1 - 2 * MARGIN) * count) // size, int(count >= size))


def _between_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a stretch from the beginning of its first word to the end of the last one
    that is whole, if any is."""
    first, last = begin, end
    while first and not text[first - 1].isspace():
        first -= 1
    while last > first and text[last : last + 1].strip() and text[last - 1].strip():
        last -= 1
    last = first + len(text[first:last].rstrip())
    return (first, last) if last > first else (begin, end)


def written_alike(text: str, cut: Cut) -> str:
    """Return a work's text as its passages are cut from it, in the lines and signs that
    all works have."""
    return write_alike(without_lines(text) if cut.unwrap else text, cut.alike)
