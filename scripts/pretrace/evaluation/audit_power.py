"""The power of an audit on a benchmark with known labels, by the number of texts of a document."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.audit import COMBINED, combined_methods, rows_by_method, unit_comparisons
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


def power(scored: ScoredBenchmark, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of `estimates.COLUMNS`: the share of documents (`n`) with p <= `evidence.LEVEL`, with Wilson's interval.

    One row for each `method`, number of `texts` and `label` (1 member, 0 non-member): an audit gets this number of a
    document's texts of `asked`'s `length`, and compares them with the non-members of all other documents, as
    `audit.audit` does. A document's members and non-members count as two documents. If a document has more texts, some
    are drawn, `TIMES` times. Numbers of texts that fewer than `FEWEST` documents of each class have are left out.
    `asked` selects `start_token`, `references` and `methods` (empty: all; others take no part in `COMBINED`).
    """
    chosen = {
        "start_token": asked["start_token"],
        "references": {*asked["references"], ""},
        "paraphraser": None,
    }
    length = asked["length"]
    rows = audit_scores(scored, chosen)
    rows = rows[(rows["unit"] == "text") & (rows["length"] == (-1 if length is None else length))]
    rows = rows[rows["label"].notna() & (rows["document"] != "")]
    if asked["methods"]:
        rows = rows[rows["method"].isin(list(asked["methods"]))]
    sides = {label: rows_by_method(rows[rows["label"] == label]) for label in (0, 1)}
    known = sides[0]
    seen = combined_methods(known)
    names = [*(method for method, _ in known.methods), *([COMBINED] if seen else [])]
    about = {"quantity": "power", "length": length, "start_token": asked["start_token"]}
    about["reference"] = ", ".join(asked["references"])
    result = []
    for texts in TEXTS:
        sizes = {label: side.frame["document"].value_counts() for label, side in sides.items()}
        enough = {label: sorted(counts[counts >= texts].index) for label, counts in sizes.items()}
        if min(map(len, enough.values())) < FEWEST:
            break
        for label, documents in enough.items():
            drawn = [
                p <= LEVEL
                for document in documents
                for p in _draws(sides[label], document, texts, label, known, seen)
            ]
            for method, value in zip(names, np.stack(drawn).mean(axis=0), strict=True):
                _, low, high = wilson(round(value * len(documents)), len(documents))
                numbers = {"n": len(documents), "value": float(value), "low": low, "high": high}
                result.append(about | {"method": method, "texts": texts, "label": label} | numbers)
    return result


def _draws(
    side: Any, document: str, texts: int, label: int, known: Any, seen: list[int]
) -> Iterator[np.ndarray]:
    """The p of each method and of `COMBINED`, of each draw of a document's texts."""
    rng = np.random.default_rng(seed_of("audit_power", document, label, texts))
    rows = np.flatnonzero(side.frame["document"] == document)
    for _ in range(TIMES if len(rows) > texts else 1):
        inside = pd.Series(False, side.frame.index)
        inside.iloc[rng.permutation(rows)[:texts]] = True
        results = unit_comparisons(side.where(inside), known, seen)
        yield np.array([np.nan if one is None else one.p for one in results])
