"""The words of texts, weighted, for methods that see no model."""

import logging
from functools import lru_cache
from typing import Any


def word_weights(language: str) -> Any:
    """A scikit-learn vectoriser: tf-idf of word 1-2-grams, lower-cased, sublinear; Chinese words by jieba."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not language.lower().startswith("zh"):
        return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, tokenizer=_chinese_words, token_pattern=None
    )


@lru_cache(maxsize=20_000)
def _chinese_words(text: str) -> tuple[str, ...]:
    """Kept, because every fold asks for the same texts again and cutting is most of the work."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return tuple(jieba.lcut(text))
