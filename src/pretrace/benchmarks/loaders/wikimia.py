"""WikiMIA, WikiMIA-24 and BookMIA as they are on the hub.

Shi et al., Detecting Pretraining Data from Large Language Models, ICLR 2024. WikiMIA
has a split for each length, with columns `input` and `label`; BookMIA has snippets of
512 words of 100 books in `book_data.jsonl`. The paraphrased and perturbed texts: Zhang
et al., Min-K%++, ICLR 2025 (`WikiMIA_length{n}_paraphrased`: one of a text,
`_perturbed`: several, in order).
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pretrace.benchmarks.columns import (
    Columns,
    KnownLabel,
    Named,
    checked_row,
    only_of,
)
from pretrace.benchmarks.loaders.local import texts_of
from pretrace.benchmarks.rows import files_of_split, rows, single_file
from pretrace.benchmarks.sources import (
    FromHub,
    Lengths,
    ReleasedVariant,
    Text,
    WithNeighbours,
    loader,
    view_loader,
)
from pretrace.benchmarks.user_rows import given_rows
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Hub, Maybe, Some


class WikiMia(WithNeighbours):
    """WikiMIA or WikiMIA-24, as its authors released it."""

    lengths: Lengths
    views_hub: Maybe[Hub] = None
    """The data set with its paraphrased and perturbed texts: the views `paraphrase` and
    `neighbours-COUNT`."""
    views_revision: Some[str] = "main"
    """A branch, tag or commit of `views_hub`."""

    def repositories(self) -> dict[str, str]:
        views = {} if self.views_hub is None else {"views_revision": self.views_hub}
        return super().repositories() | views


@loader("wikimia")
def load(entry: WikiMia, sources: list[Path], seed: int) -> list[Text]:
    """Return the texts of every length of the entry, numbered within it; `InputError`
    if a length is missing."""
    released = []
    for length in entry.lengths:
        split = list(_split(sources[0], f"WikiMIA_length{length}"))
        if not split:
            raise InputError(
                f"{sources[0]} has no split WikiMIA_length{length}, which lengths of "
                "the benchmark names."
            )
        for number, text in enumerate(split):
            about: dict[str, Any] = {"subset": "", "document": "", "length": length}
            released.append(replace(text, text_id=_id(length, number), **about))
    return released


@view_loader("wikimia")
def views(entry: WikiMia, sources: list[Path]) -> Mapping[str, list[ReleasedVariant]]:
    """Return the views `paraphrase` and `neighbours-COUNT`, of the lengths that have
    them.

    The files name no text: the row's number is the text's.
    """
    paraphrases: list[ReleasedVariant] = []
    neighbours: list[ReleasedVariant] = []
    for length in entry.lengths:
        rewritten = list(_split(sources[0], f"WikiMIA_length{length}_paraphrased"))
        changed = list(_split(sources[0], f"WikiMIA_length{length}_perturbed"))
        if not rewritten:
            log.info("%s: no paraphrased texts of length %d", sources[0], length)
            continue
        count = len(changed) // len(rewritten)
        if len(changed) % len(rewritten):
            raise InputError(
                f"{sources[0]}: {len(changed)} perturbed texts of length {length} are "
                f"not as many for each of {len(rewritten)}; fetch them again."
            )
        if count != entry.neighbours:
            raise InputError(
                f"{sources[0]}: there are {count} perturbed texts of each text of "
                f"length {length}, and the entry's neighbours is {entry.neighbours}; "
                f"write neighbours: {count}, or fetch them again."
            )
        paraphrases += _numbered(rewritten, length, count=1)
        neighbours += _numbered(changed, length, count)
    return {"paraphrase": paraphrases, f"neighbours-{entry.neighbours}": neighbours}


def _numbered(split: list[Text], length: int, count: int) -> Iterator[ReleasedVariant]:
    """Yield the rows of a split as variants: `count` rows after each other belong to
    one text."""
    for row, variant in enumerate(split):
        yield ReleasedVariant(
            variant.where, _id(length, row // count), variant.text, variant.label
        )


def _split(source: Path, split: str) -> Iterator[Text]:
    for path in files_of_split(source, split):
        yield from texts_of(given_rows(path))


def _id(length: int, number: int) -> str:
    return f"{length:03d}-{number:05d}"


def _is_shown(character: str) -> bool:
    return character in "\t\n\r" or unicodedata.category(character) != "Cc"


class SnippetColumns(Columns):
    """A snippet of BookMIA."""

    snippet: str
    """a text"""
    label: KnownLabel
    """1 (member) or 0 (non-member)"""
    book_id: Named
    """the name of a book"""


@loader("bookmia")
def load_snippets(entry: FromHub, sources: list[Path], seed: int) -> list[Text]:
    """Return BookMIA's snippets in the file's order; a book is a document.

    Control characters (Unicode class Cc), which some snippets hold, are taken out,
    except tabs and line ends.
    """
    path = single_file(sources[0], (".jsonl", ".parquet"), "book_data")
    length = entry.lengths[0] if entry.lengths else None
    numbers: Counter[str] = Counter()
    snippets = []
    stripped = 0
    for where, written in rows(path, only_of(SnippetColumns)):
        row = checked_row(where, written, SnippetColumns)
        book = row["book_id"]
        text = "".join(filter(_is_shown, row["snippet"]))
        stripped += text != row["snippet"]
        text_id = f"{book}-{numbers[book]:04d}"
        snippets.append(Text(text_id, text, row["label"], length=length, document=book))
        numbers[book] += 1
    log.info(
        "%s: control characters taken out of %d of %d snippets",
        path,
        stripped,
        len(snippets),
    )
    return snippets
