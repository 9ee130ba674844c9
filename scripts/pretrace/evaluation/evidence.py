"""P-values of single texts against known non-members, and their combination."""

import numpy as np
from numpy.typing import ArrayLike

from pretrace.evaluation.roc import Floats

LEVEL = 0.05
"""The false-discovery rate at which a unit is flagged."""

CEILING = 0.99
"""P-values above it count as it: at 1, which one text in n + 1 has, Cauchy's variable is minus infinity and would
outweigh any evidence. Y. Fang, C. Chang, Y. Park and G. C. Tseng, Heavy-tailed distribution for combining dependent
p-values with asymptotic robustness, Statistica Sinica 33 (2023)."""


def empirical_p(scores: ArrayLike, nonmembers: ArrayLike) -> Floats:
    """(1 + non-members that score as high) / (1 + non-members), shape of `scores`; a tie speaks for the non-member.

    At most `level` of the texts that are exchangeable with the non-members have p <= level. V. Vovk, A. Gammerman and
    G. Shafer, Algorithmic Learning in a Random World, 2005, section 2.2. NaN where a score is NaN; non-members without
    a score do not count.
    """
    scores, known = np.asarray(scores, np.float64), np.asarray(nonmembers, np.float64)
    ascending = np.sort(known[~np.isnan(known)])
    as_high = len(ascending) - np.searchsorted(ascending, scores, side="left")
    return np.where(np.isnan(scores), np.nan, (1 + as_high) / (1 + len(ascending)))


LAMBDA = 0.5
"""P-values above it are taken as those of non-members."""


def share_of_nonmembers(p: ArrayLike) -> float:
    """An estimate, rather too high, of the share of p-values that are non-members'; at most 1.

    J. D. Storey, J. E. Taylor and D. Siegmund, J. Royal Statistical Society B 66 (2004): (1 + p-values above lambda) /
    (all p-values, times 1 - lambda).
    """
    above = np.asarray(p) > LAMBDA
    return min(1.0, float((1 + above.sum()) / (above.size * (1 - LAMBDA))))


def cauchy_variable(p: ArrayLike) -> Floats:
    """tan((1/2 - p) pi): nearly Cauchy in its tail, and so is the mean of several, independent or not.

    Y. Liu and J. Xie, Cauchy combination test, J. American Statistical Association 115 (2020).
    """
    return np.asarray(np.tan((0.5 - np.minimum(p, CEILING)) * np.pi))


def cauchy_p(mean: ArrayLike) -> Floats:
    """The one p-value of a mean of Cauchy variables."""
    return np.asarray(0.5 - np.arctan(mean) / np.pi)
