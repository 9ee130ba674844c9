"""The bag of words against scikit-learn's own vectoriser, which keeps a vocabulary;
columns may be in any order."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from pretrace.methods import bag_of_words
from pretrace.methods.bag_of_words import word_counts, word_weights

RNG = np.random.default_rng(0)
WORDS = [f"Word{number}" for number in range(40)]
TEXTS = [
    " ".join(RNG.choice(WORDS, size=15, p=np.arange(1, 41) / 820)) for _ in range(60)
]
TEXTS += ["", "?", "zygote"]
TRAIN = TEXTS[:40]
OTHERS = TEXTS[40:]


def products(train: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What is the same in whichever order the columns are."""
    both = np.concatenate([train, others])
    return both @ both.T


def expected(most: int | None = None) -> np.ndarray:
    weights = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=most)
    train = weights.fit_transform(TRAIN).toarray()
    return products(train, weights.transform(OTHERS).toarray())


def found() -> np.ndarray:
    counts = word_counts(TEXTS, "en")
    train, others = word_weights(counts[:40], counts[40:])
    return products(train.toarray(), others.toarray())


def test_the_most_frequent_words_of_the_texts_to_learn_from_stand(monkeypatch):
    words = [text.lower().split() for text in TRAIN]
    counted = []
    for text in words:
        counted += [*text, *pairwise(text)]
    frequencies = Counter(counted).most_common()
    most = next(
        place
        for place, (pair, other) in enumerate(pairwise(frequencies), 1)
        if place >= 20 and pair[1] > other[1]
    )
    monkeypatch.setattr(bag_of_words, "MOST_WORDS", most)
    assert found() == pytest.approx(expected(most), abs=1e-12)
    assert found() != pytest.approx(expected(), abs=1e-3)


def test_texts_are_counted_some_at_a_time_to_the_same_bytes(monkeypatch):
    whole = word_counts(TEXTS, "en")
    monkeypatch.setattr(bag_of_words, "_TEXTS_AT_ONCE", 7)
    parts = word_counts(TEXTS, "en")
    assert whole.shape == parts.shape
    for name in ("data", "indices", "indptr"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes(), name
