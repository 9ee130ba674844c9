"""Audit of texts that a model may have read, against known ones: one p, documents,
checks, and what could be found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log10
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pretrace.audit.adjusted_scores import explained, reliability_of_order
from pretrace.audit.controls import unusual
from pretrace.audit.design import LEVEL, known_to_name
from pretrace.audit.documents import Documents
from pretrace.audit.exchange_test import AuditedTexts, Units, units_of
from pretrace.audit.number_read import read_at_least
from pretrace.audit.rows import COMBINED, AuditRow, audit_table, design_row
from pretrace.audit.scores import (
    OF_METHOD,
    Conditions,
    ScoredBenchmark,
    audit_scores,
    own_documents,
    see_base,
)
from pretrace.audit.texts import check_rows, compared_documents
from pretrace.evaluation.roc import Flags, Floats
from pretrace.questions.method_facts import is_control, is_question
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log
from pretrace.seeds import seed_of

SLICE = ["subset", "length"]
"""Texts are ranked with texts of their own subset and length."""


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

    Outlying documents, of either side, take no part (`controls.outliers`).
    `control`: `controls.checks` and, if p of all together is at most `LEVEL`,
    `adjusted_scores.explained`; none if labels were drawn at random. `positive`: members of
    `positive` (label 1), which most models of the web have read, against its other
    texts.
    `design`: `known_documents`, `known_texts`, `documents` and `texts` that are
    compared; `outliers` and `known_outliers`, documents left out; `randomised`, and the
    `length` that is then compared; `even` (documents have as many texts, so that p is
    exact); `icc` (the share of the variance of scores that lies between documents);
    `smallest_effect` that is found in four of five audits; `log10_ways` to exchange
    labels; `documents_to_name`, how many known documents let a single one in question
    be named; `based`, where scores are by how much likelier a text is than in a base
    model; where p is at most `LEVEL`, `read_at_least`, how many documents in question
    the model read (`number_read`); `reliability_of_order`, of the words of documents as
    long as these.

    Raises InputError if no text in question has known ones of its subset and length.
    """
    conditions = Conditions.of_runs(runs)
    ours, theirs = _sides(audited, known, conditions)
    ours = _comparable(ours, theirs, audited, known)
    compared = _compared_texts(ours, theirs, randomised=randomised)
    table = compared.table
    rows: list[AuditRow] = []
    documents = None
    is_out = np.zeros(len(table), dtype=bool)
    if not compared.texts.within:
        suspects = _texts_behind(table[table["suspect"]], audited)
        others = _texts_behind(table[~table["suspect"]], known)
        documents = compared_documents(suspects, others, language)
        is_out = table["document"].isin(documents.outlying).to_numpy(bool)
        rows += _left_out(table[is_out & table["suspect"]])
    left_out = table[is_out].groupby("suspect")["document"].nunique()
    rows.append(design_row("outliers", left_out.get(True, 0)))
    rows.append(design_row("known_outliers", left_out.get(False, 0)))
    compared = compared.where(~is_out)
    based = see_base(method.name for method in compared.methods)
    if based:
        rows.append(design_row("based", 1))
    single = bool((ours["unit"] == "text").all())
    results = [*_rows(compared, single=single)]
    if documents is not None and documents.has_both_sides:
        usual = documents.usual
        rows += check_rows(usual, based=based)
        rows.append(design_row("reliability_of_order", reliability_of_order(usual)))
        if _p_together(results) <= LEVEL:
            scores = _standardised(usual.names, compared)
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
    ours = _with_own_documents(ours)
    theirs = _with_own_documents(theirs)
    compared = compared_documents(ours, theirs, language)
    outlying = ours[ours["document"].isin(compared.outlying)]
    rows: list[AuditRow] = [*_left_out(outlying)]
    outliers = outlying["document"].nunique()
    known_outliers = len(compared.outlying) - outliers
    suspect = compared.usual.suspect
    rows.append(design_row("outliers", outliers))
    rows.append(design_row("known_outliers", known_outliers))
    rows.append(design_row("documents", suspect.sum()))
    rows.append(design_row("known_documents", (~suspect).sum()))
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
        if row.unit == "document" and row.id in odd:
            row = replace(row, flagged=False)
        named.append(row)
    return named


def _shown(document: str) -> str:
    return document.lstrip("\0")


class _Method(NamedTuple):
    """A method and its setting that have a column of scores."""

    name: str
    setting: str


@dataclass(frozen=True)
class _Compared:
    """The texts that are compared: a `table` of them (`id, document, subset, length,
    suspect`), their scores, and the `methods` whose columns these are."""

    table: pd.DataFrame
    texts: AuditedTexts
    methods: Sequence[_Method]

    def where(self, rows: Flags) -> "_Compared":
        table = self.table[rows].reset_index(drop=True)
        return replace(self, table=table, texts=self.texts.where(rows))

    @cached_property
    def ranks(self) -> Floats:
        """Return `AuditedTexts.ranks`, of the methods that are combined in the last
        column."""
        return self.texts.ranks(_combined(self.texts, self.methods))

    @cached_property
    def together(self) -> Units:
        """Return the units with the mean over the methods that are combined."""
        return units_of(self.texts, self.ranks[:, -1])

    @cached_property
    def p(self) -> float:
        """Return the p of all texts in question together."""
        return self.together.p(seed_of("exchange", *self.table["id"]))


