"""Stream reference text, cut it into segments, count its tokens for any tokenizer.

In comes a source of documents (`readers/`, one file a kind); out go counts of tokens,
and from them the frequencies that methods weigh by. Read `sources` first.
"""

from pretrace.corpora import readers as _readers  # noqa: F401  (each registers itself)
