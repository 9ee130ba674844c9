"""Lines over a parameter, a size, a length, a number of shots or texts, or the steps of
a training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from pretrace.evaluation.averages import PANEL_KEYS, Record
from pretrace.questions.method_facts import is_control
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.catalogue import X_PLACES
from pretrace.render.figures.drawing import (
    CLASS_STYLES,
    COLUMNS,
    GREY,
    LEVEL_STYLE,
    Drawing,
    Facet,
    Handles,
    LineStyle,
    Look,
    axes_width,
    chance_of,
    draw_facets,
    draw_intervals,
    line_styles,
    name_points,
    nth_style,
    tell_values,
    text_width,
)
from pretrace.render.frames import long_frame, number_record, of_panels, records_of
from pretrace.render.names import (
    CLASSES,
    PARAMETER_LABELS,
    READ_NEITHER,
    join_words,
    marked_label,
    metric_label,
)
from pretrace.render.results import Results, of_set

FEW_LINES = 3  # this many have a band for their interval; more have bars, side by side
# methods that are drawn as curves, not as level lines; more have a facet each
MOST_LINES = 8
# at most this part of the distance of two ticks lies between a point and its tick
SHIFTED = 0.1
SMOOTHING = 25  # training loss is drawn as a moving mean over this part of all steps
DRAWN = 40  # points of such a line
BETWEEN = 0.1  # inches between two names along x; names without that room are turned
MARGIN = 0.12  # what is left and right of the ticks, of the distance of the outer ones


def draw_lines(
    facets: Sequence[Facet],
    styles: Mapping[Any, LineStyle],
    names: Mapping[Any, str],
    *,
    heading: str = "",
) -> Any:
    """Return the figure: a line a series, of the same style in every facet; the legend
    has those with a name.

    Rows of a facet's frame are points `series, x, value, low, high`, and `told` names
    each; a row without x is a horizontal line.
    """
    handles = {}
    for series, name in names.items():
        handles[name] = styles[series].handle()

    def draw(axis: Axes, facet: Facet) -> Handles:
        places = _draw_series(axis, facet, styles)
        if facet.ticks:
            turned: Look = {}
            ticks = facet.ticks.values()
            distance = axes_width(axis) / (1 + 2 * MARGIN) / max(1, len(ticks) - 1)
            if max(map(text_width, ticks)) + BETWEEN > distance:
                turned = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"}
            axis.set_xticks(list(facet.ticks), list(ticks), **turned)
            axis.xaxis.set_minor_locator(NullLocator())
            axis.margins(x=MARGIN)
        elif len(places) <= 16 and all(place == int(place) for place in places):
            axis.set_xticks(places, [f"{place:g}" for place in places])
        return handles

    return draw_facets(facets, draw, heading=heading)


def _draw_series(
    axis: Axes, facet: Facet, styles: Mapping[Any, LineStyle]
) -> list[float]:
    """Draw a facet's lines; return the places on x that have a point."""
    is_level = facet.frame["x"].isna()
    levels, frame = facet.frame[is_level], facet.frame[~is_level]
    places = sorted(frame["x"].unique())
    for row in records_of(levels):
        level = replace(styles[row["series"]], width=0.9)
        axis.axhline(row["value"], **level.line, zorder=1.5)
    for place in places:  # a line can be pointed at over each tick
        tell_values(axis, place, levels, facet.quantity)
    gap = min((b - a for a, b in pairwise(places)), default=1.0)
    lines = [series for series in styles if (frame["series"] == series).any()]
    banded = len(lines) <= FEW_LINES
    step = min(0.06, 2 * SHIFTED / max(1, len(lines) - 1))
    for number, series in enumerate(lines):
        style = styles[series]
        points = frame[frame["series"] == series]
        from_middle = number - (len(lines) - 1) / 2
        shift = 0.0 if banded else step * gap * from_middle
        x = points["x"] + shift
        axis.plot(
            x,
            points["value"],
            **style.marked,
            markeredgecolor="white",
            markeredgewidth=0.3,
            zorder=3,
        )
        tell_values(axis, x, points, facet.quantity)
        if not banded:
            draw_intervals(axis, x, points, style.color)
            continue
        band: Look = {"color": style.color, "alpha": 0.14, "linewidth": 0}
        axis.fill_between(x, points["low"], points["high"], **band)
    return places


