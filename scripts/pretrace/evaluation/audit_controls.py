"""Do audited texts differ from the known non-members in what a model has no part in: their wording and their sizes?"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_scores import own_documents
from pretrace.evaluation.resampling import FEWEST_DOCUMENTS, LEAST_DOCUMENTS
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.significance import CROSS_FITTED, placements
from pretrace.methods.bag_of_words import word_counts
from pretrace.methods.blind import blind
from pretrace.methods.statistics import LabelledTexts
from pretrace.seeds import seed_of

WORDING, SIZES, CLASSIFIER = "wording", "size", "word_classifier"
ONE_SIDED = frozenset({WORDING})
"""Controls in which only a high score is suspicious."""

MATERIAL = 0.2
"""A difference of fewer standard deviations is not called a shift, even if many texts make it significant."""

FEWEST = 10
"""A slice with fewer texts on one side tells nothing about words."""

MOST = 1000
"""Texts of each side and slice that the words are learned from."""

FOLDS = 5


def control_scores(
    audited: pd.DataFrame, known: pd.DataFrame, language: str
) -> dict[str, tuple[Floats, Floats]]:
    """Return scores that see no model, of audited and of known texts (benchmark tables), for `document_test`.

    `WORDING`: how untypical the words of a text are of the known documents, its own left out: less the cosine between
    its weighted word counts (tf-idf) and their mean over the documents. `SIZES`: the number of characters.
    """
    ours, theirs = (np.asarray(side["text"].str.len(), np.float64) for side in (audited, known))
    return {WORDING: _untypical(audited, known, language), SIZES: (ours, theirs)}


def _untypical(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> tuple[Floats, Floats]:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = csr_matrix(word_counts([*known["text"], *audited["text"]], language))
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts.astype(np.float64))
    theirs, ours = weights[: len(known)], weights[len(known) :]
    names = own_documents(known["document"], known["text_id"])
    _, of_text, texts = np.unique(names, return_inverse=True, return_counts=True)
    means = csr_matrix((1 / texts[of_text], (of_text, np.arange(len(known))))) @ theirs
    total = np.asarray(means.sum(axis=0)).ravel()
    products = np.asarray(means @ total).ravel()
    norms = np.sqrt(total @ total - 2 * products + np.asarray(means.multiply(means).sum(axis=1)).ravel())
    own = np.asarray(theirs.multiply(means[of_text]).sum(axis=1)).ravel()
    known_scores = (theirs @ total - own) / np.maximum(norms[of_text], 1e-12)
    return -np.asarray(ours @ total) / np.sqrt(total @ total), -np.asarray(known_scores)


def classifier_row(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> dict[str, float | str]:
    """Return `method, score, p` of a bag of words that learns to tell audited from known texts, out of fold.

    The score is its AUC, averaged over slices with weights n_audited x n_known; the p is one-sided. Only where both
    sides name `LEAST_DOCUMENTS`: the words of few documents always tell them apart. NaN elsewhere.
    """
    from scipy.special import ndtr

    sides = [frame.assign(length=frame["length"].fillna(-1)) for frame in (audited, known)]
    ours, theirs = (dict(list(frame.groupby(["subset", "length"]))) for frame in sides)
    pairs = [(ours[shared], theirs[shared]) for shared in sorted(ours.keys() & theirs.keys())]
    pairs = [pair for pair in pairs if min(map(len, pair)) >= FEWEST]
    documents = min(own_documents(side["document"], side["text_id"]).nunique() for side in sides)
    if documents < LEAST_DOCUMENTS or not pairs:
        return {"method": CLASSIFIER, "score": np.nan, "p": np.nan}
    z, auc = _pooled([_learned(pair, language) for pair in pairs])
    return {"method": CLASSIFIER, "score": auc, "p": float(ndtr(-z / CROSS_FITTED))}


class _Learned(NamedTuple):
    """Learned scores of the audited and the known texts of a slice, and the documents that they are of."""

    scores: tuple[Floats, Floats]
    documents: tuple[np.ndarray, np.ndarray]


def _learned(pair: tuple[pd.DataFrame, pd.DataFrame], language: str) -> _Learned:
    sides = [
        side if len(side) <= MOST
        else side.sort_values("text_id").sample(MOST, random_state=seed_of("shift", len(side)) % 2**32)
        for side in pair
    ]  # fmt: skip
    by_document = all(side.loc[side["document"] != "", "document"].nunique() >= FOLDS for side in sides)
    labels: list[int | None] = [*[1] * len(sides[0]), *[0] * len(sides[1])]
    ids = [f"{number}" for number in range(len(labels))]
    texts = [text for side in sides for text in side["text"]]
    folds = [fold for side in sides for fold in _folds(side, by_document=by_document)]
    learned = blind(LabelledTexts(ids=ids, texts=texts, labels=labels, folds=folds, language=language))
    scores = np.array([learned.get(id, 0.0) for id in ids])
    count = len(sides[0])
    documents = (sides[0]["document"].to_numpy(str), sides[1]["document"].to_numpy(str))
    return _Learned((scores[:count], scores[count:]), documents)


def _folds(side: pd.DataFrame, *, by_document: bool) -> list[int]:
    """Deal each side's units into folds, in an order that depends on their ids alone."""
    units = side["document"].where((side["document"] != "") & by_document, side["text_id"])
    order = sorted(units.unique(), key=lambda unit: seed_of("shift", unit))
    number = {unit: index % FOLDS for index, unit in enumerate(order)}
    return [number[unit] for unit in units]


def _pooled(slices: Sequence[_Learned]) -> tuple[float, float]:
    """Return z of no shift, and the mean AUC of slices with weights n_audited x n_known.

    The variance is that of DeLong's placements summed by document over all slices (Obuchowski, Biometrics 1997), for
    texts of one document are alike and longer texts hold shorter ones; never below Mann and Whitney's of independent
    texts.
    """
    sizes = np.array([[len(side) for side in learned.scores] for learned in slices], np.float64)
    pairs = sizes.prod(axis=1)
    weight = pairs / pairs.sum()
    placed = [
        placements(np.concatenate(learned.scores), np.arange(int(counts.sum())) < counts[0])
        for learned, counts in zip(slices, sizes, strict=True)
    ]
    auc = float(weight @ [ours.mean() for ours, _ in placed])
    independent = float(weight**2 @ ((sizes.sum(axis=1) + 1) / (12 * pairs)))
    clustered = sum(
        _side_variance([own[side] for own in placed], [own.documents[side] for own in slices], weight)
        for side in (0, 1)
    )
    return (auc - 0.5) / float(np.sqrt(max(independent, clustered))), auc


def _side_variance(placed: Sequence[Floats], documents: Sequence[np.ndarray], weight: Floats) -> float:
    """Return one side's part of the variance: by document, or if few or none are named, as if the slices were the same
    texts at other lengths.
    """
    names, of_text = np.unique(np.concatenate(documents), return_inverse=True)
    if "" in names or len(names) < FEWEST_DOCUMENTS:
        errors = [own.std(ddof=1) / np.sqrt(len(own)) for own in placed]
        return float(weight @ errors) ** 2
    shares = [share * (own - own.mean()) / len(own) for own, share in zip(placed, weight, strict=True)]
    sums = np.bincount(of_text, np.concatenate(shares))
    return float(len(names) / (len(names) - 1) * sums @ sums)
