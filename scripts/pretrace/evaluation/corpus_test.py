"""A test of a corpus: were these documents trained on? Suspected documents against held-out ones, by stored scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.corpus_unequal import detected, drawn_anew, t_p_values
from pretrace.evaluation.corpus_units import (
    CHARACTERS,
    REFERENCE,
    Units,
    blind,
    ensemble,
    model_scores,
    of_methods,
    prepared,
)
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.permutation import relabellings
from pretrace.evaluation.resampling import LEAST_DOCUMENTS, resample, resampling_groups
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.significance import percentile_interval, wilson
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.runtime.logs import log

Row = dict[str, Any]
Place = Mapping[str, Any]
"""`subset` ("": all), `length` (None: all), `start_token` and `references`."""

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


def of_places(
    scored: ScoredBenchmark,
    conditions: Sequence[Place],
    compute: Callable[[ScoredBenchmark, Place], list[Row]],
    *,
    every: bool,
) -> list[Row]:
    """Return what `compute` gives at each place, under each of the `conditions`.

    The places are the whole benchmark ("") and each subset, at each length and at all of them (None). Not `every`:
    subsets only at all of their lengths, for what takes long. A place whose texts cannot be compared is logged and left
    out; raises its InputError if there is no other.
    """
    # a table of scores has hundreds of settings, and every place looks through it
    scored = of_methods(scored)
    rows: list[Row] = []
    errors: list[InputError] = []
    for chosen in conditions:
        texts = model_scores(scored, chosen)
        subsets, lengths = (
            sorted({*texts["subset"]}),
            sorted({int(length) for length in texts["length"]} - {-1}),
        )
        together = lengths if len(lengths) == 1 else [None]
        whole = [("", length) for length in dict.fromkeys([*together, *lengths])]
        parts = product(subsets * (len(subsets) > 1), dict.fromkeys([*together, *lengths * every]))
        for subset, length in [*whole, *parts]:
            place = {**chosen, "subset": subset, "length": length}
            try:
                rows += [coordinates(place) | row for row in compute(scored, place)]
            except InputError as error:
                log.info("subset '%s', length %s: %s", subset, length, error)
                errors.append(error)
    if errors and not rows:
        raise errors[0]
    return rows


def corpus_test(scored: ScoredBenchmark, place: Place, language: str, resamples: int) -> list[Row]:
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
    words of `BLIND` are fitted on one half of the documents and tested on the other alone.
    `REFERENCE` and `DIFFERENCE` are there where `loss` and `ref` are scored; the latter has no p.
    """
    texts, units, fixed = prepared(scored, place)
    seed = seed_of("corpus_test", scored.name, place["subset"], place["length"] or 0)
    names = _tested_alone(units, fixed)
    tested = [units.of_scores(names)]
    if fitted := [half for half in (ensemble(units), blind(texts, units, language)) if half is not None]:
        scores = np.concatenate([half.scores for half in fitted], axis=1)
        tested.append(replace(fitted[0], names=tuple(half.names[0] for half in fitted), scores=scores))
    rows: list[Row] = []
    effect_of: dict[str, Floats] = {}
    for group in tested:
        documents = len(np.unique(group.document))
        drawn = _resampled(group, resamples, seed)
        effect_of |= dict(zip(group.names, drawn, strict=True))
        needed = documents_needed(group)
        nothing = np.full(len(group.names), np.nan)
        p, least = (
            (nothing, nothing) if needed else (p_values(group, resamples, seed), smallest_effects(group))
        )
        for index, name in enumerate(group.names):
            quantities: list[Row] = [
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


def _tested_alone(units: Units, fixed: str) -> list[str]:
    """Return the scores that are not fitted: the one fixed beforehand, the reference's and the number of characters."""
    return [name for name in (fixed, REFERENCE, CHARACTERS) if name in units.names]


def coordinates(place: Place) -> Row:
    """Return the columns of a place: subset, length, start token, and all references in one."""
    return {key: place[key] for key in ("subset", "length", "start_token")} | {
        "reference": ", ".join(place["references"])
    }


def corpus_sizes(scored: ScoredBenchmark, place: Place) -> list[Row]:
    """Return `sizes` of the scores of `corpus_test`, of `REDRAWS` redraws."""
    _, units, fixed = prepared(scored, place)
    seed = seed_of("corpus_test", scored.name, place["subset"], place["length"] or 0)
    return sizes(units, _tested_alone(units, fixed), REDRAWS, seed)


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
    return share_as_high(sums)


def sizes(units: Units, names: Sequence[str], redraws: int, seed: int) -> list[Row]:
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
    rows = []
    for name, values_of in p.items():
        share, low, high = wilson(sum(value <= LEVEL for value in values_of), len(values_of))
        estimate = {"value": share, "low": low, "high": high}
        rows.append({"method": name, "n": len(values_of)} | estimate)
    return rows


def _redrawn(units: Units, redraws: int, seed: int) -> Iterator[Units]:
    if not units.exchangeable:
        for number in range(redraws):
            yield drawn_anew(units, seed_of("corpus_redraw", seed, number))
        return
    drawn = np.concatenate(list(relabellings(units.suspect, units.stratum, redraws, seed)), axis=1)[:, 1:]
    for labels in drawn.T:
        yield replace(units, suspect=labels == 1)


def share_as_high(sums: Floats) -> Floats:
    """Return the share of each row's numbers that are at least its first number."""
    return np.asarray((sums >= sums[:, :1] - SUMMING).mean(axis=1))


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


def smallest_effects(units: Units) -> Floats:
    """Return the effect of each score that is found at `LEVEL` with a probability of `POWER`: `DETECTED` standard
    errors under relabelling within strata, the effect itself taken out, or those of Student's t.
    """
    if units.counts[0] < 2:
        return np.full(len(units.names), np.nan)
    held_out = units.scores[~units.suspect].std(axis=0, ddof=1)
    if not units.exchangeable:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(detected(units, LEVEL, POWER) / held_out)
    shift = effects(units, np.ones((len(units.stratum), 1)))[:, 0] * held_out
    left = replace(units, scores=units.scores - units.suspect[:, None] * shift).centred
    shared, sizes = units.shared, np.bincount(units.stratum)
    spread = np.stack([np.bincount(units.stratum, score**2) for score in left.T]) / np.maximum(sizes - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(DETECTED * np.sqrt(spread @ shared) / shared.sum() / held_out)


def _resampled(units: Units, resamples: int, seed: int) -> Floats:
    """Return the effects, then those of resampled documents: shape (scores, 1 + resamples)."""
    groups = resampling_groups(np.arange(len(units.stratum)), units.document, units.suspect)
    parts = [np.ones((len(units.stratum), 1)), *resample(groups, resamples, seed)]
    return np.concatenate([effects(units, weights) for weights in parts], axis=1)


def _interval(drawn: Floats) -> dict[str, float]:
    """Return `value`, `low` and `high` of an effect: the first number, and the interval of the others."""
    low, high = percentile_interval(drawn[None, 1:])
    return {"value": float(drawn[0]), "low": float(low[0]), "high": float(high[0])}
