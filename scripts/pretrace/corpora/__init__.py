"""Stream reference text, cut it into segments, count its tokens for any tokenizer."""

from pretrace.corpora import readers as _readers  # noqa: F401  (each registers itself)
from pretrace.corpora.counts import count_tokens, log_frequencies, reduce_counts
from pretrace.corpora.segments import count_segments
from pretrace.corpora.stream import documents, write_documents

__all__ = [
    "count_segments",
    "count_tokens",
    "documents",
    "log_frequencies",
    "reduce_counts",
    "write_documents",
]
