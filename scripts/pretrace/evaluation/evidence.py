"""The level of an audit, and p-values of single numbers against known ones."""

import numpy as np
from numpy.typing import ArrayLike

from pretrace.evaluation.roc import Floats

LEVEL = 0.05
"""The level of tests, and the false-discovery rate at which a unit is flagged."""


def empirical_p(scores: ArrayLike, nonmembers: ArrayLike) -> Floats:
    """Return (1 + non-members that score at least as high) / (1 + non-members), shape of `scores`.

    At most `level` of the texts that are exchangeable with the non-members have p <= level. V. Vovk, A. Gammerman and
    G. Shafer, Algorithmic Learning in a Random World, 2005, section 2.2. NaN where a score is NaN; non-members without
    a score do not count.
    """
    scores, known = np.asarray(scores, np.float64), np.asarray(nonmembers, np.float64)
    ascending = np.sort(known[~np.isnan(known)])
    as_high = len(ascending) - np.searchsorted(ascending, scores, side="left")
    return np.where(np.isnan(scores), np.nan, (1 + as_high) / (1 + len(ascending)))
