"""A metric against a hyperparameter, the size of the model, the length of the text or the subset, a line a method.

DC-PDD figure 3; Con-ReCall figures 6 and 7.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd
from matplotlib.ticker import NullLocator

from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import (
    GREY,
    Drawing,
    LineStyle,
    facet_grid,
    lay_out,
    letter,
    line_styles,
    style,
)
from pretrace.render.figures.lines_reading import reading
from pretrace.render.names import (
    chance_level,
    method_label,
    metric_label,
    ordered,
    panel_label,
    parameter_label,
    parse_setting,
)
from pretrace.render.records import estimate, long_frame, number_record, panel_record
from pretrace.render.registry import SELECTIONS, Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, best_by_parameter, by_parameter, one_setting
from pretrace.runtime.errors import InputError

FEW_LINES = 3
"""As many have a band for their interval; more have bars, side by side."""

LONG_NAME = 24
"""Characters of a name beside which fewer names stand in a row of the legend."""

PLACES = ("model", "length", "subset")

THIN = ("P", "X")
"""Markers of which a white edge would leave nothing."""


@dataclass(frozen=True)
class Facet:
    """Lines over one x: by method, rows by place on the axis; `levels` are methods that x does not change.

    `ticks` names the places where x is no number.
    """

    title: str
    metric: str
    x: str
    x_label: str
    lines: Mapping[str, Mapping[float, tuple[Panel, Record]]]
    levels: Mapping[str, tuple[Panel, Record]]
    ticks: Mapping[float, str]
    default: float | None = None


@figure("method_lines", needs=("metrics",), required=("x",), optional=("metrics", "vertical"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """`options.x` is model, length or subset (or several, a facet each), or a parameter: then a facet a panel.

    `options.metrics`, in place of the artifact's one, have facets of their own side by side.
    Settings are chosen as the artifact's first selection says. Over a parameter, every other one is at its default,
    or (`best_on_test`) at its best for each value; methods without it are level lines. `options.vertical` maps places
    on x to a label: lines that say what happens there.
    """
    x = artifact["options"]["x"]
    metrics = artifact["options"].get("metrics", [artifact.get("metric", "auc")])
    facets = [
        facet
        for one in ([x] if isinstance(x, str) else x)
        for of in ({**artifact, "metric": metric} for metric in metrics)
        for facet in (_over_places(of, results, one) if one in PLACES else _over_parameter(of, results, one))
    ]
    if not facets:
        raise InputError(f"artifact {artifact['artifact']}: no two of its panels differ in {x} alone")
    return Drawing(
        figure=_figure(artifact, facets),
        frame=_long(facets),
        reading=reading(facets),
    )


def _over_places(artifact: Artifact, results: Results, x: str) -> list[Facet]:
    """A facet for each group of panels that differ in `x` alone."""
    groups: dict[tuple[Any, ...], list[Panel]] = {}
    for panel in results.panels(artifact):
        keys = [key for key in ("model", "benchmark", "subset", "length", "view", "draw") if key != x]
        groups.setdefault(tuple(panel.get(key) for key in keys), []).append(panel)
    return [_facet_over(artifact, results, x, panels) for panels in groups.values() if len(panels) > 1]


def _facet_over(artifact: Artifact, results: Results, x: str, panels: Sequence[Panel]) -> Facet:
    selection = artifact.get("selection", SELECTIONS)[0]
    if x == "length":
        panels = sorted(panels, key=lambda panel: int(panel["length"]))
    rows = [results.selected(artifact, panel, selection) for panel in panels]
    places = [math.log2(panel["length"]) if x == "length" else float(at) for at, panel in enumerate(panels)]
    names = [str(panel.get("label", panel["model"]) if x == "model" else panel[x]) for panel in panels]
    lines = {
        method: {
            place: (panel, of[method])
            for place, panel, of in zip(places, panels, rows, strict=True)
            if method in of
        }
        for method in ordered(artifact, (method for of in rows for method in of))
    }
    first = panels[0]
    if x == "model":
        title = panel_label({**{key: first[key] for key in first if key != "label"}, "model": "models"})
        title = title.removeprefix("models ")
    else:
        title = panel_label({**first, x: {"length": None, "subset": ""}[x]})
    label = "length of the text (words)" if x == "length" else x
    metric = artifact.get("metric", "auc")
    return Facet(title, metric, x, label, lines, {}, dict(zip(places, names, strict=True)))


def _over_parameter(artifact: Artifact, results: Results, x: str) -> list[Facet]:
    return [_facet_of(artifact, results, x, panel) for panel in results.panels(artifact)]


def _facet_of(artifact: Artifact, results: Results, x: str, panel: Panel) -> Facet:
    selection = one_setting(artifact)
    chosen = results.selected(artifact, panel, selection)
    lines, levels, default = {}, {}, None
    for method in ordered(artifact, chosen):
        if x not in parse_setting(chosen[method]["setting"]):
            levels[method] = (panel, chosen[method])
            continue
        usual = parse_setting(results.default_setting(artifact, panel, method))
        rows = results.grid(artifact, panel, method)
        grid = by_parameter(rows, x, usual) if selection == "default" else best_by_parameter(rows, x, method)
        lines[method] = {float(value): (panel, row) for value, row in sorted(grid.items(), key=_by_value)}
        default = float(usual[x])
    if not lines:
        raise InputError(
            f"artifact {artifact['artifact']}, panel {panel_label(panel)}: no method has a parameter '{x}'"
        )
    label = parameter_label(next(iter(lines)), x)
    metric = artifact.get("metric", "auc")
    return Facet(panel_label(panel), metric, x, label, lines, levels, {}, default)


def _by_value(item: tuple[str, Record]) -> float:
    return float(item[0])


def _figure(artifact: Artifact, facets: Sequence[Facet]) -> Any:
    methods = ordered(artifact, (m for facet in facets for m in (*facet.lines, *facet.levels)))
    styles = line_styles(methods)
    with style():
        figure, grid = facet_grid(len(facets), row=2.35, rest=0.3 + 0.15 * (len(methods) // 3 + 1))
        for at, axis in enumerate(grid.flat[: len(facets)]):
            _draw(axis, artifact, facets[at], styles)
            lettered = letter(at) if len(facets) > 1 else ""
            title = facets[at].title.replace(" on ", "\non ", 1) if grid.shape[1] > 2 else facets[at].title
            axis.set_title(lettered + title, loc="left", fontsize=7)
            if at % grid.shape[1] == 0 or facets[at].metric != facets[at - 1].metric:
                axis.set_ylabel(f"{metric_label(facets[at].metric)}, with 95 % interval")
        _legend(figure, facets, methods, styles)
        lay_out(figure)
    return figure


def _draw(axis: Any, artifact: Artifact, facet: Facet, styles: Mapping[str, LineStyle]) -> None:
    chance = chance_level(facet.metric)
    if chance is not None:
        axis.axhline(chance, color=GREY, linewidth=0.7)
    for method, (_, row) in facet.levels.items():
        of = styles[method]
        axis.axhline(float(row["value"]), color=of.color, linestyle=of.dashes, linewidth=0.9, zorder=1.5)
    places = sorted({place for line in facet.lines.values() for place in line})
    gap = min((b - a for a, b in pairwise(places)), default=1.0)
    for at, (method, line) in enumerate(facet.lines.items()):
        shift = 0.06 * gap * (at - (len(facet.lines) - 1) / 2) if len(facet.lines) > FEW_LINES else 0.0
        _line(axis, line, styles[method], shift, banded=len(facet.lines) <= FEW_LINES)
    for place, label in artifact["options"].get("vertical", {}).items():
        axis.axvline(float(place), color="black", linewidth=0.8, linestyle=(0, (2, 1.5)))
        axis.annotate(label, (float(place), 1), (2, -2), xycoords=("data", "axes fraction"), fontsize=6.5,
                      textcoords="offset points", va="top")  # fmt: skip
    axis.set_xlabel(facet.x_label)
    if facet.ticks:
        axis.set_xticks(list(facet.ticks), list(facet.ticks.values()))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.margins(x=0.12)
    elif all(place == int(place) for place in places):
        axis.set_xticks(places, [f"{place:g}" for place in places])


def _line(axis: Any, line: Mapping[float, Any], of: LineStyle, shift: float, *, banded: bool) -> None:
    places = [place + shift for place in line]
    values, lows, highs = zip(*(estimate(row) for _, row in line.values()), strict=True)
    drawn = [at for at, low in enumerate(lows) if low is not None]
    axis.plot(places, values, color=of.color, linestyle=of.dashes, linewidth=of.width, marker=of.marker,
              markersize=3.6, markeredgecolor="white", markeredgewidth=0.0 if of.marker in THIN else 0.4,
              zorder=3)  # fmt: skip
    if banded:
        axis.fill_between([places[at] for at in drawn], [lows[at] for at in drawn],
                          [highs[at] for at in drawn], color=of.color, alpha=0.14, linewidth=0)  # fmt: skip
        return
    ends = [[values[at] - lows[at] for at in drawn], [highs[at] - values[at] for at in drawn]]
    axis.errorbar([places[at] for at in drawn], [values[at] for at in drawn], ends, fmt="none",
                  ecolor=of.color, elinewidth=0.7, alpha=0.7, zorder=2)  # fmt: skip


def _legend(
    figure: Any, facets: Sequence[Facet], methods: Sequence[str], styles: Mapping[str, LineStyle]
) -> None:
    from matplotlib.lines import Line2D

    moving = {method for facet in facets for method in facet.lines}
    handles = [
        Line2D([], [], color=styles[method].color, linestyle=styles[method].dashes, linewidth=1.2,
               marker=styles[method].marker if method in moving else "", markersize=3.6,
               label=method_label(method) + (" (no model)" if is_control(method) else ""))
        for method in methods
    ]  # fmt: skip
    handles.append(Line2D([], [], color=GREY, linewidth=0.7, label="chance"))
    most = 5 if len(facets) > 1 else 3
    if max(len(str(handle.get_label())) for handle in handles) > LONG_NAME:
        most -= 1
    figure.legend(handles=handles, loc="outside lower center", ncols=most, handlelength=4)


def _long(facets: Sequence[Facet]) -> pd.DataFrame:
    records = []
    for facet in facets:
        places: list[tuple[str, float | None, Panel, Record]] = [
            (method, place, *of) for method, line in facet.lines.items() for place, of in line.items()
        ]
        places += [(method, None, *of) for method, of in facet.levels.items()]
        for method, place, panel, row in places:
            keys = {"method": method, "control": is_control(method), "metric": facet.metric}
            drawn = {"drawn": "level" if place is None else "line", "x": facet.x}
            value = facet.ticks.get(place, place) if place is not None else None
            records.append(panel_record(panel) | keys | drawn | {"x_value": value} | number_record(row))
    return long_frame(records)
