"""Stream reference text, cut it into segments, count its tokens for any tokenizer."""

from pretrace.corpora import readers as _readers  # noqa: F401  (each registers itself)
from pretrace.corpora.counts import count_tokens, direct_counts, log_frequencies, reduce_counts
from pretrace.corpora.segments import count_segments
from pretrace.corpora.sources import SOURCES, corpus_source
from pretrace.corpora.stream import documents, write_documents

__all__ = [
    "SOURCES",
    "corpus_source",
    "count_segments",
    "count_tokens",
    "direct_counts",
    "documents",
    "log_frequencies",
    "reduce_counts",
    "write_documents",
]
