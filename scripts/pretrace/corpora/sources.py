"""The sources a corpus can be read from, by the name that its entry gives."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pretrace.runtime.errors import InputError, nearest

Entry = Mapping[str, Any]
Source = Callable[[Entry, list[Path]], Iterator[str]]
"""(the corpus's entry, the files it reads) -> its documents, always in one order, empty ones included."""


class _Sources(dict[str, Source]):
    def __missing__(self, source: str) -> Source:
        raise InputError(f"corpora have no source '{source}': {nearest(source, self)}")


SOURCES: dict[str, Source] = _Sources()


def corpus_source(name: str) -> Callable[[Source], Source]:
    """Register a reader for the corpora whose entry says `source: <name>`."""

    def register(function: Source) -> Source:
        if name in SOURCES:
            raise ValueError(f"two readers of corpora are called '{name}'")
        SOURCES[name] = function
        return function

    return register


def required(entry: Entry, key: str, example: str) -> Any:
    """The entry's value of a key that its source cannot do without."""
    if key not in entry:
        raise InputError(f"a corpus of source {entry['source']} needs the key '{key}', like {key}: {example}")
    return entry[key]