def _compared_texts(
    ours: pd.DataFrame, theirs: pd.DataFrame, *, randomised: bool
) -> _Compared:
    """Return the texts of both sides that are compared, with the scores of our methods.

    Known texts of a document in question take no part; if labels were drawn at random
    within documents, these texts alone do, at the length that most of them have.
    """
    keys = ["id", "document", *SLICE, "suspect"]
    both = pd.concat([ours.assign(suspect=True), theirs.assign(suspect=False)])
    wide = both.pivot(index=keys, columns=OF_METHOD, values="score").sort_index(axis=1)
    columns = ours[OF_METHOD].drop_duplicates().sort_values(OF_METHOD)
    methods = [_Method(*column) for column in columns.itertuples(index=False)]
    scores = wide[methods].to_numpy(np.float64)
    table = wide.index.to_frame(index=False)
    table["document"] = own_documents(table["document"], table["id"])
    is_mixed = table.groupby("document")["suspect"].transform("nunique").eq(2)
    within = randomised and bool(is_mixed.any())
    is_chosen = is_mixed if within else table["suspect"] | ~is_mixed
    lengths = table.loc[is_chosen, "length"]
    if within and lengths.nunique() > 1:
        # shorter texts may be parts of longer ones
        counts = lengths.value_counts().sort_index(ascending=False)
        most_frequent = counts.idxmax()
        is_chosen &= table["length"] == most_frequent
        log.info(
            "texts of %d words are compared: the most frequent length, of equals the "
            "longest",
            most_frequent,
        )
    rows = is_chosen.to_numpy(bool)
    table = table[rows].reset_index(drop=True)
    slices = table.groupby(SLICE, sort=True).ngroup()
    texts = AuditedTexts(
        scores=scores[rows],
        document=pd.factorize(table["document"])[0].astype(np.intp),
        slice=np.asarray(slices, dtype=np.intp),
        suspect=table["suspect"].to_numpy(bool),
        within=within,
    )
    return _Compared(table, texts, methods)


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


def _standardised(documents: Sequence[str], compared: _Compared) -> Floats:
    """Return the scores that an exchange of `documents` sums; 0, which is their mean,
    for one without any."""
    units = compared.together
    of_codes = compared.table["document"].groupby(compared.texts.document).first()
    names = of_codes[units.document]
    scores = dict(zip(names, units.standardised, strict=True))
    return np.array([scores.get(name, 0.0) for name in documents], dtype=np.float64)


def _rows(compared: _Compared, *, single: bool) -> Iterator[AuditRow]:
    """Yield rows of all texts in question, of their documents and, if they are `single`
    texts, of each; the design."""
    texts = compared.texts
    for place, method in enumerate(compared.methods):
        units = units_of(texts, compared.ranks[:, place])
        if units.suspect.any():
            yield from _of_method(compared, units, texts.scores[:, place], method)
    together = compared.together
    if together.suspect.any():
        no_scores = np.full(len(compared.table), np.nan)
        yield from _of_method(compared, together, no_scores, _Method(COMBINED, ""))
        yield from _design(compared)
    if single and not texts.within:
        yield from _of_texts(compared)


def _of_method(
    compared: _Compared, units: Units, scores: Floats, method: _Method
) -> Iterator[AuditRow]:
    """Yield the row of all texts in question and, but for labels drawn within
    documents, one of each document."""
    texts = compared.texts
    is_combined = method.name == COMBINED
    known = int((~units.suspect).sum())
    yield AuditRow(
        "all",
        method=method.name,
        setting=method.setting,
        texts=int(texts.suspect.sum()),
        score=_mean(scores[texts.suspect]),
        effect=units.effect,
        p=compared.p if is_combined else None,
        n=known,
    )
    if texts.within:
        return
    ranks, above = units.conformal_p, units.above_known
    names = compared.table["document"].to_numpy()
    ours = np.flatnonzero(texts.suspect)
    of_document = pd.Series(ours).groupby(texts.document[ours]).indices
    for unit in np.flatnonzero(units.suspect):
        rows = ours[of_document[units.document[unit]]]
        name = names[rows[0]]
        yield AuditRow(
            "document",
            _shown(name),
            document=_name_given(name),
            method=method.name,
            setting=method.setting,
            texts=len(rows),
            score=_mean(scores[rows]),
            effect=above[unit],
            p=ranks[unit] if is_combined else None,
            n=known,
        )


def _name_given(document: str) -> str:
    """Return the document's name; "" for a text that is a document of its own."""
    return document if _shown(document) == document else ""


