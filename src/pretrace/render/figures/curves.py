"""ROC curves of methods, and densities of their scores: SURP figure 3, Con-ReCall
figures 1 and 4."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from pretrace.evaluation.averages import Record, estimate
from pretrace.methods.settings import empty_score
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.figures.drawing import (
    CLASS_STYLES,
    GREY,
    LEVEL_STYLE,
    PAGE,
    Drawing,
    LineStyle,
    draw_legend,
    line_styles,
    sheet,
    wrap_title,
)
from pretrace.render.names import CLASSES, EMPTY, join_words, marked_label, method_label
from pretrace.render.phrases import with_interval
from pretrace.render.results import Results, of_panels

RowsByMethod = Mapping[str, Record]
"""A panel's metrics rows by method."""


def _curves(
    artifact: Artifact, results: Results, curve: str
) -> tuple[list[Panel], list[RowsByMethod], list[pd.DataFrame]]:
    """Return the panels, their methods' AUCs at `Artifact.one_setting`, and the points
    of the curves."""
    panels, selection = results.panels(artifact), artifact.one_setting
    rows: list[RowsByMethod] = []
    frames = []
    for panel in panels:
        rows.append(
            results.by(
                "method", artifact.replaced(metric="auc"), panel, selection=selection
            )
        )
        points = []
        for name in artifact.order_methods(rows[-1]):
            row = {**rows[-1][name], "method": name.split(";")[0]}
            points.append(results.like(curve, panel, row).assign(method=name))
            if points[-1].empty:
                setting = f"{row['method']} at setting '{row['setting']}'"
                raise artifact.empty(
                    f"there is no {curve} of {setting}; its scores are all equal", panel
                )
        frames.append(pd.concat(points, ignore_index=True))
    return panels, rows, frames


def roc(artifact: Artifact, results: Results) -> Drawing:
    """Draw a row a panel: ROC curves at `Artifact.one_setting`, whole and at low false
    positive rates.

    The reading says how many texts tie at a method's highest score because they have
    nothing that it scores.
    """
    panels, rows, frames = _curves(artifact, results, "roc")
    with sheet(PAGE, 2.75 * len(panels)) as drawn:
        grid = drawn.subplots(len(panels), 3, squeeze=False, width_ratios=[1, 1, 0.72])
        for axes, panel, frame, values in zip(grid, panels, frames, rows, strict=True):
            styles = line_styles(list(values))
            _draw_roc(axes[0], frame, styles, 0.0)
            _draw_roc(
                axes[1], frame, styles, 1 / next(iter(values.values()))["n_nonmembers"]
            )
            _key(axes[2], styles, values)
            axes[0].set_title(wrap_title(panel.name, PAGE), loc="left", fontsize=7.5)
    ties: list[str] = []
    for panel, values, frame in zip(panels, rows, frames, strict=True):
        ties += [*_ties(panel, values, frame), *_hidden_curves(panel, frame)]
    points = of_panels(
        [frame[["method", "setting", "fpr", "tpr"]] for frame in frames], panels
    )
    return Drawing(drawn, points).with_notes(ties)


def _ties(panel: Panel, rows: RowsByMethod, frame: pd.DataFrame) -> list[str]:
    """Return a sentence for each method by which over 5 % of the texts tie: the first
    step of its curve."""
    sentences = []
    for name, row in rows.items():
        if (
            EMPTY in row["marks"].split(";")
            and empty_score(name.split(";")[0], row["setting"]) == 0
        ):
            nonmembers, members = frame.loc[
                frame["method"] == name, ["fpr", "tpr"]
            ].iloc[1]
            sentences.append(
                f"{panel.name}: {100 * members:.0f} % of the members and "
                f"{100 * nonmembers:.0f} % of the non-members have no surprising token "
                f"and tie at {method_label(name)}'s highest score, 0 (the straight "
                "part of its curve)."
            )
    return sentences


