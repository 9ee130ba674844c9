"""Are texts in question and known ones of the same kind? Checks by exchanges of whole documents."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.audit_design import LEVEL, names_of_parts
from pretrace.benchmarks.languages import unit_of, units
from pretrace.benchmarks.ngrams import RUN, near_copies, ngrams
from pretrace.evaluation.averages import Record
from pretrace.evaluation.exchange import SUMMING, exchanged_p, normal_scores
from pretrace.evaluation.resampling import relabellings
from pretrace.evaluation.roc import Flags, Floats, Whole, ratio
from pretrace.methods.bag_of_words import words_of
from pretrace.seeds import seed_of

WORDS, LETTERS, FORM, SIZES = "words", "letters", "form", "size"
"""Checks by exchange: a classifier of words; one of letters and signs; the greatest difference in form; in size."""

EXPLAINED = "explained"
"""The check that sees scores: what the texts look like explains that they are higher."""

PARTS, COPIES = "parts", "copies"
"""Documents that are called chapters; documents of a side that are copies of each other."""

RELABELLINGS = 1_999
"""Of a check, at most."""

TELLING = 20
"""Words that are told where the sides differ in words or letters."""

FEW = 0.1
"""Share of outlying documents, at most."""

FEWEST_USUAL = 8
"""Fewer documents do not show what is usual."""

MOST = 1_000
"""Documents that are compared by `checks`, at most: a matrix of all pairs is made."""

FAR = 6.0
"""An outlying document is this much less like the others than usual, in robust standard deviations."""

MIXED = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")

Measure = Callable[[str, Sequence[str], Sequence[str]], float]


def _letters_beyond_ascii(text: str) -> int:
    # most texts have none, and are not gone through
    return 0 if text.isascii() else sum(c.isalpha() and not c.isascii() for c in text)


def _signs(text: str) -> int:
    return len(text) - sum(map(str.isalnum, text)) - sum(map(str.isspace, text))


FEATURES: dict[str, Measure] = {
    "characters a word": lambda text, words, lines: len(text) / len(words),
    "bytes a character": lambda text, words, lines: len(text.encode()) / len(text),
    "capital letters": lambda text, words, lines: sum(map(str.isupper, text)) / len(text),
    "letters beyond ASCII": lambda text, words, lines: _letters_beyond_ascii(text) / len(text),
    "digits": lambda text, words, lines: sum(map(str.isdigit, text)) / len(text),
    "digits within words": lambda text, words, lines: sum(bool(MIXED.search(word)) for word in words) / len(words),
    "signs": lambda text, words, lines: _signs(text) / len(text),
    "short words": lambda text, words, lines: sum(len(word) <= 3 for word in words) / len(words),
    "different words": lambda text, words, lines: len(set(words)) / len(words),
    "lines": lambda text, words, lines: len(lines) / len(words),
    "line lengths": lambda text, words, lines: float(np.log1p(np.mean([len(line) for line in lines]))),
    "hyphens at line ends": lambda text, words, lines: sum(line.rstrip().endswith("-") for line in lines) / len(words),
    "repeated lines": lambda text, words, lines: 1 - len({*lines}) / len(lines),
    "spaces": lambda text, words, lines: sum(map(str.isspace, text)) / len(text),
    "decomposed letters": lambda text, words, lines: float(not unicodedata.is_normalized("NFC", text)),
}  # fmt: skip
"""What a text looks like, from the text, its words and its lines."""

OF_SIZE: dict[str, Measure] = {
    "characters": lambda text, words, lines: len(text),
    "words": lambda text, words, lines: len(words),
}


@dataclass(frozen=True)
class Documents:
    """The texts of an audit by document: a `table` of texts (`text, document, suspect`), and of each document its
    `names`, `suspect` and `stratum`; `of_text` is the code of each text's document.
    """

    table: pd.DataFrame
    names: Sequence[str]
    suspect: Flags
    stratum: Whole
    of_text: Whole
    language: str

    @classmethod
    def of(cls, table: pd.DataFrame, language: str) -> "Documents":
        """Read a table of texts (`text, document, slice, suspect`); documents of the same `slice` are a stratum."""
        grouped = table.groupby("document", sort=True)
        slices = grouped["slice"].first()
        return cls(
            table,
            slices.index.tolist(),
            grouped["suspect"].first().to_numpy(bool),
            np.asarray(pd.factorize(slices)[0], dtype=np.intp),
            np.asarray(grouped.ngroup(), dtype=np.intp),
            language,
        )

    @property
    def compared(self) -> Flags:
        """Mark `MOST` documents at most, chosen by their names."""
        order = np.argsort([seed_of("checked", name) for name in self.names], kind="stable")
        return np.isin(np.arange(len(order)), order[:MOST])

    def where(self, documents: Flags) -> "Documents":
        """Return some of the documents; all of them are this object, which keeps its weights."""
        return self if documents.all() else Documents.of(self.table[documents[self.of_text]], self.language)

    def means(self, features: Floats) -> Floats:
        """Return the mean of each document's texts, shape (documents, features)."""
        sums = np.stack([np.bincount(self.of_text, column) for column in features.T], axis=1)
        return sums / np.bincount(self.of_text)[:, None]

    def features(self, of: dict[str, Measure]) -> Floats:
        """Return the features of each document that differ, as they are and as normal scores, less stratum means."""
        rows = [[measure(text, units(text, unit_of(self.language)) or [""], text.splitlines() or [""])
                 for measure in of.values()] for text in self.table["text"]]  # fmt: skip
        means = self.means(np.array(rows))
        ranks = np.stack(
            [normal_scores(column.round(12), np.ones(len(column))) for column in means.T], axis=1
        )
        both = np.concatenate([means, ranks], axis=1)
        both = both - _stratum_means(both, self.stratum)
        return np.asarray(ratio(both, both.std(axis=0), empty=0.0))

    @cached_property
    def form(self) -> Floats:
        return self.features(FEATURES)

    @cached_property
    def weights(self) -> list[tuple[Any, Sequence[str]]]:
        """Return each document's mean weights (tf-idf; sparse: documents, words), and the words; then of letters."""
        from scipy.sparse import csr_matrix
        from sklearn.feature_extraction.text import TfidfVectorizer

        share = 1 / np.bincount(self.of_text)[self.of_text]
        mean = csr_matrix((share, (self.of_text, np.arange(len(self.of_text)))))
        vectorizers = [
            TfidfVectorizer(analyzer=analyzer, sublinear_tf=True)
            for analyzer in (partial(_words, self.language), _letters)
        ]
        return [
            (mean @ own.fit_transform(self.table["text"]), own.get_feature_names_out()) for own in vectorizers
        ]