def _mean(scores: Floats) -> float:
    scores = scores[~np.isnan(scores)]
    return float(scores.mean()) if len(scores) else np.nan


def _of_texts(compared: _Compared) -> Iterator[AuditRow]:
    """Yield each text in question with its p: (1 + the known documents' shares of texts
    that lie as high) / (1 + K).

    The texts of a document are alike, so that each of the K known documents counts as
    one: Lee, Barber and Willett, Distribution-free Inference with Hierarchical Data,
    2023.
    """
    texts, ranks = compared.texts, compared.ranks[:, -1]
    ids = compared.table["id"].to_numpy()
    names = compared.table["document"].to_numpy()
    is_scored = ~np.isnan(ranks)
    for code in np.unique(texts.slice[texts.suspect]):
        is_here = (texts.slice == code) & is_scored
        known = np.flatnonzero(is_here & ~texts.suspect)
        of_known = ranks[known]
        sizes = np.bincount(texts.document[known])
        weights = 1 / sizes[texts.document[known]]
        documents = weights.sum()
        mean = weights @ of_known / documents
        falling = np.argsort(-of_known, kind="stable")
        ordered = -of_known[falling]
        # the weights of the highest none, one, two, ... known texts together
        of_highest = np.concatenate([[0.0], np.cumsum(weights[falling])])
        for row in np.flatnonzero(is_here & texts.suspect):
            number_as_high = np.searchsorted(ordered, -ranks[row], side="right")
            as_high = of_highest[number_as_high]
            yield AuditRow(
                "text",
                ids[row],
                document=_name_given(str(names[row])),
                method=COMBINED,
                texts=1,
                effect=ranks[row] - mean,
                p=(1 + as_high) / (1 + documents),
                n=round(documents),
            )


def _combined(texts: AuditedTexts, methods: Sequence[_Method]) -> list[int]:
    """Return the places of methods but controls; of questions only where no method
    reads token probabilities.

    Without methods in which more than `LEVEL` of the texts tie at the highest score,
    such as SURP where many texts have no surprising token: no suspect can exceed them.
    """
    reading: list[int] = []
    asking: list[int] = []
    for place, method in enumerate(methods):
        if is_control(method.name):
            continue
        if is_question(method.name):
            asking.append(place)
        else:
            reading.append(place)
    combined = []
    for place in reading or asking:
        if _share_tied(texts.scores[:, place]) <= LEVEL:
            combined.append(place)
    return combined


def _share_tied(scores: Floats) -> float:
    """Return the share of the scores that tie at the highest."""
    scores = scores[~np.isnan(scores)]
    ties = int((scores == scores.max(initial=-np.inf)).sum())
    return ties / len(scores) if ties > 1 else 0.0


def _design(compared: _Compared) -> Iterator[AuditRow]:
    """Yield the audit's design: numbers of documents and texts, and what these find."""
    texts, units = compared.texts, compared.together
    ours = compared.table[texts.suspect]
    theirs = compared.table[~texts.suspect]
    documents = ours["document"].nunique()
    yield design_row("documents", documents)
    yield design_row("documents_to_name", known_to_name(documents))
    yield design_row("texts", len(ours))
    yield design_row("known_documents", theirs["document"].nunique())
    yield design_row("known_texts", len(theirs))
    yield design_row("randomised", texts.within)
    if texts.within:
        yield design_row("length", ours["length"].iloc[0])
    yield design_row("even", len(np.unique(units.texts)) == 1)
    yield design_row("icc", units.icc)
    yield design_row("smallest_effect", units.smallest_effect())
    yield design_row("log10_ways", log10(units.ways))
    if compared.p <= LEVEL:
        seed = seed_of("read", *compared.table["id"])
        number = read_at_least(units, compared.p, LEVEL, seed)
        if number is not None:
            yield design_row("read_at_least", number)


def _positive(positive: ScoredBenchmark, conditions: Conditions) -> Iterator[AuditRow]:
    """Yield how much higher passages lie that most models of the web have read (label
    1) than other ones of the benchmark.

    Each passage is a document, because the two kinds are from the same ones.
    """
    scored = audit_scores(positive, conditions)
    is_passage = scored["unit"].eq("text") & scored["label"].notna()
    passages = scored[is_passage].assign(document="")
    if passages["label"].nunique() < 2:
        return
    read = passages[passages["label"] == 1]
    others = passages[passages["label"] == 0]
    compared = _compared_texts(read, others, randomised=False)
    units = compared.together
    yield AuditRow(
        "positive",
        positive.name,
        method=COMBINED,
        texts=int(units.suspect.sum()),
        effect=units.effect,
        p=compared.p,
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
    of_ours = pd.MultiIndex.from_frame(ours[keys])
    of_theirs = pd.MultiIndex.from_frame(theirs[keys])
    comparable = ours[of_ours.isin(of_theirs)]
    is_lost = ~ours["id"].isin(comparable["id"])
    lost = ours.loc[is_lost, ["id", *SLICE]].drop_duplicates()
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
