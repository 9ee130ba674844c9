"""Whether audited texts differ from the known non-members in what a model has no part in: their words and sizes."""

import numpy as np
import pandas as pd

from pretrace.evaluation.significance import CROSS_FITTED
from pretrace.methods.blind import blind
from pretrace.methods.statistics import LabelledTexts
from pretrace.runtime.files import seed_of

WORDS, SIZES = "word_shift", "size_shift"
MATERIAL = 0.05
"""An AUC nearer to 0.5 is no shift, however many texts make it significant."""

FEWEST = 10
"""A cell with fewer texts on one side tells nothing about words."""

MOST = 1000
"""Texts of each side and cell that the words are learned from."""

FOLDS = 5


def shifts(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> pd.DataFrame:
    """Two rows `method, score, p`: AUC of audited above known, averaged over cells with weights n_audited x n_known.

    `word_shift`: by the bag of words of the control `blind`, out of fold, one-sided; documents stay in one fold where
    both sides have at least five. `size_shift`: by the number of characters, two-sided, as Mann and Whitney. An AUC
    far from 0.5 says that the two are not exchangeable, so that a low p-value may come from the difference alone.
    NaN where no cell has `FEWEST` texts of each side. Both are benchmark tables.
    """
    columns = [frame.assign(length=frame["length"].fillna(-1)) for frame in (audited, known)]
    pairs = [dict(list(frame.groupby(["subset", "length"]))) for frame in columns]
    cells = [(pairs[0][at], pairs[1][at]) for at in sorted(pairs[0].keys() & pairs[1].keys())]
    cells = [pair for pair in cells if min(map(len, pair)) >= FEWEST]
    return pd.DataFrame([_of_words(cells, language), _of_sizes(cells)])


Cells = list[tuple[pd.DataFrame, pd.DataFrame]]


def _of_words(cells: Cells, language: str) -> dict[str, float | str]:
    z, auc = _pooled([_word_auc(_some(ours), _some(theirs), language) for ours, theirs in cells])
    return {"method": WORDS, "score": auc, "p": _normal_tail(z / CROSS_FITTED)}


def _of_sizes(cells: Cells) -> dict[str, float | str]:
    sizes = [tuple(side["text"].str.len().to_numpy(np.float64) for side in pair) for pair in cells]
    z, auc = _pooled([(_auc(*pair), len(pair[0]), len(pair[1])) for pair in sizes])
    return {"method": SIZES, "score": auc, "p": min(1.0, 2 * _normal_tail(abs(z))) if cells else np.nan}


def _pooled(found: list[tuple[float, int, int]]) -> tuple[float, float]:
    """z and the weighted mean of AUCs of (AUC, texts, texts), each with Mann and Whitney's variance under no shift."""
    if not found:
        return np.nan, np.nan
    auc, ours, theirs = np.array(found, np.float64).T
    weight = ours * theirs / (ours * theirs).sum()
    variance = (ours + theirs + 1) / (12 * ours * theirs)
    mean = float(weight @ auc)
    return (mean - 0.5) / float(np.sqrt(weight**2 @ variance)), mean


def _normal_tail(z: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-z))


def _some(side: pd.DataFrame) -> pd.DataFrame:
    if len(side) <= MOST:
        return side
    return side.sort_values("text_id").sample(MOST, random_state=seed_of("shift", len(side)) % 2**32)


def _word_auc(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> tuple[float, int, int]:
    sides = [audited.assign(side=1), known.assign(side=0)]
    texts = pd.concat(sides, ignore_index=True)
    ids = [f"{place}" for place in range(len(texts))]
    scores = blind(
        LabelledTexts(
            ids=ids,
            texts=list(texts["text"]),
            labels=list(texts["side"]),
            folds=[fold for side in sides for fold in _folds(side, by_document=_documents(sides))],
            language=language,
        )
    )
    values = np.array([scores.get(id, 0.0) for id in ids])
    ours = texts["side"].to_numpy() == 1
    return _auc(values[ours], values[~ours]), len(audited), len(known)


def _documents(sides: list[pd.DataFrame]) -> bool:
    return all(side.loc[side["document"] != "", "document"].nunique() >= FOLDS for side in sides)


def _folds(side: pd.DataFrame, *, by_document: bool) -> list[int]:
    """Each side dealt by itself, in an order that depends on its ids alone."""
    units = side["document"].where((side["document"] != "") & by_document, side["text_id"])
    order = sorted(units.unique(), key=lambda unit: seed_of("shift", unit))
    place = {unit: at % FOLDS for at, unit in enumerate(order)}
    return [place[unit] for unit in units]


def _auc(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Mann and Whitney's: the share of pairs in which ours is higher, ties by half."""
    ascending = np.sort(theirs)
    below = np.searchsorted(ascending, ours, side="left") + np.searchsorted(ascending, ours, side="right")
    return float(below.mean() / (2 * len(theirs)))
