"""Compute how many documents a corpus test needs: its power on a benchmark whose members are known."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.corpus_test import Place, Row, p_values, share_as_high
from pretrace.evaluation.corpus_units import RANK, Units, ensemble, prepared
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.permutation import relabellings
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.roc import Floats, Whole
from pretrace.runtime.files import seed_of

DRAWS = 400
"""How often documents are drawn for a point of the curve."""

RELABELLINGS = 399


def corpus_power(scored: ScoredBenchmark, place: Place) -> list[Row]:
    """Return the power of the corpus test: the share of `n` draws of `documents` of each class with p <= 5 %.

    A row for each score of `corpus_test` (each of `METHODS` alone, and the ensemble) and number of documents:
    powers of two, up to half of the documents. Labels are exchanged within a document that has both classes. Other
    documents are paired at random with one of the other class and of their stratum, and exchange labels within pairs;
    where their numbers of texts differ, they are drawn in pairs and tested by `t_p_values`, from `LEAST_DOCUMENTS` on.
    """
    _, units, _ = prepared(scored, place)
    seed = seed_of("corpus_power", scored.name, place["subset"], place["length"] or 0)
    methods = [name for name in units.names if RANK + name in units.names]
    rows: list[Row] = []
    for scores in (units.of_scores(methods), ensemble(units)):
        if scores is None:
            continue
        if scores.exchangeable:
            curves = [_power(exchanged, seed) for exchanged in _exchanged(scores, seed)]
        else:
            curves = _powers_of_unequal(scores, seed)
        for name, curve in zip(scores.names, curves, strict=True):
            rows += [{"method": name, "documents": n, "value": share, "n": DRAWS} for n, share in curve]
    return rows


def _powers_of_unequal(units: Units, seed: int) -> list[list[tuple[int, float]]]:
    """Return `_power` of each score, of documents with different numbers of texts."""
    pair = _pairs(units, seed)
    paired = units.of(np.bincount(pair)[pair] == 2)
    pair = np.unique(pair[np.bincount(pair)[pair] == 2], return_inverse=True)[1]
    available = int(pair.max()) + 1
    order = _orders(available, seed)
    curves: list[list[tuple[int, float]]] = [[] for _ in units.names]
    for documents in _powers_of_two(available):
        if documents >= LEAST_DOCUMENTS:
            drawn = (paired.of((places < documents)[pair]) for places in order)
            p = np.stack([p_values(draw, RELABELLINGS, seed) for draw in drawn])
            for curve, share in zip(curves, (p <= LEVEL).mean(axis=0), strict=True):
                curve.append((documents, float(share)))
    return curves


def _exchanged(units: Units, seed: int) -> Floats:
    """Return each document's (or pair's) part of an effect under each labelling: (scores, documents, 1 + count)."""
    from scipy.sparse import csr_matrix

    within = set(units.document[units.suspect]) & set(units.document[~units.suspect])
    if not within:
        pair = _pairs(units, seed)
        units = replace(units, stratum=pair).of(np.bincount(pair)[pair] == 2)
    block = np.unique(units.document if within else units.stratum, return_inverse=True)[1]
    labels = np.concatenate(list(relabellings(units.suspect, units.stratum, RELABELLINGS, seed)), axis=1)
    places = (block, np.arange(len(block)))
    return np.stack([csr_matrix((score, places)) @ labels for score in units.centred.T])


def _pairs(units: Units, seed: int) -> Whole:
    """Return each unit's pair number, shared with one of the other class and of its stratum, drawn at random."""
    table = pd.DataFrame({"stratum": units.stratum, "suspect": units.suspect})
    shuffled = table.sample(frac=1, random_state=np.random.default_rng(seed))
    place = shuffled.groupby(["stratum", "suspect"]).cumcount().sort_index()
    return np.asarray(table.assign(place=place).groupby(["stratum", "place"]).ngroup())


def _power(exchanged: Floats, seed: int) -> list[tuple[int, float]]:
    """Return (documents, share of draws of this many with p <= `LEVEL`), of one score."""
    order, curve = _orders(len(exchanged), seed), []
    for documents in _powers_of_two(len(exchanged)):
        p = share_as_high((order < documents).astype(float) @ exchanged)
        curve.append((documents, float((p <= LEVEL).mean())))
    return curve


def _orders(available: int, seed: int) -> Whole:
    """Return the places of documents in `DRAWS` random orders: the first few of an order are a draw."""
    return np.random.default_rng(seed).random((DRAWS, available)).argsort(axis=1).argsort(axis=1)


def _powers_of_two(available: int) -> list[int]:
    """Return 1, 2, 4, ... up to half of the documents that are available."""
    return [2**exponent for exponent in range(available.bit_length() - 1)]
