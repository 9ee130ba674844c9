"""A study's material: its benchmarks, and the seconds that a document takes."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.methods import METHODS, altered_views
from pretrace.methods.registry import FULL_VOCABULARY
from pretrace.questions.known import is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.phrases import DASH
from pretrace.render.results import Results, long_frame
from pretrace.render.tables.questions import setting_label
from pretrace.render.tables.table import Cell, Table, by_method, rows_of, table_of
from pretrace.runtime.files import read_json, read_table

LANGUAGES = {"en": "English", "zh": "Chinese"}


def benchmark_statistics(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a benchmark, subset and length: its texts, the share of each class,
    and its documents by class."""
    keys = ("benchmark", "subset", "length")
    panels = {
        tuple(getattr(panel, key) for key in keys): panel
        for panel in results.panels(artifact)
    }
    records = []
    for place, panel in panels.items():
        entry = results.entries[panel.benchmark]
        about = {key: entry.get(key, "") for key in ("title", "source", "language")}
        about["length_unit"] = panel.length_unit
        counts = _class_counts(results.texts(panel))
        labelled = counts["n_members"] + counts["n_nonmembers"]
        ratio = counts["n_members"] / labelled if labelled else None
        records.append(
            dict(zip(keys, place, strict=True))
            | about
            | counts
            | {"member_ratio": ratio}
        )
    unlabelled = any(record["n_unlabelled"] for record in records)
    rows = []
    for row in records:
        name = ", ".join(
            filter(None, (artifact.title_of(row["benchmark"]), row["subset"]))
        )
        rows.append((name, _cells(row, unlabelled), False))
    note = (
        "Length: words a text. Documents: those the members come from + those of the "
        "non-members."
    )
    return table_of(
        artifact, rows_of("", rows, "Benchmark"), [note], long_frame(records)
    )


def _class_counts(texts: pd.DataFrame) -> dict[str, int]:
    """Count the texts, and the named documents, of each class, and the texts without a
    label."""
    label, documents = texts["label"], texts["document"].where(texts["document"] != "")
    return {
        "n_members": int((label == 1).sum()),
        "n_nonmembers": int((label == 0).sum()),
        "n_unlabelled": int(label.isna().sum()),
        "member_documents": documents[label.eq(1).fillna(False)].nunique(),
        "nonmember_documents": documents[label.eq(0).fillna(False)].nunique(),
    }


def _cells(record: Record, unlabelled: bool) -> Iterable[tuple[str, Cell]]:
    documents = (record["member_documents"], record["nonmember_documents"])
    yield (
        "Language",
        Cell(words=LANGUAGES.get(record["language"], record["language"]) or DASH),
    )
    length = f"{record['length']} {record['length_unit']}".removesuffix(" words")
    yield "Length (words)", Cell() if record["length"] is None else Cell(words=length)
    yield "Texts", Cell(words=f"{record['n_members'] + record['n_nonmembers']:,}")
    ratio = record["member_ratio"]
    yield (
        "Non-members",
        Cell() if ratio is None else Cell(words=f"{100 * (1 - ratio):.1f} %"),
    )
    yield "Members", Cell() if ratio is None else Cell(words=f"{100 * ratio:.1f} %")
    if unlabelled:
        yield (
            "Unlabelled",
            Cell(
                words=f"{record['n_unlabelled']:,}" if record["n_unlabelled"] else DASH
            ),
        )
    yield (
        "Documents",
        Cell(words=f"{documents[0]} + {documents[1]}") if sum(documents) else Cell(),
    )


BY_ITSELF = {"text", "token_ids", "logprobs", "lowercase", *FULL_VOCABULARY}
"""What the passes over a text and its lower-cased form answer."""

SECONDS = "seconds_a_document"


def document_times(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method of the artifact, a column a panel: seconds a document.

    A method of token statistics takes as long as the passes that it reads, shared ones
    in full, as if it alone were run; scoring itself takes no time that matters.
    """
    panels = results.panels(artifact)
    records = [
        {"panel": place, **panel.record, "average": "", "metric": SECONDS}
        | {
            "method": method,
            "setting": setting,
            "control": is_control(method),
            "value": seconds,
        }
        for place, panel in enumerate(panels)
        for (method, setting), seconds in _seconds(artifact, results, panel).items()
    ]
    if not records:
        raise artifact.empty("none of its methods was timed on its panels")
    frame = long_frame(
        sorted(records, key=lambda row: artifact.methods.index(row["method"]))
    )
    blocks = by_method(
        frame, panels, [SECONDS], label=setting_label, by=("method", "setting")
    )
    notes = [
        "Measured on one machine, on the run that computed each answer and pass: not "
        "reproducible to the byte. A method of token statistics takes as long as the "
        "passes that it reads; several share them.",
        *results.cautions(panels),
    ]
    return table_of(artifact, blocks, notes, frame)


def _seconds(
    artifact: Artifact, results: Results, panel: Panel
) -> dict[tuple[str, str], float]:
    """Return seconds a document, by method and a setting of it that is timed apart."""
    methods, subset, length = artifact.methods, panel.subset or "", panel.length
    seconds = {}
    if results.has("passes", panel.pair):
        documents = results.texts(panel)["document"].nunique()
        views = read_json(results.path("passes", panel.pair))["views"]
        by_method = _seconds_by_passes(views, methods, subset, length)
        seconds = {
            (method, ""): value / documents for method, value in by_method.items()
        }
    if results.has("times", panel.pair):
        for row in read_table(results.path("times", panel.pair)).to_pylist():
            is_of_panel = (row["subset"], row["length"]) == (subset, length)
            is_shown = panel.references is None or row["paraphraser"] in (
                "",
                *panel.references,
            )
            if row["task"] in methods and is_of_panel and is_shown:
                seconds[row["task"], row["setting"]] = row["seconds"] / row["documents"]
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
    own = [
        view
        for view in views
        if view["view"] == "original"
        and not view["prefix"]
        and not view["past_context"]
        if view.get("length") in (length, None)
        and view.get("subset") in (subset, "", None)
    ]
    seconds: dict[str, float] = {}
    for method in filter(METHODS.__contains__, methods):
        if METHODS[method].scope == "text" and BY_ITSELF.issuperset(
            METHODS[method].needs
        ):
            altered = ("", *sorted(altered_views([method])))
            read = [
                [view["seconds"] for view in own if view["altered"] == form]
                for form in altered
            ]
            if all(read):  # every one has a pass
                seconds[method] = sum(map(sum, read))
    return seconds
