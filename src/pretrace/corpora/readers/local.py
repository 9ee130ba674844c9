"""A corpus of the user's own: rows with a text under a key, or plain text with one
document a line."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pretrace.benchmarks.rows import rows
from pretrace.corpora.sources import CorpusEntry, corpus_source
from pretrace.documents.unpacking import (
    FORMATS,
    JSON,
    PLAIN,
    format_of,
    read_lines,
)
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Some


class LocalCorpus(CorpusEntry):
    """A file of the user's."""

    path_is = "file"

    path: Some[str]


@corpus_source("local", entry=LocalCorpus)
def local(entry: LocalCorpus, sources: list[Path]) -> Iterator[str]:
    """Yield the documents of the files, in order: one for each line of a text file,
    else for each row (key `field`).

    Lines end at U+000A, or U+000D U+000A. Raises `InputError` with file and line of the
    first bad one.
    """
    for path in sources:
        if format_of(path.name) != PLAIN:
            yield from documents_in(path, entry.field)
            continue
        for line in read_lines(path):
            yield line.removesuffix("\n").removesuffix("\r")


def documents_in(path: Path, field: str) -> Iterator[str]:
    """Yield the texts under `field` of a file of rows; an empty cell is an empty
    text."""
    kind = format_of(path.name)
    if kind in (None, PLAIN):
        raise InputError(f"{path}: a file of a corpus ends in {FORMATS}")

    def column_of_texts(where: str, names: Iterable[str]) -> list[str]:
        if field not in names:
            raise InputError(
                f"{where}: no key '{field}': {nearest(field, names)} (set the corpus's "
                "field to the key of the text)"
            )
        return [field]

    for where, row in rows(path, column_of_texts):
        column_of_texts(where, row)
        text = "" if kind != JSON and row[field] is None else row[field]
        if not isinstance(text, str):
            advice = "encode it as UTF-8" if isinstance(text, bytes) else "give texts"
            raise InputError(
                f"{where}: '{field}' is {text!r:.40}, not a text; {advice}"
            )
        if text.encode(errors="ignore").decode() != text:
            raise InputError(
                f"{where}: '{field}' holds half of a surrogate pair; repair or drop it"
            )
        yield text