def _hidden_curves(panel: Panel, frame: pd.DataFrame) -> list[str]:
    """Return a sentence for each group of methods with the same curve, of which the
    last one hides the others."""
    curves: dict[bytes, list[str]] = {}
    for method, points in frame.groupby("method", sort=False):
        curves.setdefault(points[["fpr", "tpr"]].to_numpy().tobytes(), []).append(
            method_label(str(method))
        )
    return [
        f"{panel.name}: {join_words(same)} have the same curve."
        for same in curves.values()
        if len(same) > 1
    ]


def _draw_roc(
    axis: Axes, frame: pd.DataFrame, styles: Mapping[str, LineStyle], smallest: float
) -> None:
    """Draw curves from the rate `smallest` on; above 0, both axes are logarithmic."""
    rates = np.geomspace(smallest, 1, 50) if smallest else [0, 1]
    axis.plot(rates, rates, **LEVEL_STYLE.line)
    for method, style in styles.items():
        points = frame[frame["method"] == method]
        axis.plot(points["fpr"], points["tpr"], **style.line)
    names = {"xlabel": "false positive rate", "ylabel": "true positive rate"}
    axis.set(xlim=(smallest, 1), ylim=(smallest, 1), aspect="equal", **names)
    if not smallest:
        return
    axis.set(
        xscale="log",
        yscale="log",
        **{key: f"{name} (log)" for key, name in names.items()},
    )
    for level in (0.01, 0.05, 0.1):
        if level >= smallest:
            axis.axvline(level, color=GREY, linewidth=0.5, linestyle=(0, (1, 2)))
    ticks = [tick for tick in (0.01, 0.05, 0.1, 0.5, 1) if tick >= smallest]
    for side in (axis.xaxis, axis.yaxis):
        side.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        side.set_minor_locator(NullLocator())


def _key(axis: Axes, styles: Mapping[str, LineStyle], rows: RowsByMethod) -> None:
    """Draw a legend: methods by falling AUC with its interval, and chance."""
    axis.axis("off")
    handles = []
    for name in sorted(rows, key=lambda method: -float(rows[method]["value"])):
        label = f"{marked_label(name)}\n{with_interval(estimate(rows[name]))}"
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
    """Draw a row a panel, a column a method: densities of both classes at
    `Artifact.one_setting`.

    Scores are shifted and scaled to run from 0 to 1 over both classes together
    (min-max). Each plot has the AUC of its scores.
    """
    panels, rows, frames = _curves(artifact, results, "density")
    methods = artifact.order_methods(method for values in rows for method in values)
    with sheet(PAGE, 1.75 * len(panels) + 0.35) as drawn:
        grid = drawn.subplots(len(panels), len(methods), squeeze=False)
        handles: dict[str, Any] = {}
        for axes, panel, frame, values in zip(grid, panels, frames, rows, strict=True):
            for axis, method in zip(axes, methods, strict=True):
                if method not in values:
                    axis.set_visible(False)
                    continue
                handles |= _draw_densities(axis, frame[frame["method"] == method])
                text = (
                    f"{method_label(method)}\nAUC "
                    f"{with_interval(estimate(values[method]))}"
                )
                axis.set_title(text, fontsize=7)
            axes[0].set_ylabel("\n".join(panel.lines) if len(panels) > 1 else "density")
        if len(panels) == 1:
            drawn.suptitle(panels[0].name, fontsize=8)
        for axis in grid[-1]:
            axis.set_xlabel("score, min-max normalised")
        draw_legend(drawn, handles)
    points = of_panels(
        [frame[["method", "setting", "label", "x", "y"]] for frame in frames], panels
    )
    return Drawing(drawn, points.rename(columns={"x": "scaled_score", "y": "density"}))


def _draw_densities(axis: Axes, frame: pd.DataFrame) -> dict[str, Any]:
    handles = {}
    for label, style in CLASS_STYLES.items():
        line = frame[frame["label"] == label]
        axis.fill_between(
            line["x"], line["y"], color=style.color, alpha=0.16, linewidth=0
        )
        (handles[CLASSES[label]],) = axis.plot(line["x"], line["y"], **style.line)
    axis.set(xlim=(0, 1), ylim=(0, None), xticks=(0, 0.5, 1))
    axis.tick_params(labelleft=False, left=False)
    return handles
