"""arXivTection and BookTection in the layout that their authors released: CSV, one row
a passage.

Duarte et al., DE-COP: Detecting Copyrighted Content in Language Models Training Data,
ICML 2024, section 3. Columns: `Example_A` (the true passage), `Example_B` to
`Example_D` (its paraphrases), `Answer` (always A), `ID` (the document), `Label` (1
suspect, 0 clean) and, in BookTection, `Length` (small, medium, large: about 64, 128,
256 tokens). The paraphrases are the view `paraphrase`.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pretrace.benchmarks.columns import Columns, KnownLabel, Words, checked_row
from pretrace.benchmarks.rows import rows, single_file
from pretrace.benchmarks.sources import (
    FromHub,
    QuestionKind,
    ReleasedVariant,
    Text,
    loader,
    view_loader,
)
from pretrace.benchmarks.texts import tell_left_out
from pretrace.runtime.errors import InputError

LENGTHS = {"small": 64, "medium": 128, "large": 256}
"""Tokens, about; the benchmark's `length`."""

_PARAPHRASES = ("Example_B", "Example_C", "Example_D")


class PassageColumns(Columns):
    """A passage of a paper."""

    Example_A: str | None
    """the true passage"""
    Example_B: str | None
    """a paraphrase"""
    Example_C: str | None
    """a paraphrase"""
    Example_D: str | None
    """a paraphrase"""
    Answer: Literal["A"]
    """A, because Example_A is the true passage"""
    ID: Words
    """the document's name"""
    Label: KnownLabel
    """1 (suspect) or 0 (clean)"""


class BookColumns(PassageColumns):
    """A passage of a book."""

    Length: Literal["small", "medium", "large"]
    """small, medium or large"""


class AskedAbout(FromHub):
    """arXivTection or BookTection."""

    question: QuestionKind


@loader("booktection")
@loader("arxivtection")
def load(entry: AskedAbout, sources: list[Path], seed: int) -> list[Text]:
    """Return the true passages, in the file's order. An ID is the paper's title, or of
    books `Title_-_Author`."""
    return [text for text, _ in _passages(entry, sources)]


@view_loader("arxivtection")
@view_loader("booktection")
def paraphrases(
    entry: AskedAbout, sources: list[Path]
) -> Mapping[str, list[ReleasedVariant]]:
    """Return the view `paraphrase`: the paraphrases of each passage, which are in its
    row."""
    rows = []
    for _, variants in _passages(entry, sources):
        rows += variants
    return {"paraphrase": rows}


def _passages(
    entry: AskedAbout, sources: list[Path]
) -> list[tuple[Text, list[ReleasedVariant]]]:
    """Return the true passages with their paraphrases; the log names the rows without
    words in Example_A.

    A passage's number counts all rows of its document and length, the skipped ones too.
    """
    path = single_file(sources[0], (".csv",))
    books = entry.source == "booktection"
    numbers: Counter[tuple[str, int | None]] = Counter()
    labels: dict[str, int] = {}
    passages: list[tuple[Text, list[ReleasedVariant]]] = []
    skipped = []
    for where, written in rows(path):
        row = checked_row(where, written, BookColumns if books else PassageColumns)
        document = row["ID"]
        label = row["Label"]
        length = LENGTHS[row["Length"]] if books else None
        if labels.setdefault(document, label) != label:
            raise InputError(
                f"{where}: '{document}' has both labels; a document is suspect (1) or "
                "clean (0)."
            )
        number = numbers[document, length]
        numbers[document, length] += 1
        if not (row["Example_A"] or "").strip():
            skipped.append(f"{where}, passage {number} of '{document}'")
            continue
        title, _, author = document.partition("_-_") if books else (document, "", "")
        if books and not (title and author):
            raise InputError(
                f"{where}: the ID '{document}' is not Title_-_Author, as BookTection "
                "writes it."
            )
        of_length = document if length is None else f"{document}-{length:03d}"
        text_id = f"{of_length}-{number:03d}"
        about = {
            "title": title.replace("_", " "),
            "author": author.replace("_", " "),
            "passage": number,
        }
        text = Text(
            text_id, row["Example_A"], label, length=length, document=document, **about
        )
        variants = []
        for name in _PARAPHRASES:
            paraphrase = row[name] or ""
            variants.append(ReleasedVariant(where, text_id, paraphrase, label))
        passages.append((text, variants))
    tell_left_out(str(path), skipped, len(passages) + len(skipped))
    return passages
