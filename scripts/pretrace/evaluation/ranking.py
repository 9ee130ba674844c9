"""Test how many texts of a class are at the top of a ranking, against chance: an exact test."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class AtTop(NamedTuple):
    """`hits` texts of a class are among the first `top`; by chance `expected` would be, with the exact one-sided `p`.

    Chance draws the class again from the same groups, as many texts of each as there are.
    """

    top: int
    hits: int
    expected: float
    p: float


def at_top(ranks: Sequence[int], chosen: Sequence[bool], groups: Sequence[str], top: int) -> AtTop:
    """Count the chosen texts of rank 1 to `top`, where ranks are 1 to n, without ties.

    In a group of N texts, K of them at the top, the number of its n chosen texts that are at the top is hypergeometric
    if which ones are chosen has nothing to do with the rank. The groups' numbers are independent, so that the
    distribution of their sum is a convolution.
    """
    from scipy.stats import hypergeom

    high, taken = np.asarray(ranks) <= top, np.asarray(chosen, dtype=bool)
    distribution, expected = np.ones(1), 0.0
    group_of = np.asarray(groups)
    for group in np.unique(group_of[taken]):
        inside = group_of == group
        size, of_top, of_class = int(inside.sum()), int((inside & high).sum()), int((inside & taken).sum())
        counts = hypergeom(size, of_top, of_class)
        distribution = np.convolve(distribution, counts.pmf(np.arange(of_class + 1)))
        expected += of_class * of_top / size
    hits = int((high & taken).sum())
    return AtTop(top, hits, expected, min(1.0, float(distribution[hits:].sum())))
