"""A study's material and cost: benchmarks, forward passes, seconds a document."""

from collections.abc import Iterable

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.costs import class_counts, passes_of, seconds_by_passes, summed
from pretrace.questions.known import is_control
from pretrace.render.phrases import DASH
from pretrace.render.registry import Artifact, Panel
from pretrace.render.results import Results
from pretrace.render.rows import in_print, long_frame, records_of
from pretrace.render.tables.questions import setting_label
from pretrace.render.tables.table import Cell, Table, by_method, rows_of, table_of
from pretrace.views.readings import PAST_CONTEXT, Reading

LANGUAGES = {"en": "English", "zh": "Chinese"}


def benchmark_statistics(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a benchmark, subset and length: its texts, the share of each class, and its documents by class."""
    keys = ("benchmark", "subset", "length")
    panels = {tuple(getattr(panel, key) for key in keys): panel for panel in results.panels(artifact)}
    records = []
    for place, panel in panels.items():
        entry = results.entries[panel.benchmark]
        about = {key: entry.get(key, "") for key in ("title", "source", "language")}
        counts = class_counts(results.every_text(panel))
        labelled = counts["n_members"] + counts["n_nonmembers"]
        ratio = counts["n_members"] / labelled if labelled else None
        records.append(dict(zip(keys, place, strict=True)) | about | counts | {"member_ratio": ratio})
    unlabelled = any(record["n_unlabelled"] for record in records)
    rows = (
        (
            ", ".join(filter(None, (artifact.called(row["benchmark"]), row["subset"]))),
            _cells(row, unlabelled),
            False,
        )
        for row in records
    )
    note = "Length: words a text. Documents: those the members come from + those of the non-members."
    return table_of(artifact, rows_of("", rows, "Benchmark"), [note], long_frame(records))


def _cells(record: Record, unlabelled: bool) -> Iterable[tuple[str, Cell]]:
    documents = (record["member_documents"], record["nonmember_documents"])
    yield "Language", Cell(words=LANGUAGES.get(record["language"], record["language"]) or DASH)
    yield "Length (words)", Cell() if record["length"] is None else Cell(words=str(record["length"]))
    yield "Texts", Cell(words=f"{record['n_members'] + record['n_nonmembers']:,}")
    ratio = record["member_ratio"]
    yield "Non-members", Cell() if ratio is None else Cell(words=f"{100 * (1 - ratio):.1f} %")
    yield "Members", Cell() if ratio is None else Cell(words=f"{100 * ratio:.1f} %")
    if unlabelled:
        yield "Unlabelled", Cell(words=f"{record['n_unlabelled']:,}" if record["n_unlabelled"] else DASH)
    yield "Documents", Cell(words=f"{documents[0]} + {documents[1]}") if sum(documents) else Cell()


SHOTS = {
    "member": "shots of members",
    "nonmember": "shots of non-members",
    "zero_access": "shots that the model wrote itself",
}


SUMS = {
    "By model and benchmark": ["model", "benchmark"],
    "By model and what it read": ["model", "read"],
    "Together": ["every"],
}
"""The blocks, and by what each sums."""


def pass_costs(artifact: Artifact, results: Results) -> Table:
    """Sum passes by model and benchmark, then by what the model read (text, altered text, prefix), then all."""
    pairs = list(dict.fromkeys(panel.pair for panel in artifact.panels))
    read = {pair: results.manifest(pair) for pair in pairs if pair in results.passes}
    if not read:
        raise artifact.error("no run has a model that reads texts; remove the artifact.")
    frames = []
    for (model, benchmark), manifest in read.items():
        passes = passes_of(manifest)
        passes.insert(2, "read", [_read(Reading.from_json(row), artifact) for row in manifest["views"]])
        passes.insert(0, "benchmark", benchmark)
        passes.insert(0, "model", model)
        frames.append(passes)
    frame = pd.concat(frames, ignore_index=True)
    blocks = []
    for title, keys in SUMS.items():
        sums = records_of(in_print(summed(frame.assign(every="All passes shown"), keys), artifact.names))
        rows = ((": ".join(row[key] for key in keys), _cost_cells(row), False) for row in sums)
        blocks += rows_of(title, rows, "Passes of")
    unread = [panel.name for panel in artifact.panels if panel.pair not in read]
    notes = _notes(in_print(frame, artifact.names), unread)
    return table_of(artifact, blocks, notes, frame)


def _read(reading: Reading, artifact: Artifact) -> str:
    """Describe the model's input: `the text`, `lower case of the text`, `the text after shots of non-members`."""
    text = "the text" if reading.view == "original" else f"the text under {artifact.called(reading.view)}"
    if reading.windows:
        text = f"{text} past the context" if reading.windows == PAST_CONTEXT else f"windows of {text}"
    if reading.altered:
        text = f"{artifact.called(reading.altered)} of {text}"
    return f"{text} after {SHOTS[reading.shots.prefix.kind]}" if reading.shots else text


def _cost_cells(row: Record) -> Iterable[tuple[str, Cell]]:
    numbers = {
        "Passes": f"{row['passes']:,}",
        "Texts": f"{row['texts']:,}",
        "Tokens": f"{row['tokens']:,}",
        "Seconds": f"{row['seconds']:,.1f}",
        "CPU seconds": f"{row['cpu_seconds']:,.1f}",
        "Tokens a second": f"{row['tokens_per_second']:,.0f}",
        "Peak memory (MB)": f"{row['peak_memory_mb']:,.0f}",
    }
    for head, words in numbers.items():
        yield head, Cell(words=None if words == "nan" else words)


def _notes(frame: pd.DataFrame, unread: list[str]) -> list[str]:
    devices = sorted(set(zip(frame["device"], frame["dtype"], strict=True)))
    notes = [
        "Measured on one machine, on the run that computed each pass: not reproducible to the byte.",
        "Seconds are of wall time; CPU seconds are those of all threads together. Tokens are scored ones; tokens a "
        "second are computed ones: equal texts are computed once.",
        f"Device and precision: {', '.join(f'{device}, {dtype}' for device, dtype in devices)}.",
    ]
    prefixed = frame[frame["prefix_way"].notna()]
    if len(prefixed):
        ways = prefixed.groupby("prefix_way")["model"].unique()
        listed = "; ".join(f"{way} ({', '.join(sorted(models))})" for way, models in ways.items())
        notes.append(f"How a prefix is read: {listed}.")
    truncated, skipped = int(frame["truncated"].sum()), int(frame["skipped"].sum())
    if truncated or skipped:
        notes.append(f"{truncated:,} texts were truncated to the context, {skipped:,} had nothing to score.")
    if unread:
        notes.append(f"Without passes, since their methods need none: {'; '.join(dict.fromkeys(unread))}.")
    return notes


SECONDS = "seconds_a_document"


def document_times(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method of the artifact, a column a panel: seconds a document.

    A method of token statistics takes as long as the passes that it reads, shared ones in full, as if it alone
    were run; scoring itself takes no time that matters.
    """
    panels = results.panels(artifact)
    records = [
        {"panel": place, **panel.record, "average": "", "metric": SECONDS}
        | {"method": method, "setting": setting, "control": is_control(method), "value": seconds}
        for place, panel in enumerate(panels)
        for (method, setting), seconds in _seconds(artifact, results, panel).items()
    ]
    if not records:
        raise artifact.error("none of its methods was timed on its panels")
    frame = long_frame(sorted(records, key=lambda row: artifact.methods.index(row["method"])))
    blocks = by_method(frame, panels, [SECONDS], label=setting_label, by=("method", "setting"))
    notes = [
        "Measured on one machine, on the run that computed each answer and pass: not reproducible to the byte. "
        "A method of token statistics takes as long as the passes that it reads; several share them.",
        *results.cautions(panels),
    ]
    return table_of(artifact, blocks, notes, frame)


def _seconds(artifact: Artifact, results: Results, panel: Panel) -> dict[tuple[str, str], float]:
    """Return seconds a document, by method and a setting of it that is timed apart."""
    methods, subset, length = artifact.methods, panel.subset or "", panel.length
    seconds = {}
    if panel.pair in results.passes:
        documents = results.every_text(panel)["document"].nunique()
        by_method = seconds_by_passes(results.manifest(panel.pair), methods, subset, length)
        seconds = {(method, ""): value / documents for method, value in by_method.items()}
    for row in results.times_of(panel):
        known = row["task"] in methods and (row["subset"], row["length"]) == (subset, length)
        if known and (panel.references is None or row["paraphraser"] in ("", *panel.references)):
            seconds[row["task"], row["setting"]] = row["seconds"] / row["documents"]
    return seconds
