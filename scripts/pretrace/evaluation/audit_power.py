"""The power of an audit on a benchmark with known labels, by the number of texts of a document."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.audit import COMBINED, Rows, combined_methods, rows_by_method, unit_comparisons
from pretrace.evaluation.audit_scores import ScoredBenchmark, audit_scores
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.significance import wilson
from pretrace.runtime.files import seed_of

TIMES = 3
"""How often a document's texts are drawn."""

FEWEST = 20
"""A share of fewer documents says little."""

TEXTS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Texts of a document that an audit is given."""


AUDITED = ("min_k", "min_k_pp", "gap_k")
"""Methods of the audit whose power is computed, where a run scores them: those of config/studies/audit.yaml."""


def power(scored: ScoredBenchmark, conditions: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the share of documents (`n`) with p <= `evidence.LEVEL`, with Wilson's interval.

    One row for each `length`, `method`, number of `texts` and `label` (1 member, 0 non-member): an audit gets this
    number of a document's texts, and compares them with the non-members of all other documents, as `audit.audit` does.
    A document's members and non-members count as two documents. If a document has more texts, some are drawn, `TIMES`
    times. Numbers of texts that fewer than `FEWEST` documents of each class have are left out. `conditions` hold
    `start_token` and `references`.
    """
    chosen = {**conditions, "references": {*conditions["references"], ""}, "paraphraser": None}
    rows = audit_scores(scored, chosen)
    rows = rows[(rows["unit"] == "text") & rows["label"].notna() & (rows["document"] != "")]
    audited = rows["method"].isin(AUDITED)
    about = {"start_token": conditions["start_token"], "reference": ", ".join(conditions["references"])}
    for length, own in (rows[audited] if audited.any() else rows).groupby("length"):
        place = about | {"length": None if length == -1 else length}
        yield from (place | row for row in _powers({label: own[own["label"] == label] for label in (0, 1)}))


def _powers(classes: Mapping[int, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    sides = {label: rows_by_method(rows) for label, rows in classes.items()}
    known = sides[0]
    seen = combined_methods(known)
    names = [*(method for method, _ in known.methods), *([COMBINED] if seen else [])]
    sizes = {label: side.frame["document"].value_counts() for label, side in sides.items()}
    for texts in TEXTS:
        enough = {label: sorted(counts[counts >= texts].index) for label, counts in sizes.items()}
        if min(map(len, enough.values())) < FEWEST:
            return
        for label, documents in enough.items():
            drawn = [
                p <= LEVEL
                for document in documents
                for p in _draws(sides[label], document, texts, label, known, seen)
            ]
            for method, value in zip(names, np.stack(drawn).mean(axis=0), strict=True):
                _, low, high = wilson(round(value * len(documents)), len(documents))
                numbers = {"n": len(documents), "value": float(value), "low": low, "high": high}
                yield {"method": method, "texts": texts, "label": label} | numbers


def _draws(
    side: Rows, document: str, texts: int, label: int, known: Rows, seen: list[int]
) -> Iterator[np.ndarray]:
    """Yield the p of each method and of `COMBINED`, of each draw of a document's texts."""
    rng = np.random.default_rng(seed_of("audit_power", document, label, texts))
    rows = np.flatnonzero(side.column("document") == document)
    for _ in range(TIMES if len(rows) > texts else 1):
        inside = np.zeros(len(side.scores), dtype=bool)
        inside[rng.permutation(rows)[:texts]] = True
        results = unit_comparisons(side.where(inside), known, seen)
        yield np.array([np.nan if result is None else result.p for result in results])