def method_lines(artifact: Artifact, results: Results) -> Drawing:
    """Draw a line a method over `options.x`: a model, length or subset; or a parameter,
    then a facet a panel.

    `options.metrics`, in place of the artifact's one, have facets of their own side by
    side. Settings are chosen as the artifact's first selection says. Over a parameter,
    every other one is at its default, or (`best_on_test`) at its best for each value;
    methods without it are level lines.
    """
    facets = _method_facets(artifact, results)
    frame = pd.concat([facet.frame for facet in facets], ignore_index=True)
    methods = artifact.order_methods(frame["method"])
    names = {method: marked_label(method) for method in methods}
    moving = set(frame.loc[frame["x"].notna(), "method"])
    styles = line_styles(methods)
    for method in styles.keys() - moving:
        styles[method] = replace(styles[method], marker="")
    hidden = []
    if len(moving) > MOST_LINES:
        figure = _draw_apart(facets, styles, names)
    else:
        figure = draw_lines(facets, styles, names)
        for facet in facets:
            hidden += hidden_lines(facet, names)
    drawn = frame["x"].isna().map({True: "level", False: "line"})
    frame = frame.drop(columns=["series", "x", "told"])
    data = long_frame(frame.assign(drawn=drawn))
    cautions = []
    if artifact.options.unit == "document":
        cautions = results.cautions(artifact.panels)
    return Drawing(figure, data, " ".join(cautions)).with_notes(hidden)


def _method_facets(artifact: Artifact, results: Results) -> list[Facet]:
    """Return a facet for each x, metric and group of panels; raises if there is
    none."""
    x = artifact.options.x
    facets = []
    for over in [x] if isinstance(x, str) else x:
        draw = place_facet if over in X_PLACES else _parameter_facet
        for metric in artifact.metrics:
            own = artifact.replaced(metric=metric)
            for panels in _panels_apart(results.panels(artifact), over):
                facets.append(draw(own, results, over, panels))
    if not facets:
        raise artifact.error(f"no two of its panels differ in {x} alone")
    # axes share a scale, so that one with a line of chance and one without would be
    # read alike
    levels = [facet.across for facet in facets if facet.across]
    if levels and all(level == levels[0] for level in levels):
        return [replace(facet, across=levels[0]) for facet in facets]
    return facets


def hidden_lines(facet: Facet, names: Mapping[str, str]) -> list[str]:
    """Return a sentence for each group of lines that lie on one another: level ones,
    and those without a shift."""
    curves = facet.frame.loc[facet.frame["x"].notna(), "series"].nunique()
    are_shifted = curves > FEW_LINES
    lines: dict[tuple[tuple[float, ...], ...], list[str]] = {}
    for method, points in facet.frame.groupby("series", sort=False):
        is_level = points["x"].isna().all()
        if is_level or not are_shifted:
            places = () if is_level else tuple(points["x"])
            line = places, tuple(points["value"])
            lines.setdefault(line, []).append(names[str(method)])
    title = " ".join(facet.title.split())
    sentences = []
    for same in lines.values():
        if len(same) > 1:
            sentences.append(f"{title}: {join_words(same)} lie on one line.")
    return sentences


def _draw_apart(
    facets: Sequence[Facet], styles: Mapping[str, LineStyle], names: Mapping[str, str]
) -> Any:
    """Return the figure with a small facet for each method of each facet."""
    small = []
    for facet in facets:
        for method, name in names.items():
            own = facet.frame[facet.frame["series"] == method]
            if own.empty:
                continue
            part = replace(
                facet,
                title=name if len(facets) == 1 else f"{name}\n{facet.title}",
                frame=own,
                height=1.45,
            )
            small.append(part)
    heading = facets[0].title if len(facets) == 1 else ""
    return draw_lines(small, styles, {}, heading=heading)


