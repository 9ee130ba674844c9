"""What a method finds in the model of a split, and in that of another split on the same
texts: there nothing, because another coin chose the members."""

import numpy as np
import pandas as pd

from pretrace.evaluation.roc import ranks_of, ratio


def areas_on_shared_texts(
    own: pd.DataFrame, other: pd.DataFrame
) -> tuple[float, float]:
    """Return the AUC of a split's model, and of the other split's model, for the labels
    of the `own` split on the texts that both have; NaN without any.

    `own`, `other`: `text, label, score` of a split, by its own model. Texts with one
    label in the other split are compared with each other, so that it does not matter
    which of them its model read.
    """
    shared = own.merge(other, on="text", suffixes=("", "_other")).dropna()
    pairs = 0
    above = np.zeros(2)
    for _, alike in shared.groupby("label_other"):
        is_member = alike["label"].eq(1).to_numpy(bool)
        members = is_member.sum()
        pairs += members * (len(alike) - members)
        ranks = ranks_of(alike[["score", "score_other"]].to_numpy(float).T)
        above += ranks[:, is_member].sum(axis=1) - members * (members + 1) / 2
    of_own, of_other = ratio(above, np.full(2, pairs))
    return float(of_own), float(of_other)
