"""A study's material: its benchmarks, and the seconds that a document takes."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.methods import METHODS, altered_views
from pretrace.methods.registry import FULL_VOCABULARY
from pretrace.questions.method_facts import is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.frames import long_frame
from pretrace.render.phrases import DASH
from pretrace.render.results import Results
from pretrace.render.tables.questions import setting_label
from pretrace.render.tables.table import Cell, Table, by_method, rows_of, table_of
from pretrace.runtime.files import read_json, read_table

LANGUAGES = {"en": "English", "zh": "Chinese"}


def benchmark_statistics(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a benchmark, subset and length: its texts, the share of each class,
    and its documents by class."""
    panels = {}
    for panel in results.panels(artifact):
        panels[panel.benchmark, panel.subset, panel.length] = panel
    records = []
    for panel in panels.values():
        entry = results.entries[panel.benchmark]
        counts = _class_counts(results.texts(panel))
        labelled = counts["n_members"] + counts["n_nonmembers"]
        record = {
            "benchmark": panel.benchmark,
            "subset": panel.subset,
            "length": panel.length,
            "title": entry.get("title", ""),
            "source": entry.get("source", ""),
            "language": entry.get("language", ""),
            "length_unit": panel.length_unit,
            **counts,
            "member_ratio": counts["n_members"] / labelled if labelled else None,
        }
        records.append(record)
    has_unlabelled = any(record["n_unlabelled"] for record in records)
    rows = []
    for record in records:
        name = artifact.title_of(record["benchmark"])
        if record["subset"]:
            name += f", {record['subset']}"
        rows.append((name, _cells(record, has_unlabelled), False))
    note = (
        "Length: words a text. Documents: those the members come from + those of the "
        "non-members."
    )
    blocks = rows_of("", rows, "Benchmark")
    return table_of(artifact, blocks, [note], long_frame(records))


def _class_counts(texts: pd.DataFrame) -> dict[str, int]:
    """Count the texts, and the named documents, of each class, and the texts without a
    label."""
    label = texts["label"]
    documents = texts["document"].where(texts["document"] != "")
    return {
        "n_members": int((label == 1).sum()),
        "n_nonmembers": int((label == 0).sum()),
        "n_unlabelled": int(label.isna().sum()),
        "member_documents": documents[label.eq(1).fillna(False)].nunique(),
        "nonmember_documents": documents[label.eq(0).fillna(False)].nunique(),
    }


def _cells(record: Record, has_unlabelled: bool) -> Iterable[tuple[str, Cell]]:
    language = LANGUAGES.get(record["language"], record["language"])
    yield "Language", Cell(words=language or DASH)
    length = None
    if record["length"] is not None:
        length = f"{record['length']} {record['length_unit']}".removesuffix(" words")
    yield "Length (words)", Cell(words=length)
    texts = record["n_members"] + record["n_nonmembers"]
    yield "Texts", Cell(words=f"{texts:,}")
    ratio = record["member_ratio"]
    shares = {"Non-members": None if ratio is None else 1 - ratio, "Members": ratio}
    for head, share in shares.items():
        yield head, Cell() if share is None else Cell(words=f"{100 * share:.1f} %")
    if has_unlabelled:
        unlabelled = record["n_unlabelled"]
        yield "Unlabelled", Cell(words=f"{unlabelled:,}" if unlabelled else DASH)
    members = record["member_documents"]
    nonmembers = record["nonmember_documents"]
    documents = f"{members} + {nonmembers}" if members or nonmembers else None
    yield "Documents", Cell(words=documents)


BY_ITSELF = {"text", "token_ids", "logprobs", "lowercase", *FULL_VOCABULARY}
"""What the passes over a text and its lower-cased form answer."""

SECONDS = "seconds_a_document"


def document_times(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method of the artifact, a column a panel: seconds a document.

    A method of token statistics takes as long as the passes that it reads, shared ones
    in full, as if it alone were run; scoring itself takes no time that matters.
    """
    panels = results.panels(artifact)
    records = []
    for place, panel in enumerate(panels):
        seconds = _seconds(artifact, results, panel)
        for (method, setting), value in seconds.items():
            about = {
                "average": "",
                "metric": SECONDS,
                "method": method,
                "setting": setting,
                "control": is_control(method),
                "value": value,
            }
            records.append({"panel": place, **panel.record, **about})
    if not records:
        raise artifact.empty("none of its methods was timed on its panels")
    records.sort(key=lambda row: artifact.methods.index(row["method"]))
    frame = long_frame(records)
    blocks = by_method(
        frame, panels, [SECONDS], label=setting_label, by=("method", "setting")
    )
    notes = [
        "Measured on one machine, on the run that computed each answer and pass: not "
        "reproducible to the byte. A method of token statistics takes as long as the "
        "passes that it reads; several share them.",
        *results.cautions(panels),
    ]
    if frame["value"].isna().any():
        notes.append(
            "A dash: nothing was asked, because no passage suits the method or all "
            "answers were stored before."
        )
    return table_of(artifact, blocks, notes, frame)


def _seconds(
    artifact: Artifact, results: Results, panel: Panel
) -> dict[tuple[str, str], float | None]:
    """Return seconds a document, by method and a setting of it that is timed apart;
    None if nothing was asked."""
    methods = artifact.methods
    subset = panel.subset or ""
    length = panel.length
    seconds: dict[tuple[str, str], float | None] = {}
    if results.has("passes", panel.pair):
        documents = results.texts(panel)["document"].nunique()
        views = read_json(results.path("passes", panel.pair))["views"]
        of_passes = _seconds_by_passes(views, methods, subset, length)
        for method, value in of_passes.items():
            seconds[method, ""] = value / documents
    if results.has("times", panel.pair):
        for row in read_table(results.path("times", panel.pair)).to_pylist():
            is_of_panel = (row["subset"], row["length"]) == (subset, length)
            named = panel.references
            is_shown = named is None or row["paraphraser"] in ("", *named)
            if row["task"] in methods and is_of_panel and is_shown:
                of_document = row["seconds"] / row["documents"]
                seconds[row["task"], row["setting"]] = of_document or None
    return seconds


def _seconds_by_passes(
    views: Iterable[Mapping[str, Any]],
    methods: Iterable[str],
    subset: str,
    length: int | None,
) -> dict[str, float]:
    """Return the seconds of the passes that each method reads over some texts, as if it
    alone were run.

    Methods that read more than these passes, or passes that were not run, are left out.
    """
    by_form: dict[str, list[float]] = {}
    for view in views:
        is_plain = view["view"] == "original" and not view["prefix"]
        is_of_length = view.get("length") in (length, None)
        is_of_subset = view.get("subset") in (subset, "", None)
        if is_plain and not view["past_context"] and is_of_length and is_of_subset:
            by_form.setdefault(view["altered"], []).append(view["seconds"])
    seconds = {}
    for name in methods:
        method = METHODS.get(name)
        if method is None or method.scope != "text":
            continue
        if not BY_ITSELF.issuperset(method.needs):
            continue
        forms = ["", *sorted(altered_views([name]))]
        if all(form in by_form for form in forms):  # every one has a pass
            seconds[name] = sum(sum(by_form[form]) for form in forms)
    return seconds
