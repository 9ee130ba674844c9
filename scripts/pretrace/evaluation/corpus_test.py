"""A test of a corpus: were these documents trained on? Suspected documents against held-out ones, by stored scores.

Where all units of a stratum have as many texts, labels are exchanged. The mean score of a document of many texts varies
less than that of a document of few: where the classes differ in these numbers, documents cannot be exchanged, a count
of relabellings would reject without a difference, and Student's t compares them (`Fit`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pretrace.evaluation.averages import Record
from pretrace.evaluation.corpus_units import (
    CHARACTERS,
    REFERENCE,
    Compared,
    Units,
    blind,
    ensemble,
)
from pretrace.evaluation.resampling import LEAST_DOCUMENTS, relabellings, resample, resampling_groups
from pretrace.evaluation.roc import Flags, Floats
from pretrace.evaluation.significance import LEVEL, interval, wilson_row
from pretrace.seeds import seed_of

DIFFERENCE = "difference"
"""The effect on the target's loss less that on the reference model's."""

POWER = 0.8
"""With this probability the smallest effect is found."""

DETECTED = 1.6448536 + 0.8416212
"""Standard errors of the smallest effect that a one-sided test at `LEVEL` finds with a probability of `POWER`."""

REDRAWS = 300
"""How often labels are redrawn to see the size of the test."""

RELABELLINGS = 99
"""Of each redraw of the labels."""

SUMMING = 1e-9
"""Sums of scores of variance 1 that differ by less are equal."""

SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
"""Intraclass correlations that are tried: the share of a text's variance that its document's texts have in common."""

LIKELY = 0.5
"""A correlation counts where its log-likelihood is at most this much below the greatest: within one standard error.

