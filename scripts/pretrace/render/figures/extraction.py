"""Where along its documents a model gives a text back."""

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Any

import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from pretrace.render.figures.drawing import PAGE, Drawing, letter, sheet
from pretrace.render.names import CLASSES, panel_label
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.rows import Panel, of_panels, records_of
from pretrace.runtime.errors import InputError

MOST_DOCUMENTS = 12
"""Of each class: those with the windows that are likeliest to be emitted."""
PASSAGES = 3
"""Printed under the figure, of each panel and class."""
LEAST = -6
"""The power of ten of the probability at which colour begins."""
GROUPS = {**CLASSES, -1: "unlabelled"}
UNLIKELY = "#EEEEEE"
COLORS = "YlOrRd"


@figure("extraction_map", needs=("windows", "benchmarks"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A row of axes a panel, its classes side by side; the likeliest passages are the reading."""
    panels = results.panels(artifact)
    frames = [_drawn(results.in_panel("windows", panel)) for panel in panels]
    if not any(map(len, frames)):
        raise InputError(f"artifact {artifact['artifact']}: none of its panels has a window")
    said = [line for panel, frame in zip(panels, frames, strict=True) for line in _passages(panel, frame)]
    return Drawing(
        _figure(panels, frames),
        of_panels(frames, panels),
        "\n".join(["The passages that are likeliest to be emitted:", *said]),
    )


def _drawn(windows: pd.DataFrame) -> pd.DataFrame:
    """The windows of the documents that are drawn, with their `row` and where they lie in it (`start`, tokens)."""
    windows = windows.assign(label=windows["label"].fillna(-1).astype(int)).drop(columns=["subset", "length"])
    likeliest = windows.groupby(["label", "document"])["log_p_top"].max().sort_values(ascending=False)
    chosen = likeliest.groupby("label").head(MOST_DOCUMENTS).sort_index()
    rows = chosen.groupby("label").cumcount().rename("row")
    windows = windows.merge(rows.reset_index(), on=["label", "document"])
    texts = windows.drop_duplicates("text_id").set_index("text_id")
    before = texts.groupby(["label", "document"])["tokens"].cumsum() - texts["tokens"]
    return windows.assign(start=windows["at"] + windows["text_id"].map(before))


def _figure(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Any:
    classes = [label for label in GROUPS if any(frame["label"].eq(label).any() for frame in frames)]
    rows = [int(frame["row"].max()) + 1 for frame in frames]
    norm = Normalize(LEAST, 0)
    with sheet(PAGE, sum(0.8 + 0.13 * count for count in rows)) as figure:
        grid = figure.subplots(
            len(panels), len(classes), squeeze=False, height_ratios=[3 + count for count in rows]
        )
        for at, (panel, frame) in enumerate(zip(panels, frames, strict=True)):
            longest = (frame["start"] + frame["suffix"]).max()
            for axis, label in zip(grid[at], classes, strict=True):
                _draw(axis, frame[frame["label"] == label], norm)
                axis.set(xlim=(0, longest), ylim=(rows[at] - 0.4, -0.6))
                axis.set_xlabel("token" if at == len(panels) - 1 else "")
                axis.set_title(GROUPS[label], loc="left")
            title = (letter(at) if len(panels) > 1 else "") + panel_label(panel)
            grid[at, 0].set_title(f"{title}\n{GROUPS[classes[0]]}", loc="left")
        bar = figure.colorbar(
            ScalarMappable(norm, COLORS), ax=list(grid.flat), fraction=0.03, pad=0.015, aspect=24
        )
        bar.set_label("probability that the suffix is emitted")
        bar.set_ticks(
            range(LEAST, 1, 2), labels=[f"$10^{{{power}}}$" for power in range(LEAST, 0, 2)] + ["1"]
        )
        bar.outline.set_linewidth(0.5)
    return figure


def _draw(axis: Any, windows: pd.DataFrame, norm: Normalize) -> None:
    """A bar a document, grey where no colour says more; where windows overlap, the likeliest is on top."""
    windows = windows.sort_values("log_p_top", kind="stable", na_position="first")
    boxes = [
        Rectangle((start, row - 0.4), suffix, 0.8)
        for start, row, suffix in windows[["start", "row", "suffix"]].itertuples(index=False)
    ]
    powers = windows["log_p_top"].fillna(float("-inf")) / log(10)
    colors = ScalarMappable(norm, COLORS).to_rgba(powers.clip(LEAST).to_numpy())
    fills = [color if power > LEAST else UNLIKELY for color, power in zip(colors, powers, strict=True)]
    axis.add_collection(PatchCollection(boxes, facecolors=fills, linewidths=0))
    named = windows.drop_duplicates("row").sort_values("row")
    axis.set_yticks(named["row"], named["document"], fontsize=5.5)
    axis.tick_params(axis="y", length=0)


def _passages(panel: Panel, frame: pd.DataFrame) -> Iterator[str]:
    """A line for each of the likeliest passages of a panel's classes; of windows that overlap, the likeliest."""
    for label, title in GROUPS.items():
        of_class = frame[frame["label"].eq(label) & frame["log_p_top"].notna()]
        told: list[tuple[str, int]] = []
        for row in records_of(of_class.sort_values("log_p_top", ascending=False, kind="stable")):
            if any(id == row["text_id"] and abs(at - row["at"]) < row["suffix"] for id, at in told):
                continue
            if len(told) == PASSAGES:
                break
            told.append((row["text_id"], row["at"]))
            of_text = f" of {row['text_id']}" if row["text_id"] != row["document"] else ""
            place = f"{title}, {row['document']}, token {row['at']}{of_text}"
            words = " ".join(row["passage"].split())
            yield f"{panel_label(panel)}, {place}, probability {exp(row['log_p_top']):.2g}: {words}"
