"""Lines over a parameter, a size, a length, a number of shots or texts, or the steps of a training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from pretrace.evaluation.audit import COMBINED
from pretrace.evaluation.corpus_units import ENSEMBLE
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import (
    BLACK,
    GREY,
    MEMBER,
    NONMEMBER,
    Drawing,
    LineStyle,
    chance_of,
    draw_facets,
    draw_intervals,
    line_styles,
    nth_style,
)
from pretrace.render.names import (
    CLASSES,
    PARAMETER_LABELS,
    marked_label,
    method_label,
    metric_label,
    ordered,
    panel_label,
    where,
)
from pretrace.render.registry import SELECTIONS, Artifact, figure
from pretrace.render.results import Results, pair_of
from pretrace.render.rows import (
    Panel,
    long_frame,
    metrics_of,
    number_record,
    of_panels,
    panel_record,
)
from pretrace.runtime.errors import InputError

FEW_LINES = 3
"""As many have a band for their interval; more have bars, side by side."""

PLACES = ("model", "length", "subset")
"""Values of x other than a parameter."""

SMOOTHING = 25
"""Training loss is drawn as a moving mean over this part of all steps."""

CROWDED = 45
"""Letters of all names along x, above which they are turned."""

THIN = ("P", "X")
"""Markers that a white edge would cover."""


@dataclass(frozen=True)
class Facet:
    """Axes of lines: rows of `frame` are points `series, x, value, low, high`; a row without x is a horizontal line.

    `ticks` gives labels if x is not a number; `across` are horizontal lines by name.
    """

    title: str
    x_label: str
    y_label: str
    frame: pd.DataFrame
    ticks: Mapping[float, str] = field(default_factory=dict)
    across: Mapping[str, float] = field(default_factory=dict)
    banded: bool | None = None


def draw_lines(facets: Sequence[Facet], styles: Mapping[Any, LineStyle], names: Mapping[Any, str]) -> Any:
    """The figure: a line a series, of the same style and name in every facet."""
    handles = {
        names[key]: Line2D([], [], **of.line, marker=of.marker, markersize=3.6) for key, of in styles.items()
    }
    handles |= {name: Line2D([], [], color=GREY, linewidth=0.7) for one in facets for name in one.across}

    def draw(axis: Any, facet: Facet) -> dict[str, Any]:
        _draw(axis, facet, styles)
        return handles

    if len(facets) > 2:
        facets = [replace(one, title=one.title.replace(" on ", "\non ", 1)) for one in facets]
    return draw_facets(facets, draw, row=2.4, y_labels=[one.y_label for one in facets])


def _draw(axis: Any, facet: Facet, styles: Mapping[Any, LineStyle]) -> None:
    for level in facet.across.values():
        axis.axhline(level, color=GREY, linewidth=0.7)
    frame = facet.frame
    for row in frame[frame["x"].isna()].to_dict("records"):
        axis.axhline(row["value"], **replace(styles[row["series"]], width=0.9).line, zorder=1.5)
    frame = frame[frame["x"].notna()]
    places = sorted(frame["x"].unique())
    gap = min((b - a for a, b in pairwise(places)), default=1.0)
    lines = [(styles[series], frame[frame["series"] == series]) for series in styles]
    lines = [(of, points) for of, points in lines if len(points)]
    banded = len(lines) <= FEW_LINES if facet.banded is None else facet.banded
    for at, (of, points) in enumerate(lines):
        shift = 0.0 if banded else 0.06 * gap * (at - (len(lines) - 1) / 2)
        x = points["x"] + shift
        axis.plot(x, points["value"], **of.line, marker=of.marker, markersize=3.6, markeredgecolor="white",
                  markeredgewidth=0.0 if of.marker in THIN else 0.4, zorder=3)  # fmt: skip
        if banded:
            axis.fill_between(x, points["low"], points["high"], color=of.color, alpha=0.14, linewidth=0)
        else:
            draw_intervals(axis, x, points, of.color)
    axis.set_xlabel(facet.x_label)
    if facet.ticks:
        crowded = sum(map(len, facet.ticks.values())) > CROWDED
        turned = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axis.set_xticks(list(facet.ticks), list(facet.ticks.values()), **turned)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.margins(x=0.12)
    elif len(places) <= 16 and all(place == int(place) for place in places):
        axis.set_xticks(places, [f"{place:g}" for place in places])


@figure("method_lines", needs=("metrics",), required=("x",), optional=("metrics",))
def over_x(artifact: Artifact, results: Results) -> Drawing:
    """A line a method over `options.x`: model, length or subset, a facet each; or a parameter, then a facet a panel.

    `options.metrics`, in place of the artifact's one, have facets of their own side by side.
    Settings are chosen as the artifact's first selection says. Over a parameter, every other one is at its default,
    or (`best_on_test`) at its best for each value; methods without it are level lines.
    """
    x = artifact["options"]["x"]
    facets: list[Facet] = []
    for one, metric in product([x] if isinstance(x, str) else x, metrics_of(artifact)):
        of: Artifact = {**artifact, "metric": metric}
        panels = results.panels(artifact)
        if one in PLACES:
            facets += _over_places(of, results, one, panels)
        else:
            facets += [_over_parameter(of, results, one, panel) for panel in panels]
    if not facets:
        raise InputError(f"artifact {artifact['artifact']}: no two of its panels differ in {x} alone")
    frame = pd.concat([facet.frame for facet in facets], ignore_index=True)
    methods = ordered(artifact, frame["method"])
    moving = set(frame.loc[frame["x"].notna(), "method"])
    styles = {
        method: of if method in moving else replace(of, marker="")
        for method, of in line_styles(methods).items()
    }
    names = {method: marked_label(method) for method in methods}
    drawn = frame["x"].isna().map({True: "level", False: "line"})
    shown = frame.drop(columns=["series", "x"]).assign(drawn=drawn)
    return Drawing(draw_lines(facets, styles, names), long_frame(shown))


def _metric_facet(
    artifact: Artifact, title: str, x: str, x_label: str, records: Sequence[Any], **more: Any
) -> Facet:
    """A facet of one metric; `records` are (place on x or None, what x is there, panel, method, metrics row)."""
    metric = artifact.get("metric", "auc")
    rows = [
        panel_record(panel)
        | {"series": method, "x": place, "method": method, "control": is_control(method), "metric": metric}
        | {"over": x, "x_value": shown}
        | number_record(row)
        for place, shown, panel, method, row in records
    ]
    frame = pd.DataFrame(rows).astype({"x": float, "low": float, "high": float})
    y_label = f"{metric_label(metric)}, with 95 % interval"
    return Facet(title, x_label, y_label, frame, across=chance_of(metric), **more)


def _over_places(artifact: Artifact, results: Results, x: str, panels: Sequence[Panel]) -> list[Facet]:
    """A facet for each group of panels that differ in `x` alone."""
    keys = [key for key in ("model", "benchmark", "subset", "length", "view", "draw") if key != x]
    groups: dict[tuple[Any, ...], list[Panel]] = {}
    for panel in panels:
        groups.setdefault(tuple(panel.get(key) for key in keys), []).append(panel)
    return [facet_over(artifact, results, x, group) for group in groups.values() if len(group) > 1]


def facet_over(artifact: Artifact, results: Results, x: str, panels: Sequence[Panel]) -> Facet:
    """The methods over panels that differ in `x` alone: lengths ascending, others in the order of the panels."""
    selection = artifact.get("selection", SELECTIONS)[0]
    if x == "length":
        panels = sorted(panels, key=lambda panel: panel["length"] or 0)
    given: Sequence[Mapping[str, Any]] = panels
    places = [math.log2(panel["length"]) if x == "length" else float(at) for at, panel in enumerate(given)]
    names = [str(panel.get("label", panel["model"]) if x == "model" else panel[x]) for panel in given]
    records = [
        (place, name, panel, method, row)
        for place, name, panel in zip(places, names, panels, strict=True)
        for method, row in results.selected(artifact, panel, selection).items()
    ]
    shared = {**panels[0], x: {"model": "models", "subset": "", "length": None}[x]}
    if x == "model":
        shared.pop("label", None)
    title = panel_label(shared).removeprefix("models ")
    label = "length of the text (words)" if x == "length" else x
    return _metric_facet(artifact, title, x, label, records, ticks=dict(zip(places, names, strict=True)))


def _over_parameter(artifact: Artifact, results: Results, x: str, panel: Panel) -> Facet:
    records = [
        (float(value) if value else None, float(value) if value else None, panel, method, row)
        for value, method, row in results.along_parameter(artifact, panel, x)
    ]
    return _metric_facet(artifact, panel_label(panel), x, PARAMETER_LABELS.get(x, x), records)


SHIFTS = {
    (1, "member"): LineStyle(MEMBER, "-", marker="o"),
    (1, "nonmember"): LineStyle(MEMBER, (0, (4, 1.5)), marker="s"),
    (0, "member"): LineStyle(NONMEMBER, "-", marker="^"),
    (0, "nonmember"): LineStyle(NONMEMBER, (0, (4, 1.5)), marker="D"),
}
"""By label of the texts and kind of the prefix."""

KINDS = {"member": "members", "nonmember": "non-members"}


@figure("prefix_shifts", needs=("shift", "benchmarks"))
def over_shots(artifact: Artifact, results: Results) -> Drawing:
    """One facet for each panel: signed Wasserstein distances between log-likelihoods with and without a prefix, by
    shots.

    They are those of the artifact's evaluation set (`evaluation.tokens.shifts`). With
    `options.across.separator` a panel is shown once for each of these separators between shots.
    """
    panels, facets, frames = results.panels(artifact), [], []
    for panel in panels:
        frame = results.estimates_of(artifact, panel, "shift")
        usual: dict[str, Any] = {"evaluation_set": "all", "view": "original", "draw": 0, "separator": "none"}
        given = {**usual, **artifact, **artifact["options"], **panel}
        if not frame["evaluation_set"].eq(given["evaluation_set"]).any():
            given["evaluation_set"] = "all"  # no text was drawn as a shot, so that there are no other sets
        chosen = {key: given[key] for key in (*usual, "start_token") if key in given}
        for key, value in chosen.items():
            frame = frame[frame[key] == value]
        if frame.empty:
            words = ", ".join(f"{key} {value}" for key, value in chosen.items())
            raise InputError(f"{where(artifact, panel)}: there is no pass with shots of {words}")
        frame = frame.sort_values(["prefix", "shots", "label"], ascending=[True, True, False])
        pairs = zip(frame["label"], frame["prefix"], strict=True)
        points = frame.assign(series=pd.Series([*pairs], frame.index, object), x=frame["shots"].astype(float))
        title = panel_label(panel).replace(", separator ", ",\nseparator ")
        label = "signed Wasserstein distance\n(nats a token), with 95 % interval"
        facets.append(Facet(title, "shots in the prefix", label, points, across={"no shift": 0.0}))
        frames.append(frame[["label", "prefix", "draw", "shots", "n", "value", "low", "high"]])
    names = {(label, kind): f"texts: {CLASSES[label]}; prefix: {KINDS[kind]}" for label, kind in SHIFTS}
    frame = of_panels(frames, panels).rename(columns={"n": "n_texts"})
    return Drawing(draw_lines(facets, SHIFTS, names), frame)


@figure("audit_power", needs=("power",))
def over_texts(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel (a model, a benchmark with documents, a length), a line a method: the power of an audit.

    Lines are members' documents, dotted ones non-members'; the band is the 95 % interval of all methods combined.
    """
    facets, frames = [], []
    for panel in artifact["panels"]:
        found = results.tests_of(artifact, panel, "power", hint=TOO_FEW)
        found = found[found["method"].isin(artifact.get("methods", found["method"].unique()))]
        frames.append(found[["method", "texts", "label", "n", "value", "low", "high"]])
        series = found["method"].where(found["label"] == 1, found["method"] + FALSE_ALARMS)
        shown = (found["method"] == COMBINED) & (found["label"] == 1)
        points = found.assign(series=series, x=found["texts"].astype(float))
        points[["low", "high"]] = points[["low", "high"]].where(shown)
        facets.append(_power_facet(panel, "texts given of each document", "documents", points))
    methods = ordered(artifact, pd.concat(frames)["method"])
    lines = line_styles(methods) | {COMBINED: LineStyle(BLACK, "-", 1.8)}
    dotted = {
        f"{name}{FALSE_ALARMS}": LineStyle(lines[name].color, (0, (1, 1.5)), 0.8, "") for name in methods
    }
    names = {name: method_label(name) for name in methods}
    names |= {COMBINED: f"{method_label(COMBINED)}, with 95 % interval"}
    names |= {f"{name}{FALSE_ALARMS}": "non-members (false alarms)" for name in methods}
    drawn = draw_lines(facets, {name: lines[name] for name in methods} | dotted, names)
    for axis in drawn.axes[: len(facets)]:
        axis.set_ylim(0, 1)
    return Drawing(drawn, of_panels(frames, artifact["panels"]).rename(columns={"n": "documents"}))