PUNCTUATION = ".,;:!?()[]{}\"'`*_-\u2013\u2014\u2018\u2019\u201c\u201d"


def _words(language: str, text: str) -> list[str]:
    return [word.strip(PUNCTUATION) for word in words_of(text.lower(), language)]


def _letters(text: str) -> list[str]:
    """Return all runs of one to three characters."""
    return [text[start : start + n] for n in (1, 2, 3) for start in range(len(text) - n + 1)]


def checks(documents: Documents) -> list[Record]:
    """Return a row for each check: `method`, `p` and `effect` of those by exchange, `flagged` of the others.

    `id` names the feature that differs most, or two documents. p is exact and adjusted: that of the greatest departure
    among the checks by exchange (Westfall and Young, Resampling-Based Multiple Testing, 1993). `effect`: how much more
    the sides differ than relabelled ones do, in standard deviations of these. Of checks by exchange that fail,
    there are rows of `_causes` too.
    """
    first = documents.table.groupby("document", sort=True)["text"].first()
    parts = names_of_parts(zip(documents.names, first, strict=True))
    copies = _copies(documents, suspect=True) or _copies(documents, suspect=False)
    found = {PARTS: parts[:2], COPIES: copies}
    rows: list[Record] = [
        {"method": method, "flagged": bool(names), "id": " / ".join(names)} for method, names in found.items()
    ]
    compared = documents.where(documents.compared)
    rows += _exchanged(compared)
    return [*rows, *_causes(compared, {row["method"]: row["id"] for row in rows if row.get("p", 1) <= LEVEL})]


