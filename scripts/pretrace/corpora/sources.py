"""The sources a corpus can be read from, by the name that its entry gives."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Field
from typing_extensions import get_type_hints

from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Count, Keys, Language


class CorpusEntry(Keys, total=False):
    """What the entry of every corpus can say. A reader's own class adds its `source`, and its keys."""

    title: str
    """The name in tables and figures (default, the slug)."""
    access: str
    """Licence, and what is needed to fetch it."""
    language: Language
    """ISO 639-1 code (default, en)."""
    fraction: Annotated[float, Field(gt=0, le=1)]
    """Take this share of the characters; smaller shares lie inside larger ones."""
    shards: Count
    """In how many jobs it is counted (default, 1)."""
    max_tokens: Count
    """Cut documents after so many tokens (default, none; public DC-PDD code cuts at 1,024, the paper does
    not)."""


Entry = Mapping[str, Any]
Source = Callable[[Entry, list[Path]], Iterator[str]]
"""(the corpus's entry, the files it reads) -> its documents, always in one order, empty ones included."""


class _Sources(dict[str, Source]):
    def __missing__(self, source: str) -> Source:
        raise InputError(f"corpora have no source '{source}': {nearest(source, self)}")


SOURCES: dict[str, Source] = _Sources()


CORPORA: list[Any] = []
"""The kinds of `CorpusEntry` that there are, one for each source."""


def corpus_source(entry: Any) -> Callable[[Source], Source]:
    """Register a reader for the corpora whose entry is of this kind: a `CorpusEntry` with the key `source`."""
    (source,) = get_args(get_type_hints(entry)["source"])

    def register(function: Source) -> Source:
        if source in SOURCES:
            raise ValueError(f"two readers of corpora are called '{source}'")
        SOURCES[source] = function
        CORPORA.append(entry)
        return function

    return register


def required(entry: Entry, key: str, example: str) -> Any:
    """The entry's value of a key that its source cannot do without."""
    if key not in entry:
        raise InputError(f"a corpus of source {entry['source']} needs the key '{key}', like {key}: {example}")
    return entry[key]
