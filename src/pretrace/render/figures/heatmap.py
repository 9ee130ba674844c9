"""A metric over two hyperparameters of a method: SURP figure 4."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from pretrace.evaluation.metrics import marks_in
from pretrace.methods.settings import written_parameters
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.figures.drawing import (
    AROUND,
    COLUMN,
    LINE,
    ORANGE,
    PAGE,
    Drawing,
    Look,
    Values,
    draw_legend,
    set_title_at_edge,
    sheet,
    wrap_title,
)
from pretrace.render.frames import long_frame, records_of
from pretrace.render.names import (
    EMPTY,
    PARAMETER_LABELS,
    chance_level,
    metric_label,
)
from pretrace.render.results import Results

FARTHEST = 0.25
"""From chance to the last colours: one scale, so that two figures can be compared."""


def heatmap(artifact: Artifact, results: Results) -> Drawing:
    """Draw a heat map a panel over `options.x` and `options.y`: best and default
    marked, many empty hatched."""
    options = artifact.options
    panels = results.panels(artifact)
    x, y = str(options.x), options.y
    frames = [_cells(artifact, results, panel, x, y) for panel in panels]
    frame = pd.concat(frames, ignore_index=True)
    quantity = metric_label(artifact.metric)
    chance = chance_level(artifact.metric) or 0.5
    columns, rows = frames[0][x].nunique(), frames[0][y].nunique()
    width = PAGE if columns > 8 else COLUMN
    height = 0.95 + 0.21 * rows
    with sheet(width, height * len(panels)) as figure:
        grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axis, panel, own in zip(grid, panels, frames, strict=True):
            image = _draw(axis, own, x, y, quantity, chance)
            set_title_at_edge(figure, axis, wrap_title(panel.name, width - LINE))
            axis.set_xlabel(PARAMETER_LABELS.get(x, x))
            axis.set_ylabel(wrap_title(PARAMETER_LABELS.get(y, y), height - AROUND))
        place: Look = {"fraction": 0.03, "pad": 0.015, "aspect": 24}
        bar = figure.colorbar(image, ax=list(grid), extend="both", **place)
        bar.set_label(quantity)
        bar.set_ticks([chance - 0.2, chance, chance + 0.2])
        bar.outline.set_linewidth(0.5)
        handles = {
            "best on the evaluated texts": Patch(facecolor="none", **BOXES["best"]),
            "default": Patch(facecolor="none", **BOXES["default"]),
        }
        if frame["hatched"].any():
            empty = "over 5 % of texts without such a token"
            look: Look = {"edgecolor": "black", "hatch": "////", "linewidth": 0.4}
            handles[empty] = Patch(facecolor="none", **look)
        draw_legend(figure, handles)
    return Drawing(figure, frame)


def _cells(
    artifact: Artifact, results: Results, panel: Panel, x: str, y: str
) -> pd.DataFrame:
    """Return a row a cell: x, y, value, and whether it is hatched, the best, the
    default."""
    method = artifact.options.method
    grid = results.grid(artifact, panel, method)
    own = artifact.replaced(methods=[method])
    (default,) = results.by("method", own, panel, selection="default").values()
    records = []
    for setting, row in grid.items():
        parsed = written_parameters(setting)
        if set(parsed) != {x, y}:
            continue
        cell = {
            "method": method,
            "setting": setting,
            "metric": artifact.metric,
            x: float(parsed[x]),
            y: float(parsed[y]),
            "value": float(row["value"]),
            "hatched": EMPTY in marks_in(row["marks"]),
            "default": setting == default["setting"],
        }
        records.append(panel.record | cell)
    if not records:
        there = f"there are: {', '.join(sorted(grid)[:5])} ..."
        raise artifact.empty(
            f"{method} has no setting of {x} and {y} alone; {there}", panel
        )
    frame = long_frame(records).sort_values([x, y], ignore_index=True)
    return frame.assign(best=frame.index == frame["value"].idxmax())


def _draw(
    axis: Axes,
    frame: pd.DataFrame,
    x_name: str,
    y_name: str,
    quantity: str,
    chance: float,
) -> Any:
    """Draw the cells of a panel; `chance` is the middle of the colours.

    A value has no leading zero; the best is in a solid box, the default in a dashed
    one.
    """
    values = frame.pivot(index=y_name, columns=x_name, values="value")
    xs, ys = list(values.columns), list(values.index)
    image: Any = axis.imshow(
        values,
        cmap="RdBu",
        origin="lower",
        aspect="auto",
        vmin=chance - FARTHEST,
        vmax=chance + FARTHEST,
    )
    places, texts = [], []
    for row in records_of(frame):
        x, y = xs.index(row[x_name]), ys.index(row[y_name])
        shade = image.norm(row["value"])
        ink = "black" if abs(shade - 0.5) < 0.3 else "white"
        places.append((x, y))
        setting = row["setting"].replace("=", " ").replace(";", ", ")
        texts.append(f"{setting}: {quantity} {row['value']:.2f}")
        if row["hatched"]:
            look: Look = {"hatch": "////", "linewidth": 0, "alpha": 0.55}
            axis.add_patch(_box(x, y, 1, **look, edgecolor=ink))
        ground = {"boxstyle": "round,pad=0.1", "linewidth": 0}
        ground["facecolor"] = image.cmap(shade)
        axis.text(
            x,
            y,
            f"{row['value']:.2f}".removeprefix("0"),
            ha="center",
            va="center",
            fontsize=5.6,
            color=ink,
            fontweight="bold" if row["best"] else "normal",
            bbox=ground if row["hatched"] else None,
        )
        for name, box in BOXES.items():
            if row[name]:
                axis.add_patch(_box(x, y, 0.9, **box, zorder=4))
    columns, rows = np.array(places).T
    sides = (columns - 0.5, columns + 0.5), (rows - 0.5, rows + 0.5)
    axis.add_artist(Values(*sides, texts))
    axis.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    axis.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return image


def _box(x: float, y: float, size: float, **look: Any) -> Rectangle:
    return Rectangle((x - size / 2, y - size / 2), size, size, fill=False, **look)


BOXES: dict[str, Look] = {
    "best": {"edgecolor": ORANGE, "linewidth": 1.6, "linestyle": "-"},
    "default": {"edgecolor": ORANGE, "linewidth": 1.6, "linestyle": (0, (2, 1.2))},
}
"""How the boxes around cells look."""
