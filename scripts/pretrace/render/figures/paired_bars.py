"""Bars side by side, with intervals: what the bar charts of questions share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pretrace.render.figures.drawing import GREEN, ORANGE, PAGE, SKY, facet_grid, lay_out, style
from pretrace.render.phrases import Estimate

FILLS = (("#DDDDDD", ""), (SKY, "///"), (ORANGE, "\\\\\\"), (GREEN, "..."))
RESAMPLES = 2000

EVEN = {"one in four": 0.25}
"""Where all of four options are chosen equally often."""


@dataclass(frozen=True)
class Bars:
    """One facet: series of bars by name, each an estimate by group; `lines` are levels drawn across."""

    title: str
    series: Mapping[str, Mapping[str, Estimate]]
    lines: Mapping[str, float]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(group for of in self.series.values() for group in of))


def figure_of(facets: Sequence[Bars], y_label: str) -> Any:
    """A facet beside the other, up to three in a row; one legend of all series."""
    with style():
        figure, grid = facet_grid(len(facets), row=2.3, rest=0.6, widths=(3.6, PAGE * 2 / 3, PAGE))
        handles: dict[str, Any] = {}
        for at, axis in enumerate(grid.flat[: len(facets)]):
            handles |= {
                name: handle for name, handle in _draw(axis, facets[at]).items() if name not in handles
            }
            axis.set_title(facets[at].title, fontsize=7)
        tops = [
            end for one in facets for of in one.series.values() for bar in of.values() for end in bar if end
        ]
        grid[0, 0].set_ylim(
            0, min(1.12, max([*tops, *(v for one in facets for v in one.lines.values())]) * 1.18)
        )
        for axis in grid[:, 0]:
            axis.set_ylabel(y_label)
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=min(2 * grid.shape[1], len(handles)),
        )
        lay_out(figure)
    return figure


def _draw(axis: Any, facet: Bars) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    width = 0.8 / len(facet.series)
    for at, (name, of) in enumerate(facet.series.items()):
        color, hatch = FILLS[at % len(FILLS)]
        for group, (value, low, high) in of.items():
            place = facet.groups.index(group) + (at - (len(facet.series) - 1) / 2) * width
            axis.bar(
                place, value, width=width * 0.94, color=color, hatch=hatch, edgecolor="white", linewidth=0
            )
            axis.bar(place, value, width=width * 0.94, facecolor="none", edgecolor="black", linewidth=0.6)
            if low is not None and high is not None:
                ends = [[max(0.0, value - low)], [max(0.0, high - value)]]
                axis.errorbar(place, value, ends, color="white", capsize=2.8, linewidth=2.2, capthick=2.2)
                axis.errorbar(place, value, ends, color="black", capsize=2.0, linewidth=0.8, capthick=0.8)
            axis.annotate(f"{value:.3f}", (place, high if high is not None else value), (0, 2.5), ha="center",
                          textcoords="offset points", va="bottom", fontsize=6, zorder=5,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})  # fmt: skip
        handles[name] = _key(color, hatch)
    for name, level in facet.lines.items():
        handles[name] = axis.axhline(level, color="black", linewidth=0.8, linestyle=(0, (4, 2)))
    axis.set_xticks(range(len(facet.groups)), facet.groups)
    axis.set_xlim(-0.6, len(facet.groups) - 0.4)
    return handles


def _key(color: str, hatch: str) -> Any:
    """A bar as the legend shows it."""
    from matplotlib.patches import Patch

    return (
        Patch(facecolor=color, hatch=hatch, edgecolor="white", linewidth=0),
        Patch(facecolor="none", edgecolor="black", linewidth=0.6),
    )


def mean_of_groups(values: np.ndarray, groups: np.ndarray, seed: int) -> Estimate:
    """The mean over groups of each group's mean, with a 95 % interval by bootstrap of the groups.

    `values` and `groups` (any labels) have shape (answers,). One group alone has no interval.
    """
    _, codes = np.unique(groups, return_inverse=True)
    sums = np.bincount(codes, weights=values.astype(np.float64))
    means = sums / np.bincount(codes)
    if len(means) < 2:
        return float(means.mean()), None, None
    drawn = np.random.default_rng(seed).integers(len(means), size=(RESAMPLES, len(means)))
    low, high = np.quantile(means[drawn].mean(axis=1), [0.025, 0.975])
    return float(means.mean()), float(low), float(high)
