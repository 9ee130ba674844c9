"""Compare suspected with held-out documents that have different numbers of texts: Student's t.

The mean score of a document of many texts varies less than that of a document of few. Where the classes differ in
these numbers, documents cannot be exchanged, and a count of relabellings would reject without a difference.
"""

from dataclasses import dataclass

import numpy as np

from pretrace.evaluation.corpus_units import CHARACTERS, Units
from pretrace.evaluation.roc import Flags, Floats

SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
"""Intraclass correlations that are tried: the share of a text's variance that its document's texts have in common."""

LIKELY = 0.5
"""A correlation counts where its log-likelihood is at most this much below the greatest: within one standard error.

Of normal and heavy-tailed scores, in classes of ten documents or more, 0.2 to 0.8 all keep the level within simulation
error; the least keeps it less well below ten documents, and the greatest loses up to four points of power.
"""


@dataclass(frozen=True)
class Fit:
    """The `difference` of the classes (scores,), and its standard `error` (correlations, scores) of `freedom` degrees.

    `likely` (correlations, scores): the correlations that the scores leave likely.
    """

    difference: Floats
    error: Floats
    likely: Flags
    freedom: int

    @property
    def largest_error(self) -> Floats:
        return np.asarray(np.where(self.likely, self.error, 0).max(axis=0))


def fit(units: Units) -> Fit:
    """Return the difference of `corpus_test.effects`, not divided by a spread, with its error at each correlation r.

    A document's mean of m texts has the variance s (r + (1 - r) / m). s is estimated at each r from the documents'
    residuals within stratum and class. The likelihood of r is the restricted one, with the texts' residuals within
    their documents (Patterson and Thompson, Biometrika 1971).
    """
    cells = np.unique(2 * units.stratum + units.suspect, return_inverse=True)[1]
    of_cell = cells[None, :] == np.arange(cells.max() + 1)[:, None]
    weight = np.where(units.suspect, 1, -1) * units.shared[units.stratum] / of_cell.sum(axis=1)[cells]
    weight /= units.shared.sum()
    freedom, within = len(cells) - len(of_cell), int((units.texts - 1).sum())
    squares = within * np.diag(units.within)
    errors, likelihoods = [], []
    for share in SHARES:
        variance = share + (1 - share) / units.texts
        precision = of_cell / variance
        means = (precision @ units.scores) / precision.sum(axis=1)[:, None]
        between = ((units.scores - means[cells]) ** 2 / variance[:, None]).sum(axis=0)
        errors.append(np.sqrt(between / freedom * (weight**2 * variance).sum()))
        scale = (between + squares / (1 - share)) / (freedom + within)
        constant = np.log(variance).sum() + np.log(precision.sum(axis=1)).sum() + within * np.log(1 - share)
        with np.errstate(divide="ignore"):
            likelihoods.append(-0.5 * ((freedom + within) * np.log(scale) + constant))
    likelihood = np.stack(likelihoods)
    likely = likelihood >= likelihood.max(axis=0) - LIKELY
    return Fit(weight @ units.scores, np.stack(errors), likely, freedom)


def t_p_values(units: Units) -> Floats:
    """Return each score's one-sided p, the greatest over the likely correlations; two-sided for `CHARACTERS`."""
    from scipy.special import stdtr

    fitted = fit(units)
    error = np.maximum(fitted.error, np.finfo(float).tiny)
    both = np.array(units.names) == CHARACTERS
    ratio = np.where(both, -np.abs(fitted.difference), -fitted.difference) / error
    p = np.where(both, 2, 1) * stdtr(fitted.freedom, ratio)
    return np.asarray(np.where(fitted.likely, p, 0).max(axis=0))


def detected(units: Units, level: float, power: float) -> Floats:
    """Return the difference of each score that the test finds at `level` with a probability of `power`."""
    from scipy.special import stdtrit

    fitted = fit(units)
    return np.asarray(
        fitted.largest_error * (stdtrit(fitted.freedom, 1 - level) + stdtrit(fitted.freedom, power))
    )


def drawn_anew(units: Units, seed: int) -> Units:
    """Return scores without a difference between the classes: each document has the deviation of one drawn at random.

    A deviation is that from the stratum's mean, in standard deviations of a document of as many texts at the likeliest
    correlation; the document that gets it scales it to its own number of texts.
    """
    rng = np.random.default_rng(seed)
    fitted = fit(units)
    shift = units.suspect[:, None] * fitted.difference
    share = np.where(fitted.likely, np.array(SHARES)[:, None], 0).sum(axis=0) / fitted.likely.sum(axis=0)
    spread = np.sqrt(share + (1 - share) / units.texts[:, None])
    left = units.scored_all(units.scores - shift).centred / spread
    taken = np.empty(len(left), dtype=np.intp)
    for stratum in np.unique(units.stratum):
        rows = np.flatnonzero(units.stratum == stratum)
        taken[rows] = rng.choice(rows, len(rows))
    return units.scored_all(left[taken] * spread)