FALSE_ALARMS = ", non-members"
TOO_FEW = (
    "too few documents of members and of non-members; it needs a benchmark whose texts name their documents"
)


def _power_facet(panel: Panel, x: str, share_of: str, points: pd.DataFrame, **ticks: Any) -> Facet:
    title, label = panel_label({"length": None, **panel}), f"share of {share_of} with p ≤ {LEVEL:g}"
    return Facet(title, x, label, points, across={f"{100 * LEVEL:g} %": LEVEL}, banded=True, **ticks)


@figure("corpus_power", needs=("corpus_power",))
def over_documents(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel, a line a score: the share of draws of documents in which the corpus test has p <= 5 %."""
    facets, frames = [], []
    for panel in artifact["panels"]:
        found = results.tests_of(artifact, panel, "corpus_power", hint=TOO_FEW_FOR_CORPUS)
        points = found.assign(series=found["method"], x=found["documents"].map(math.log2).astype(float))
        ticks = {math.log2(n): str(n) for n in sorted(found["documents"].unique())}
        facets.append(_power_facet(panel, "documents of each class", "draws", points, ticks=ticks))
        frames.append(found[["method", "documents", "value", "n"]])
    frame = of_panels(frames, artifact["panels"]).rename(columns={"value": "share", "n": "draws"})
    methods = ordered(artifact, frame.loc[frame["method"] != ENSEMBLE, "method"])
    styles = line_styles(methods) | {ENSEMBLE: LineStyle(BLACK, "-", 1.8)}
    names = {name: method_label(name) for name in methods} | {ENSEMBLE: "ensemble of all"}
    return Drawing(draw_lines(facets, styles, names), frame)


TOO_FEW_FOR_CORPUS = (
    "too few documents: the power of a corpus test needs two of each class, or with texts of both classes; documents "
    f"with different numbers of texts, {2 * 2 ** (LEAST_DOCUMENTS - 1).bit_length()} of each class"
)
"""A draw is a power of two of documents, at most half of them."""


@figure("loss_curves", needs=("training",))
def over_steps(artifact: Artifact, results: Results) -> Drawing:
    """A facet a benchmark, a line a model of the panels: loss (nats a token) against tokens seen.

    Training loss is a line, held-out loss its marked points; what is held out is text that the model is not
    trained on, so that the distance between the two is what the model knows of its members alone.
    """
    models, frames = [], []
    points: dict[str, list[pd.DataFrame]] = {}
    for model, benchmark in dict.fromkeys(map(pair_of, artifact["panels"])):
        curve = results.read("training", model)[["step", "tokens", "loss", "heldout_loss"]]
        models.append(model)
        frames.append(curve.assign(model=model, benchmark=benchmark))
        curve = curve.assign(x=curve["tokens"] / 1000, low=math.nan, high=math.nan)
        window = max(1, len(curve) // SMOOTHING)
        smooth = curve["loss"].rolling(window, center=True, min_periods=1).mean()
        held_out = curve.dropna(subset="heldout_loss").assign(series=model + HELD_OUT)
        held_out["value"] = held_out["heldout_loss"]
        points.setdefault(benchmark, []).extend([curve.assign(value=smooth, series=model), held_out])
    facets = [
        Facet(benchmark, "tokens seen (thousands)", "loss (nats a token)", pd.concat(of), banded=True)
        for benchmark, of in points.items()
    ]
    styles = {model: replace(nth_style(at), width=1.0, marker="") for at, model in enumerate(models)}
    marked = {f"{model}{HELD_OUT}": replace(nth_style(at), dashes="") for at, model in enumerate(models)}
    names = {name: name for name in styles} | dict.fromkeys(marked, "markers: held-out text")
    return Drawing(draw_lines(facets, styles | marked, names), pd.concat(frames, ignore_index=True))


HELD_OUT = ", held-out"
