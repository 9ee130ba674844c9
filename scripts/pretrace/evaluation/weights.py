"""Methods combined with weights that are fitted on texts whose membership is known."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_scores import UNIT_KEYS, seeing
from pretrace.evaluation.roc import Floats

WEIGHTED = "weighted"
"""The combination as a method of its own."""

RIDGE = 0.1
"""The penalty on the weights of standardised ranks: methods are alike, and documents few."""

UNKNOWN = -1
"""In place of a label that is missing, so that texts can be grouped by it."""

FEWEST = 10
"""Fewer units of a class teach nothing: nothing is fitted on them."""


def standardised_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Ranks of each column with mean near 0 and variance near 1: a rare extreme score cannot outweigh the others."""
    return (scores.rank(pct=True) - 0.5) * np.sqrt(12)


def fitted_weights(ranks: Floats, labels: Floats) -> Floats:
    """Ridge regression of centred `labels` (texts,) on centred `ranks` (texts, methods): shape (methods,)."""
    penalty = RIDGE * len(ranks) * np.eye(ranks.shape[1])
    return np.asarray(np.linalg.solve(ranks.T @ ranks + penalty, ranks.T @ labels))


def weighted_rows(rows: pd.DataFrame, folds: Collection[int], tied: Collection[str] = ()) -> pd.DataFrame:
    """Texts as rows of `audit_scores` by the method `WEIGHTED`, with weights fitted on labelled texts of `folds`.

    All methods that see the model are combined, by their ranks within a subset and length, but `tied` ones and those
    that score fewer texts than others. No row where these folds have fewer than `FEWEST` texts of a class, or one
    method is there.
    """
    combined = seeing(rows[rows["unit"] == "text"], tied)
    combined = combined.assign(label=combined["label"].fillna(UNKNOWN))
    texts = combined.pivot(index=UNIT_KEYS, columns="method", values="score")
    texts = texts.loc[:, texts.count() == texts.count().max()].dropna()
    ranks = texts.groupby(["subset", "length"], group_keys=False).apply(standardised_ranks)
    labels = texts.index.get_level_values("label").to_numpy(float)
    known = texts.index.get_level_values("fold").isin(list(folds)) & (labels != UNKNOWN)
    if min((labels[known] == 1).sum(), (labels[known] == 0).sum()) < FEWEST or ranks.shape[1] < 2:
        return rows.iloc[:0]
    learned = ranks.to_numpy()[known]
    weights = fitted_weights(learned - learned.mean(axis=0), labels[known] - labels[known].mean())
    scores = texts.index.to_frame(index=False).assign(score=ranks.to_numpy() @ weights)
    found = scores.assign(
        unit="text", method=WEIGHTED, setting="", label=scores["label"].replace(UNKNOWN, pd.NA)
    )
    return found[list(rows.columns.intersection(found.columns))]
