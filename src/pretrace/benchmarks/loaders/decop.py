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

from pretrace.benchmarks.rows import Row, rows, single_file
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
_NEEDED = ("Example_A", *_PARAPHRASES, "Answer", "ID", "Label")


class AskedAbout(FromHub):
    """arXivTection or BookTection."""

    question: QuestionKind


@loader("arxivtection", entry=AskedAbout)
@loader("booktection", entry=AskedAbout)
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
    for where, row in rows(path):
        _check_columns(where, row, books)
        document = row["ID"]
        label = int(row["Label"])
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


def _check_columns(where: str, row: Row, books: bool) -> None:
    needed = (*_NEEDED, "Length") if books else _NEEDED
    if lacking := [name for name in needed if name not in row]:
        raise InputError(
            f"{where}: there is no column {lacking[0]!r}; found: "
            f"{', '.join(map(str, row))}."
        )
    if not row["ID"]:
        raise InputError(f"{where}: ID is empty; it names the document.")
    if str(row["Label"]) not in ("0", "1"):
        raise InputError(
            f"{where}: Label is {row['Label']!r}; it must be 1 (suspect) or 0 (clean)."
        )
    if row["Answer"] != "A":
        raise InputError(
            f"{where}: Answer is {row['Answer']!r}; Example_A must be the true passage."
        )
    if books and row["Length"] not in LENGTHS:
        raise InputError(
            f"{where}: Length is {row['Length']!r}; it must be one of "
            f"{', '.join(LENGTHS)}."
        )
