"""arXivTection and BookTection in the layout that their authors released: CSV, one row a passage.

Duarte et al., DE-COP: Detecting Copyrighted Content in Language Models Training Data, ICML 2024, section 3.
Columns: `Example_A` (the true passage), `Example_B` to `Example_D` (its paraphrases), `Answer` (always A), `ID`
(the document), `Label` (1 suspect, 0 clean) and, in BookTection, `Length` (small, medium, large: about 64, 128, 256
tokens). The paraphrases are the view `paraphrase`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks.rows import Row, rows, single_file
from pretrace.benchmarks.sources import FromHub, Text, Wording, loader, view_loader
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

LENGTHS = {"small": 64, "medium": 128, "large": 256}
"""Tokens, about; the benchmark's `length`."""

_PARAPHRASES = ("Example_B", "Example_C", "Example_D")
_NEEDED = ("Example_A", *_PARAPHRASES, "Answer", "ID", "Label")


class Passage(NamedTuple):
    """A row, checked. `number` counts all rows of its document and length, the skipped ones too."""

    document: str
    number: int
    length: int | None
    label: int
    row: Row

    @property
    def text_id(self) -> str:
        size = "" if self.length is None else f"-{self.length:03d}"
        return f"{self.document}{size}-{self.number:03d}"


class AskedAbout(FromHub):
    """arXivTection or BookTection."""

    question: Wording


@loader("arxivtection", entry=AskedAbout)
@loader("booktection", entry=AskedAbout)
def load(entry: AskedAbout, sources: list[Path], seed: int) -> list[Text]:
    """The true passages, in the file's order. An ID is the paper's title, or of books `Title_-_Author`."""
    return [_text(one, *_title_and_author(one)) for one in _with_text(entry, sources)]


@view_loader("arxivtection")
@view_loader("booktection")
def paraphrases(entry: AskedAbout, sources: list[Path]) -> Mapping[str, Mapping[str, list[str]]]:
    """`paraphrase`: those of each passage that hold words."""
    found = {
        one.text_id: [row for row in (one.row[name] for name in _PARAPHRASES) if row and row.strip()]
        for one in _with_text(entry, sources)
    }
    return {"paraphrase": found}


def _text(one: Passage, title: str, author: str) -> Text:
    return Text(
        text_id=one.text_id,
        text=one.row["Example_A"],
        label=one.label,
        length=one.length,
        document=one.document,
        title=title.replace("_", " "),
        author=author.replace("_", " "),
        passage=one.number,
    )


def _title_and_author(one: Passage) -> tuple[str, str]:
    if one.length is None:  # a paper
        return one.document, ""
    title, separator, author = one.document.partition("_-_")
    if not (title and separator and author):
        raise InputError(
            f"the ID '{one.document}' of passage {one.number} is not Title_-_Author, as BookTection writes it."
        )
    return title, author


def _with_text(entry: AskedAbout, sources: list[Path]) -> list[Passage]:
    """The passages whose Example_A holds a word; the log names the others."""
    path = single_file(sources[0], (".csv",))
    kept: list[Passage] = []
    skipped = 0
    for one in _passages(path, lengths=entry.source == "booktection"):
        if (one.row["Example_A"] or "").strip():
            kept.append(one)
        else:
            log.warning("%s: passage %d of '%s' has no words: skipped", path, one.number, one.document)
            skipped += 1
    log.info("%s: %d rows, %d passages used, %d skipped", path, len(kept) + skipped, len(kept), skipped)
    return kept


def _passages(path: Path, lengths: bool) -> Iterator[Passage]:
    numbers: Counter[tuple[str, int | None]] = Counter()
    labels: dict[str, int] = {}
    for where, row in rows(path):
        _check_columns(where, row, lengths)
        document, length = row["ID"], LENGTHS[row["Length"]] if lengths else None
        label = int(row["Label"])
        if labels.setdefault(document, label) != label:
            raise InputError(
                f"{where}: '{document}' has both labels; a document is suspect (1) or clean (0)."
            )
        yield Passage(document, numbers[document, length], length, label, row)
        numbers[document, length] += 1


def _check_columns(where: str, row: Row, lengths: bool) -> None:
    needed = (*_NEEDED, "Length") if lengths else _NEEDED
    if lacking := [name for name in needed if name not in row]:
        raise InputError(f"{where}: there is no column {lacking[0]!r}; found: {', '.join(map(str, row))}.")
    if not row["ID"]:
        raise InputError(f"{where}: ID is empty; it names the document.")
    if str(row["Label"]) not in ("0", "1"):
        raise InputError(f"{where}: Label is {row['Label']!r}; it must be 1 (suspect) or 0 (clean).")
    if row["Answer"] != "A":
        raise InputError(f"{where}: Answer is {row['Answer']!r}; Example_A must be the true passage.")
    if lengths and row["Length"] not in LENGTHS:
        raise InputError(f"{where}: Length is {row['Length']!r}; it must be one of {', '.join(LENGTHS)}.")