def explained(documents: Documents, scores: Floats) -> Record:
    """Return the row of `EXPLAINED` for documents in question with higher `scores` (documents,), as they are exchanged.

    Kernel ridge regression on the form of texts predicts each document's score from all others. p, exact as well, is
    that of what it leaves: where it is above `LEVEL`, form explains the higher scores.
    """
    compared = documents.compared
    documents, scores = documents.where(compared), scores[compared]
    hat, leverage = _leave_one_out(documents.form @ documents.form.T, documents.stratum)
    left = (scores - hat @ scores) / (1 - leverage)
    p = exchanged_p(left, documents.suspect, documents.stratum, seed_of("explained", *documents.names))
    return {"method": EXPLAINED, "p": p, "flagged": p > LEVEL}


def unusual(documents: Documents) -> set[str]:
    """Return the documents in question that look unlike the known ones, so that naming them would mean nothing.

    The greatest departure of any feature of their form has a rank of at most `LEVEL` among those of the known documents
    of the same stratum.
    """
    greatest, names = np.abs(documents.form).max(axis=1, initial=0), set()
    for own in np.flatnonzero(documents.suspect).tolist():
        known = greatest[~documents.suspect & (documents.stratum == documents.stratum[own])]
        if 1 + (known >= greatest[own] - SUMMING).sum() <= LEVEL * (1 + len(known)):
            names.add(documents.names[own])
    return names


def _causes(documents: Documents, failed: Mapping[str, str]) -> Iterator[Record]:
    """Yield how far each document lies on its own side where checks fail (`failed`: method -> feature), and words.

    `effect` of a `cause`: how far it lies from the middle between both sides, by its prediction or by the feature, in
    standard deviations; `flagged`, if it is in question.
    """
    ours = documents.suspect
    for method, feature in failed.items():
        if method in (WORDS, LETTERS):
            weights, _ = documents.weights[method == LETTERS]
            hat = _leave_one_out((weights @ weights.T).toarray(), documents.stratum)
            values = left_out(hat, ours[:, None].astype(np.float64))[:, 0]
        else:
            values = documents.features({feature: (FEATURES | OF_SIZE)[feature]})[:, 0]
        means = values[ours].mean(), values[~ours].mean()
        effects = (values - np.mean(means)) * np.where(ours, 1, -1) * np.sign(means[0] - means[1])
        effects = ratio(effects, values.std(), empty=0.0)
        for name, effect, suspect in zip(documents.names, effects, ours, strict=True):
            yield {
                "unit": "cause",
                "method": method,
                "id": name.lstrip("\0"),
                "effect": effect,
                "flagged": suspect,
            }
    if failed.keys() & {WORDS, LETTERS}:
        yield from _telling_words(documents)


def _telling_words(documents: Documents) -> Iterator[Record]:
    """Yield the words whose weights differ most between the sides.

    `effect`: how much more a word weighs in question, in standard deviations over documents; `texts` and `n`: the
    documents in question, and the known ones, that have it.
    """
    weights, words = documents.weights[0]
    sides = weights[documents.suspect], weights[~documents.suspect]
    ours, theirs, mean, square = (
        np.asarray(own.mean(axis=0)).ravel() for own in (*sides, weights, weights.multiply(weights))
    )
    effects = ratio(ours - theirs, np.sqrt(np.maximum(square - mean**2, 0)), empty=0.0)
    counts = [side.getnnz(axis=0).tolist() for side in sides]
    told = [place for place in np.argsort(-np.abs(effects), kind="stable") if words[place]]
    for place in told[:TELLING]:
        yield {"unit": "word", "method": WORDS, "id": str(words[place]), "effect": effects[place],
               "texts": counts[0][place], "n": counts[1][place]}  # fmt: skip


def _exchanged(documents: Documents) -> list[Record]:
    form, size = documents.form, documents.features(OF_SIZE)
    hats = [
        _leave_one_out((weights @ weights.T).toarray(), documents.stratum) for weights, _ in documents.weights
    ]
    seed = seed_of("comparable", *documents.names)
    parts = relabellings(documents.suspect, documents.stratum, seed, RELABELLINGS)
    values = np.concatenate(
        [np.stack([*(separation(hat, labels) for hat in hats), _greatest(form, labels), _greatest(size, labels)])
         for labels in parts], axis=1,
    )  # fmt: skip
    shares = np.stack([_share_as_high(own) for own in values])
    least = shares.min(axis=0)
    sums = np.abs(documents.suspect @ form), np.abs(documents.suspect @ size)
    names = [_name(FEATURES, sums[0]), _name(OF_SIZE, sums[1])]
    p = [float((least <= share + SUMMING).mean()) for share in shares[:, 0]]
    return [
        {"method": method, "id": id, "p": share, "flagged": share <= LEVEL,
         "effect": float(ratio(np.asarray(own[0] - own.mean()), np.asarray(own.std()), empty=0.0))}
        for method, id, share, own in zip(
            (WORDS, LETTERS, FORM, SIZES), ("", "", *names), p, values, strict=True
        )
    ]  # fmt: skip


