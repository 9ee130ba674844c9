"""Audit of texts that a model may have read, against known ones: one p, documents,
checks, and what could be found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log10
from typing import Any

import numpy as np
import pandas as pd

from pretrace.benchmarks.audit_design import LEVEL, known_to_name
from pretrace.evaluation.audit_controls import unusual
from pretrace.evaluation.audit_documents import Documents
from pretrace.evaluation.audit_rows import COMBINED, AuditRow, audit_table, design_row
from pretrace.evaluation.audit_scores import (
    OF_METHOD,
    Conditions,
    ScoredBenchmark,
    audit_scores,
    own_documents,
    see_base,
)
from pretrace.evaluation.audit_texts import check_rows, compared_documents
from pretrace.evaluation.exchange import AuditedTexts, Units, units_of
from pretrace.evaluation.roc import Floats
from pretrace.evaluation.taken_off import explained
from pretrace.questions.known import is_control, is_question
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of

SLICE = ["subset", "length"]
"""Texts are ranked with texts of their own subset and length."""

SOUGHT = 0.5
"""The effect, in standard deviations of a text, for which the page says how many texts
a document needs: what models of 100 million parameters show on verses that the web
quotes every day."""


def audit(
    audited: ScoredBenchmark,
    known: ScoredBenchmark,
    runs: Sequence[Mapping[str, Any]],
    language: str = "en",
    positive: ScoredBenchmark | None = None,
    *,
    randomised: bool = False,
) -> pd.DataFrame:
    """Return the table of `AUDIT_COLUMNS`: texts in question of `audited` against the
    known ones (label 0) of `known`.

    In question are the texts without a label or, where all have one, those with label
    1. p is that of `exchange`: whole documents exchange their labels or, if
    `randomised`, the texts of each document that holds both kinds. A text without a
    document is a document of its own. Each method is at its default setting.

    Outlying documents, of either side, take no part (`audit_controls.outliers`).
    `control`: `audit_controls.checks` and, if p of all together is at most `LEVEL`,
    `taken_off.explained`; none if labels were drawn at random. `positive`: members of
    `positive` (label 1), which most models of the web have read, against its other
    texts.
    `design`: `known_documents`, `known_texts`, `documents`, `texts` and `typical_texts`
    (median of a document) that are compared; `outliers` and `known_outliers`, documents
    left out; `randomised`; `even` (documents have as many texts, so that p is exact);
    `icc` (the share of the variance of scores that lies between documents);
    `smallest_effect` that is found in four of five audits; `texts_needed`, how many
    texts each document needs for the effect `SOUGHT` (infinity: over 1,000);
    `log10_ways` to exchange labels; `documents_to_name`, how many known documents let a
    single one in question be named; `based`, where scores are by how much likelier a
    text is than in a base model.

    Raises InputError if no text in question has known ones of its subset and length.
    """
    conditions = Conditions.of_runs(runs)
    ours, theirs = _sides(audited, known, conditions)
    ours = _comparable(ours, theirs, audited, known)
    frame, texts, methods = _compared_texts(ours, theirs, randomised=randomised)
    rows: list[AuditRow] = []
    compared = None
    out = np.zeros(len(frame), dtype=bool)
    if not texts.within:
        compared = compared_documents(
            _texts_behind(frame[frame["suspect"]], audited),
            _texts_behind(frame[~frame["suspect"]], known),
            language,
        )
        out = frame["document"].isin(compared.outlying).to_numpy(bool)
        rows += _left_out(frame[out & frame["suspect"]])
    left_out = frame[out].groupby("suspect")["document"].nunique()
    rows.append(design_row("outliers", float(left_out.get(True, 0))))
    rows.append(design_row("known_outliers", float(left_out.get(False, 0))))
    frame, texts = frame[~out].reset_index(drop=True), texts.where(~out)
    ranks = texts.ranks(combined_methods(texts, methods))
    based = see_base(method for method, _ in methods)
    if based:
        rows.append(design_row("based", 1.0))
    single = bool((ours["unit"] == "text").all())
    results = [*_rows(frame, texts, methods, ranks, single=single)]
    if compared is not None and compared.has_both_sides:
        usual = compared.usual
        rows += check_rows(usual, based=based)
        if _p_together(results) <= LEVEL:
            scores = _standardised(usual.names, frame, texts, ranks[:, -1])
            rows.append(explained(usual, scores, kinds=based))
        results = _without_unusual(results, usual)
    rows += results
    if positive is not None:
        rows += _positive(positive, conditions)
    return audit_table(rows)


def checks_before_scores(
    ours: pd.DataFrame, theirs: pd.DataFrame, language: str = "en", *, based: bool
) -> pd.DataFrame:
    """Return the rows of `audit` that no score changes, for texts in question and known
    ones.

    `ours`, `theirs`: tables of texts as a benchmark's (`text_id, text, document,
    subset, length`). The rows are those of checks, and of `design` the numbers of
    documents and of outlying ones. `based`: scores will be beside a base model.
    """
    ours, theirs = _with_own_documents(ours), _with_own_documents(theirs)
    compared = compared_documents(ours, theirs, language)
    out = ours[ours["document"].isin(compared.outlying)]
    rows: list[AuditRow] = [*_left_out(out)]
    outliers = out["document"].nunique()
    suspect = compared.usual.suspect
    numbers = {
        "outliers": outliers,
        "known_outliers": len(compared.outlying) - outliers,
        "documents": suspect.sum(),
        "known_documents": (~suspect).sum(),
    }
    rows += [design_row(id, float(number)) for id, number in numbers.items()]
    if compared.has_both_sides:
        rows += check_rows(compared.usual, based=based)
    return audit_table(rows)


def _sides(
    audited: ScoredBenchmark, known: ScoredBenchmark, conditions: Conditions
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scored units in question and the known ones: texts, or documents where
    only these have scores."""
    unlabelled = bool(audited.benchmark["label"].isna().any())
    same = unlabelled and audited.name == known.name
    ours = audit_scores(audited, conditions, same=same)
    theirs = audit_scores(known, conditions, same=same)
    if unlabelled:
        ours = ours[ours["label"].isna()]
    else:
        ours = ours[ours["label"].eq(1).fillna(False)]
    theirs = theirs[theirs["label"].eq(0).fillna(False)]
    kind = "text" if _has_texts(ours) and _has_texts(theirs) else "document"
    return ours[ours["unit"] == kind], theirs[theirs["unit"] == kind]


def _has_texts(side: pd.DataFrame) -> bool:
    """Tell whether a method that sees the model scored texts of a side."""
    is_control_row = side["method"].map(is_control).astype(bool)
    return bool((side["unit"].eq("text") & ~is_control_row).any())


def _left_out(texts: pd.DataFrame) -> Iterator[AuditRow]:
    """Yield a row for each document of outlying texts in question."""
    for name, own in texts.groupby("document", sort=True):
        shown = _shown(str(name))
        yield AuditRow("document", shown, shown, texts=len(own))


def _p_together(rows: Sequence[AuditRow]) -> float:
    """Return the p of all texts in question together; NaN if there is none."""
    for row in rows:
        if row.unit == "all" and row.p is not None:
            return row.p
    return np.nan


def _without_unusual(rows: Sequence[AuditRow], documents: Documents) -> list[AuditRow]:
    """Return the rows; documents that look unlike the known ones are not named
    alone."""
    odd = set(map(_shown, unusual(documents)))
    named = []
    for row in rows:
        is_odd = row.unit == "document" and row.id in odd
        named.append(replace(row, flagged=False) if is_odd else row)
    return named


def _shown(document: str) -> str:
    return document.lstrip("\0")


def _compared_texts(
    ours: pd.DataFrame, theirs: pd.DataFrame, *, randomised: bool
) -> tuple[pd.DataFrame, AuditedTexts, list[tuple[str, str]]]:
    """Return `id, document, subset, length, suspect` of the texts that are compared,
    their scores, and our methods.

    Known texts of a document in question take no part; if labels were drawn at random
    within documents, these texts alone do, at the length that most of them have.
    """
    keys = ["id", "document", *SLICE, "suspect"]
    both = pd.concat([ours.assign(suspect=True), theirs.assign(suspect=False)])
    wide = both.pivot(index=keys, columns=OF_METHOD, values="score").sort_index(axis=1)
    columns = ours[OF_METHOD].drop_duplicates().sort_values(OF_METHOD)
    methods = list(columns.itertuples(index=False, name=None))
    wide = wide[methods]
    frame = wide.index.to_frame(index=False)
    frame["document"] = own_documents(frame["document"], frame["id"])
    sides = frame.groupby("document")["suspect"].transform("nunique")
    within = randomised and bool((sides == 2).any())
    rows = (sides == 2) if within else frame["suspect"] | (sides == 1)
    if within and frame.loc[rows, "length"].nunique() > 1:
        # shorter texts may be parts of longer ones
        counts = frame.loc[rows, "length"].value_counts().sort_index(ascending=False)
        rows &= frame["length"] == counts.idxmax()
        log.info(
            "texts of %d words are compared, the most frequent length", counts.idxmax()
        )
    chosen = rows.to_numpy(bool)
    frame = frame[chosen].reset_index(drop=True)
    texts = AuditedTexts(
        scores=wide.to_numpy(np.float64)[chosen],
        document=pd.factorize(frame["document"])[0].astype(np.intp),
        slice=np.asarray(frame.groupby(SLICE, sort=True).ngroup(), dtype=np.intp),
        suspect=frame["suspect"].to_numpy(bool),
        within=within,
    )
    return frame, texts, methods


def _texts_behind(units: pd.DataFrame, scored: ScoredBenchmark) -> pd.DataFrame:
    """Return the rows of a benchmark's table that units of one side are, or, if these
    are documents, that they hold."""
    table = _with_own_documents(scored.benchmark)
    is_unit = table["text_id"].isin(units["id"])
    if not is_unit.any():
        is_unit = table["document"].isin(units["document"])
    return table[is_unit]


def _with_own_documents(table: pd.DataFrame) -> pd.DataFrame:
    document = own_documents(table["document"], table["text_id"])
    return table.assign(document=document)


def _standardised(
    documents: Sequence[str], frame: pd.DataFrame, texts: AuditedTexts, normal: Floats
) -> Floats:
    """Return the scores that an exchange of `documents` sums; 0, which is their mean,
    for one without any."""
    units = units_of(texts, normal)
    names = frame["document"].groupby(texts.document).first()[units.document]
    scores = dict(zip(names, units.standardised, strict=True))
    return np.array([scores.get(name, 0.0) for name in documents], dtype=np.float64)


def _rows(
    frame: pd.DataFrame,
    texts: AuditedTexts,
    methods: Sequence[tuple[str, str]],
    ranks: Floats,
    *,
    single: bool,
) -> Iterator[AuditRow]:
    """Yield rows of all texts in question, of their documents and, if they are `single`
    texts, of each; the design."""
    for place, named in enumerate(methods):
        units = units_of(texts, ranks[:, place])
        if units.suspect.any():
            scores = texts.scores[:, place]
            yield from _of_method(frame, texts, units, scores, named)
    together = units_of(texts, ranks[:, -1])
    if together.suspect.any():
        no_scores = np.full(len(frame), np.nan)
        yield from _of_method(frame, texts, together, no_scores, (COMBINED, ""))
        yield from _design(frame, texts, together)
    if single and not texts.within:
        yield from _of_texts(frame, texts, ranks[:, -1])


def _of_method(
    frame: pd.DataFrame,
    texts: AuditedTexts,
    units: Units,
    scores: Floats,
    named: tuple[str, str],
) -> Iterator[AuditRow]:
    """Yield the row of all texts in question and, but for labels drawn within
    documents, one of each document."""
    method, setting = named
    combined = method == COMBINED
    known = int((~units.suspect).sum())
    yield AuditRow(
        "all",
        method=method,
        setting=setting,
        texts=int(texts.suspect.sum()),
        score=_mean(scores[texts.suspect]),
        effect=units.effect,
        p=units.p(seed_of("exchange", *frame["id"])) if combined else None,
        n=known,
    )
    if texts.within:
        return
    ranks, above = units.conformal_p, units.above_known
    names = frame["document"].to_numpy()
    ours = np.flatnonzero(texts.suspect)
    of_document = pd.Series(ours).groupby(texts.document[ours]).indices
    for unit in np.flatnonzero(units.suspect):
        rows = ours[of_document[units.document[unit]]]
        name = names[rows[0]]
        has_name = _shown(name) == name
        yield AuditRow(
            "document",
            _shown(name),
            document=name if has_name else "",
            method=method,
            setting=setting,
            texts=len(rows),
            score=_mean(scores[rows]),
            effect=above[unit],
            p=ranks[unit] if combined else None,
            n=known,
        )


def _mean(scores: Floats) -> float:
    scores = scores[~np.isnan(scores)]
    return float(scores.mean()) if len(scores) else np.nan


def _of_texts(
    frame: pd.DataFrame, texts: AuditedTexts, ranks: Floats
) -> Iterator[AuditRow]:
    """Yield each text in question with its p: (1 + the known documents' shares of texts
    that lie as high) / (1 + K).

    The texts of a document are alike, so that each of the K known documents counts as
    one: Lee, Barber and Willett, Distribution-free Inference with Hierarchical Data,
    2023.
    """
    scored = ~np.isnan(ranks)
    ids, names = frame["id"].to_numpy(), frame["document"].to_numpy()
    for code in np.unique(texts.slice[texts.suspect]):
        here = (texts.slice == code) & scored
        known = np.flatnonzero(here & ~texts.suspect)
        of_document = np.bincount(texts.document[known])
        weights = 1 / of_document[texts.document[known]]
        documents = weights.sum()
        mean = weights @ ranks[known] / documents
        falling = np.argsort(-ranks[known], kind="stable")
        ordered = -ranks[known][falling]
        # the weights of the highest none, one, two, ... known texts together
        of_highest = np.concatenate([[0.0], np.cumsum(weights[falling])])
        for row in np.flatnonzero(here & texts.suspect):
            document = str(names[row])
            has_name = _shown(document) == document
            as_high = of_highest[np.searchsorted(ordered, -ranks[row], side="right")]
            yield AuditRow(
                "text",
                ids[row],
                document=document if has_name else "",
                method=COMBINED,
                texts=1,
                effect=ranks[row] - mean,
                p=(1 + as_high) / (1 + documents),
                n=round(documents),
            )


def combined_methods(
    texts: AuditedTexts, methods: Sequence[tuple[str, str]]
) -> list[int]:
    """Return the places of methods but controls; of questions only where no method
    reads token probabilities.

    Without methods in which more than `LEVEL` of the texts tie at the highest score,
    such as SURP where many texts have no surprising token: no suspect can exceed them.
    """
    reading: list[int] = []
    asking: list[int] = []
    for place, (method, _) in enumerate(methods):
        if is_control(method):
            continue
        if is_question(method):
            asking.append(place)
        else:
            reading.append(place)
    return [
        place
        for place in reading or asking
        if _share_tied(texts.scores[:, place]) <= LEVEL
    ]


def _share_tied(scores: Floats) -> float:
    """Return the share of the scores that tie at the highest."""
    scores = scores[~np.isnan(scores)]
    ties = int((scores == scores.max(initial=-np.inf)).sum())
    return ties / len(scores) if ties > 1 else 0.0


def _design(
    frame: pd.DataFrame, texts: AuditedTexts, units: Units
) -> Iterator[AuditRow]:
    """Yield the audit's design: numbers of documents and texts, and what these find."""
    ours, theirs = frame[texts.suspect], frame[~texts.suspect]
    documents = ours["document"].nunique()
    numbers = {
        "known_documents": theirs["document"].nunique(),
        "known_texts": len(theirs),
        "documents": documents,
        "texts": len(ours),
        "typical_texts": ours.groupby("document").size().median(),
        "randomised": texts.within,
        "even": len(np.unique(units.texts)) == 1,
        "icc": units.icc,
        "smallest_effect": units.smallest_effect(),
        "texts_needed": np.inf if texts.within else _texts_needed(units),
        "log10_ways": log10(units.ways),
        "documents_to_name": known_to_name(documents),
    }
    for id, score in numbers.items():
        yield design_row(id, float(score))


def _texts_needed(units: Units) -> float:
    """Return how many texts each document needs so that the effect `SOUGHT` is found;
    infinity for over 1,000."""
    for count in range(1, 1001):
        if units.smallest_effect(count) <= SOUGHT:
            return count
    return np.inf


def _positive(positive: ScoredBenchmark, conditions: Conditions) -> Iterator[AuditRow]:
    """Yield how much higher passages lie that most models of the web have read (label
    1) than other ones of the benchmark.

    Each passage is a unit, because the two kinds are from the same documents.
    """
    own = audit_scores(positive, conditions)
    own = own[(own["unit"] == "text") & own["label"].notna()]
    if not own["label"].nunique() > 1:
        return
    # each passage is a document, because the two kinds are from the same ones
    own = own.assign(document="")
    read, others = own[own["label"] == 1], own[own["label"] == 0]
    frame, texts, methods = _compared_texts(read, others, randomised=False)
    ranks = texts.ranks(combined_methods(texts, methods))
    units = units_of(texts, ranks[:, -1])
    yield AuditRow(
        "positive",
        positive.name,
        method=COMBINED,
        texts=int(units.suspect.sum()),
        effect=units.effect,
        p=units.p(seed_of("exchange", *frame["id"])),
        n=int((~units.suspect).sum()),
    )


def _comparable(
    ours: pd.DataFrame,
    theirs: pd.DataFrame,
    audited: ScoredBenchmark,
    known: ScoredBenchmark,
) -> pd.DataFrame:
    """Return our rows that have known non-members in their slice; the log counts the
    units that have none."""
    keys = [*OF_METHOD, *SLICE]
    there = pd.MultiIndex.from_frame(theirs[keys])
    comparable = ours[pd.MultiIndex.from_frame(ours[keys]).isin(there)]
    lost = ours.loc[
        ~ours["id"].isin(comparable["id"]), ["id", *SLICE]
    ].drop_duplicates()
    if len(lost):
        named = []
        slices = lost[SLICE].drop_duplicates()
        for subset, length in slices.itertuples(index=False):
            size = f"{length} words" if length >= 0 else "texts"
            named.append(f"{size} of subset '{subset}'")
        log.warning(
            "%s: %d units cannot be audited: %s has no known non-member (label 0) "
            "among %s",
            audited.name,
            len(lost),
            known.name,
            ", ".join(sorted(named)),
        )
    if comparable.empty:
        labels = audited.benchmark["label"]
        count = int(labels.isna().sum() or labels.eq(1).sum())
        raise InputError(
            f"audit of {audited.name}: of {count} texts in question, none has a known "
            f"non-member (label 0) of {known.name} with its subset and length, scored "
            "by the same methods. Non-members are comparable where subset and length "
            "are the same: give some such texts label 0, or name a benchmark that has "
            "them under the run's key calibrate_on."
        )
    return comparable
