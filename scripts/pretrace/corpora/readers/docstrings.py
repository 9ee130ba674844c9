"""Docstrings of installed packages, one document a docstring."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from pretrace.benchmarks.docstrings import docstrings_of
from pretrace.corpora.sources import CorpusEntry, corpus_source
from pretrace.runtime.schema import Some


class Docstrings(CorpusEntry):
    """Docstrings of installed packages."""

    packages: Some[list[str]]
    """Import names of installed packages."""


@corpus_source("docstrings", entry=Docstrings)
def docstrings(entry: Docstrings, sources: list[Path]) -> Iterator[str]:
    """The docstrings of modules, classes and functions of `packages` (import names), without indentation.

    Packages are sorted by name, modules by path; docstrings are in the file's order. Raises `InputError` if a package
    is not installed.
    """
    modules = [docstrings_of(name) for name in sorted(entry.packages)]
    return chain.from_iterable(chain.from_iterable(of.values() for of in modules))
