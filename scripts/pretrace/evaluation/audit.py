"""Audit of unlabelled texts: documents and texts against known non-members, with power and controls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.audit_controls import MATERIAL, ONE_SIDED, classifier_row, control_scores
from pretrace.evaluation.audit_scores import (
    OF_METHOD,
    Conditions,
    ScoredBenchmark,
    audit_scores,
    own_documents,
)
from pretrace.evaluation.averages import Record
from pretrace.evaluation.document_test import ScoredTexts, comparisons
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.roc import Flags, Floats, Whole
from pretrace.evaluation.significance import LEVEL, wilson_row
from pretrace.questions.known import is_control, is_question
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of

COLUMNS = [
    "unit", "id", "document", "method", "setting", "texts", "score", "effect", "p", "q", "flagged", "n",
]  # fmt: skip
"""A row of an audit.

unit             what is compared: a `document` or a `text` without a label, `all` of them together; a `known_document`
                 against the other ones; a `control` (all texts by a score that sees no model); the `positive` control;
                 `design`, numbers of the audit by `id`
texts            the unit's texts; of a known document, too
score            the mean of the method's scores (of `combined` none); of a `design` row its number
effect           how much higher the unit lies than the known documents, in standard deviations of a text
p, q, flagged    one-sided; over the units of one kind and method by Benjamini and Hochberg; q <= `LEVEL`
n                known documents that the unit is compared with
"""

UNITS = ("all", "document", "text", "known_document", "control", "positive", "design")
COMBINED = "combined"
"""All methods that see the model together: the mean of a text's normal scores. Conclusions rest on it."""

SLICE = ["subset", "length"]
"""Texts are ranked with texts of their own subset and length."""

SOUGHT = 0.5
"""The effect, in standard deviations of a text, for which the page says how many texts a document needs: what models of
100 million parameters show on verses that the web quotes every day."""

MOST_CHECKED = 200
"""Known documents that are compared with the others, at most; more tell nothing new."""


@dataclass(frozen=True)
class Side:
    """The audited or the known units: texts, or documents that questions were asked about.

    `frame` has `id, document, subset, length`, a row for each of `texts`; `methods`: method and setting of each score.
    """

    frame: pd.DataFrame
    methods: tuple[tuple[str, str], ...]
    texts: ScoredTexts

    def where(self, rows: Flags | Whole) -> "Side":
        return Side(self.frame.iloc[rows], self.methods, self.texts.where(rows))

    @cached_property
    def documents(self) -> int:
        return len(np.unique(self.texts.document))

    def by_document(self) -> dict[str, Whole]:
        return {str(name): np.asarray(rows) for name, rows in self.frame.groupby("document").indices.items()}


