"""How many of the documents in question the model read: a lower bound from the same
exchange of labels."""

import numpy as np

from pretrace.audit.exchange_test import Units, share_as_high, summed
from pretrace.evaluation.resampling import relabellings
from pretrace.evaluation.roc import Floats

MOST_COUNTED = 100
"""Documents in question up to which they are counted: more would take minutes."""

DRAWN_EACH = 1999
"""Relabellings of each test; p of all together has more."""


def read_at_least(units: Units, p: float, level: float, seed: int) -> int | None:
    """Return how many units in question the model read at least, with a confidence of
    1 - `level`; None where this is not counted.

    `p` is that of all of them. The highest are taken out, one after another, until the
    others are no longer surely higher than the known ones: their p is above `level`.
    This is closed testing: "the model read none of these" is tested of every set of
    units in question, and of all sets of a size the lowest one is rejected last,
    because a sum keeps this order whatever is exchanged. So the number that is taken
    out exceeds the number that was read with a probability of at most `level`, over all
    audits, those with a higher p among them. There is no upper bound: a work that was
    read need not score higher.

    A. Vesely, L. Finos and J. Goeman, Permutation-based true discovery guarantee by sum
    tests, Journal of the Royal Statistical Society B, 2023.
    """
    ours = np.flatnonzero(units.suspect)
    strata = np.unique(units.stratum[ours])
    # sets of several strata have no lowest one
    if len(strata) != 1 or len(ours) > MOST_COUNTED:
        return None
    known = ~units.suspect & (units.stratum == strata[0])
    falling = np.sort(units.standardised[ours])[::-1]
    for taken_out in range(len(ours)):
        if taken_out:
            p = _p_of_sum(falling[taken_out:], units.standardised[known], seed)
        if p > level:
            return taken_out
    return len(ours)


def _p_of_sum(ours: Floats, known: Floats, seed: int) -> float:
    """Return the share of relabellings in which the units in question have a sum as
    high as `ours`."""
    values = np.concatenate([ours, known])
    suspect = np.arange(len(values)) < len(ours)
    stratum = np.zeros(len(values), dtype=np.intp)
    sums = []
    for labels in relabellings(suspect, stratum, seed, DRAWN_EACH):
        sums.append(summed(values, labels, stratum))
    return share_as_high(np.concatenate(sums))
