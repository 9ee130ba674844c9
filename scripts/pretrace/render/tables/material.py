"""A study's material and cost: benchmarks, forward passes, seconds a document."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.methods import METHODS, altered_views
from pretrace.methods.needs import FULL_VOCABULARY
from pretrace.questions.known import is_control
from pretrace.questions.methods import QUESTION_METHODS
from pretrace.render.names import panel_lines, view_label
from pretrace.render.phrases import DASH
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results, pair_of
from pretrace.render.rows import Panel, long_frame, panel_record
from pretrace.render.tables.questions import setting_label
from pretrace.render.tables.table import Cell, Placed, Table, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

LANGUAGES = {"en": "English", "zh": "Chinese"}


@table("benchmark_statistics", needs=("benchmarks",))
def benchmark_statistics(artifact: Artifact, results: Results) -> Table:
    """One row a benchmark, subset and length: its texts and documents by class."""
    keys = ("benchmark", "subset", "length")
    panels = {tuple(panel[key] for key in keys): panel for panel in results.panels(artifact)}
    records = [_record(panel, results) for panel in panels.values()]
    unlabelled = any(record["n_unlabelled"] for record in records)
    rows = (
        (f"{row['benchmark']} {row['subset']}".strip(), _cells(row, unlabelled), False) for row in records
    )
    notes = ["Length: words a text. Documents: those the members come from + those of the non-members."]
    titles = {record["benchmark"]: record["title"] for record in records if record["title"]}
    notes += [f"{benchmark}: {title}." for benchmark, title in titles.items()]
    return table_of(artifact, lay_out(rows_of("", rows), "Benchmark"), notes, long_frame(records))


def _record(panel: Panel, results: Results) -> dict[str, Any]:
    texts, entry = results.every_text(panel), results.entries[panel["benchmark"]]
    label = texts["label"]
    documents = texts["document"].where(texts["document"] != "")
    return {
        "benchmark": panel["benchmark"],
        "subset": panel["subset"],
        "length": panel["length"],
        "title": entry.get("title", ""),
        "source": entry["source"],
        "language": entry.get("language", ""),
        "n_members": int((label == 1).sum()),
        "n_nonmembers": int((label == 0).sum()),
        "n_unlabelled": int(label.isna().sum()),
        "member_documents": documents[label.eq(1).fillna(False)].nunique(),
        "nonmember_documents": documents[label.eq(0).fillna(False)].nunique(),
    }


def _cells(record: Mapping[str, Any], unlabelled: bool) -> Iterable[tuple[str, Cell]]:
    documents = (record["member_documents"], record["nonmember_documents"])
    yield "Source", Cell(words=record["source"])
    yield "Language", Cell(words=LANGUAGES.get(record["language"], record["language"]) or DASH)
    yield "Length (words)", Cell() if record["length"] is None else Cell(words=str(record["length"]))
    yield "Members", Cell(words=f"{record['n_members']:,}")
    yield "Non-members", Cell(words=f"{record['n_nonmembers']:,}")
    if unlabelled:
        yield "Unlabelled", Cell(words=f"{record['n_unlabelled']:,}" if record["n_unlabelled"] else DASH)
    yield "Documents", Cell(words=f"{documents[0]} + {documents[1]}") if sum(documents) else Cell()


SHOTS = {
    "member": "shots of members",
    "nonmember": "shots of non-members",
    "zero_access": "shots that the model wrote itself",
}


@table("pass_costs", needs=("passes",))
def pass_costs(artifact: Artifact, results: Results) -> Table:
    """Rows by model and benchmark, then by what the model read (text, altered text, prefix); every pass in the CSV."""
    pairs = list(dict.fromkeys(map(pair_of, artifact["panels"])))
    read = [pair for pair in pairs if pair in results.manifests]
    if not read:
        raise InputError(f"{artifact['artifact']}: no run has a model that reads texts; remove the artifact.")
    frame = pd.concat([_passes(results, *pair) for pair in read], ignore_index=True)
    cells = [
        *rows_of("By model and benchmark", _sums(frame, ["model", "benchmark"])),
        *rows_of("By model and what it read", _sums(frame, ["model", "read"])),
        *rows_of("Together", [("All passes shown", _costs_cells(frame), False)]),
    ]
    notes = _notes(frame, [pair for pair in pairs if pair not in read])
    return table_of(artifact, lay_out(cells, "Passes of"), notes, frame)


def _passes(results: Results, model: str, benchmark: str) -> pd.DataFrame:
    manifest = results.manifest((model, benchmark))
    kept = ("view", "altered", "prefix", "draw", "shots", "subset", "length", "statistics", "texts", "skipped",
            "truncated", "tokens", "seconds", "cpu_seconds", "tokens_per_second", "peak_memory_mb")  # fmt: skip
    records = [
        {"model": model, "benchmark": benchmark, "dtype": manifest["dtype"], "device": manifest["device"]}
        | {"read": _read(entry)}
        | {key: entry.get(key) for key in kept}
        for entry in manifest["views"]
    ]
    return pd.DataFrame(records).astype(dict.fromkeys(["draw", "shots", "length"], "Int64"))


def _read(entry: dict[str, Any]) -> str:
    """The model's input, in words: `the text`, `lower case of the text`, `the text after shots of non-members`."""
    text = "the text" if entry["view"] == "original" else f"the text under {view_label(entry['view'])}"
    if entry["windows"]:
        text = f"windows of {text}"
    if entry["altered"]:
        text = f"{view_label(entry['altered'])} of {text}"
    return f"{text} after {SHOTS[entry['prefix'].split(';')[0]]}" if entry["prefix"] else text


