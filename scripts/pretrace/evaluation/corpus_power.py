"""How many documents a corpus test needs: its power on a benchmark whose members are known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.corpus_test import coordinates, share_as_high
from pretrace.evaluation.corpus_units import CHARACTERS, REFERENCE, Units, ensemble, prepared
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.permutation import relabellings
from pretrace.evaluation.roc import Floats
from pretrace.runtime.files import seed_of

DRAWS = 400
"""How often documents are drawn for a point of the curve."""

RELABELLINGS = 399


def corpus_power(scored: ScoredBenchmark, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of `estimates.COLUMNS`: `corpus_power`, the share of `n` draws of `documents` of each class with p <= 5 %.

    A row for each score of `corpus_test` (each of `asked["methods"]` alone, and the ensemble) and number of documents:
    powers of two, up to half of the documents. Labels are exchanged within a document that has both classes. Other
    documents are paired at random with one of the other class and of their stratum, and exchange labels within pairs.
    """
    _, units, _ = prepared(scored, asked)
    seed = seed_of("corpus_power", scored.name, asked["subset"] or "", asked["length"] or 0)
    alone = units.of_scores([name for name in units.names if name not in (REFERENCE, CHARACTERS)])
    rows: list[dict[str, Any]] = []
    for of in (alone, ensemble(units)):
        if of is not None:
            for name, exchanged in zip(of.names, _exchanged(of, seed), strict=True):
                about = coordinates("corpus_power", asked) | {"method": name, "n": DRAWS}
                rows += [about | {"documents": n, "value": share} for n, share in _power(exchanged, seed)]
    return rows


def _exchanged(units: Units, seed: int) -> Floats:
    """What each document, or pair, adds to an effect, as labelled and relabelled: (scores, documents, 1 + count)."""
    from scipy.sparse import csr_matrix

    within = set(units.document[units.suspect]) & set(units.document[~units.suspect])
    units = units if within else _paired(units, seed)
    block = np.unique(units.document if within else units.stratum, return_inverse=True)[1]
    labels = np.concatenate(list(relabellings(units.suspect, units.stratum, RELABELLINGS, seed)), axis=1)
    places = (block, np.arange(len(block)))
    return np.stack([csr_matrix((of, places)) @ labels for of in units.centred.T])


def _paired(units: Units, seed: int) -> Units:
    """Units in strata of two, one of each class; those that are left over go."""
    table = pd.DataFrame({"stratum": units.stratum, "suspect": units.suspect})
    shuffled = table.sample(frac=1, random_state=np.random.default_rng(seed))
    place = shuffled.groupby(["stratum", "suspect"]).cumcount().sort_index()
    pair = np.asarray(table.assign(place=place).groupby(["stratum", "place"]).ngroup())
    return replace(units, stratum=pair).of(np.bincount(pair)[pair] == 2)


def _power(exchanged: Floats, seed: int) -> list[tuple[int, float]]:
    """(documents, share of draws of this many with p <= `LEVEL`), of one score."""
    available = len(exchanged)
    order = np.random.default_rng(seed).random((DRAWS, available)).argsort(axis=1).argsort(axis=1)
    found, documents = [], 1
    while 2 * documents <= available:
        p = share_as_high((order < documents).astype(float) @ exchanged)
        found.append((documents, float((p <= LEVEL).mean())))
        documents *= 2
    return found
