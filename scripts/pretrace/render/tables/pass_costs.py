"""What the forward passes cost: tokens, seconds and memory, as measured."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pretrace.render.names import view_label
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.tables.table import Cell, Table, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

SHOTS = {
    "member": "shots of members",
    "nonmember": "shots of non-members",
    "zero_access": "shots that the model wrote itself",
}


@table("pass_costs", needs=("passes",))
def render(artifact: Artifact, results: Results) -> Table:
    """Rows by model and benchmark, then by what the model read (text, companion, prefix); every pass in the CSV."""
    pairs = list(dict.fromkeys((panel["model"], panel["benchmark"]) for panel in artifact["panels"]))
    read = [pair for pair in pairs if results.has_passes({"model": pair[0], "benchmark": pair[1]})]
    if not read:
        raise InputError(f"{artifact['artifact']}: none of its runs has a model read texts; take it out.")
    frame = pd.concat([_passes(results, *pair) for pair in read], ignore_index=True)
    cells = [
        *rows_of("By model and benchmark", _sums(frame, ["model", "benchmark"])),
        *rows_of("By model and what it read", _sums(frame, ["model", "read"])),
        *rows_of("Together", [("All passes shown", _cells(frame), False)]),
    ]
    notes = _notes(frame, [pair for pair in pairs if pair not in read])
    return table_of(artifact, lay_out(cells, "Passes of"), notes, frame)


def _passes(results: Results, model: str, benchmark: str) -> pd.DataFrame:
    manifest = results.manifest({"model": model, "benchmark": benchmark})
    kept = ("view", "companion", "prefix", "draw", "shots", "subset", "length", "statistics", "texts", "skipped",
            "truncated", "tokens", "seconds", "cpu_seconds", "tokens_per_second", "peak_memory_mb")  # fmt: skip
    records = [
        {"model": model, "benchmark": benchmark, "dtype": manifest["dtype"], "device": manifest["device"]}
        | {"read": _read(entry)}
        | {key: entry.get(key) for key in kept}
        for entry in manifest["views"]
    ]
    return pd.DataFrame(records).astype(dict.fromkeys(["draw", "shots", "length"], "Int64"))


def _read(entry: dict[str, Any]) -> str:
    """What the model read, in words: `the text`, `lower case of the text`, `the text after shots of non-members`."""
    text = "the text" if entry["view"] == "original" else f"the text under {view_label(entry['view'])}"
    if entry["companion"]:
        text = f"{view_label(entry['companion'])} of {text}"
    return f"{text} after {SHOTS[entry['prefix'].split(';')[0]]}" if entry["prefix"] else text


def _sums(frame: pd.DataFrame, keys: Sequence[str]) -> Iterable[tuple[str, Iterable[tuple[str, Cell]], bool]]:
    for key, own in frame.groupby(list(keys), sort=False):
        yield ": ".join(map(str, key)), _cells(own), False


def _cells(of: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
    cpu = of["cpu_seconds"].astype("float64").sum(skipna=False)  # passes of before it was recorded have none
    peak = of["peak_memory_mb"]
    yield "Passes", Cell(words=f"{len(of):,}")
    yield "Texts", Cell(words=f"{int(of['texts'].sum()):,}")
    yield "Tokens", Cell(words=f"{int(of['tokens'].sum()):,}")
    yield "Seconds", Cell(words=f"{of['seconds'].sum():,.1f}")
    yield "CPU seconds", Cell() if pd.isna(cpu) else Cell(words=f"{cpu:,.1f}")
    yield "Tokens a second", Cell(words=f"{_rate(of):,.0f}")
    yield "Peak memory (MB)", Cell(words=f"{peak.max():,.0f}") if peak.notna().any() else Cell()


def _rate(of: pd.DataFrame) -> float:
    """Tokens computed a second: the manifests' own rates, weighed with their seconds."""
    seconds = float(of["seconds"].sum())
    return float((of["tokens_per_second"] * of["seconds"]).sum()) / seconds if seconds > 0 else 0.0


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
