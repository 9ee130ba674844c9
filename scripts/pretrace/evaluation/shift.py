"""Whether audited texts differ from the known non-members in what a model has no part in: their words and sizes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pretrace.evaluation.resampling import FEWEST_DOCUMENTS
from pretrace.evaluation.significance import CROSS_FITTED, placements
from pretrace.methods.blind import blind
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.files import seed_of

WORDS, SIZES = "word_shift", "size_shift"
MATERIAL = 0.05
"""An AUC nearer to 0.5 is not called a shift, even if many texts make it significant."""

FEWEST = 10
"""A cell with fewer texts on one side tells nothing about words."""

MOST = 1000
"""Texts of each side and cell that the words are learned from."""

FOLDS = 5


def shifts(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> pd.DataFrame:
    """Two rows `method, score, p`: AUC of audited above known, averaged over cells with weights n_audited x n_known.

    `word_shift`: by the bag of words of the control `blind`, out of fold, one-sided; documents stay in one fold where
    both sides have at least five. `size_shift`: by the number of characters, two-sided. Texts of one document count as
    related where a side names at least `FEWEST_DOCUMENTS`. An AUC far from 0.5 says that the two are not exchangeable,
    so that a low p-value may come from the difference alone. NaN where no cell has `FEWEST` texts of each side. Both
    are benchmark tables.
    """
    columns = [frame.assign(length=frame["length"].fillna(-1)) for frame in (audited, known)]
    pairs = [dict(list(frame.groupby(["subset", "length"]))) for frame in columns]
    cells = [(pairs[0][at], pairs[1][at]) for at in sorted(pairs[0].keys() & pairs[1].keys())]
    cells = [pair for pair in cells if min(map(len, pair)) >= FEWEST]
    return pd.DataFrame([_of_words(cells, language), _of_sizes(cells)])


class _Cell(NamedTuple):
    """Values of the texts of one subset and length, audited and known, and the documents that they are of."""

    values: tuple[np.ndarray, np.ndarray]
    documents: tuple[np.ndarray, np.ndarray]


Pairs = list[tuple[pd.DataFrame, pd.DataFrame]]


def _of_words(cells: Pairs, language: str) -> dict[str, float | str]:
    z, auc = _pooled([_words(_some(ours), _some(theirs), language) for ours, theirs in cells])
    return {"method": WORDS, "score": auc, "p": _normal_tail(z / CROSS_FITTED)}


def _of_sizes(cells: Pairs) -> dict[str, float | str]:
    z, auc = _pooled(
        [_cell(pair, [side["text"].str.len().to_numpy(float) for side in pair]) for pair in cells]
    )
    return {"method": SIZES, "score": auc, "p": min(1.0, 2 * _normal_tail(abs(z))) if cells else np.nan}


def _cell(pair: Sequence[pd.DataFrame], values: Sequence[np.ndarray]) -> _Cell:
    documents = [side["document"].to_numpy(str) for side in pair]
    return _Cell((values[0], values[1]), (documents[0], documents[1]))


def _pooled(cells: Sequence[_Cell]) -> tuple[float, float]:
    """z of no shift, and the mean AUC of cells with weights n_audited x n_known.

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
        placements(np.concatenate(cell.values), np.arange(int(of.sum())) < of[0])
        for cell, of in zip(cells, sizes, strict=True)
    ]
    auc = float(weight @ [ours.mean() for ours, _ in placed])
    independent = float(weight**2 @ ((sizes.sum(axis=1) + 1) / (12 * pairs)))
    clustered = sum(
        _side_variance([one[side] for one in placed], [cell.documents[side] for cell in cells], weight)
        for side in (0, 1)
    )
    return (auc - 0.5) / float(np.sqrt(max(independent, clustered))), auc


def _side_variance(
    placed: Sequence[np.ndarray], documents: Sequence[np.ndarray], weight: np.ndarray
) -> float:
    """What one side's texts add to the variance: by document, or where few or none are named, as if the cells were
    the same texts at other lengths."""
    names, of_text = np.unique(np.concatenate(documents), return_inverse=True)
    if "" in names or len(names) < FEWEST_DOCUMENTS:
        errors = [one.std(ddof=1) / np.sqrt(len(one)) for one in placed]
        return float(weight @ errors) ** 2
    shares = [share * (one - one.mean()) / len(one) for one, share in zip(placed, weight, strict=True)]
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
    return _cell(sides, (values[: len(audited)], values[len(audited) :]))


def _folds(side: pd.DataFrame, *, by_document: bool) -> list[int]:
    """Each side dealt by itself, in an order that depends on its ids alone."""
    units = side["document"].where((side["document"] != "") & by_document, side["text_id"])
    order = sorted(units.unique(), key=lambda unit: seed_of("shift", unit))
    place = {unit: at % FOLDS for at, unit in enumerate(order)}
    return [place[unit] for unit in units]
