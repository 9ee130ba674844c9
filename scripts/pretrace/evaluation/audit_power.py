"""The power of an audit on a benchmark with known labels, by the number of texts of a document."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.folds import FOLDS
from pretrace.evaluation.audit import COMBINED, cross_p_values, p_values, tied_methods
from pretrace.evaluation.audit_scores import ScoredBenchmark, audit_scores, seeing
from pretrace.evaluation.evidence import LEVEL, cauchy_p, cauchy_variable
from pretrace.evaluation.significance import wilson
from pretrace.evaluation.weights import WEIGHTED, weighted_rows
from pretrace.runtime.files import seed_of

TIMES = 20
"""How often a document's texts are drawn."""

FEWEST = 20
"""A share of fewer documents says little."""

MOST = 16
"""Texts of a document that an audit is given at most."""


def power(scored: ScoredBenchmark, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of `estimates.COLUMNS`: the share of documents (`n`) with p <= `evidence.LEVEL`, with Wilson's interval.

    One row for each `method`, number of `texts` and `label` (1 member, 0 non-member): an audit gets this number of a
    document's texts of one subset and of `asked`'s `length`. Every text is compared with the non-members of the other
    folds, as in `audit.audit`. A document's members and non-members count as two documents. If a document has more
    texts, some are drawn, `TIMES` times. Numbers of texts that fewer than `FEWEST` documents of each class have are
    left out. `asked` selects `start_token`, `references` and `methods` (empty: all but `weights.WEIGHTED`).
    """
    of = {"start_token": asked["start_token"], "references": {*asked["references"], ""}, "paraphraser": None}
    length, methods = asked["length"], asked["methods"]
    rows = audit_scores(scored, of)
    rows = rows[(rows["unit"] == "text") & (rows["length"] == (-1 if length is None else length))]
    rows = rows[rows["label"].notna() & (rows["document"] != "")]
    rows = rows.assign(p=cross_p_values(rows)).dropna(subset="p")
    tied = tied_methods(rows[rows["label"] == 0])
    if WEIGHTED in methods:
        rows = pd.concat([rows, *(_weighted(rows, fold, tied) for fold in range(FOLDS))], ignore_index=True)
    rows["cauchy"] = cauchy_variable(rows["p"])
    keys = ["id", "document", "subset", "label"]
    combined = seeing(rows, [*tied, WEIGHTED])
    together = combined.groupby(keys, sort=True)["cauchy"].mean().reset_index().assign(method=COMBINED)
    wide = pd.concat([rows, together]).pivot(index=keys, columns="method", values="cauchy")
    wide = wide[[method for method in wide if method in methods or not methods]].dropna()
    groups: dict[Any, np.ndarray] = {
        key: wide.to_numpy()[at] for key, at in wide.groupby(keys[1:], sort=True).indices.items()
    }
    about = {"quantity": "power", "length": length, "start_token": asked["start_token"]}
    about["reference"] = ", ".join(asked["references"])
    found = []
    for texts in range(1, MOST + 1):
        enough = {key: values for key, values in groups.items() if len(values) >= texts}
        members = np.array([label == 1 for *_, label in enough], dtype=bool)
        counts = [int((~members).sum()), int(members.sum())]
        if min(counts) < FEWEST:
            break
        shares = np.stack([_share(values, texts, key) for key, values in enough.items()])
        for kind in (0, 1):
            for method, value in zip(wide, shares[members == bool(kind)].mean(axis=0), strict=True):
                _, low, high = wilson(round(value * counts[kind]), counts[kind])
                numbers = {"n": counts[kind], "value": float(value), "low": low, "high": high}
                found.append(about | {"method": method, "texts": texts, "label": kind} | numbers)
    return found


def _weighted(rows: pd.DataFrame, fold: int, tied: Collection[str]) -> pd.DataFrame:
    """The texts of a fold by `WEIGHTED`: fitted on the next two folds, compared with the non-members of the others."""
    fitted_on = [(fold + 1) % FOLDS, (fold + 2) % FOLDS]
    found = weighted_rows(rows, fitted_on, tied)
    here = found["fold"] == fold
    others = found[(found["label"] == 0) & ~here & ~found["fold"].isin(fitted_on)]
    return found[here].assign(p=p_values(found[here], others)).dropna(subset="p")


def _share(values: np.ndarray, texts: int, key: tuple[Any, ...]) -> np.ndarray:
    """The share of draws of `texts` of a document's texts with p <= level; `values` (texts, methods)."""
    rng = np.random.default_rng(seed_of("audit_power", *key, texts))
    drawn = [values[rng.permutation(len(values))[:texts]].mean(axis=0) for _ in range(TIMES)]
    return np.asarray((cauchy_p(np.stack(drawn)) <= LEVEL).mean(axis=0))
