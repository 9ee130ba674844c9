"""How much of documents and classes a model gives back, beside known non-members."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from pretrace.evaluation.averages import Record, number
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.names import CLASSES, joined
from pretrace.render.results import Results, of_panels, records_of
from pretrace.render.tables.table import Block, Cell, Head, Table, rows_of, table_of

MOST_ROWS = 20  # documents of a panel that are printed; the CSV has all
LEAST_KNOWN = 19  # documents of known non-members from which on a p can be 0.05; with fewer there is none

COLUMNS: dict[str, Head] = {
    "extractable": ("top-40", "share"),
    "in_tries": ("top-40", "in n tries"),
    "sampled": ("temperature 1", "share"),
    "greedy": ("greedy", "share"),
}


def extraction(artifact: Artifact, results: Results) -> Table:
    """Lay out the classes of each panel, then the documents of panels with an extractable window."""
    panels = results.panels(artifact)
    frames = [results.rows(artifact, panel, "extraction") for panel in panels]
    classes = [
        (f"{panel.name}: {_label(row)}", _cells(row), False)
        for panel, frame in zip(panels, frames, strict=True)
        for row in records_of(frame[frame["unit"] == "class"])
    ]
    blocks = rows_of("Classes", classes, "Of")
    for panel, frame in zip(panels, frames, strict=True):
        blocks += _documents(panel.name, frame[frame["unit"] == "document"])
    repeats = [REPEATS] if any(frame["repeats"].any() for frame in frames) else []
    notes = [
        *_settings(panels, frames),
        *repeats,
        *NOTES,
        *_left_out(panels, frames),
        *results.cautions(panels),
    ]
    return table_of(artifact, blocks, notes, of_panels(frames, panels))


REPEATS = (
    "Repeats: windows that are left out, because half of their tokens or more are a run that the text had before. A "
    "model copies such runs from the text that it reads, without having seen it in training."
)
NOTES = (
    "Greedy: windows that come when the likeliest token is always taken.",
    "Longest: tokens of the longest stretch that extractable windows cover without a gap.",
)


def _settings(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Say what a window is, when it is extractable, and in how many tries; panel by panel if they differ."""
    said: dict[str, list[str]] = {}
    for panel, frame in zip(panels, frames, strict=True):
        for row in records_of(frame.iloc[:1]):
            said.setdefault(_setting(row), []).append(panel.name)
    for words, labels in said.items():
        yield words if len(said) == 1 else f"{joined(labels)}: {words}"


def _setting(row: Record) -> str:
    read = f"after {row['prefix']} tokens of prefix alone"
    if pd.isna(row["prefix"]):
        read = "after all tokens before it in its text, as far as the model's context reaches"
    return (
        f"A window is {row['suffix']} tokens, which the model emits with some probability {read}. Share: windows with "
        f"a probability above {row['threshold']:g}. In n tries: windows that come at least once in {row['tries']:,} "
        "samples with a probability of one half."
    )


def _left_out(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Say what is not measured: texts that are too short, and what too few known non-members leave open."""
    for panel, frame in zip(panels, frames, strict=True):
        classes = frame[frame["unit"] == "class"]
        if short := int(classes["short"].sum()):
            yield (
                f"{panel.name}: {short:,} of {int(classes['texts'].sum()):,} texts are too short for a window."
            )
    known = pd.concat([frame.loc[frame["unit"] == "document", "known"] for frame in frames])
    if not known.any():
        yield "There are no known non-members to compare with."
        return
    yield (
        "Known non-members: share of their windows that is extractable although the model never read them, because "
        "they are common or predictable."
    )
    if known.ge(LEAST_KNOWN).any():
        yield (
            "p: share of known non-members' documents with at least the document's share of extractable windows, the "
            "document itself counted."
        )
    if known.lt(LEAST_KNOWN).any():
        yield (
            f"A p takes {LEAST_KNOWN} documents of known non-members, or it cannot be as low as 0.05; where there is "
            f"no p there are at most {known[known.lt(LEAST_KNOWN)].max()}."
        )


def _documents(title: str, frame: pd.DataFrame) -> list[Block]:
    if not frame["extractable"].gt(0).any():
        return []
    ordered = frame.sort_values("extractable", ascending=False, kind="stable")
    which = f"the first {MOST_ROWS} of {len(frame)}" if len(frame) > MOST_ROWS else f"{len(frame)}"
    rows = ((_label(row), _cells(row), False) for row in records_of(ordered.iloc[:MOST_ROWS]))
    return rows_of(f"Documents, {which}: {title}", rows, "Of")


def _label(row: Record) -> str:
    label: str = "unlabelled" if pd.isna(row["label"]) else CLASSES[int(row["label"])]
    return label if row["unit"] == "class" else f"{row['document']}, {label}"


def _cells(row: Record) -> Iterable[tuple[Head, Cell]]:
    yield ("", "windows"), Cell(words=f"{row['windows']:,}")
    yield ("", "repeats"), Cell(words=f"{row['repeats']:,}")
    for key, head in COLUMNS.items():
        yield head, Cell(number(row[key]))
    yield ("", "longest"), Cell(words=f"{row['longest_run']:,}")
    yield ("known", "non-members"), Cell(number(row["nonmembers"]))
    if row["unit"] == "document":
        is_told = bool(pd.notna(row["p"])) and row["known"] >= LEAST_KNOWN
        yield ("", "p"), Cell(words=f"{row['p']:.2g}") if is_told else Cell()