def _panels_apart(panels: Sequence[Panel], x: str) -> list[list[Panel]]:
    """Return the panels of each facet: those that differ in the place `x` alone; over a
    parameter, one panel each."""
    if x not in X_PLACES:
        return [[panel] for panel in panels]
    groups: dict[tuple[Any, ...], list[Panel]] = {}
    others = [key for key in PANEL_KEYS if key != x]
    for panel in panels:
        shared = tuple(getattr(panel, key) for key in others)
        groups.setdefault(shared, []).append(panel)
    return [group for group in groups.values() if len(group) > 1]


def place_facet(
    artifact: Artifact, results: Results, x: str, panels: Sequence[Panel]
) -> Facet:
    """Return the methods over panels that differ in `x` alone: lengths ascending,
    others in the order of the panels."""
    if x == "length":
        panels = sorted(panels, key=lambda panel: panel.length or 0)
    selection = artifact.selections[0]
    ticks = {}
    rows = []
    for number, panel in enumerate(panels):
        place = math.log2(panel.length or 0) if x == "length" else float(number)
        value = str(getattr(panel, x))
        if x == "model" and panel.label is not None:
            value = panel.label
        ticks[place] = panel.title_of(value)
        own = results.by("method", artifact, panel, selection=selection)
        for method, row in own.items():
            told = f"{marked_label(method)}, {ticks[place]}"
            about = {"told": told, "over": x, "x": place, "x_value": value}
            rows.append(_point(artifact, panel, method, row, about))
    without = {"model": "models", "subset": "", "length": None}
    shared = panels[0].replaced(**{x: without[x]})
    if x == "model":
        shared = shared.replaced(label=None)
    title = shared.name.removeprefix("models on ")
    label = f"length of the text ({shared.length_unit})" if x == "length" else x
    return _metric_facet(artifact, title, label, rows, ticks=ticks)


def _parameter_facet(
    artifact: Artifact, results: Results, x: str, panels: Sequence[Panel]
) -> Facet:
    (panel,) = panels
    label = PARAMETER_LABELS.get(x, x)
    rows = []
    for value, method, row in results.along_parameter(artifact, panel, x):
        place = float(value) if value else None
        told = marked_label(method)
        if value:
            told += f", {label} {value}"
        about = {"told": told, "over": x, "x": place, "x_value": place}
        rows.append(_point(artifact, panel, method, row, about))
    upright = UPRIGHT.get(x, {})
    return _metric_facet(artifact, panel.name, label, rows, upright=upright)


UPRIGHT = {"gamma": {"without the member prefix": 0.0}}
"""Values of a parameter at which a method is another one, as Con-ReCall's figure 6
marks them."""


def _point(
    artifact: Artifact, panel: Panel, method: str, row: Any, about: Record
) -> Record:
    """Return the point of a method's line: its row, and its place `about`."""
    shown = {
        "series": method,
        "method": method,
        "control": is_control(method),
        "metric": artifact.metric,
    }
    return panel.record | shown | about | number_record(row)


def _metric_facet(
    artifact: Artifact, title: str, label: str, rows: Sequence[Any], **marks: Any
) -> Facet:
    frame = pd.DataFrame(rows).astype({"x": float, "low": float, "high": float})
    across = chance_of(artifact.metric)
    quantity = metric_label(artifact.metric)
    return Facet(title, frame, quantity, label, across=across, **marks)


PREFIXES = {"member": "members", "nonmember": "non-members"}
SHIFT_COLUMNS = [
    "label", "prefix", "draw", "shots", "n", "value", "low", "high", "distance",
]  # fmt: skip