Of normal and heavy-tailed scores, in classes of ten documents or more, 0.2 to 0.8 all keep the level within simulation
error; the least keeps it less well below ten documents, and the greatest loses up to four points of power.
"""


def corpus_test(compared: Compared, words: Any, resamples: int) -> list[Record]:
    """Return rows for each score: its effect, p, the smallest effect, and the units of each class.

    Members (label 1) are the suspected texts, non-members the held-out ones. Texts of one document are one unit, its
    mean score, and units of the same subsets and lengths are a stratum. Where documents hold texts of both classes,
    the texts are the units, each such document is a stratum of its own, and the other documents take no part. So a
    canary among its unpublished twins, the order of a list among its shuffles, and a published wording among private
    ones are strata with one suspected text.

    `effect`: mean of the suspected less mean of the held-out units, averaged over strata with weights
    n1 n0 / (n1 + n0), in standard deviations of the held-out units; 95 % interval by resampling documents; `n`
    documents. `p` and `smallest_effect`: `p_values` and `smallest_effects`, missing with fewer
    than `documents_needed`, which `needed` then holds. `units`: how many units of each label. `unequal`: 1 where
    `p_values` is Student's.

    The first of `METHODS` is the score fixed beforehand, all together are the `ENSEMBLE`. Its weights and those of the
    words of `BLIND` are fitted on one half of the documents and tested on the other alone; `words` holds the counts
    of words in the benchmark's texts. `REFERENCE` and `DIFFERENCE` are there where `loss` and `ref` are scored; the
    latter has no p.
    """
    units, seed = compared.units, compared.seed("corpus_test")
    rows: list[Record] = []
    effect_of: dict[str, Floats] = {}
    for group in (units.of_scores(compared.tested_alone), ensemble(units), blind(compared, words)):
        if group is None:
            continue
        documents = len(np.unique(group.document))
        drawn = _resampled(group, resamples, seed)
        effect_of |= dict(zip(group.names, drawn, strict=True))
        needed = documents_needed(group)
        nothing = np.full(len(group.names), np.nan)
        p, least = (
            (nothing, nothing) if needed else (p_values(group, resamples, seed), smallest_effects(group))
        )
        for index, name in enumerate(group.names):
            quantities: list[Record] = [
                {"quantity": "effect", "n": documents} | _interval(drawn[index]),
                {"quantity": "p", "n": resamples, "value": p[index]},
                {"quantity": "smallest_effect", "n": documents, "value": least[index]},
                {"quantity": "unequal", "n": documents, "value": float(not group.exchangeable)},
            ]
            if needed:
                quantities.append({"quantity": "needed", "n": documents, "value": needed})
            quantities += [
                {"quantity": "units", "label": label, "n": n} for label, n in enumerate(group.counts)
            ]
            rows += [{"method": name} | row for row in quantities]
    if REFERENCE in units.names:
        if "loss" not in effect_of:
            effect_of["loss"] = _resampled(units.of_scores(["loss"]), resamples, seed)[0]
        documents = len(np.unique(units.document))
        row = {"quantity": "effect", "method": DIFFERENCE, "n": documents}
        rows.append(row | _interval(effect_of["loss"] - effect_of[REFERENCE]))
    return rows


def _resampled(units: Units, resamples: int, seed: int) -> Floats:
    """Return the effects, then those of resampled documents: shape (scores, 1 + resamples)."""
    groups = resampling_groups(np.arange(len(units.stratum)), units.document, units.suspect)
    parts = [np.ones((len(units.stratum), 1)), *resample(groups, resamples, seed)]
    return np.concatenate([effects(units, weights) for weights in parts], axis=1)


def _interval(drawn: Floats) -> dict[str, float]:
    """Return `value`, `low` and `high` of an effect: the first number, and the interval of the others."""
    return {"value": float(drawn[0])} | interval(drawn[1:])


def effects(units: Units, weights: Floats) -> Floats:
    """Return the effect on each score if units count by `weights` (units, draws): shape (scores, draws).

    NaN where no stratum has both classes, or held-out units do not differ.
    """
    from scipy.sparse import csr_matrix

    rows = np.arange(len(units.stratum))
    strata = csr_matrix((np.ones(len(rows)), (units.stratum, rows)))
    ours = units.suspect[:, None]
    n1, n0 = strata @ (weights * ours), strata @ (weights * ~ours)
    shared = n1 * n0 / np.maximum(n1 + n0, 1)
    held_out = weights[~units.suspect]
    count = held_out.sum(axis=0)
    effect_of_scores = []
    for score in units.scores.T[:, :, None]:
        mean1 = strata @ (weights * (ours * score)) / np.maximum(n1, 1)
        mean0 = strata @ (weights * (~ours * score)) / np.maximum(n0, 1)
        held_out_scores = score[~units.suspect]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (held_out * held_out_scores).sum(axis=0) / count
            variance = ((held_out * held_out_scores**2).sum(axis=0) - count * mean**2) / (count - 1)
            spread = np.sqrt(np.where(variance > SUMMING, variance, np.nan))
            effect_of_scores.append((shared * (mean1 - mean0)).sum(axis=0) / shared.sum(axis=0) / spread)
    return np.stack(effect_of_scores)


def documents_needed(units: Units) -> int:
    """Return how many documents of each class a p needs if there are fewer, else 0.

    Documents with different numbers of texts are compared by Student's t, which holds from `LEAST_DOCUMENTS` on. In
    strata that leave as few degrees of freedom there are too few as well.
    """
    if units.exchangeable:
        return 0
    freedom = len(units.stratum) - 2 * len(np.unique(units.stratum))
    return LEAST_DOCUMENTS if min(*units.counts, freedom) < LEAST_DOCUMENTS else 0


def p_values(units: Units, count: int, seed: int) -> Floats:
    """Return each score's p: the chance of at least its effect (`CHARACTERS`: as far from 0) without a difference.

    Where all units of a stratum have as many texts: (1 + b) / (1 + count), the share of relabellings within strata
    whose effect is at least that of the labels, these among them. Exact where units of a stratum are exchangeable
    (Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology, 2010). With weights n1 n0 / (n1 +
    n0) an effect is the sum of the suspected units' centred scores, up to a factor that no relabelling changes.
    Elsewhere `t_p_values`.
    """
    if not units.exchangeable:
        return t_p_values(units)
    parts = relabellings(units.suspect, units.stratum, count, seed)
    sums = np.concatenate([units.centred.T @ labels for labels in parts], axis=1)
    sums = np.where((np.array(units.names) == CHARACTERS)[:, None], np.abs(sums), sums)
    return np.asarray((sums >= sums[:, :1] - SUMMING).mean(axis=1))


def smallest_effects(units: Units) -> Floats:
    """Return the effect of each score that is found at `LEVEL` with a probability of `POWER`: `DETECTED` standard
    errors under relabelling within strata, the effect itself taken out, or those of Student's t.
    """
    from scipy.special import stdtrit

    if units.counts[0] < 2:
        return np.full(len(units.names), np.nan)
    held_out = units.scores[~units.suspect].std(axis=0, ddof=1)
    if not units.exchangeable:
        fitted = fit(units)
        errors = stdtrit(fitted.freedom, 1 - LEVEL) + stdtrit(fitted.freedom, POWER)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(fitted.largest_error * errors / held_out)
    shift = effects(units, np.ones((len(units.stratum), 1)))[:, 0] * held_out
    left = replace(units, scores=units.scores - units.suspect[:, None] * shift).centred
    shared, sizes = units.shared, np.bincount(units.stratum)
    spread = np.stack([np.bincount(units.stratum, score**2) for score in left.T]) / np.maximum(sizes - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(DETECTED * np.sqrt(spread @ shared) / shared.sum() / held_out)


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
    """Return the difference of `effects`, not divided by a spread, with its error at each correlation r.

    A document's mean of m texts has the variance s (r + (1 - r) / m). s is estimated at each r from the documents'
    residuals within stratum and class. The likelihood of r is the restricted one, with the texts' residuals within
    their documents (Patterson and Thompson, Biometrika 1971).
    """
    groups = np.unique(2 * units.stratum + units.suspect, return_inverse=True)[1]
    of_group = groups[None, :] == np.arange(groups.max() + 1)[:, None]
    weight = np.where(units.suspect, 1, -1) * units.shared[units.stratum] / of_group.sum(axis=1)[groups]
    weight /= units.shared.sum()
    freedom, within = len(groups) - len(of_group), int((units.texts - 1).sum())
    squares = within * np.diag(units.within)
    errors, likelihoods = [], []
    for share in SHARES:
        variance = share + (1 - share) / units.texts
        precision = of_group / variance
        means = (precision @ units.scores) / precision.sum(axis=1)[:, None]
        between = ((units.scores - means[groups]) ** 2 / variance[:, None]).sum(axis=0)
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


def corpus_sizes(compared: Compared) -> list[Record]:
    """Return `sizes` of the scores of `corpus_test`, of `REDRAWS` redraws."""
    return sizes(compared.units, compared.tested_alone, REDRAWS, compared.seed("corpus_test"))


def sizes(units: Units, names: Sequence[str], redraws: int, seed: int) -> list[Record]:
    """Return the size of the test by each of `names` and the `ENSEMBLE`: the share of `n` redraws with p <= `LEVEL`.

    There is nothing to find in a redraw: labels are redrawn within strata or, where units have different numbers of
    texts, scores are (`drawn_anew`). Each redraw is tested as the labels are, by `RELABELLINGS` relabellings, with
    weights of the `ENSEMBLE` that are fitted again. The interval is Wilson's.
    """
    p: dict[str, list[float]] = {}
    for number, redrawn in enumerate(_redrawn(units, redraws, seed)):
        for scored in (redrawn.of_scores(names), ensemble(redrawn)):
            if scored is not None and not documents_needed(scored):
                values = p_values(scored, RELABELLINGS, seed_of("corpus_size", seed, number))
                for name, value in zip(scored.names, values, strict=True):
                    p.setdefault(name, []).append(value)
    return [
        {"method": name} | wilson_row(sum(value <= LEVEL for value in values), len(values))
        for name, values in p.items()
    ]


def _redrawn(units: Units, redraws: int, seed: int) -> Iterator[Units]:
    if not units.exchangeable:
        for number in range(redraws):
            yield drawn_anew(units, seed_of("corpus_redraw", seed, number))
        return
    drawn = np.concatenate(list(relabellings(units.suspect, units.stratum, redraws, seed)), axis=1)[:, 1:]
    for labels in drawn.T:
        yield replace(units, suspect=labels == 1)


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
    left = replace(units, scores=units.scores - shift).centred / spread
    taken = np.empty(len(left), dtype=np.intp)
    for stratum in np.unique(units.stratum):
        rows = np.flatnonzero(units.stratum == stratum)
        taken[rows] = rng.choice(rows, len(rows))
    return replace(units, scores=left[taken] * spread)
