"""Points: tokens by entropy and log-probability (SURP figure 2), and published numbers
against measured ones."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pretrace.evaluation.tokens import FEWEST
from pretrace.render.artifact import Artifact
from pretrace.render.figures.drawing import (
    BLUE,
    CLASS_STYLES,
    EDGE,
    GREY,
    PAGE,
    VERMILION,
    Drawing,
    Handles,
    LineStyle,
    Look,
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


def entropy_scatter(artifact: Artifact, results: Results) -> Drawing:
    """Draw a row a panel: all tokens of both classes, one over the other; the
    surprising ones and their mean."""
    panels = results.panels(artifact)
    frames = [results.rows(artifact, panel, "tokens") for panel in panels]
    with sheet(PAGE, 2.9 * len(panels) + 0.25) as drawn:
        grid = drawn.subplots(len(panels), 2, squeeze=False)
        for number, panel in enumerate(panels):
            frame = frames[number]
            shares, surprising = grid[number]
            _draw_shares(shares, frame[frame["curve"] == "share"])
            _set_title(shares, 2 * number, f"{panel.name}\nall tokens")
            _draw_surprising(surprising, frame)
            _set_title(surprising, 2 * number + 1, _title(frame))
        handles = {}
        for label, style in CLASS_STYLES.items():
            handles[CLASSES[label]] = style.handle()
        draw_legend(drawn, handles)
    keys = {"curve": "drawn", "x": "entropy", "y": "logprob", "weight": "share"}
    columns = ["label", *keys, "low", "high"]
    shown = of_panels([frame[columns] for frame in frames], panels)
    return Drawing(drawn, shown.rename(columns=keys))


def _set_title(axis: Axes, number: int, title: str) -> None:
    lines = wrap_title(letter(number) + title, PAGE / 2 - EDGE)
    axis.set_title(lines, loc="left", fontsize=7)


def _title(frame: pd.DataFrame) -> str:
    labels = frame.loc[frame["curve"] == "token", "label"]
    counts = {name: int((labels == label).sum()) for label, name in CLASSES.items()}
    shown = ", ".join(f"{name}: {number or 'none'}" for name, number in counts.items())
    has_means = min(counts.values()) >= FEWEST
    with_means = " and their mean by entropy" if has_means else ""
    return f"surprising tokens{with_means}\n{shown}"


def _draw_shares(axis: Axes, shares: pd.DataFrame) -> None:
    """Draw a marker for each hexagon and class, filled for members; its side grows with
    the share of tokens (log)."""
    limits = np.log([shares["weight"].min(), shares["weight"].max()])
    for label, style in CLASS_STYLES.items():
        own = shares[shares["label"] == label]
        sides = np.interp(np.log(own["weight"]), limits, (1, 4.2))
        look: Look = {"marker": style.marker, "edgecolors": style.color}
        look["facecolors"] = style.color if label else "none"
        look["linewidths"] = 0 if label else 0.45
        axis.scatter(own["x"], own["y"], s=sides**2, **look)
    axis.axvline(EPS, color="black", linewidth=0.8, linestyle=(0, (3, 2)))
    axis.set_xlim(0, None)
    axis.set_ylim(None, 0.3)
    axis.set_xlabel("entropy (nats)")
    axis.set_ylabel(LOGPROB)


POINTS = ((FEWEST, (14, 1.0)), (10 * FEWEST, (7, 0.6)), (math.inf, (3, 0.25)))
"""Area (points squared) and opacity of the points of a class, by less than how many."""


def _draw_surprising(axis: Axes, frame: pd.DataFrame) -> None:
    for label, style in CLASS_STYLES.items():
        own = frame[frame["label"] == label]
        points = own[own["curve"] == "token"]
        mean = own[own["curve"] == "mean"]
        size, alpha = next(look for most, look in POINTS if len(points) < most)
        axis.scatter(
            points["x"],
            points["y"],
            s=size,
            marker=style.marker,
            color=style.color,
            alpha=alpha,
            linewidths=0,
            rasterized=True,
            zorder=1,
        )
        side = 1 if label else -1  # the means of the two classes are side by side
        x = mean["x"] + 0.012 * EPS * side
        draw_intervals(axis, x, mean.assign(value=mean["y"]), style.color, ground=True)
        axis.plot(x, mean["y"], **style.line, zorder=4)
        look = style.marked | {"linestyle": "", "markeredgewidth": 0.8}
        has_interval = mean["low"].notna()
        for chosen, fill in ((has_interval, style.color), (~has_interval, "white")):
            y = mean.loc[chosen, "y"]
            axis.plot(x[chosen], y, **look, markerfacecolor=fill, zorder=5)
    axis.margins(y=0.06)
    axis.set_xlim(0, EPS)
    axis.set_xlabel("entropy (nats)")
    axis.set_ylabel(LOGPROB)


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
    numbers = {str(paper): own for paper, own in typed.groupby("paper", sort=False)}
    handles: Handles = {}
    with sheet(PAGE, 0.55 + PAGE / max(len(numbers), 2)) as drawn:
        grid = drawn.subplots(1, len(numbers), squeeze=False, sharex=True, sharey=True)
        for axis, (paper, own) in zip(grid[0], numbers.items(), strict=True):
            axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
            for protocol, line in zip(papers[paper].protocols, PROTOCOLS, strict=False):
                points = own[own["protocol"] == protocol]
                points = points.assign(value=points["measured"])
                published = points["published"]
                draw_intervals(axis, published, points, line.color)
                look = line.marked | {"markerfacecolor": "none", "markeredgewidth": 0.6}
                [drawn_points] = axis.plot(published, points["value"], **look)
                told = [
                    f"{place_of(row)}, published {row['published']:.3g}"
                    for row in records_of(points)
                ]
                tell_values(axis, published, points.assign(told=told), "measured")
                handles[f"as the {protocol}"] = drawn_points
            shown = len(own[[*PUBLISHED_KEYS]].drop_duplicates())
            axis.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xlabel="published")
            axis.set_title(f"{papers[paper].title} ({shown} numbers)")
        grid[0][0].set_ylabel("measured, 95 % interval")
        draw_legend(drawn, handles)
    return Drawing(drawn, frame)