def audit(
    audited: ScoredBenchmark,
    known: ScoredBenchmark,
    runs: Sequence[Mapping[str, Any]],
    language: str = "en",
    positive: ScoredBenchmark | None = None,
) -> pd.DataFrame:
    """Return the table of `COLUMNS`: units without a label in `audited` against the non-members (label 0) of `known`.

    Every p is that of `document_test`: a document, a single text, or all documents together are compared with whole
    known documents; a text without a document is a document of its own. Each method is at its default setting, and
    `combined` is all of them that see the model. `q` is Benjamini and Hochberg's.

    `known_document`: each known document against the others, so that about `LEVEL` of them have p <= `LEVEL`.
    `control`: `audit_controls`, two-sided. `positive`: members of `positive` (label 1), which the model surely read,
    against its other texts. `design`: `known_documents`, `known_texts`, `documents`, `texts`, `icc` (the share of the
    variance of scores that lies between known documents), `smallest_effect` of a typical document (of as many texts as
    the median document) and of `all` together, at the level of `verdict_p`; `texts_needed`, how many texts such a
    document needs for the smallest effect `SOUGHT` (infinity: over 1,000); `least_p`, the p of a typical document
    whose texts all score higher than every known text; `verdict_p`.

    Raises InputError if no unit without a label has known non-members of its subset and length.
    """
    same, conditions = audited.name == known.name, Conditions.of_runs(runs)
    ours, theirs = (audit_scores(scored, conditions, same=same) for scored in (audited, known))
    ours, theirs = ours[ours["label"].isna()], theirs[theirs["label"].eq(0).fillna(False)]
    ours = _comparable(ours, theirs, audited, known)
    rows: list[Record] = []
    for unit in ("text", "document"):
        of_unit = [side[side["unit"] == unit] for side in (ours, theirs)]
        if len(of_unit[0]):
            rows += _compared(*_sides(*of_unit), texts=unit == "text")
    rows += _controls(_texts(audited, ours), _texts(known, theirs), language)
    if positive is not None:
        own = audit_scores(positive, conditions)
        own = own[own["unit"] == "text"]
        read, others = (own[own["label"].eq(label).fillna(False)] for label in (1, 0))
        if len(read):
            rows += _unit_rows("positive", positive.name, *_sides(read, others))
    frame = pd.DataFrame(rows).reindex(columns=COLUMNS)
    frame["q"] = _adjusted(frame)
    frame["flagged"] = frame["q"].le(LEVEL)
    control = frame["unit"] == "control"
    level = LEVEL / max(1, frame.loc[control, "p"].count())
    frame.loc[control, "flagged"] = frame["p"].le(level) & frame["effect"].abs().ge(MATERIAL)
    frame = pd.concat([frame, pd.DataFrame([_design_row("verdict_p", _verdict_p(frame))])], ignore_index=True)
    frame["unit"] = pd.Categorical(frame["unit"], UNITS, ordered=True)
    frame = frame.sort_values(["unit", *OF_METHOD, "id"], kind="stable", ignore_index=True)
    frame["flagged"] = frame["flagged"].eq(True)
    return frame.astype({"unit": object})[COLUMNS]


def _verdict_p(frame: pd.DataFrame) -> float:
    """Return the one p of the whole audit.

    Of one document it is its own. Of several it is twice the lower of two: that of all of them together, and the least
    q of the documents (Simes). Either is valid, and their double is valid for both.
    """
    together = frame[frame["method"] == COMBINED]
    documents = together[together["unit"] == "document"]
    if len(documents) == 1:
        return float(documents["p"].iloc[0])
    least = [documents["q"].min(), together.loc[together["unit"] == "all", "p"].min()]
    return min(1.0, float(2 * np.nanmin([*least, 1.0])))


def _design_row(id: str, score: float) -> Record:
    return {"unit": "design", "id": id, "method": "", "setting": "", "score": score}


def _comparable(
    ours: pd.DataFrame, theirs: pd.DataFrame, audited: ScoredBenchmark, known: ScoredBenchmark
) -> pd.DataFrame:
    """Return our rows that have known non-members in their slice; the log counts the units that have none."""
    keys = ["unit", *OF_METHOD, *SLICE]
    there = pd.MultiIndex.from_frame(theirs[keys])
    comparable = ours[pd.MultiIndex.from_frame(ours[keys]).isin(there)]
    lost = ours.loc[~ours["id"].isin(comparable["id"]), ["id", *SLICE]].drop_duplicates()
    if len(lost):
        slices = lost[SLICE].drop_duplicates()
        sizes = [f"{length} words" if length >= 0 else "texts" for length in slices["length"]]
        named = sorted(map("{} of subset '{}'".format, sizes, slices["subset"]))
        log.warning("%s: %d units cannot be audited: %s has no known non-member (label 0) among %s",
                    audited.name, len(lost), known.name, ", ".join(named))  # fmt: skip
    if comparable.empty:
        raise InputError(
            f"audit of {audited.name}: of {int(audited.benchmark['label'].isna().sum())} texts without a label, none "
            f"has a known non-member (label 0) of {known.name} with its subset and length, scored by the same methods. "
            "Non-members are comparable where subset and length are the same: give some such texts label 0, or name a "
            "benchmark that has them under the run's key calibrate_on."
        )
    return comparable


