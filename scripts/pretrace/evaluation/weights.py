"""Methods combined with weights that are fitted on texts whose membership is known."""

import numpy as np
import pandas as pd

from pretrace.evaluation.roc import Floats

RIDGE = 0.1
"""The penalty on the weights of standardised ranks: methods are alike, and documents few."""

FEWEST = 10
"""Fewer units of a class teach nothing: nothing is fitted on them."""


def standardised_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Ranks of each column with mean near 0 and variance near 1: a rare extreme score cannot outweigh the others."""
    return (scores.rank(pct=True) - 0.5) * np.sqrt(12)


def fitted_weights(ranks: Floats, labels: Floats) -> Floats:
    """Ridge regression of centred `labels` (texts,) on centred `ranks` (texts, methods): shape (methods,)."""
    penalty = RIDGE * len(ranks) * np.eye(ranks.shape[1])
    return np.asarray(np.linalg.solve(ranks.T @ ranks + penalty, ranks.T @ labels))
