"""The words of texts, weighted, for methods that see no model."""

import logging
from typing import Any


def word_weights(language: str) -> Any:
    """A scikit-learn vectoriser: tf-idf of word 1-2-grams, lower-cased, sublinear; Chinese words by jieba."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not language.lower().startswith("zh"):
        return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, tokenizer=jieba.lcut, token_pattern=None)