def _texts(scored: ScoredBenchmark, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the texts behind the rows: the texts that were scored, or all texts of the documents that were."""
    ids, documents = rows.loc[rows["unit"] == "text", "id"], rows.loc[rows["unit"] == "document", "document"]
    table = scored.benchmark
    return table[table["text_id"].isin(ids) | (table["document"].isin(documents) & (table["document"] != ""))]


def _sides(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[Side, Side]:
    """Return rows of `audit_scores`, of audited and of known units, as matrices of scores by our methods."""
    keys = ["id", "document", *SLICE]
    wide, other = (
        rows.pivot(index=keys, columns=OF_METHOD, values="score").sort_index(axis=1)
        for rows in (ours, theirs)
    )
    other = other.reindex(columns=wide.columns)
    methods = tuple((str(column[0]), str(column[1])) for column in wide.columns.tolist())
    frames = [side.index.to_frame(index=False) for side in (wide, other)]
    return _with_codes(methods, frames, [side.to_numpy(np.float64) for side in (wide, other)])


def _with_codes(
    methods: tuple[tuple[str, str], ...], frames: Sequence[pd.DataFrame], scores: Sequence[Floats]
) -> tuple[Side, Side]:
    """Return two sides by slice; a text without a document is a document of its own."""
    frames = [frame.assign(document=own_documents(frame["document"], frame["id"])) for frame in frames]
    both = pd.concat(frames[::-1], ignore_index=True)
    documents = np.asarray(pd.factorize(both["document"])[0], dtype=np.intp)
    slices = np.asarray(both.groupby(SLICE, sort=True).ngroup(), dtype=np.intp)
    sides = []
    for frame, own, rows in zip(
        frames, scores, (slice(len(frames[1]), None), slice(len(frames[1]))), strict=True
    ):
        order = np.argsort(slices[rows], kind="stable")
        texts = ScoredTexts(own, documents[rows], slices[rows]).where(order)
        sides.append(Side(frame.iloc[order].reset_index(drop=True), methods, texts))
    return sides[0], sides[1]


def _compared(suspects: Side, known: Side, *, texts: bool) -> Iterator[Record]:
    """Yield the rows of every unit, of the known documents, and of the design."""
    yield from _unit_rows("all", "", suspects, known)
    documents = {name: suspects.where(rows) for name, rows in suspects.by_document().items()}
    for name, own in documents.items():
        yield from _unit_rows("document", name.lstrip("\0"), own, known)
    if texts:
        for row, id in enumerate(suspects.frame["id"]):
            yield from _unit_rows("text", id, suspects.where(np.array([row])), known)
    of_known = known.by_document()
    names = sorted(of_known, key=lambda name: seed_of("known document", name))
    for name in names[:MOST_CHECKED] if len(names) > LEAST_DOCUMENTS else []:
        own = known.where(of_known[name])
        others = known.where(known.texts.document != own.texts.document[0])
        yield from _unit_rows("known_document", name.lstrip("\0"), own, others)
    yield from _design(suspects, known, list(documents.values()))


def _unit_rows(kind: str, id: str, rows: Side, known: Side) -> Iterator[Record]:
    """Yield a row for each method and one for `COMBINED`."""
    results = comparisons(known.texts, rows.texts, combined_methods(known))
    documents = rows.frame["document"].unique()
    document = documents[0] if len(documents) == 1 and documents[0][0] != "\0" else ""
    named = [*rows.methods, (COMBINED, "")]
    columns = [*rows.texts.scores.T, np.empty(0)]
    for (method, setting), scores, result in zip(named, columns, results, strict=False):
        known_scores = scores[~np.isnan(scores)]
        yield {
            "unit": kind, "id": id, "document": document, "method": method, "setting": setting,
            "texts": len(rows.frame), "score": float(known_scores.mean()) if len(known_scores) else np.nan,
            "effect": result.effect if result else np.nan, "p": result.p if result else np.nan,
            "n": known.documents,
        }  # fmt: skip


def combined_methods(known: Side) -> list[int]:
    """Return the places of the methods that see the model; of questions only where no method reads token probabilities.

    Without methods in which more than `LEVEL` of the known texts tie at the highest score, such as SURP where many
    texts have no surprising token: no suspect can exceed them.
    """
    places = [place for place, (method, _) in enumerate(known.methods) if not is_control(method)]
    places = [place for place in places if not is_question(known.methods[place][0])] or places
    return [place for place in places if _tied(known.texts.scores[:, place]) <= LEVEL]


def _tied(scores: Floats) -> float:
    """Return the share of the scores that tie at the highest."""
    scores = scores[~np.isnan(scores)]
    ties = int((scores == scores.max(initial=-np.inf)).sum())
    return ties / len(scores) if ties > 1 else 0.0


def _design(suspects: Side, known: Side, documents: Sequence[Side]) -> Iterator[Record]:
    """Yield the audit's design: numbers of documents and texts, smallest effects, the least p."""
    seen = combined_methods(known)
    if not seen:
        return
    sizes = [len(rows.frame) for rows in documents]
    typical = sorted(documents, key=lambda rows: len(rows.frame))[(len(documents) - 1) // 2]
    numbers: dict[str, float] = {
        "known_documents": known.documents,
        "known_texts": len(known.frame),
        "documents": len(documents),
        "texts": len(suspects.frame),
        "typical_texts": float(np.median(sizes)),
    }
    level = LEVEL if len(documents) == 1 else LEVEL / (2 * len(documents))
    for name, rows, threshold in (
        ("", typical, level),
        ("_all", suspects, LEVEL if len(documents) == 1 else LEVEL / 2),
    ):
        result = comparisons(known.texts, rows.texts, seen)[-1]
        if result is None:
            continue
        numbers[f"smallest_effect{name}"] = result.smallest_effect(threshold)
        if not name:
            numbers["icc"] = result.icc
            numbers["texts_needed"] = result.texts_needed(SOUGHT, threshold) or np.inf
        highest = replace(rows.texts, scores=np.full_like(rows.texts.scores, np.inf))
        best = comparisons(known.texts, highest, seen)[-1]
        numbers[f"least_p{name}"] = best.p if best else np.nan
    yield from (_design_row(id, score) for id, score in numbers.items())


def _controls(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> list[Record]:
    """Compare all audited texts with the known documents by scores that see no model."""
    from scipy.special import ndtri

    of_all = {"unit": "control", "id": "", "setting": "", "texts": len(audited)}
    frames = [
        table.rename(columns={"text_id": "id"})[["id", "document", *SLICE]].assign(
            length=table["length"].fillna(-1).astype(int)
        )
        for table in (audited, known)
    ]
    rows = []
    for method, scores in control_scores(audited, known, language).items():
        sides = _with_codes(((method, ""),), frames, [own[:, None] for own in scores])
        [result] = comparisons(sides[1].texts, sides[0].texts, [])
        row = of_all | {"method": method, "n": sides[1].documents}
        if result is not None:
            row |= {"effect": result.effect, "p": result.p if method in ONE_SIDED else result.two_sided}
        rows.append(row)
    learned = classifier_row(audited, known, language)
    # of two normal distributions of equal spread with this AUC
    return [*rows, of_all | learned | {"effect": np.sqrt(2) * ndtri(learned["score"])}]


def _adjusted(frame: pd.DataFrame) -> "pd.Series[float]":
    """Return Benjamini and Hochberg's q over the documents, and over the texts, of each method."""
    from scipy.stats import false_discovery_control

    tested = frame[frame["unit"].isin(["document", "text"]) & frame["p"].notna()]
    q = tested.groupby(["unit", *OF_METHOD])["p"].transform(false_discovery_control)
    return q.reindex(frame.index)


def low_shares(frame: pd.DataFrame) -> list[Record]:
    """Return, for `COMBINED`, how many known documents have p <= `LEVEL` (`low_p`), of how many (`n`).

    Their share with Wilson's interval (`value, low, high`), and whether that lies above `LEVEL` (`too_many`); nothing
    if none was tested.
    """
    own = frame[(frame["unit"] == "known_document") & (frame["method"] == COMBINED) & frame["p"].notna()]
    if own.empty:
        return []
    count = int(own["p"].le(LEVEL).sum())
    row = wilson_row(count, len(own))
    return [{"low_p": count, **row, "too_many": row["low"] > LEVEL}]
