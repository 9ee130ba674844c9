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
from pretrace.runtime.files import seed_of

WORDING, SIZES, CLASSIFIER = "wording", "size", "word_classifier"
ONE_SIDED = frozenset({WORDING})
"""Controls in which only a high score is suspicious."""

MATERIAL = 0.2
"""A difference of fewer standard deviations is not called a shift, even if many texts make it significant."""

FEWEST = 10
"""A place (subset and length) with fewer texts on one side tells nothing about words."""

MOST = 1000
"""Texts of each side and place that the words are learned from."""

FOLDS = 5


def control_scores(
    audited: pd.DataFrame, known: pd.DataFrame, language: str
) -> dict[str, tuple[Floats, Floats]]:
    """Return scores that see no model, of audited and of known texts (benchmark tables), for `document_test`.

    `WORDING`: how untypical the words of a text are of the known documents, its own left out: less the cosine between
    its weighted word counts (tf-idf) and their mean over the documents. `SIZES`: the number of characters.
    """
    sizes: list[Floats] = [np.asarray(side["text"].str.len(), np.float64) for side in (audited, known)]
    return {WORDING: _untypical(audited, known, language), SIZES: (sizes[0], sizes[1])}


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

    The score is its AUC, averaged over places with weights n_audited x n_known; the p is one-sided. Only where both
    sides name `LEAST_DOCUMENTS`: the words of few documents always tell them apart. NaN elsewhere.
    """
    sides = [frame.assign(length=frame["length"].fillna(-1)) for frame in (audited, known)]
    pairs = [dict(list(frame.groupby(["subset", "length"]))) for frame in sides]
    shared = [(pairs[0][place], pairs[1][place]) for place in sorted(pairs[0].keys() & pairs[1].keys())]
    places = [pair for pair in shared if min(map(len, pair)) >= FEWEST]
    if min(own_documents(side["document"], side["text_id"]).nunique() for side in sides) < LEAST_DOCUMENTS:
        places = []
    z, auc = _pooled([_words(_some(ours), _some(theirs), language) for ours, theirs in places])
    return {"method": CLASSIFIER, "score": auc, "p": _normal_tail(z / CROSS_FITTED)}


class _Cell(NamedTuple):
    """Values of the texts of one subset and length, audited and known, and the documents that they are of."""

    values: tuple[np.ndarray, np.ndarray]
    documents: tuple[np.ndarray, np.ndarray]


def _pooled(cells: Sequence[_Cell]) -> tuple[float, float]:
    """Return z of no shift, and the mean AUC of cells with weights n_audited x n_known.

    The variance is that of DeLong's placements summed by document over all cells (Obuchowski, Biometrics 1997), for
    texts of one document are alike and longer texts hold shorter ones; never below Mann and Whitney's of independent
    texts.
    """
    if not cells:
        return np.nan, np.nan
    sizes = np.array([[len(side) for side in cell.values] for cell in cells], np.float64)
    pairs = sizes.prod(axis=1)
    weight = pairs / pairs.sum()
    placed = [
        placements(np.concatenate(cell.values), np.arange(int(counts.sum())) < counts[0])
        for cell, counts in zip(cells, sizes, strict=True)
    ]
    auc = float(weight @ [ours.mean() for ours, _ in placed])
    independent = float(weight**2 @ ((sizes.sum(axis=1) + 1) / (12 * pairs)))
    clustered = sum(
        _side_variance([places[side] for places in placed], [cell.documents[side] for cell in cells], weight)
        for side in (0, 1)
    )
    return (auc - 0.5) / float(np.sqrt(max(independent, clustered))), auc


def _side_variance(
    placed: Sequence[np.ndarray], documents: Sequence[np.ndarray], weight: np.ndarray
) -> float:
    """Return one side's part of the variance: by document, or if few or none are named, as if the cells were the same
    texts at other lengths.
    """
    names, of_text = np.unique(np.concatenate(documents), return_inverse=True)
    if "" in names or len(names) < FEWEST_DOCUMENTS:
        errors = [places.std(ddof=1) / np.sqrt(len(places)) for places in placed]
        return float(weight @ errors) ** 2
    shares = [
        share * (places - places.mean()) / len(places) for places, share in zip(placed, weight, strict=True)
    ]
    sums = np.bincount(of_text, np.concatenate(shares))
    return float(len(names) / (len(names) - 1) * sums @ sums)


def _normal_tail(z: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-z))


def _some(side: pd.DataFrame) -> pd.DataFrame:
    if len(side) <= MOST:
        return side
    return side.sort_values("text_id").sample(MOST, random_state=seed_of("shift", len(side)) % 2**32)


def _words(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> _Cell:
    sides = (audited, known)
    by_document = all(side.loc[side["document"] != "", "document"].nunique() >= FOLDS for side in sides)
    labels: list[int | None] = [*[1] * len(audited), *[0] * len(known)]
    ids = [f"{place}" for place in range(len(labels))]
    scores = blind(
        LabelledTexts(
            ids=ids,
            texts=[text for side in sides for text in side["text"]],
            labels=labels,
            folds=[fold for side in sides for fold in _folds(side, by_document=by_document)],
            language=language,
        )
    )
    values = np.array([scores.get(id, 0.0) for id in ids])
    documents = (audited["document"].to_numpy(str), known["document"].to_numpy(str))
    return _Cell((values[: len(audited)], values[len(audited) :]), documents)


def _folds(side: pd.DataFrame, *, by_document: bool) -> list[int]:
    """Deal each side's units into folds, in an order that depends on their ids alone."""
    units = side["document"].where((side["document"] != "") & by_document, side["text_id"])
    order = sorted(units.unique(), key=lambda unit: seed_of("shift", unit))
    place = {unit: index % FOLDS for index, unit in enumerate(order)}
    return [place[unit] for unit in units]
