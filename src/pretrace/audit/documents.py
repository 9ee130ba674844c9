"""The documents of an audit as its checks compare them: what they look like, their
words, their letters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pretrace.audit.exchange_test import normal_scores
from pretrace.audit.form_features import FORM, SIZE, Measure, measures
from pretrace.audit.own_features import (
    ORDER,
    OWN_PHRASE,
    OWN_WORD,
    OWN_WORDS,
    order_of_words,
    own_share,
    own_term,
)
from pretrace.evaluation.roc import Flags, Floats, Whole, ratio
from pretrace.methods.bag_of_words import words_of
from pretrace.seeds import seed_of

MOST = 1_000
"""Documents that are compared, at most: a matrix of all pairs is made."""

FORM_FEATURES = (*FORM, OWN_WORD, OWN_PHRASE, OWN_WORDS, ORDER)
"""Names of the columns of a document's form."""

Analyzer = Callable[[str], list[str]]
"""What cuts a text into terms."""

PUNCTUATION = ".,;:!?()[]{}\"'`*_-\u2013\u2014\u2018\u2019\u201c\u201d"

SMALL = 1e-9
"""A standard deviation that is 0 but for rounding."""

ROUNDING = 12
"""Digits that count: means of equal numbers differ in the last ones."""


@dataclass(frozen=True)
class Terms:
    """The words, or the runs of letters, of documents.

    `weights`: each document's mean tf-idf, sparse (documents, terms). `presence`: the
    share of each document's texts that have the term, as sparse.
    """

    names: Sequence[str]
    weights: Any
    presence: Any

    @cached_property
    def likeness(self) -> Floats:
        """Return how alike documents are: products of their weights (documents,
        documents)."""
        products: Floats = (self.weights @ self.weights.T).toarray()
        return products

    def presence_of(self, name: str) -> Floats:
        """Return the share of each document's texts that have a term, shape
        (documents,)."""
        place = list(self.names).index(name)
        shares: Floats = self.presence[:, [place]].toarray()
        return shares[:, 0]


