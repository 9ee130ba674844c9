"""A corpus of the user's own: JSON lines with a text under a key, or plain text with one document a line."""

from collections.abc import Iterator
from pathlib import Path

from pretrace.benchmarks.rows import jsonl_rows, lines
from pretrace.corpora.sources import CorpusEntry, corpus_source
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Some

_JSON, _PLAIN = (".jsonl", ".jsonl.gz"), (".txt", ".txt.gz")


class LocalCorpus(CorpusEntry):
    """A file of the user's."""

    path_is = "file"

    path: Some[str]


@corpus_source("local", entry=LocalCorpus)
def local(entry: LocalCorpus, sources: list[Path]) -> Iterator[str]:
    """Yield the documents of the files, in order: `.jsonl` (key `field`, default `text`) or `.txt`, gzipped or not.

    Lines end at U+000A, or U+000D U+000A. Raises `InputError` with file and line of the first bad one.
    """
    for path in sources:
        if path.name.endswith(_JSON):
            yield from json_documents(path, entry.field)
        elif path.name.endswith(_PLAIN):
            yield from (line.removesuffix("\n").removesuffix("\r") for line in lines(path))
        else:
            raise InputError(f"{path}: a corpus is a file that ends in {', '.join((*_JSON, *_PLAIN))}")


def json_documents(path: Path, field: str) -> Iterator[str]:
    """Yield the texts under `field` of a file of JSON lines, gzipped where its name ends in `.gz`."""
    for where, row in jsonl_rows(path):
        if field not in row:
            hint = nearest(field, row)
            raise InputError(
                f"{where}: no key '{field}': {hint} (set the corpus's field to the key of the text)"
            )
        text = row[field]
        if not isinstance(text, str):
            raise InputError(f"{where}: '{field}' is {text!r:.40}, not a text; put the text in quotes")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(f"{where}: '{field}' holds half of a surrogate pair; repair or drop it")
        yield text
