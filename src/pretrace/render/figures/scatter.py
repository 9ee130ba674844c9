"""Points: tokens by entropy and log-probability (SURP figure 2), and published numbers
against measured ones."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm

from pretrace.evaluation.tokens import FEWEST
from pretrace.render.artifact import Artifact
from pretrace.render.figures.drawing import (
    BLUE,
    CLASS_STYLES,
    EDGE,
    PAGE,
    REACH,
    UPRIGHT_STYLE,
    VERMILION,
    Drawing,
    Facet,
    Handles,
    LineStyle,
    Look,
    Values,
    draw_facets,
    draw_intervals,
    draw_legend,
    letter,
    sheet,
    tell_values,
    wrap_title,
)
from pretrace.render.frames import of_panels, records_of
from pretrace.render.names import CLASSES
from pretrace.render.published import PUBLISHED_KEYS, rates, read_papers
from pretrace.render.results import Results
from pretrace.render.tables.reproduction import compared_of, place_of

EPS = 2
"""SURP's default threshold: a surprising token is predicted with an entropy below 2
nats."""
LOGPROB = "log-probability of the token (nats)"
POINTED = 30  # hexagons of a class at which a reader can point: the fullest


def entropy_scatter(artifact: Artifact, results: Results) -> Drawing:
    """Draw a row a panel: the densities of all tokens of members and of non-members, and
    the surprising ones with their mean.

    Where a class has fewer than `FEWEST` surprising tokens, these are not drawn, and
    the reading says so.
    """
    panels = results.panels(artifact)
    frames = [results.rows(artifact, panel, "tokens") for panel in panels]
    weights = pd.concat(frames)["weight"]
    colors = ScalarMappable(LogNorm(weights.min(), weights.max()), "cividis_r")
    notes = []
    handles: Handles = {}
    with sheet(PAGE, 2.3 * len(panels) + 0.35) as drawn:
        grid = drawn.subplots(len(panels), 3, squeeze=False)
        for number, (panel, frame) in enumerate(zip(panels, frames, strict=True)):
            *maps, last = grid[number]
            _draw_densities(maps, frame[frame["curve"] == "share"], colors)
            title = letter(number, len(panels)) + panel.name
            # the first line is above the whole row
            wrapped = wrap_title(title, PAGE - EDGE)
            maps[0].set_title(f"{wrapped}\n{CLASSES[1]}")
            has_means = frame.loc[frame["curve"] == "mean", "label"].nunique() > 1
            if not has_means:
                last.axis("off")
                notes.append(
                    f"{panel.name}: a class has fewer than {FEWEST} surprising tokens, "
                    "too few to draw."
                )
                continue
            handles |= _draw_surprising(last, frame)
        place: Look = {"fraction": 0.03, "pad": 0.02, "aspect": 40, "format": "%g"}
        bar = drawn.colorbar(colors, ax=list(grid[:, :2].flat), **place)
        bar.set_label("tokens of the class (%)")
        bar.outline.set_linewidth(0.5)
        if handles:
            draw_legend(drawn, handles)
    keys = {"curve": "drawn", "x": "entropy", "y": "logprob", "weight": "share"}
    columns = ["label", *keys, "low", "high"]
    shown = of_panels([frame[columns] for frame in frames], panels)
    return Drawing(drawn, shown.rename(columns=keys)).with_notes(notes)


def _draw_densities(
    axes: Sequence[Axes], shares: pd.DataFrame, colors: ScalarMappable
) -> None:
    """Draw the hexagons of each class, coloured by the share of its tokens (log)."""
    # two grids of hexagons lie half a step apart
    x_step, y_step = (2 * _least_distance(shares[side]) for side in ("x", "y"))
    corners = np.array([[1, -1], [1, 1], [0, 2], [-1, 1], [-1, -1], [0, -2]])
    hexagon = corners * [x_step / 2, y_step / 6]
    for axis, (label, name) in zip(axes, CLASSES.items(), strict=True):
        own = shares[shares["label"] == label]
        centres = own[["x", "y"]].to_numpy()
        boxes = PolyCollection(
            centres[:, None] + hexagon,
            facecolors=colors.to_rgba(own["weight"].to_numpy()),
            edgecolors="face",
            linewidths=0.2,
            rasterized=True,
        )
        axis.add_collection(boxes)
        axis.axvline(EPS, color="black", linewidth=0.8, linestyle=(0, (3, 2)))
        axis.set_xlim(0, shares["x"].max() + x_step / 2)
        axis.set_ylim(shares["y"].min() - y_step / 2, 0.3)
        axis.set_title(name)
        axis.set_xlabel("entropy (nats)")
        fullest = own.nlargest(POINTED, "weight")
        texts = []
        for row in records_of(fullest):
            place = f"entropy {row['x']:.2f}, log-probability {row['y']:.2f}"
            texts.append(f"{name}, {place}: {row['weight']:.2g} % of the tokens")
        x, y = fullest["x"], fullest["y"]
        axis.add_artist(Values((x, x), (y, y), texts, REACH))
    axes[0].set_ylabel(LOGPROB)
    axes[1].tick_params(labelleft=False)


def _least_distance(places: "pd.Series[float]") -> float:
    """Return the distance of the two places that are nearest; 1 of a single place."""
    distances = np.diff(np.unique(places.round(9)))
    return float(distances.min()) if len(distances) else 1.0


def _draw_surprising(axis: Axes, frame: pd.DataFrame) -> Handles:
    handles = {}
    for label, style in CLASS_STYLES.items():
        own = frame[frame["label"] == label]
        points = own[own["curve"] == "token"]
        mean = own[own["curve"] == "mean"]
        axis.scatter(
            points["x"],
            points["y"],
            s=4,
            marker=style.marker,
            color=style.color,
            alpha=0.3,
            linewidths=0,
            rasterized=True,
            zorder=1,
        )
        side = 1 if label else -1  # the means of the two classes are side by side
        x = mean["x"] + 0.012 * EPS * side
        told = CLASSES[label] + mean["x"].map(", entropy {:.2f}".format)
        mean = mean.assign(value=mean["y"], told=told)
        draw_intervals(axis, x, mean, style.color, ground=True)
        tell_values(axis, x, mean, "mean log-probability of surprising tokens")
        axis.plot(x, mean["y"], **style.marked, zorder=4)
        handles[CLASSES[label]] = style.handle()
    axis.margins(y=0.06)
    axis.set_xlim(0, EPS)
    axis.set_title("surprising tokens, mean")
    axis.set_xlabel("entropy (nats)")
    return handles


PROTOCOLS = (
    LineStyle(BLUE, "", size=2.5),
    LineStyle(VERMILION, "", marker="x", size=2.5),
)


def reproduction_scatter(artifact: Artifact, results: Results) -> Drawing:
    """Draw a facet a paper, a colour and marker a protocol; on the dotted line a number
    is as published.

    Bars are our 95 % intervals, which decide about rebuilt benchmarks alone.
    """
    frame = rates(compared_of(artifact, results))
    if frame.empty:
        raise artifact.empty("none of the published numbers was measured")
    typed = frame.astype({"published": float, "low": float, "high": float})
    papers = read_papers(results)
    facets = []
    for paper, own in typed.groupby("paper", sort=False):
        told = []
        for row in records_of(own):
            told.append(f"{place_of(row)}, published {row['published']:.3g}")
        shown = len(own[[*PUBLISHED_KEYS]].drop_duplicates())
        title = f"{papers[str(paper)].title} ({shown} numbers)"
        number = own["protocol"].map([*papers[str(paper)].protocols].index)
        points = own.assign(value=own["measured"], told=told, number=number)
        facets.append(Facet(title, points, "measured", "published", height=3.0))

    def draw(axis: Axes, facet: Facet) -> Handles:
        axis.plot([0, 1], [0, 1], **UPRIGHT_STYLE.line)
        handles = {}
        for number, line in enumerate(PROTOCOLS):
            own = facet.frame[facet.frame["number"] == number]
            published = own["published"]
            draw_intervals(axis, published, own, line.color)
            look = line.marked | {"markerfacecolor": "none", "markeredgewidth": 0.6}
            [handle] = axis.plot(published, own["value"], **look)
            tell_values(axis, published, own, facet.quantity)
            for protocol in own["protocol"].unique():
                handles[f"as the {protocol}"] = handle
        axis.set(aspect="equal", xlim=(0, 1), ylim=(0, 1))
        return handles

    return Drawing(draw_facets(facets, draw), frame)
