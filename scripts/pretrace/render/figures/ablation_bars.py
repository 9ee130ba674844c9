"""A method with its parts switched on one by one: DC-PDD figure 2."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.render.figures.drawing import (
    COLUMN,
    GREEN,
    ORANGE,
    PAGE,
    SKY,
    Drawing,
    lay_out,
    new_figure,
    style,
)
from pretrace.render.names import chance_level, method_label, metric_label, panel_label, panel_lines, where
from pretrace.render.phrases import against_chance, joined, with_interval
from pretrace.render.records import estimate, long_frame, number_record, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record
from pretrace.runtime.errors import InputError

FILLS = (("#DDDDDD", ""), (SKY, "///"), (ORANGE, "\\\\\\"), (GREEN, "..."))

Bars = Mapping[str, Record]


@figure("ablation_bars", needs=("metrics",), required=("method", "settings"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A group of bars a panel, a bar a setting of `options.settings` (label -> setting), with intervals.

    A panel's own `settings` stand in their place.
    """
    panels = results.panels(artifact)
    groups = [_bars(artifact, results, panel) for panel in panels]
    return Drawing(
        figure=_figure(artifact, panels, groups),
        frame=_long(artifact, panels, groups),
        reading=" ".join(_reading(artifact, panel, bars) for panel, bars in zip(panels, groups, strict=True)),
    )


def _bars(artifact: Artifact, results: Results, panel: Panel) -> Bars:
    method, settings = artifact["options"]["method"], panel.get("settings", artifact["options"]["settings"])
    grid = results.grid(artifact, panel, method)
    for label, setting in settings.items():
        if setting not in grid:
            raise InputError(
                f"{where(artifact, panel)}: {label} has no row, because the run "
                f"does not score {method} with {setting}; it scores: {', '.join(sorted(grid))}"
            )
    return {label: grid[setting] for label, setting in settings.items()}


def _figure(artifact: Artifact, panels: Sequence[Panel], groups: Sequence[Bars]) -> Any:
    metric = artifact.get("metric", "auc")
    with style():
        figure = new_figure(COLUMN if len(panels) <= 2 else PAGE, 2.3)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, panel, bars in zip(axes, panels, groups, strict=True):
            _draw(axis, bars, metric)
            axis.set_title("\n".join(panel_lines(panel)), fontsize=7)
        axes[0].set_ylabel(f"{metric_label(metric)}, with 95 % interval")
        _name_chance(axes[-1], metric)
        axes[0].set_ylim(*_limits(groups, metric))
        figure.supxlabel(f"parts of {method_label(artifact['options']['method'])}", fontsize=7.5)
        lay_out(figure)
    return figure


def _draw(axis: Any, bars: Bars, metric: str) -> None:
    for place, row in enumerate(bars.values()):
        value, low, high = estimate(row)
        color, hatch = FILLS[place % len(FILLS)]
        axis.bar(place, value, width=0.68, color=color, hatch=hatch, edgecolor="white", linewidth=0)
        axis.bar(place, value, width=0.68, facecolor="none", edgecolor="black", linewidth=0.6)
        if low is not None and high is not None:
            for color, extra in (("white", 1.8), ("black", 0.0)):
                axis.errorbar(place, value, [[value - low], [high - value]], color=color,
                              capsize=2.5 + extra / 2, linewidth=0.9 + extra,
                              capthick=0.9 + extra)  # fmt: skip
        axis.annotate(f"{value:.3f}", (place, high or value), (0, 2), textcoords="offset points", ha="center",
                      va="bottom", fontsize=6.5)  # fmt: skip
    chance = chance_level(metric)
    if chance is not None:
        axis.axhline(chance, color="black", linewidth=0.8, linestyle=(0, (4, 2)))
    axis.set_xticks(range(len(bars)), list(bars))
    axis.set_xlim(-0.6, len(bars) - 0.4)


def _name_chance(axis: Any, metric: str) -> None:
    chance = chance_level(metric)
    if chance is not None:
        axis.annotate("chance", (1.0, chance), (2, 0), xycoords=("axes fraction", "data"),
                      textcoords="offset points", va="center", fontsize=6.5)  # fmt: skip


def _limits(groups: Sequence[Bars], metric: str) -> tuple[float, float]:
    """From zero: bars show their value by their length. Up to a little over the highest interval."""
    ends = [end for bars in groups for row in bars.values() for end in estimate(row) if end is not None]
    return 0.0, min(1.08, max([*ends, chance_level(metric) or 0.0]) * 1.12)


def _long(artifact: Artifact, panels: Sequence[Panel], groups: Sequence[Bars]) -> pd.DataFrame:
    records = [
        panel_record(panel)
        | {"method": artifact["options"]["method"], "part": label, "metric": artifact.get("metric", "auc")}
        | number_record(row)
        for panel, bars in zip(panels, groups, strict=True)
        for label, row in bars.items()
    ]
    return long_frame(records)


def _reading(artifact: Artifact, panel: Panel, bars: Bars) -> str:
    metric = artifact.get("metric", "auc")
    values = joined(
        [
            f"{label} {with_interval(estimate(row))}{against_chance(estimate(row), metric)}"
            for label, row in bars.items()
        ]
    )
    first, last = (estimate(list(bars.values())[place]) for place in (0, -1))
    change = last[0] - first[0]
    names = list(bars)
    moves = f"{'rises' if change > 0 else 'falls'} by {abs(change):.3f}"
    verdict = f"from {names[0]} to {names[-1]} the {metric_label(metric)} {moves}"
    if abs(change) < 0.0005:
        verdict = f"{names[0]} and {names[-1]} reach the same {metric_label(metric)}"
    lows = [end for end in (first[1], last[1]) if end is not None]
    highs = [end for end in (first[2], last[2]) if end is not None]
    overlap = len(lows) == 2 and len(highs) == 2 and max(lows) <= min(highs)
    return (
        f"On {panel_label(panel)}: {values}; {verdict}{', within overlapping intervals' if overlap else ''}."
    )
