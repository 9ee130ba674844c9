"""The words of texts, counted and weighted, for methods that see no model."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pretrace.documents.languages import jieba_tokenizer, unit_of

MOST_WORDS = 2**20
"""At most this many words and pairs of words get a weight. More than 100,000 texts have
more; the rarest are dropped."""

_HASHES = 2**31 - 1
"""Columns to hash to, all that scikit-learn has: of 60,000 words and pairs two are
expected to share one."""

_TEXTS_AT_ONCE = 10_000


def word_counts(texts: Sequence[str], language: str) -> Any:
    """Count each word and pair of words in each text: a sparse matrix [texts, distinct
    words and pairs].

    Word 1-2-grams, lower-cased; Chinese words by jieba; characters of other languages
    without spaces. Columns are hashes in ascending order, so no word is stored: a
    vocabulary of 10^6 texts of 30 words would take 8 GB, these counts take 8 bytes a
    word.
    """
    from scipy.sparse import csr_matrix, vstack
    from sklearn.feature_extraction.text import HashingVectorizer

    cutting: dict[str, Any] = {}
    if _is_chinese(language):
        cutting = {"tokenizer": _chinese_words, "token_pattern": None}
    elif unit_of(language) == "characters":
        cutting = {"analyzer": "char"}
    hashing = HashingVectorizer(
        ngram_range=(1, 2),
        n_features=_HASHES,
        alternate_sign=False,
        norm=None,
        dtype=np.float32,
        **cutting,
    )
    parts = []
    hashes = np.array([], np.int32)
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = hashing.transform(texts[start : start + _TEXTS_AT_ONCE])
        parts.append(part)
        hashes = np.union1d(hashes, part.indices)
    counts = [csr_matrix((0, len(hashes)), dtype=np.float32)]
    for part in parts:
        columns = np.searchsorted(hashes, part.indices)
        shape = (part.shape[0], len(hashes))
        counts.append(csr_matrix((part.data, columns, part.indptr), shape))
    return vstack(counts, format="csr")


def word_weights(train: Any, others: Any) -> tuple[Any, Any]:
    """Return tf-idf of counts (sublinear, rows of length 1), fitted on `train`: the
    weights of both, float64.

    The columns are the words of `train`, the `MOST_WORDS` most frequent ones.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    frequencies = np.bincount(train.indices, train.data, minlength=train.shape[1])
    falling = np.argsort(-frequencies, kind="stable")
    words = min(MOST_WORDS, np.count_nonzero(frequencies))
    columns = np.sort(falling[:words])
    weights = TfidfTransformer(sublinear_tf=True)
    fitted = weights.fit_transform(train[:, columns].astype(float))
    transformed = weights.transform(others[:, columns].astype(float))
    return fitted, transformed


def words_of(text: str, language: str) -> Sequence[str]:
    """Return the words of a text in their order: split at white space, Chinese ones by
    jieba."""
    return _chinese_words(text) if _is_chinese(language) else text.split()


def _is_chinese(language: str) -> bool:
    return language.lower().startswith("zh")


@lru_cache(maxsize=20_000)
def _chinese_words(text: str) -> tuple[str, ...]:
    """Cut and cache, because other settings and methods cut the same texts again and
    cutting is most of the work."""
    return tuple(jieba_tokenizer().lcut(text))
