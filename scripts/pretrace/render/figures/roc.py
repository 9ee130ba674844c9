"""ROC curves of all methods on one panel: SURP figure 3, Con-ReCall figure 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator
from sklearn.metrics import roc_curve

from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import (
    GREY,
    PAGE,
    Drawing,
    LineStyle,
    lay_out,
    line_styles,
    new_figure,
    style,
)
from pretrace.render.names import (
    EMPTY,
    MARK_NOTES,
    SETTING_PHRASES,
    method_label,
    ordered,
    panel_label,
    where,
)
from pretrace.render.phrases import against_chance, joined, with_interval
from pretrace.render.records import estimate, long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, one_setting
from pretrace.runtime.errors import InputError

Curves = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""False and true positive rates of each method, at every threshold."""


@figure("roc", needs=("metrics", "scores", "benchmarks", "prefixes"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A row a panel: ROC curves at the settings of `selecting.one_setting`, whole and at low false positive rates."""
    panels = results.panels(artifact)
    selection = one_setting(artifact)
    rows = [results.selected({**artifact, "metric": "auc"}, panel, selection) for panel in panels]
    curves = [_curves(artifact, results, panel, of) for panel, of in zip(panels, rows, strict=True)]
    return Drawing(
        figure=_figure(panels, curves, rows),
        frame=_long(panels, curves, rows),
        reading=" ".join(_reading(panel, of, selection) for panel, of in zip(panels, rows, strict=True)),
    )


def _curves(artifact: Artifact, results: Results, panel: Panel, rows: Mapping[str, Record]) -> Curves:
    scores = results.scores_of(artifact, panel)
    curves = {}
    for method in ordered(artifact, rows):
        of = scores[
            (scores["method"] == method.split(";")[0]) & (scores["setting"] == rows[method]["setting"])
        ]
        if of["label"].nunique() < 2:
            raise InputError(
                f"{where(artifact, panel)}: {method} has metrics at setting "
                f"'{rows[method]['setting']}' but no scores of both classes; delete the scores and run again"
            )
        false, true, _ = roc_curve(of["label"].astype(int), of["score"], drop_intermediate=False)
        curves[method] = (false, true)
    return curves


def _figure(panels: Sequence[Panel], curves: Sequence[Curves], rows: Sequence[Mapping[str, Record]]) -> Any:
    with style():
        figure = new_figure(PAGE, 2.75 * len(panels))
        grid = figure.subplots(len(panels), 3, squeeze=False, width_ratios=[1, 1, 0.72])
        for axes, panel, of, values in zip(grid, panels, curves, rows, strict=True):
            styles = line_styles(list(of))
            smallest = 1 / next(iter(values.values()))["n_nonmembers"]
            _whole(axes[0], of, styles)
            _low(axes[1], of, styles, smallest)
            _legend(axes[2], of, styles, values)
            axes[0].set_title(panel_label(panel), loc="left", fontsize=7.5)
        lay_out(figure)
    return figure


def _lines(axis: Any, curves: Curves, styles: Mapping[str, LineStyle]) -> None:
    for method, (false, true) in curves.items():
        of = styles[method]
        axis.plot(false, true, color=of.color, linestyle=of.dashes, linewidth=of.width)


def _whole(axis: Any, curves: Curves, styles: Mapping[str, LineStyle]) -> None:
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.7)
    _lines(axis, curves, styles)
    axis.set(
        xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="false positive rate", ylabel="true positive rate"
    )


def _low(axis: Any, curves: Curves, styles: Mapping[str, LineStyle], smallest: float) -> None:
    """Both axes logarithmic, from the smallest rate that the texts resolve: one non-member."""
    rates = np.geomspace(smallest, 1, 50)
    axis.plot(rates, rates, color=GREY, linewidth=0.7)
    _lines(axis, curves, styles)
    for level in (0.01, 0.05, 0.1):
        if level >= smallest:
            axis.axvline(level, color=GREY, linewidth=0.5, linestyle=(0, (1, 2)))
    axis.set(xscale="log", yscale="log", xlim=(smallest, 1), ylim=(smallest, 1), aspect="equal")
    axis.set(xlabel="false positive rate (log)", ylabel="true positive rate (log)")
    ticks = [tick for tick in (0.01, 0.05, 0.1, 0.5, 1) if tick >= smallest]
    for one in (axis.xaxis, axis.yaxis):
        one.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        one.set_minor_locator(NullLocator())


def _legend(axis: Any, curves: Curves, styles: Mapping[str, LineStyle], rows: Mapping[str, Record]) -> None:
    """Methods by falling AUC, each with its value and interval, beside a sample of its line; chance last."""
    axis.axis("off")
    by_value = sorted(curves, key=lambda method: -float(rows[method]["value"]))
    entries = [
        (
            method_label(method) + (" (no model)" if is_control(method) else ""),
            rows[method],
            styles[method],
        )
        for method in by_value
    ]
    step = min(0.12, 0.94 / (len(entries) + 1.5))
    axis.text(0.0, 1.0, "AUC [95 % interval]", transform=axis.transAxes, va="center", fontsize=7, color=GREY)
    for place, (name, row, of) in enumerate(entries):
        height = 1.0 - step * (place + 0.9)
        _sample(axis, height, of.color, of.dashes, of.width)
        axis.text(0.2, height, name, transform=axis.transAxes, va="center", fontsize=7)
        axis.text(0.2, height - step * 0.43, with_interval(estimate(row)), transform=axis.transAxes,
                  va="center", fontsize=6.2, color=GREY)  # fmt: skip
    height = 1.0 - step * (len(entries) + 0.8)
    _sample(axis, height, GREY, "-", 0.7)
    axis.text(0.2, height, "Chance", transform=axis.transAxes, va="center", fontsize=7)


def _sample(axis: Any, height: float, color: str, dashes: Any, width: float) -> None:
    axis.plot([0.0, 0.16], [height, height], transform=axis.transAxes, color=color, linestyle=dashes,
              linewidth=width, clip_on=False)  # fmt: skip


def _long(
    panels: Sequence[Panel], curves: Sequence[Curves], rows: Sequence[Mapping[str, Record]]
) -> pd.DataFrame:
    records = [
        panel_record(panel) | {"method": method, "setting": of_rows[method]["setting"], "fpr": x, "tpr": y}
        for panel, of, of_rows in zip(panels, curves, rows, strict=True)
        for method, (false, true) in of.items()
        for x, y in zip(false, true, strict=True)
    ]
    return long_frame(records)


def _reading(panel: Panel, rows: Mapping[str, Record], selection: str) -> str:
    methods = [method for method in rows if not is_control(method)]
    if not methods:
        return f"On {panel_label(panel)} there are only controls."
    return f"{_largest(panel, rows, methods, selection)}{_ties(rows, methods)}"


def _ties(rows: Mapping[str, Record], methods: Sequence[str]) -> str:
    """Which curves are straight in a part, since many texts have one score."""
    tied = [method_label(method) for method in methods if EMPTY in rows[method]["marks"].split(";")]
    if not tied:
        return ""
    return f" By {joined(tied)}, {MARK_NOTES[EMPTY]}: a part of the curve is straight, where nothing is told apart."


def _largest(panel: Panel, rows: Mapping[str, Record], methods: Sequence[str], selection: str) -> str:
    best = max(methods, key=lambda method: float(rows[method]["value"]))
    found = estimate(rows[best])
    text = (
        f"On {panel_label(panel)}, {method_label(best)} has the largest area {SETTING_PHRASES[selection]}, "
        f"{with_interval(found)}{against_chance(found, 'auc')}"
    )
    if "blind" not in rows:
        return f"{text}."
    blind = estimate(rows["blind"])
    relation = "above" if blind[0] > found[0] else "below"
    return f"{text}; the blind classifier, which sees no model, has {with_interval(blind)}, {relation} it."
