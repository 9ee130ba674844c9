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


def resampled_distances(values: Floats, reference: Floats, weights: Floats) -> Floats:
    """The same of resamples, shape (resamples,): `weights` (texts, resamples) says how often each text was drawn.

    A text is drawn with both of its values, so that either side has as many: W1 is then the mean distance
    between values of equal rank.
    """
    by_value, by_reference = np.argsort(values, kind="stable"), np.argsort(reference, kind="stable")
    distances = []
    for times in weights.T.astype(np.intp):
        ours = np.repeat(values[by_value], times[by_value])
        theirs = np.repeat(reference[by_reference], times[by_reference])
        distances.append(np.sign(ours.mean() - theirs.mean()) * np.abs(ours - theirs).mean())
    return np.array(distances)
