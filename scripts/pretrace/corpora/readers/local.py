"""A corpus of the user's own: JSON lines with a text under a key, or plain text with one document a line."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from pretrace.corpora.sources import Entry, corpus_source
from pretrace.runtime.errors import InputError, nearest

_JSON, _PLAIN = (".jsonl", ".jsonl.gz"), (".txt", ".txt.gz")


@corpus_source("local", needs=["path"])
def local(entry: Entry, sources: list[Path]) -> Iterator[str]:
    """The documents of the files, in their order: `.jsonl` (key `field`, default `text`) or `.txt`, gzipped
    or not.

    Lines end at U+000A, or U+000D U+000A. Raises `InputError` with file and line where a line is not UTF-8,
    not a JSON object, or has no text under the key.
    """
    field = entry.get("field", "text")
    for path in sources:
        if path.name.endswith(_JSON):
            yield from json_documents(path, field)
        elif path.name.endswith(_PLAIN):
            yield from _documents(path, lambda line: line)
        else:
            raise InputError(f"{path}: a corpus is a file that ends in {', '.join((*_JSON, *_PLAIN))}")


def json_documents(path: Path, field: str) -> Iterator[str]:
    """The texts under `field` of a file of JSON lines, gzipped where its name ends in `.gz`."""
    return _documents(path, lambda line: _text_under(field, line))


def _documents(path: Path, text_of: Callable[[str], str]) -> Iterator[str]:
    for number, raw in _lines(path):
        try:
            line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
            yield text_of(line)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}:{number}: not UTF-8 ({error}); convert the file to UTF-8") from error
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield number, line
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; set the corpus's path to your file") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}:{number + 1}: broken gzip file ({error}); make or fetch it again"
        ) from error


def _text_under(field: str, line: str) -> str:
    if not line.strip():
        return ""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f'not JSON ({error}); each line is an object like {{"{field}": "..."}}') from error
    if not isinstance(row, dict):
        raise InputError(f'not a JSON object; each line is one like {{"{field}": "..."}}')
    if field not in row:
        raise InputError(
            f"no key '{field}': {nearest(field, row)} (set the corpus's field to the key of the text)"
        )
    text = row[field]
    if not isinstance(text, str):
        raise InputError(f"'{field}' is {json.dumps(text)[:40]}, not a text; put the text in quotes")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"'{field}' holds half of a surrogate pair ({error.reason}); repair or drop it"
        ) from error
    return text
