"""Audit of unlabelled texts: their scores against those of known non-members, by text and by document."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_scores import OF_METHOD, ScoredBenchmark, audit_scores, seeing, shown
from pretrace.evaluation.evidence import (
    LAMBDA,
    LEVEL,
    cauchy_p,
    cauchy_variable,
    empirical_p,
    share_of_nonmembers,
)
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.shift import MATERIAL, shifts
from pretrace.evaluation.significance import wilson
from pretrace.evaluation.weights import WEIGHTED, weighted_rows
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

COLUMNS = ["unit", "id", "method", "setting", "score", "p", "q", "q_storey", "flagged"]
UNITS = ("text", "document", "nonmember", "nonmember_document", "share", "control")
COMBINED = "combined"
"""The evidence of all methods that see the model, as a method of its own."""

FITTED_ON = (0, 1)
"""The folds that weights are fitted on."""

CELL = ["unit", *OF_METHOD, "subset", "length"]
"""Columns in which a unit and its non-members are equal."""


def audit(
    audited: ScoredBenchmark, known: ScoredBenchmark, runs: Sequence[Mapping[str, Any]], language: str = "en"
) -> pd.DataFrame:
    """The table of `COLUMNS`: units without a label in `audited` against the non-members (label 0) of `known`.

    A unit is compared only with the non-members of its own subset and length.

    `text` and, if texts name one, `document`: each method at its default setting, and `combined`, all methods that see
    the model. A document's p combines those of its texts by Cauchy's rule, and its score is their mean; methods that
    ask questions score the document itself.

    q is Benjamini and Hochberg's over the units of one kind and method; `flagged` is q <= `LEVEL`. It is valid for
    p-values against the same non-members, which depend on each other positively (S. Bates, E. Candès, L. Lei, Y.
    Romano and M. Sesia, Testing for outliers with conformal p-values, Annals of Statistics 51, 2023).

    `nonmember`, `nonmember_document`: the known non-members of each fold against those of the other folds. `flagged`
    is p <= `LEVEL`, so about that share is expected. `control`: how well texts and non-members differ without a model
    (`shift.shifts`).

    `weighted`, if `known` has members too: one score of all methods, with weights fitted on `known`'s texts of the
    folds `FITTED_ON`, and compared with its non-members of the other folds. `share`: for each method, the estimated
    share of texts that were trained on (`evidence.share_of_nonmembers`). `q_storey` is Storey's adaptive form of q. It
    is proved for independent p-values. P-values of one score against the same non-members are nearly independent;
    combined ones are not, and have none.

    `runs` are those of the audited pair; `audit_scores.shown` selects from them. Raises InputError if no unit without
    a label has known non-members of its subset and length.
    """
    from scipy.stats import false_discovery_control

    same, of = audited.name == known.name, shown(runs)
    ours, theirs = (audit_scores(scored, of, same=same) for scored in (audited, known))
    ours, labelled = ours[ours["label"].isna()], theirs[theirs["label"].notna()]
    theirs = labelled[labelled["label"].eq(0)]
    ours = _comparable(ours, theirs, audited, known)
    tied = tied_methods(theirs)
    weighted = weighted_rows(pd.concat([ours, labelled]), FITTED_ON, tied)
    ours = pd.concat([ours, weighted[weighted["label"].isna()]], ignore_index=True)
    calibrating = weighted["label"].eq(0).fillna(False) & ~weighted["fold"].isin(FITTED_ON)
    theirs = pd.concat([theirs, weighted[calibrating]], ignore_index=True)
    found = evidence(ours.assign(p=p_values(ours, theirs)), tied)
    checked = evidence(theirs.assign(p=cross_p_values(theirs)).dropna(subset="p"), tied)
    checked["unit"] = checked["unit"].map({"text": "nonmember", "document": "nonmember_document"})
    found["q"] = found.groupby(["unit", *OF_METHOD])["p"].transform(false_discovery_control)
    shares = _shares(found)
    controls = shifts(_texts(audited, ours), _texts(known, theirs), language).assign(
        unit="control", id="", setting=""
    )
    frame = pd.concat([found, checked, shares, controls], ignore_index=True)
    frame["flagged"] = frame["q"].where(frame["unit"].isin(["text", "document"]), frame["p"]) <= LEVEL
    frame.loc[frame["unit"] == "control", "flagged"] &= (frame["score"] - 0.5).abs() >= MATERIAL
    frame["unit"] = pd.Categorical(frame["unit"], UNITS, ordered=True)
    frame = frame.sort_values(["unit", *OF_METHOD, "id"], kind="stable", ignore_index=True)
    return frame.astype({"unit": object})[COLUMNS]


def _shares(found: pd.DataFrame) -> pd.DataFrame:
    """The rows `share`; puts `q_storey` into the rows of texts in `found`."""
    rows = []
    for (method, setting), of in found[found["unit"] == "text"].groupby(OF_METHOD, sort=True):
        if method != COMBINED:
            nonmembers = share_of_nonmembers(of["p"])
            found.loc[of.index, "q_storey"] = (of["q"] * nonmembers).where(of["p"] <= LAMBDA, 1.0)
            rows.append(("share", "", method, setting, 1 - nonmembers))
    return pd.DataFrame(rows, columns=["unit", "id", *OF_METHOD, "score"])


def _comparable(
    ours: pd.DataFrame, theirs: pd.DataFrame, audited: ScoredBenchmark, known: ScoredBenchmark
) -> pd.DataFrame:
    """Our rows that have known non-members in their cell; the log counts the units that have none."""
    there = pd.MultiIndex.from_frame(theirs[CELL])
    kept = ours[pd.MultiIndex.from_frame(ours[CELL]).isin(there)]
    lost = ours.loc[~ours["id"].isin(kept["id"]), ["id", "subset", "length"]].drop_duplicates()
    if len(lost):
        places = ", ".join(sorted(map(_place, *lost[["subset", "length"]].drop_duplicates().T.to_numpy())))
        log.warning("%s: %d units cannot be audited: %s has no known non-member (label 0) among %s",
                    audited.name, len(lost), known.name, places)  # fmt: skip
    if kept.empty:
        raise InputError(
            f"audit of {audited.name}: of {int(audited.benchmark['label'].isna().sum())} texts without a label, none "
            f"has a known non-member (label 0) of {known.name} with its subset and length, scored by the same methods. "
            "Non-members are comparable where subset and length are the same: give some such texts label 0, or name a "
            "benchmark that has them under the run's key calibrate_on."
        )
    return kept


def _place(subset: str, length: int) -> str:
    return " of ".join([*([f"{length} words"] if length >= 0 else ["texts"]), f"subset '{subset}'"])


def _texts(scored: ScoredBenchmark, rows: pd.DataFrame) -> pd.DataFrame:
    """The texts behind the rows: those scored, or those of the documents scored."""
    ids, documents = rows.loc[rows["unit"] == "text", "id"], rows.loc[rows["unit"] == "document", "document"]
    table = scored.benchmark
    return table[table["text_id"].isin(ids) | (table["document"].isin(documents) & (table["document"] != ""))]


def p_values(ours: pd.DataFrame, theirs: pd.DataFrame) -> Floats:
    """`evidence.empirical_p` of each of our rows against their rows of the same `CELL`; NaN where there is none."""
    known = dict(list(theirs.groupby(CELL)["score"]))
    p = np.full(len(ours), np.nan)
    for cell, rows in ours.reset_index(drop=True).groupby(CELL):
        if cell in known:
            p[rows.index] = empirical_p(rows["score"], known[cell])
    return p


def cross_p_values(rows: pd.DataFrame) -> Floats:
    """Each row against the non-members (label 0) among the rows of the other folds."""
    p = np.full(len(rows), np.nan)
    folds, nonmember = rows["fold"].to_numpy(), rows["label"].eq(0).fillna(False).to_numpy(bool)
    for fold in np.unique(folds):
        here = folds == fold
        p[here] = p_values(rows[here], rows[~here & nonmember])
    return p


def low_shares(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each `unit` and `method` of an audit: how many units have p <= `LEVEL` (`low_p`), of how many (`n`),
    their share with Wilson's interval (`value, low, high`), and whether that lies above `LEVEL` (`too_many`).
    """
    units = frame[~frame["unit"].isin(["share", "control"])]
    counts = units["p"].le(LEVEL).groupby([units["unit"], units["method"]]).agg(low_p="sum", n="size")
    shares = [wilson(int(low), int(n)) for low, n in counts.itertuples(index=False)]
    counts[["value", "low", "high"]] = np.array(shares, dtype=np.float64).reshape(-1, 3)
    return counts.assign(too_many=counts["low"] > LEVEL).reset_index()