@dataclass(frozen=True)
class Documents:
    """The texts of an audit by document: a `table` of texts (`text, document,
    suspect`), and of each document its `names`, `suspect` and `stratum`; `of_text` is
    the code of each text's document.
    """

    table: pd.DataFrame
    names: Sequence[str]
    suspect: Flags
    stratum: Whole
    of_text: Whole
    language: str

    @classmethod
    def of(cls, table: pd.DataFrame, language: str) -> "Documents":
        """Read a table of texts (`text, document, slice, suspect`); documents of the
        same `slice` are a stratum."""
        grouped = table.groupby("document", sort=True)
        slices = grouped["slice"].first()
        strata, _ = pd.factorize(slices)
        return cls(
            table,
            names=slices.index.tolist(),
            suspect=grouped["suspect"].first().to_numpy(bool),
            stratum=np.asarray(strata, dtype=np.intp),
            of_text=np.asarray(grouped.ngroup(), dtype=np.intp),
            language=language,
        )

    @property
    def compared(self) -> Flags:
        """Mark `MOST` documents at most, chosen by their names."""
        seeds = [seed_of("checked", name) for name in self.names]
        chosen = np.argsort(seeds, kind="stable")[:MOST]
        return np.isin(np.arange(len(seeds)), chosen)

    def where(self, documents: Flags) -> "Documents":
        """Return some of the documents; all of them are this object, which keeps its
        weights."""
        if documents.all():
            return self
        return Documents.of(self.table[documents[self.of_text]], self.language)

    def centred(self, values: Floats) -> Floats:
        """Return values (documents, columns) less the means of their strata."""
        return values - stratum_means(values, self.stratum)

    def standardised(self, values: Floats) -> Floats:
        """Return values (documents, columns) less the means of their strata, in
        standard deviations; 0 where none."""
        centred = self.centred(values)
        return ratio(centred, centred.std(axis=0), empty=0.0)

    def measured(self, features: dict[str, Measure]) -> Floats:
        """Return the mean of each measure over each document's texts, shape (documents,
        measures)."""
        of_texts = []
        for text in self.table["text"]:
            of_texts.append(measures(text, self.language, features.values()))
        return self._means(np.array(of_texts)).round(ROUNDING)

    @property
    def number_of_words(self) -> Floats:
        """Return how many words the texts of each document have together."""
        means = self.measured({"words": SIZE["words"]})[:, 0]
        return means * np.bincount(self.of_text)

    def _means(self, of_texts: Floats) -> Floats:
        """Return the means of each document's texts, shape (documents, columns)."""
        sums = [np.bincount(self.of_text, column) for column in of_texts.T]
        return np.stack(sums, axis=1) / np.bincount(self.of_text)[:, None]

    def features(self, means: Floats) -> Floats:
        """Return measures (documents, measures) as they are and, in further columns, as
        normal scores; standardised."""
        columns = np.concatenate([means, as_normal_scores(means)], axis=1)
        return self.standardised(columns)

    @cached_property
    def measured_form(self) -> Floats:
        """Return the numbers of `FORM_FEATURES`, shape (documents, features)."""
        order = order_of_words(self.table["text"], self.language)
        of_signs = own_term(self._terms(list).presence)
        of_others = (
            np.maximum(own_term(self.words.presence), of_signs),
            own_term(self.pairs.presence),
            own_share(self.words.presence),
            self._means(order[:, None])[:, 0],
        )
        columns = [self.measured(FORM), *(column[:, None] for column in of_others)]
        return np.concatenate(columns, axis=1).round(ROUNDING)

    def scatter(self, presence: Any) -> Floats:
        """Return the standard deviation of columns (sparse: documents, terms) about
        their stratum means; 1 for none."""
        squares = _column_sums(presence.multiply(presence))
        for code in np.unique(self.stratum):
            of_stratum = presence[self.stratum == code]
            squares = squares - _column_sums(of_stratum) ** 2 / of_stratum.shape[0]
        scatter = np.sqrt(np.maximum(squares, 0) / len(self.names))
        return np.where(scatter > SMALL, scatter, 1.0)

    @cached_property
    def form(self) -> Floats:
        return self.features(self.measured_form)

    @cached_property
    def size(self) -> Floats:
        return self.features(self.measured(SIZE))

    @cached_property
    def words(self) -> Terms:
        return self._terms(partial(words_in, self.language))

    @cached_property
    def pairs(self) -> Terms:
        return self._terms(partial(pairs_in, self.language))

    @cached_property
    def letters(self) -> Terms:
        return self._terms(letters_in)

    def _terms(self, analyzer: Analyzer) -> Terms:
        from scipy.sparse import csr_matrix
        from sklearn.feature_extraction.text import TfidfVectorizer

        shares = 1 / np.bincount(self.of_text)[self.of_text]
        places = (self.of_text, np.arange(len(shares)))
        mean = csr_matrix((shares, places))  # a matrix (documents, texts)
        # without spaces, a passage may be one word, which has no neighbour
        if not any(map(analyzer, self.table["text"])):
            none = csr_matrix((mean.shape[0], 0))
            return Terms([], none, none)
        vectorizer = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True)
        weights = vectorizer.fit_transform(self.table["text"])
        presence = (weights > 0).astype(np.float64)
        names = vectorizer.get_feature_names_out()
        return Terms(names, mean @ weights, mean @ presence)


def _column_sums(matrix: Any) -> Floats:
    """Return the sum of each column of a sparse matrix."""
    return np.asarray(matrix.sum(axis=0)).ravel()


def as_normal_scores(values: Floats) -> Floats:
    """Return each column's normal scores, shape (documents, columns)."""
    equal = np.ones(len(values))
    return np.stack([normal_scores(column, equal) for column in values.T], axis=1)


def stratum_means(values: Floats, stratum: Whole) -> Floats:
    """Return the mean row of each row's stratum."""
    codes = np.arange(stratum.max(initial=0) + 1)
    is_in = (stratum[:, None] == codes).astype(np.float64)
    sizes = np.maximum(is_in.sum(axis=0), 1)
    means = is_in.T @ values / sizes[:, None]
    return is_in @ means


def words_in(language: str, text: str) -> list[str]:
    """Return the words of a text in small letters, without signs around them."""
    return [word.strip(PUNCTUATION) for word in words_of(text.lower(), language)]


def pairs_in(language: str, text: str) -> list[str]:
    """Return all pairs of neighbours among a text's words."""
    return [f"{first} {second}" for first, second in pairwise(words_in(language, text))]


def letters_in(text: str) -> list[str]:
    """Return all runs of one to three characters."""
    runs = []
    for length in (1, 2, 3):
        for start in range(len(text) - length + 1):
            runs.append(text[start : start + length])
    return runs
