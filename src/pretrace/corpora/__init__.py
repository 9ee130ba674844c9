"""Stream reference text, cut it into segments, count its tokens for any tokenizer."""

from pretrace.corpora import readers as _readers  # noqa: F401  (each registers itself)
