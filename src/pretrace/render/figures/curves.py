"""ROC curves of methods, and densities of their scores: SURP figure 3, Con-ReCall
figures 1 and 4."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from pretrace.evaluation.averages import Record, estimate
from pretrace.evaluation.metrics import marks_in
from pretrace.methods.settings import empty_score
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.figures.drawing import (
    CLASS_STYLES,
    GREY,
    LEVEL_STYLE,
    PAGE,
    REACH,
    Drawing,
    Facet,
    Handles,
    LineStyle,
    Values,
    draw_facets,
    line_styles,
    sheet,
    wrap_title,
)
from pretrace.render.frames import of_panels, records_of
from pretrace.render.names import CLASSES, EMPTY, join_words, marked_label, method_label
from pretrace.render.phrases import with_interval
from pretrace.render.results import Results

RowsByMethod = Mapping[str, Record]
"""A panel's metrics rows by method."""


class PanelCurves(NamedTuple):
    """A panel, its methods' metrics rows, and the points of their curves."""

    panel: Panel
    rows: RowsByMethod
    points: pd.DataFrame


def _curves(artifact: Artifact, results: Results, curve: str) -> list[PanelCurves]:
    """Return the curves of each panel, at `Artifact.one_setting`, with AUCs as
    metrics."""
    own = artifact.replaced(metric="auc")
    selection = artifact.one_setting
    curves = []
    for panel in results.panels(artifact):
        rows = results.by("method", own, panel, selection=selection)
        parts = []
        for name in artifact.order_methods(rows):
            row = rows[name] | {"method": name.split(";")[0]}
            points = results.like(curve, panel, row)
            if points.empty:
                setting = f"{row['method']} at setting '{row['setting']}'"
                raise artifact.empty(
                    f"there is no {curve} of {setting}; its scores are all equal", panel
                )
            parts.append(points.assign(method=name))
        curves.append(PanelCurves(panel, rows, pd.concat(parts, ignore_index=True)))
    return curves


def _shown_points(curves: Sequence[PanelCurves], columns: list[str]) -> pd.DataFrame:
    """Return these columns of the points of all panels, each row with its panel."""
    frames = [own.points[columns] for own in curves]
    return of_panels(frames, [own.panel for own in curves])


def roc(artifact: Artifact, results: Results) -> Drawing:
    """Draw a row a panel: ROC curves at `Artifact.one_setting`, whole and at low false
    positive rates.

    The reading says how many texts tie at a method's highest score because they have
    nothing that it scores.
    """
    curves = _curves(artifact, results, "roc")
    notes = []
    with sheet(PAGE, 2.75 * len(curves)) as drawn:
        grid = drawn.subplots(len(curves), 3, squeeze=False, width_ratios=[1, 1, 0.72])
        for (whole, low, key), own in zip(grid, curves, strict=True):
            styles = line_styles(list(own.rows))
            first = next(iter(own.rows.values()))
            _draw_roc(whole, own.points, styles, 0.0)
            _draw_roc(low, own.points, styles, 1 / first["n_nonmembers"])
            _key(key, styles, own.rows)
            title = wrap_title(own.panel.name, PAGE)
            whole.set_title(title, fontsize=7.5)
            notes += _ties(own)
            notes += _hidden_curves(own)
    points = _shown_points(curves, ["method", "setting", "fpr", "tpr"])
    return Drawing(drawn, points).with_notes(notes)


def _ties(curves: PanelCurves) -> list[str]:
    """Return a sentence for each method by which over 5 % of the texts tie: the first
    step of its curve."""
    sentences = []
    for name, row in curves.rows.items():
        method = name.split(";")[0]
        is_marked = EMPTY in marks_in(row["marks"])
        if not is_marked or empty_score(method, row["setting"]) != 0:
            continue
        points = curves.points[curves.points["method"] == name]
        nonmembers, members = points[["fpr", "tpr"]].iloc[1]
        sentences.append(
            f"{curves.panel.name}: {100 * members:.0f} % of the members and "
            f"{100 * nonmembers:.0f} % of the non-members have no surprising token "
            f"and tie at {method_label(name)}'s highest score, 0 (the straight "
            "part of its curve)."
        )
    return sentences


def _hidden_curves(curves: PanelCurves) -> list[str]:
    """Return a sentence for each group of methods with the same curve, of which the
    last one hides the others."""
    methods: dict[bytes, list[str]] = {}
    for method, points in curves.points.groupby("method", sort=False):
        line = points[["fpr", "tpr"]].to_numpy().tobytes()
        methods.setdefault(line, []).append(method_label(str(method)))
    sentences = []
    for same in methods.values():
        if len(same) > 1:
            sentences.append(
                f"{curves.panel.name}: {join_words(same)} have the same curve."
            )
    return sentences