def prefix_shifts(artifact: Artifact, results: Results) -> Drawing:
    """Draw small facets, one a panel and kind of prefix: how far the prefix shifts the
    mean log-likelihood of each class, by shots.

    The shifts are those of the artifact's evaluation set (`evaluation.tokens.shifts`).
    With `options.across.separator` a panel is shown once for each of these separators
    between shots.
    """
    panels = results.panels(artifact)
    facets = []
    frames = []
    for panel in panels:
        frame = of_set(results.rows(artifact, panel, "shift"), artifact)
        order = ["prefix", "shots", "label"]
        frame = frame.sort_values(order, ascending=[True, True, False])
        frames.append(frame[SHIFT_COLUMNS])
        classes = frame["label"].map(CLASSES)
        told = classes + ", shots: " + frame["shots"].astype(str)
        x = frame["shots"].astype(float)
        points = frame.assign(series=frame["label"], x=x, told=told)
        for kind, name in PREFIXES.items():
            own = points[points["prefix"] == kind]
            if own.empty:
                continue
            facet = Facet(
                f"{panel.name}\nprefix of {name}",
                own,
                "shift of the log-likelihood (nats)",
                "shots in the prefix",
                across={"no shift": (0.0, LEVEL_STYLE)},
                height=1.9,
            )
            facets.append(facet)
    data = of_panels(frames, panels).rename(columns={"n": "n_texts"})
    return Drawing(draw_lines(facets, CLASS_STYLES, CLASSES), data)


HELD_OUT = ", held-out"


def loss_curves(artifact: Artifact, results: Results) -> Drawing:
    """Draw a facet a corpus (the label of its panels, else their benchmark), a line a
    model with its name at the end: loss (nats a token) against tokens seen.

    Training loss is a line, held-out loss points of its colour; what is held out is
    text that the model is not trained on, so that the distance between the two is what
    the model knows of its members alone.
    """
    styles = {}
    frames = []
    points: dict[str, list[pd.DataFrame]] = {}
    for panel in {panel.pair: panel for panel in artifact.panels}.values():
        corpus = panel.label or artifact.title_of(panel.benchmark)
        corpus = corpus.removesuffix(f" ({READ_NEITHER})")
        lines = points.setdefault(corpus, [])
        style = nth_style(len(lines) // 2)  # a model has two lines
        model = panel.model
        held_out = model + HELD_OUT
        styles[model] = replace(style, width=1.0, marker="")
        styles[held_out] = replace(style, dashes="", size=2.5)
        columns = ["step", "tokens", "loss", "heldout_loss"]
        curve = results.read("training", model)[columns]
        frames.append(curve.assign(model=model, benchmark=panel.benchmark))
        x = curve["tokens"] / 1000
        told = artifact.title_of(model) + x.map(", {:,.0f} thousand tokens".format)
        curve = curve.assign(x=x, told=told, low=math.nan, high=math.nan)
        window = max(1, len(curve) // SMOOTHING)
        # without the ends, where few steps are left to take the mean of
        smooth = curve["loss"].rolling(window, center=True).mean()
        line = curve.assign(value=smooth, series=model).dropna(subset="value")
        lines.append(line.iloc[:: max(1, len(line) // DRAWN)])
        tested = curve.dropna(subset="heldout_loss")
        lines.append(tested.assign(value=tested["heldout_loss"], series=held_out))

    def draw(axis: Axes, facet: Facet) -> Handles:
        _draw_series(axis, facet, styles)
        is_line = ~facet.frame["series"].str.endswith(HELD_OUT)
        ends = facet.frame[is_line].groupby("series", sort=False).tail(1)
        points = []
        for row in records_of(ends):
            model = row["series"]
            name = {"name": artifact.title_of(model), "color": styles[model].color}
            points.append(row | name)
        name_points(axis, points)
        line = LineStyle(GREY, "-", 1.0, "")
        return {
            "training": line.handle(),
            "held-out": replace(line, dashes="", marker="o", size=2.5).handle(),
        }

    facets = []
    for corpus, parts in points.items():
        x_label = "tokens seen (thousands)"
        frame = pd.concat(parts)
        facet = Facet(corpus, frame, "loss (nats a token)", x_label)
        facet = replace(facet, height=1.6 + 0.07 * len(parts))
        facets.append(facet)
    figure = draw_facets(facets, draw, widths=COLUMNS[1:2])
    return Drawing(figure, pd.concat(frames, ignore_index=True))
