"""The words of texts, weighted, for methods that see no model."""

import logging
from functools import lru_cache
from typing import Any

MOST_WORDS = 2**20
"""Words and pairs of words that are weighted: more are met from some 100,000 texts on, the rarest of which go."""


def word_weights(language: str) -> Any:
    """A scikit-learn vectoriser: tf-idf of word 1-2-grams, lower-cased, sublinear; Chinese words by jieba.

    Of the texts that it is fitted on the `MOST_WORDS` most frequent ones: what is learned has a bound, counting has
    none (8 GB are to be expected of 10^6 texts of 30 words).
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    chinese = language.lower().startswith("zh")
    of_chinese = {"tokenizer": _chinese_words, "token_pattern": None} if chinese else {}
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=MOST_WORDS, **of_chinese)


@lru_cache(maxsize=20_000)
def _chinese_words(text: str) -> tuple[str, ...]:
    """Kept, because every fold asks for the same texts again and cutting is most of the work."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return tuple(jieba.lcut(text))