def tied_methods(nonmembers: pd.DataFrame) -> set[str]:
    """Methods that are excluded from `combined`: in some cell more than `LEVEL` of the non-members tie at the highest
    score.

    An example is SURP, if many texts have no surprising token. Their own p-values remain valid.
    """
    highest = nonmembers.groupby(CELL)["score"].agg(
        lambda of: (of == of.max()).sum() > max(1, LEVEL * len(of))
    )
    found = set(highest[highest].index.get_level_values("method"))
    if found:
        log.info(
            "excluded from the combined p-values, because many non-members tie at the highest score: %s",
            ", ".join(sorted(found)),
        )
    return found


def evidence(rows: pd.DataFrame, tied: Collection[str] = ()) -> pd.DataFrame:
    """Rows of `audit_scores` with a `p` -> `unit, id, method, setting, score, p`: those of texts, what they say
    together of their documents (with what questions say), and `COMBINED`, all methods that see the model but `tied`.
    """
    rows = rows.assign(cauchy=cauchy_variable(rows["p"]))
    texts = rows[rows["unit"] == "text"]
    parts = rows[rows["document"] != ""].assign(id=rows["document"])
    grouped = parts.groupby(["id", *OF_METHOD], sort=True)[["score", "cauchy"]].mean().reset_index()
    documents = grouped.assign(unit="document", p=cauchy_p(grouped["cauchy"]))
    frame = pd.concat([texts, documents], ignore_index=True)
    combined = seeing(frame, [*tied, WEIGHTED])
    together = combined.groupby(["unit", "id"], sort=True)["cauchy"].mean().reset_index()
    together = together.assign(method=COMBINED, setting="", p=cauchy_p(together["cauchy"]))
    return pd.concat([frame, together], ignore_index=True)[["unit", "id", *OF_METHOD, "score", "p"]]