def _draw_roc(
    axis: Axes, frame: pd.DataFrame, styles: Mapping[str, LineStyle], smallest: float
) -> None:
    """Draw curves from the rate `smallest` on; above 0, both axes are logarithmic."""
    chance = np.geomspace(smallest, 1, 50) if smallest else [0, 1]
    axis.plot(chance, chance, **LEVEL_STYLE.line)
    for method, style in styles.items():
        points = frame[frame["method"] == method]
        axis.plot(points["fpr"], points["tpr"], **style.line)
        rates = np.geomspace(max(smallest, 0.01), 1, POINTED)
        last = np.unique(points["fpr"].searchsorted(rates, side="right") - 1)
        texts = []
        for row in records_of(points.iloc[last]):
            texts.append(
                f"{marked_label(method)}: true positive rate {row['tpr']:.2f} at false "
                f"positive rate {row['fpr']:.3f}"
            )
        _tell(axis, points.iloc[last], "fpr", "tpr", texts)
    x_label, y_label = "false positive rate", "true positive rate"
    axis.set(xlim=(smallest, 1), ylim=(smallest, 1), aspect="equal")
    axis.set(xlabel=x_label, ylabel=y_label)
    if not smallest:
        return
    axis.set(xscale="log", yscale="log")
    axis.set(xlabel=f"{x_label} (log)", ylabel=f"{y_label} (log)")
    for level in (0.01, 0.05, 0.1):
        if level >= smallest:
            axis.axvline(level, color=GREY, linewidth=0.5, linestyle=(0, (1, 2)))
    ticks = [tick for tick in (0.01, 0.05, 0.1, 0.5, 1) if tick >= smallest]
    for side in (axis.xaxis, axis.yaxis):
        side.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        side.set_minor_locator(NullLocator())


POINTED = 12
"""Places of a curve at which a reader can point."""


def _tell(
    axis: Axes, points: pd.DataFrame, x: str, y: str, texts: Sequence[str]
) -> None:
    places, values = points[x], points[y]
    axis.add_artist(Values((places, places), (values, values), texts, REACH))


def _key(axis: Axes, styles: Mapping[str, LineStyle], rows: RowsByMethod) -> None:
    """Draw a legend: methods by falling AUC with its interval, and chance."""
    axis.axis("off")
    handles = []
    falling = sorted(rows, key=lambda method: -float(rows[method]["value"]))
    for name in falling:
        auc = with_interval(estimate(rows[name]))
        label = f"{marked_label(name)}\n{auc}"
        handles.append(Line2D([], [], **styles[name].line, label=label))
    handles.append(Line2D([], [], **LEVEL_STYLE.line, label="Chance"))
    axis.legend(
        handles=handles,
        title="AUC [95 % interval]",
        loc="upper left",
        handlelength=3,
        borderaxespad=0,
        labelspacing=0.35 if len(handles) > 8 else 0.6,
        fontsize=6.2,
        title_fontsize=7,
        alignment="left",
    )


def score_densities(artifact: Artifact, results: Results) -> Drawing:
    """Draw axes for each method of each panel: densities of both classes at
    `Artifact.one_setting`.

    Scores are shifted and scaled to run from 0 to 1 over both classes together
    (min-max). Each plot has the AUC of its scores.
    """
    curves = _curves(artifact, results, "density")
    facets = []
    for own in curves:
        for method in artifact.order_methods(own.rows):
            auc = with_interval(estimate(own.rows[method]))
            title = f"{method_label(method)}, AUC {auc}"
            if len(curves) > 1:
                title += f"\n{own.panel.name}"
            points = own.points[own.points["method"] == method]
            x_label = "score, min-max normalised"
            facets.append(Facet(title, points, "density", x_label, height=1.9))
    heading = curves[0].panel.name if len(curves) == 1 else ""
    figure = draw_facets(facets, _draw_densities, heading=heading)
    points = _shown_points(curves, ["method", "setting", "label", "x", "y"])
    columns = {"x": "scaled_score", "y": "density"}
    return Drawing(figure, points.rename(columns=columns))


def _draw_densities(axis: Axes, facet: Facet) -> Handles:
    handles = {}
    for label, style in CLASS_STYLES.items():
        points = facet.frame[facet.frame["label"] == label]
        x = points["x"]
        y = points["y"]
        area = axis.fill_between(x, y, color=style.color, alpha=0.16, linewidth=0)
        area.sticky_edges.y.append(0)
        [line] = axis.plot(x, y, **style.line)
        handles[CLASSES[label]] = line
        told = points.iloc[:: len(points) // POINTED + 1]
        texts = []
        for row in records_of(told):
            place = f"{CLASSES[label]}, score {row['x']:.2f}"
            texts.append(
                f"{method_label(row['method'])}, {place}: density {row['y']:.2f}"
            )
        _tell(axis, told, "x", "y", texts)
    axis.set_xlim(0, 1)
    axis.set_xticks((0, 0.5, 1))
    axis.tick_params(labelleft=False, left=False)
    return handles
