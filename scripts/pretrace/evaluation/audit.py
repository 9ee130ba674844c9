"""Audit of unlabelled texts: documents and texts against known non-members, with power and controls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pretrace.evaluation.audit_controls import MATERIAL, ONE_SIDED, classifier_row, control_scores
from pretrace.evaluation.audit_scores import OF_METHOD, ScoredBenchmark, audit_scores, own_documents, shown
from pretrace.evaluation.document_test import Comparison, ScoredTexts, comparisons
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.roc import Flags, Floats
from pretrace.evaluation.significance import wilson
from pretrace.questions.known import is_control, is_question
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import seed_of
from pretrace.runtime.logs import log

COLUMNS = [
    "unit",
    "id",
    "document",
    "method",
    "setting",
    "texts",
    "score",
    "effect",
    "p",
    "q",
    "flagged",
    "n",
]
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

CELL = ["subset", "length"]
"""Texts are ranked with texts of their own subset and length."""

SOUGHT = 0.5
"""The effect, in standard deviations of a text, for which the page says how many texts a document needs: what models of
100 million parameters show on verses that the web quotes every day."""

MOST_CHECKED = 200
"""Known documents that are compared with the others, at most; more tell nothing new."""


@dataclass(frozen=True)
class Rows:
    """Rows of texts, or of documents that questions were asked about, as a matrix of scores by method.

    `frame` has `id, document, subset, length`; its index numbers the rows of `scores`.
    """

    frame: pd.DataFrame
    methods: tuple[tuple[str, str], ...]
    scores: Floats

    def where(self, rows: "pd.Series[bool] | Flags") -> "Rows":
        inside = np.asarray(rows, dtype=bool)
        return Rows(self.frame[inside].reset_index(drop=True), self.methods, self.scores[inside])

    def column(self, name: str) -> NDArray[Any]:
        return self.frame[name].to_numpy()

    def is_at(self, place: tuple[str, int]) -> Flags:
        """Return which rows are of this subset and length."""
        return np.asarray((self.column("subset") == place[0]) & (self.column("length") == place[1]))


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
    same, chosen = audited.name == known.name, shown(runs)
    ours, theirs = (audit_scores(scored, chosen, same=same) for scored in (audited, known))
    ours, theirs = ours[ours["label"].isna()], theirs[theirs["label"].eq(0).fillna(False)]
    ours = _comparable(ours, theirs, audited, known)
    rows: list[dict[str, Any]] = []
    for unit in ("text", "document"):
        suspects, others = (rows_by_method(side[side["unit"] == unit]) for side in (ours, theirs))
        if len(suspects.frame):
            rows += _compared(suspects, others, unit)
    frame = pd.DataFrame(rows)
    texts = (_texts(audited, ours), _texts(known, theirs))
    parts = [frame, _controls(*texts, language)]
    if positive is not None:
        parts.append(_positive(positive, chosen))
    frame = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    frame["q"] = _adjusted(frame)
    frame["flagged"] = frame["q"].le(LEVEL)
    control = frame["unit"] == "control"
    level = LEVEL / max(1, frame.loc[control, "p"].count())
    frame.loc[control, "flagged"] = frame["p"].le(level) & frame["effect"].abs().ge(MATERIAL)
    frame = pd.concat([frame, verdict_rows(frame)], ignore_index=True)
    frame["unit"] = pd.Categorical(frame["unit"], UNITS, ordered=True)
    frame = frame.sort_values(["unit", *OF_METHOD, "id"], kind="stable", ignore_index=True)
    frame["flagged"] = frame["flagged"].eq(True)
    return frame.astype({"unit": object})[COLUMNS]


def verdict_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the `design` row `verdict_p`: the one p of the whole audit.

    Of one document it is its own. Of several it is twice the lower of two: that of all of them together, and the least
    q of the documents (Simes). Either is valid, and their double is valid for both.
    """
    together = frame[frame["method"] == COMBINED]
    documents = together[together["unit"] == "document"]
    least = [documents["q"].min(), together.loc[together["unit"] == "all", "p"].min()]
    p = documents["p"].min() if len(documents) == 1 else min(1.0, 2 * np.nanmin([*least, 1.0]))
    return pd.DataFrame([{"unit": "design", "id": "verdict_p", "method": "", "setting": "", "score": p}])


