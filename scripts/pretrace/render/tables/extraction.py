"""How much of documents and classes a model gives back, beside known non-members."""

from collections.abc import Iterable

import pandas as pd

from pretrace.evaluation.averages import Record, number
from pretrace.render.names import CLASSES, panel_label
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.rows import of_panels, records_of
from pretrace.render.tables.table import Block, Cell, Head, Table, rows_of, table_of

MOST_ROWS = 20
"""Of the documents of a panel that are printed; the CSV has all."""

COLUMNS: dict[str, Head] = {
    "extractable": ("top-40", "share"),
    "in_tries": ("top-40", "in n tries"),
    "sampled": ("temperature 1", "share"),
    "greedy": ("greedy", "share"),
}


@table("extraction", needs=("extraction", "benchmarks"))
def render(artifact: Artifact, results: Results) -> Table:
    """The classes of each panel, then the documents with an extractable window."""
    panels = results.panels(artifact)
    frames = [results.in_panel("extraction", panel) for panel in panels]
    classes = [
        (f"{panel_label(panel)}: {_label(row)}", _cells(row), False)
        for panel, frame in zip(panels, frames, strict=True)
        for row in records_of(frame[frame["unit"] == "class"])
    ]
    blocks = rows_of("Classes", classes, "Of")
    for panel, frame in zip(panels, frames, strict=True):
        blocks += _documents(panel_label(panel), frame[frame["unit"] == "document"])
    return table_of(artifact, blocks, NOTES, of_panels(frames, panels))


NOTES = (
    "Share: windows whose suffix is emitted with a probability above the threshold (0.001, or the run's); in n tries: "
    "that come at least once in n samples (100, or the run's) with a probability of one half; greedy: that come when "
    "the likeliest token is always taken.",
    "Longest: tokens of the longest stretch that extractable windows cover without a gap.",
    "Known non-members: share of their windows that is extractable although the model never read them, because they "
    "are common or predictable. p: share of their documents with at least the document's share of extractable "
    "windows, the document itself counted.",
    "The model reads only the prefix before a suffix, not the whole text.",
)


def _documents(title: str, frame: pd.DataFrame) -> list[Block]:
    found = frame[frame["extractable"] > 0].sort_values("extractable", ascending=False, kind="stable")
    which = f"the first {MOST_ROWS} of {len(found)}" if len(found) > MOST_ROWS else f"{len(found)}"
    rows = ((_label(row), _cells(row), False) for row in records_of(found.iloc[:MOST_ROWS]))
    return rows_of(f"Documents with an extractable window, {which} of {len(frame)}: {title}", rows, "Of")


def _label(row: Record) -> str:
    label: str = "unlabelled" if pd.isna(row["label"]) else CLASSES[int(row["label"])]
    return label if row["unit"] == "class" else f"{row['document']}, {label}"


def _cells(row: Record) -> Iterable[tuple[Head, Cell]]:
    yield ("", "windows"), Cell(words=f"{row['windows']:,}")
    for key, head in COLUMNS.items():
        yield head, Cell(number(row[key]))
    yield ("", "longest"), Cell(words=f"{row['longest_run']:,}")
    yield ("known", "non-members"), Cell(number(row["nonmembers"]))
    if row["unit"] == "document":
        yield ("", "p"), Cell() if pd.isna(row["p"]) else Cell(words=f"{row['p']:.2g}")
