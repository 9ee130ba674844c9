"""What the forward passes cost: tokens, seconds and memory, as measured."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pretrace.render.names import view_label
from pretrace.render.phrases import DASH
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.tables.table import Block, Cell, Row, Table
from pretrace.runtime.errors import InputError

COLUMNS = ("Passes", "Texts", "Tokens", "Seconds", "CPU seconds", "Tokens a second", "Peak memory (MB)")
SUMS = ("texts", "tokens", "seconds", "skipped", "truncated")


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
    blocks = (
        Block("By model and benchmark", _rows(frame, ["model", "benchmark"])),
        Block("By model and what it read", _rows(frame, ["model", "read"])),
    )
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Passes of",
        columns=tuple((column,) for column in COLUMNS),
        blocks=(*blocks, Block("Together", (_row("All passes shown", frame),))),
        notes=tuple(_notes(frame, [pair for pair in pairs if pair not in read])),
        frame=frame,
        reading=_reading(frame),
    )


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


def _rows(frame: pd.DataFrame, keys: Sequence[str]) -> tuple[Row, ...]:
    return tuple(_row(": ".join(map(str, key)), of) for key, of in frame.groupby(list(keys), sort=False))


def _row(label: str, of: pd.DataFrame) -> Row:
    sums = {name: of[name].sum() for name in SUMS}
    cpu = of["cpu_seconds"].astype("float64").sum(skipna=False)  # passes of before it was recorded have none
    words = (
        f"{len(of):,}",
        f"{int(sums['texts']):,}",
        f"{int(sums['tokens']):,}",
        f"{sums['seconds']:,.1f}",
        DASH if pd.isna(cpu) else f"{cpu:,.1f}",
        f"{_rate(of):,.0f}",
        f"{of['peak_memory_mb'].max():,.0f}" if of["peak_memory_mb"].notna().any() else DASH,
    )
    return Row(label, tuple(Cell(words=word) for word in words))


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


def _reading(frame: pd.DataFrame) -> str:
    seconds = float(frame["seconds"].sum())
    by_model = frame.groupby("model")["seconds"].sum().sort_values()
    share = 100 * float(by_model.iloc[-1]) / seconds if seconds > 0 else 0.0
    return (
        f"{len(frame):,} passes over {int(frame['tokens'].sum()):,} scored tokens took {seconds:,.0f} s, at "
        f"{_rate(frame):,.0f} computed tokens a second; {share:.0f} % of the time is that of {by_model.index[-1]}. "
        f"The highest peak memory was {frame['peak_memory_mb'].max():,.0f} MB."
    )