def rows_by_method(rows: pd.DataFrame) -> Rows:
    """Return rows of `audit_scores` as a matrix; a text without a document is a document of its own."""
    keys = ["id", "document", *CELL]
    wide = rows.pivot(index=keys, columns=OF_METHOD, values="score").sort_index(axis=1)
    frame = wide.index.to_frame(index=False)
    frame["document"] = own_documents(frame["document"], frame["id"])
    # selected thousands of times: strings of Arrow are slow there
    frame = frame.astype(dict.fromkeys(("id", "document", "subset"), object))
    methods = tuple((str(column[0]), str(column[1])) for column in wide.columns.tolist())
    return Rows(frame, methods, wide.to_numpy(np.float64))


def _compared(suspects: Rows, known: Rows, unit: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of every unit, of the known documents, and of the design; `unit` is what was scored."""
    known = _aligned(known, suspects.methods)
    own = {
        name: suspects.where(suspects.frame["document"] == name)
        for name in suspects.frame["document"].unique()
    }
    groups = {("all", ""): suspects} | {("document", name.lstrip("\0")): rows for name, rows in own.items()}
    if unit == "text":
        groups |= {("text", id): suspects.where(suspects.frame["id"] == id) for id in suspects.frame["id"]}
    for (kind, id), rows in groups.items():
        yield from _unit_rows(kind, id, rows, known)
    names = sorted(known.frame["document"].unique(), key=lambda name: seed_of("known document", name))
    for name in names[:MOST_CHECKED] if len(names) > LEAST_DOCUMENTS else []:
        inside = known.frame["document"] == name
        yield from _unit_rows("known_document", name.lstrip("\0"), known.where(inside), known.where(~inside))
    yield from _design(suspects, known, list(own.values()))


def _aligned(known: Rows, methods: tuple[tuple[str, str], ...]) -> Rows:
    """Return the known rows with the suspects' methods in their order; NaN where a method has none."""
    place = {method: index for index, method in enumerate(known.methods)}
    columns = [
        known.scores[:, place[method]] if method in place else np.full(len(known.frame), np.nan)
        for method in methods
    ]
    return Rows(known.frame, methods, np.stack(columns, axis=1))


def _unit_rows(kind: str, id: str, rows: Rows, known: Rows) -> Iterator[dict[str, Any]]:
    """Yield a row for each method and one for `COMBINED`."""
    results = unit_comparisons(rows, known, combined_methods(known))
    documents = sorted(rows.frame["document"].unique())
    about = {
        "unit": kind, "id": id, "document": documents[0] if len(documents) == 1 and documents[0][0] != "\0" else "",
        "texts": len(rows.frame),
    }  # fmt: skip
    named = [*rows.methods, (COMBINED, "")][: len(results)]
    scores = [*map(_mean, rows.scores.T), np.nan]
    for (method, setting), score, result in zip(named, scores, results, strict=False):
        yield about | {"method": method, "setting": setting, "score": score} | _numbers(result, known)


def unit_comparisons(rows: Rows, known: Rows, combined: Sequence[int]) -> list[Comparison | None]:
    """Compare a unit with the known documents other than its own, by each method, then by those at `combined`."""
    return comparisons(*_places(rows, known), combined)


def _numbers(result: Comparison | None, known: Rows) -> dict[str, Any]:
    count = known.frame["document"].nunique()
    if result is None:
        return {"effect": np.nan, "p": np.nan, "n": count}
    return {"effect": result.effect, "p": result.p, "n": count}


def _mean(scores: Floats) -> float:
    return float(np.nanmean(scores)) if not np.isnan(scores).all() else np.nan


def combined_methods(known: Rows) -> list[int]:
    """Return the places of the methods that see the model; of questions only where no method reads token probabilities.

    Without methods in which more than `LEVEL` of the known texts tie at the highest score, such as SURP where many
    texts have no surprising token: no suspect can exceed them.
    """
    places = [index for index, (method, _) in enumerate(known.methods) if not is_control(method)]
    places = [index for index in places if not is_question(known.methods[index][0])] or places
    return [index for index in places if _tied(known.scores[:, index]) <= LEVEL]


def _tied(scores: Floats) -> float:
    """Return the share of the scores that tie at the highest."""
    scores = scores[~np.isnan(scores)]
    ties = int((scores == scores.max(initial=-np.inf)).sum())
    return ties / len(scores) if ties > 1 else 0.0


def _places(rows: Rows, known: Rows) -> tuple[list[ScoredTexts], list[ScoredTexts]]:
    """Return known and suspect texts by the suspects' places, without known texts of the suspects' own documents."""
    documents = pd.factorize(np.concatenate([known.column("document"), rows.column("document")]))[0]
    theirs, ours = documents[: len(known.scores)], documents[len(known.scores) :]
    outside = ~np.isin(theirs, ours)
    pairs = []
    for place in sorted(set(zip(rows.column("subset"), rows.column("length"), strict=True))):
        there = outside & known.is_at(place)
        if there.any():
            here = rows.is_at(place)
            pairs.append(
                (ScoredTexts(known.scores[there], theirs[there]), ScoredTexts(rows.scores[here], ours[here]))
            )
    return [first for first, _ in pairs], [second for _, second in pairs]


def _design(suspects: Rows, known: Rows, documents: Sequence[Rows]) -> Iterator[dict[str, Any]]:
    """Yield the audit's design: numbers of documents and texts, smallest effects, the least p."""
    seen = combined_methods(known)
    if not seen:
        return
    sizes = [len(rows.frame) for rows in documents]
    typical = sorted(documents, key=lambda rows: len(rows.frame))[(len(documents) - 1) // 2]
    numbers: dict[str, float] = {
        "known_documents": known.frame["document"].nunique(),
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
        result = unit_comparisons(rows, known, seen)[-1]
        if result is None:
            continue
        numbers[f"smallest_effect{name}"] = result.smallest_effect(threshold)
        if not name:
            numbers["icc"] = result.icc
            numbers["texts_needed"] = result.texts_needed(SOUGHT, threshold) or np.inf
        highest = replace(rows, scores=np.full_like(rows.scores, np.inf))
        best = unit_comparisons(highest, known, seen)[-1]
        numbers[f"least_p{name}"] = best.p if best else np.nan
    for id, score in numbers.items():
        yield {"unit": "design", "id": id, "method": "", "setting": "", "score": score}


def _controls(audited: pd.DataFrame, known: pd.DataFrame, language: str) -> pd.DataFrame:
    """Compare all audited texts with the known documents by scores that see no model."""
    from scipy.special import ndtri

    rows = []
    for method, side_scores in control_scores(audited, known, language).items():
        sides = []
        for table, scores in zip((audited, known), side_scores, strict=True):
            frame = table.rename(columns={"text_id": "id"})[["id", "document", *CELL]].reset_index(drop=True)
            frame["document"] = own_documents(frame["document"], frame["id"])
            frame["length"] = frame["length"].fillna(-1).astype(int)
            sides.append(Rows(frame, ((method, ""),), scores[:, None]))
        result = unit_comparisons(sides[0], sides[1], [])[0]
        about = {"unit": "control", "id": "", "method": method, "setting": "", "texts": len(audited)}
        p = np.nan if result is None else (result.p if method in ONE_SIDED else result.two_sided)
        effect = np.nan if result is None else result.effect
        rows.append(about | {"effect": effect, "p": p, "n": sides[1].frame["document"].nunique()})
    learned = classifier_row(audited, known, language)
    effect = np.sqrt(2) * ndtri(learned["score"])  # of two normal distributions of equal spread with this AUC
    rows.append(
        {**learned, "unit": "control", "id": "", "setting": "", "texts": len(audited), "effect": effect}
    )
    return pd.DataFrame(rows)


def _positive(scored: ScoredBenchmark, chosen: Mapping[str, Any]) -> pd.DataFrame:
    """Compare the passages that a model surely read (label 1) with the others of their book (label 0)."""
    rows = audit_scores(scored, chosen)
    rows = rows[rows["unit"] == "text"]
    sides = [rows_by_method(rows[rows["label"].eq(label).fillna(False)]) for label in (1, 0)]
    if not len(sides[0].frame):
        return pd.DataFrame()
    return pd.DataFrame(
        list(_unit_rows("positive", scored.name, sides[0], _aligned(sides[1], sides[0].methods)))
    )


def _adjusted(frame: pd.DataFrame) -> "pd.Series[float]":
    """Return Benjamini and Hochberg's q over the documents, and over the texts, of each method."""
    from scipy.stats import false_discovery_control

    tested = frame[frame["unit"].isin(["document", "text"]) & frame["p"].notna()]
    q = tested.groupby(["unit", *OF_METHOD])["p"].transform(false_discovery_control)
    return q.reindex(frame.index)


def _comparable(
    ours: pd.DataFrame, theirs: pd.DataFrame, audited: ScoredBenchmark, known: ScoredBenchmark
) -> pd.DataFrame:
    """Return our rows that have known non-members in their place; the log counts the units that have none."""
    places = ["unit", *OF_METHOD, *CELL]
    there = pd.MultiIndex.from_frame(theirs[places])
    comparable = ours[pd.MultiIndex.from_frame(ours[places]).isin(there)]
    lost = ours.loc[~ours["id"].isin(comparable["id"]), ["id", *CELL]].drop_duplicates()
    if len(lost):
        named = ", ".join(sorted(map(_place, *lost[CELL].drop_duplicates().T.to_numpy())))
        log.warning("%s: %d units cannot be audited: %s has no known non-member (label 0) among %s",
                    audited.name, len(lost), known.name, named)  # fmt: skip
    if comparable.empty:
        raise InputError(
            f"audit of {audited.name}: of {int(audited.benchmark['label'].isna().sum())} texts without a label, none "
            f"has a known non-member (label 0) of {known.name} with its subset and length, scored by the same methods. "
            "Non-members are comparable where subset and length are the same: give some such texts label 0, or name a "
            "benchmark that has them under the run's key calibrate_on."
        )
    return comparable


def _place(subset: str, length: int) -> str:
    return " of ".join([*([f"{length} words"] if length >= 0 else ["texts"]), f"subset '{subset}'"])


def _texts(scored: ScoredBenchmark, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the texts behind the rows: the texts that were scored, or all texts of the documents that were."""
    ids, documents = rows.loc[rows["unit"] == "text", "id"], rows.loc[rows["unit"] == "document", "document"]
    table = scored.benchmark
    return table[table["text_id"].isin(ids) | (table["document"].isin(documents) & (table["document"] != ""))]


def low_shares(frame: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Return, for `COMBINED`, how many known documents have p <= `LEVEL` (`low_p`), of how many (`n`).

    Their share with Wilson's interval (`value, low, high`), and whether that lies above `LEVEL` (`too_many`); nothing
    if none was tested.
    """
    own = frame[(frame["unit"] == "known_document") & (frame["method"] == COMBINED) & frame["p"].notna()]
    if own.empty:
        return []
    count = int(own["p"].le(LEVEL).sum())
    value, low, high = wilson(count, len(own))
    return [
        {"low_p": count, "n": len(own), "value": value, "low": low, "high": high, "too_many": low > LEVEL}
    ]
