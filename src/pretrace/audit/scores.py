"""The scores that an audit rests on: one of each unit and method, with the unit's label
and slice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.selection import Preference, preference, variant_of
from pretrace.methods.registry import INPUTS
from pretrace.questions import method_facts
from pretrace.questions.documents import document_units
from pretrace.runtime.logs import log
from pretrace.views.prefixes import excluded_ids

OF_METHOD = ["method", "setting"]
UNIT_KEYS = ["id", "document", "subset", "length", "label", "fold"]


@dataclass(frozen=True)
class ScoredBenchmark:
    """Scores of one model on one benchmark (`name`), its table, and the shots drawn
    from it (None: none)."""

    name: str
    scores: pd.DataFrame
    benchmark: pd.DataFrame
    prefixes: pd.DataFrame | None = None


@dataclass(frozen=True)
class Conditions:
    """Which scores are compared: a start token, the methods' further inputs, and the
    paraphraser of questions' options.

    `paraphraser` None: any.
    """

    start_token: str
    references: Sequence[str]
    paraphraser: str | None = None

    @classmethod
    def of_runs(cls, runs: Sequence[Mapping[str, Any]]) -> "Conditions":
        """Return those of a pair's runs: the first of each that they name."""
        references = []
        for kind in INPUTS.values():
            names: list[str] = []
            for run in runs:
                names += kind.names(run)
            references += names[:1]
        paraphraser = None
        for run in runs:
            if run.get("questions"):
                paraphraser = run["paraphraser"]
                break
        return cls(runs[0]["start_token"], references, paraphraser)


def see_base(methods: Iterable[str]) -> bool:
    """Return whether methods compare the model with a base: each of them, but controls,
    needs another model's log-probabilities."""
    based = []
    for name in methods:
        if not method_facts.is_control(name):
            method = method_facts.METHODS[name.split(";")[0]]
            based.append(method.input is INPUTS["reference"])
    return bool(based) and all(based)


def own_documents(document: "pd.Series[str]", id: "pd.Series[str]") -> "pd.Series[str]":
    """Return the documents of texts; a text that names none is a document of its own,
    which no name can equal."""
    return document.mask(document == "", "\0" + id)


def audit_scores(
    scored: ScoredBenchmark, conditions: Conditions, *, same: bool = True
) -> pd.DataFrame:
    """Return a row per unit and method: `unit`, `UNIT_KEYS`, `method, setting, score`,
    at the default setting.

    Texts are scored as they are, and documents by the methods that ask questions. The
    score of several draws of shots is their mean. Shots, and texts that overlap one,
    have no score by methods with shots. If not `same` (the units compared are of two
    benchmarks), methods that learn from labels or shots are left out.
    """
    rows = scored.scores
    questions = [
        name for name in rows["method"].unique() if method_facts.is_question(name)
    ]
    rows = rows.assign(asks=rows["method"].isin(questions))
    is_plain = rows["view"].isin(["original", ""])
    is_plain_text = rows["unit"].eq("text") & is_plain
    rows = rows[rows["asks"] | is_plain_text]
    rows = rows[rows["start_token"].isin([conditions.start_token, ""])]
    if conditions.paraphraser is not None:
        of_paraphraser = rows["reference"].isin([conditions.paraphraser, ""])
        rows = rows[~rows["asks"] | of_paraphraser]
    of_references = rows["reference"].isin([*conditions.references, ""])
    rows = rows[rows["asks"] | of_references]
    rows = rows.merge(_default_settings(rows), on=OF_METHOD)
    if not same:
        rows = _unbound(rows, scored.name)
    rows = _without_shots(rows, scored)
    by_unit = rows.groupby(["unit", *OF_METHOD, "id"], sort=True, as_index=False)
    scores = by_unit["score"].mean()
    units = _units(scored.benchmark)
    return scores.merge(units, on=["unit", "id"])


def _unbound(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the scores of methods that use neither labels nor shots of the benchmark
    `name`."""
    reads_labels = rows["method"].map(method_facts.reads_benchmark).astype(bool)
    is_bound = reads_labels | rows["draw"].notna()
    if is_bound.any():
        methods = sorted(rows.loc[is_bound, "method"].unique())
        log.info(
            "%s: left out of the audit, because they use the labels or shots of their "
            "own benchmark: %s",
            name,
            ", ".join(methods),
        )
    return rows[~is_bound]


def _without_shots(rows: pd.DataFrame, scored: ScoredBenchmark) -> pd.DataFrame:
    """Return the scores without those, by methods with shots, of texts that are shots
    of any draw or overlap one."""
    has_shots = rows["draw"].notna()
    if scored.prefixes is None or not has_shots.any():
        return rows
    draws = sorted(map(int, rows.loc[has_shots, "draw"].unique()))
    excluded: set[str] = set()
    for draw in draws:
        excluded |= excluded_ids(scored.prefixes, scored.benchmark, draw)
    log.info(
        "%s: methods with shots leave out %d texts, which are shots of draws %s or "
        "overlap them",
        scored.name,
        len(excluded),
        ", ".join(map(str, draws)),
    )
    is_left_out = has_shots & rows["id"].isin(excluded)
    return rows[~is_left_out]


def _default_settings(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `method, setting`: each method's default or, if the run leaves it out, its
    first setting in order."""
    of_method: dict[str, dict[Preference, str]] = {}
    scored = rows[OF_METHOD].drop_duplicates()
    for method, setting in scored.itertuples(index=False):
        if not variant_of(setting, method_facts.METHODS[method].grid):
            settings = of_method.setdefault(method, {})
            settings.setdefault(preference(method, setting), setting)
    chosen = []
    for method, settings in sorted(of_method.items()):
        chosen.append((method, settings[min(settings)]))
    return pd.DataFrame(chosen, columns=OF_METHOD)


def _units(benchmark: pd.DataFrame) -> pd.DataFrame:
    """Return `unit` and `UNIT_KEYS` of all texts, and of all documents of a benchmark
    of passages; length -1: none."""
    texts = benchmark.rename(columns={"text_id": "id"})[UNIT_KEYS]
    lengths = texts["length"].fillna(-1).astype(np.int64)
    frames = [texts.assign(unit="text", length=lengths)]
    if "passage" in benchmark:
        documents = document_units(benchmark)[UNIT_KEYS]
        frames.append(documents.assign(unit="document"))
    return pd.concat(frames, ignore_index=True)