def _sums(frame: pd.DataFrame, keys: Sequence[str]) -> Iterable[tuple[str, Iterable[tuple[str, Cell]], bool]]:
    for key, own in frame.groupby(list(keys), sort=False):
        yield ": ".join(map(str, key)), _costs_cells(own), False


def _costs_cells(of: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
    cpu = of["cpu_seconds"].astype("float64").sum(skipna=False)  # passes of before it was recorded have none
    peak, seconds = of["peak_memory_mb"], float(of["seconds"].sum())
    computed = float((of["tokens_per_second"] * of["seconds"]).sum())
    yield "Passes", Cell(words=f"{len(of):,}")
    yield "Texts", Cell(words=f"{int(of['texts'].sum()):,}")
    yield "Tokens", Cell(words=f"{int(of['tokens'].sum()):,}")
    yield "Seconds", Cell(words=f"{seconds:,.1f}")
    yield "CPU seconds", Cell() if pd.isna(cpu) else Cell(words=f"{cpu:,.1f}")
    yield "Tokens a second", Cell(words=f"{computed / seconds if seconds > 0 else 0:,.0f}")
    yield "Peak memory (MB)", Cell(words=f"{peak.max():,.0f}") if peak.notna().any() else Cell()


def _notes(frame: pd.DataFrame, unread: list[tuple[str, str]]) -> list[str]:
    devices = sorted(set(zip(frame["device"], frame["dtype"], strict=True)))
    notes = [
        "Measured on one machine, on the run that computed each pass: not reproducible to the byte.",
        "Seconds are of wall time; CPU seconds are those of all threads together. Tokens are scored ones; tokens a "
        "second are computed ones: equal texts are computed once.",
        f"Device and precision: {', '.join(f'{device}, {dtype}' for device, dtype in devices)}.",
    ]
    truncated, skipped = int(frame["truncated"].sum()), int(frame["skipped"].sum())
    if truncated or skipped:
        notes.append(f"{truncated:,} texts were truncated to the context, {skipped:,} had nothing to score.")
    if unread:
        listed = ", ".join("/".join(pair) for pair in unread)
        notes.append(f"Without passes, since their methods need none: {listed}.")
    return notes


Times = dict[tuple[str, str], float]
"""Seconds a document, by method and a setting of it that is timed apart."""


@table("document_times", needs=("passes", "times", "benchmarks"))
def document_times(artifact: Artifact, results: Results) -> Table:
    """A row a method of the artifact, a column a panel: seconds a document.

    A method of token statistics takes as long as the passes that it reads, shared ones in full, as if it alone
    were run; scoring itself takes no time that matters.
    """
    panels = results.panels(artifact)
    records = [
        {"panel": at} | panel_record(panel) | {"method": method, "setting": setting, "seconds": seconds}
        for at, panel in enumerate(panels)
        for times in (_of_passes(artifact, results, panel), _of_questions(artifact, results, panel))
        for (method, setting), seconds in times.items()
    ]
    if not records:
        raise InputError(f"artifact {artifact['artifact']}: none of its methods was timed on its panels")
    cells = [
        Placed(
            "",
            ((artifact["methods"].index(row["method"]), row["setting"]), setting_label(row)),
            (row["panel"], (*panel_lines(panels[row["panel"]]), "seconds a document")),
            Cell(words=f"{row['seconds']:.2f}"),
            is_control(row["method"]),
        )
        for row in records
    ]
    notes = [
        "Measured on one machine, on the run that computed each answer and pass: not reproducible to the byte. "
        "A method of token statistics takes as long as the passes that it reads; several share them.",
        *results.cautions(panels),
    ]
    return table_of(artifact, lay_out(cells), notes, long_frame(records))


def _of_passes(artifact: Artifact, results: Results, panel: Panel) -> Times:
    """The seconds of the passes that each method reads over the panel's texts, by its number of documents."""
    methods = [
        method for method in artifact["methods"] if method in METHODS and METHODS[method].scope == "text"
    ]
    if not methods or pair_of(panel) not in results.manifests:
        return {}
    views = results.manifest(pair_of(panel))["views"]
    documents = results.every_text(panel)["document"].nunique()
    found = {}
    for method in methods:
        read = [_seconds(views, panel, altered) for altered in ("", *sorted(altered_views([method])))]
        if not set(METHODS[method].needs) - BY_ITSELF and None not in read:
            found[method, ""] = sum(one for one in read if one is not None) / documents
    return found


BY_ITSELF = {"text", "token_ids", "logprobs", "lowercase", *FULL_VOCABULARY}
"""What the passes over a text and its lower-cased form answer."""


def _seconds(views: Sequence[dict[str, Any]], panel: Panel, altered: str) -> float | None:
    """The seconds of the passes over the panel's original texts, or over an altered form of them."""
    own = [
        view["seconds"]
        for view in views
        if view["view"] == "original" and view["altered"] == altered
        if not view["prefix"] and not view["windows"]
        if view.get("length") in (panel["length"], None) and view.get("subset") in (panel["subset"], "", None)
    ]
    return float(sum(own)) if own else None


def _of_questions(artifact: Artifact, results: Results, panel: Panel) -> Times:
    methods = [method for method in artifact["methods"] if method in QUESTION_METHODS]
    return {
        (one["task"], one["setting"]): one["seconds"] / one["documents"]
        for one in results.times_of(panel)
        if one["task"] in methods and one["length"] == panel["length"] and one["subset"] == panel["subset"]
        if one["paraphraser"] in ("", *panel.get("references", [one["paraphraser"]]))
    }