def _name(of: dict[str, Measure], sums: Floats) -> str:
    return [*of][int(sums.argmax()) % len(of)]


def _share_as_high(values: Floats) -> Floats:
    """Return for each value the share of all that are as high."""
    ordered = np.sort(values)
    return 1 - np.searchsorted(ordered, values - SUMMING, side="left") / len(values)


def _greatest(features: Floats, labels: Floats) -> Floats:
    """Return the greatest difference of any feature for each relabelling (documents, relabellings)."""
    return np.asarray(np.abs(features.T @ labels).max(axis=0, initial=0))


def _leave_one_out(likeness: Floats, stratum: Whole) -> tuple[Floats, Floats]:
    """Return the hat matrix of kernel ridge regression, less stratum means, and its leverages.

    With them, `separation` gives every document the prediction of the regression on all other documents' labels.
    """
    centred = likeness - _stratum_means(likeness, stratum)
    centred = centred - _stratum_means(centred.T, stratum).T
    penalty = max(np.trace(centred) / len(centred), 1e-12)
    hat = np.linalg.solve(centred + penalty * np.eye(len(centred)), centred).T
    same = stratum[:, None] == stratum[None]
    hat = hat + same / same.sum(axis=1, keepdims=True)
    return hat, np.minimum(np.diag(hat), 1 - 1e-6)


def left_out(hat: tuple[Floats, Floats], labels: Floats) -> Floats:
    """Return each document's prediction from all others, for each relabelling (documents, relabellings)."""
    matrix, leverage = hat
    return np.asarray(labels - (labels - matrix @ labels) / (1 - leverage)[:, None])


def separation(hat: tuple[Floats, Floats], labels: Floats) -> Floats:
    """Return how much higher suspects' left-out predictions lie, for each relabelling (documents, relabellings)."""
    predicted, ours = left_out(hat, labels), labels.sum(axis=0)
    return np.asarray(
        (labels * predicted).sum(axis=0) / ours
        - ((1 - labels) * predicted).sum(axis=0) / (len(labels) - ours)
    )


def _stratum_means(values: Floats, stratum: Whole) -> Floats:
    """Return the mean row of each row's stratum."""
    same = (stratum[:, None] == np.arange(stratum.max(initial=0) + 1)).astype(np.float64)
    return np.asarray(same @ (same.T @ values / np.maximum(same.sum(axis=0), 1)[:, None]))


def outliers(documents: Documents) -> Flags:
    """Mark documents that are far less like all others than usual: another language or script, another kind of text.

    None if these are more than `FEW`: then the kinds differ. Labels play no part, so that an exchange of the other
    documents stays exact.
    """
    count = len(documents.names)
    out = np.zeros(count, dtype=bool)
    for weights, _ in documents.weights if count >= FEWEST_USUAL else ():
        own = np.asarray(weights.multiply(weights).sum(axis=1)).ravel()
        others = (weights @ np.asarray(weights.sum(axis=0)).ravel() - own) / (count - 1)
        middle = np.median(others)
        spread = 1.4826 * np.median(np.abs(others - middle))
        out |= (middle - others) > FAR * max(spread, 1e-12)
    return out & (out.mean() <= FEW)


def _copies(documents: Documents, *, suspect: bool) -> list[str]:
    """Return the names of two documents of one side that are near-copies."""
    unit = unit_of(documents.language)
    runs: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for code, text in zip(documents.of_text.tolist(), documents.table["text"], strict=True):
        if documents.suspect[code] == suspect:
            runs[documents.names[code]].update(ngrams(" ".join(units(text, unit)), RUN[unit]))
    return near_copies(runs)
