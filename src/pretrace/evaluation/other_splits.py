"""What a model that was trained on one split finds on another one, whose members another
coin chose: nothing, if the method errs on no side."""

import numpy as np
import pandas as pd

from pretrace.evaluation.roc import ranks_of, ratio


def area_by_other_labels(
    scores: "pd.Series[float]", own: pd.DataFrame, other: pd.DataFrame
) -> float:
    """Return the AUC of a model's scores, by text id of its `own` split, for the labels
    that the texts have in the `other` split; NaN where no texts are shared.

    Texts with one label in the own split are compared with each other, so that it does
    not matter which of them the model read.
    """
    shared = own.merge(other[["text", "label"]], on="text", suffixes=("", "_there"))
    shared = shared.assign(score=shared["text_id"].map(scores)).dropna(subset="score")
    areas, pairs = [], []
    for _, alike in shared.groupby("label"):
        is_member = alike["label_there"].eq(1).to_numpy(bool)
        members, others = is_member.sum(), (~is_member).sum()
        ranks = ranks_of(alike["score"].to_numpy(float)[None])[0]
        above = ranks[is_member].sum() - members * (members + 1) / 2
        areas.append(above)
        pairs.append(members * others)
    return float(ratio(np.sum(areas), np.sum(pairs)))
