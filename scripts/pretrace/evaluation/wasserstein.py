"""How far a prefix shifts log-likelihoods, and in which direction."""

import numpy as np
from numpy.typing import ArrayLike

from pretrace.evaluation.roc import Floats


def signed_wasserstein(values: ArrayLike, reference: ArrayLike) -> float:
    """sign(mean(values) - mean(reference)) W1(reference, values); both of shape (texts,), in their own unit.

    W1 is the area between the two distribution functions. Wang et al., Con-ReCall, 2024, section 3.2.
    """
    from scipy.stats import wasserstein_distance

    values, reference = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    return float(np.sign(values.mean() - reference.mean()) * wasserstein_distance(reference, values))


def resampled_distances(values: Floats, reference: Floats, drawn: np.ndarray) -> Floats:
    """The same of resamples, shape (resamples,): `drawn` (resamples, texts) numbers texts, taken with both values.

    With as many values on either side, W1 is the mean distance between values of equal rank.
    """
    ours, theirs = np.sort(values[drawn], axis=1), np.sort(reference[drawn], axis=1)
    direction = np.sign(ours.mean(axis=1) - theirs.mean(axis=1))
    return np.asarray(direction * np.abs(ours - theirs).mean(axis=1))
