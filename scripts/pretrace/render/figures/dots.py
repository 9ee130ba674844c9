"""Dots on level lines, with intervals: documents by accuracy, and methods among their placebos."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.placebos import ends_of_time, first_of_any
from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import (
    CHANCE,
    GREY,
    MEMBER,
    NONMEMBER,
    VERMILION,
    Drawing,
    LineStyle,
    chance_of,
    draw_facets,
    draw_intervals,
)
from pretrace.render.names import (
    CLASSES,
    marked_label,
    metric_label,
    ordered,
    panel_label,
    panel_lines,
    where,
)
from pretrace.render.phrases import exceeding_placebos, joined
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.rows import of_panels, records_of
from pretrace.runtime.errors import InputError

NAMED = 30
"""As many lines have a name each; more are ranked side by side."""

CONTROLS = {"longest_option": (0, (4, 2)), "odd_one_out": (0, (1, 1.5))}
"""The dashes of their lines."""


@dataclass(frozen=True)
class Facet:
    """Axes of dots: rows of `frame` are dots `line, series, value, low, high`.

    `lines` names the lines from the top; `beside` is the text at their right end; `across` are vertical lines by name.
    """

    title: str
    lines: Mapping[Any, str]
    frame: pd.DataFrame
    across: Mapping[str, tuple[float, LineStyle]] = field(default_factory=dict)
    beside: Mapping[Any, str] = field(default_factory=dict)


def draw_dots(facets: Sequence[Facet], styles: Mapping[str, LineStyle], x_label: str) -> Any:
    """The figure: a colour and marker a series; all facets have one scale."""
    most = max(len(one.lines) for one in facets)
    dots = pd.concat([one.frame[["value", "low", "high"]].astype(float) for one in facets])
    ends = np.append(dots, [x for one in facets for x, _ in one.across.values()])
    low, high = np.nanmin(ends), np.nanmax(ends)
    margin = 0.03 * (high - low)

    def draw(axis: Any, facet: Facet) -> dict[str, Any]:
        axis.set(xlabel=x_label, xlim=(low - margin, high + margin))
        return _draw(axis, facet, styles)

    row = 0.75 + 0.17 * most if most <= NAMED else 3.0
    return draw_facets(facets, draw, row=row, share_y=all(one.lines == facets[0].lines for one in facets))


def _draw(axis: Any, facet: Facet, styles: Mapping[str, LineStyle]) -> dict[str, Any]:
    place = {line: at for at, line in enumerate(facet.lines)}
    named = len(place) <= NAMED
    handles = {}
    for series, of in styles.items():
        dots = facet.frame[facet.frame["series"] == series]
        if dots.empty:
            continue
        at = dots["line"].map(place) + of.shift
        draw_intervals(axis, at, dots, of.color, level=True)
        size = of.width if named else 1.6
        (handles[series],) = axis.plot(dots["value"], at, linestyle="none", marker=of.marker, markersize=size,
                                       color=of.color, markerfacecolor="none" if of.hollow else of.color,
                                       markeredgewidth=1.0 if of.hollow else 0.0,
                                       alpha=of.alpha, zorder=4)  # fmt: skip
    for name, (x, of) in facet.across.items():
        handles[name] = axis.axvline(x, **of.line, zorder=0)
    axis.set_yticks(list(place.values()) if named else [], list(facet.lines.values()) if named else [])
    for line, text in facet.beside.items():
        axis.annotate(text, (1.0, place[line]), (2, 0), xycoords=("axes fraction", "data"), fontsize=6.5,
                      textcoords="offset points", va="center")  # fmt: skip
    axis.set_ylim(len(place) - 0.4, -0.6)
    return handles


@figure("document_accuracies", needs=("metrics", "accuracy"))
def of_documents(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: a dot a document, by class and rising accuracy.

    Upright lines are what the controls reach over the same documents.
    """
    panels = results.panels(artifact)
    facets, frames = [], []
    for panel in panels:
        rows = results.estimates_of(artifact, panel, "accuracy")
        frame = rows[rows["document"] != ""]
        frame = frame.sort_values(["label", "value", "document"], ignore_index=True)
        frames.append(frame[["document", "label", "n", "answers", "value", "low", "high"]])
        lines = {at: name.replace("_", " ")[:40] for at, name in enumerate(frame["document"])}
        levels = rows[rows["document"] == ""].set_index("method")["value"]
        across = {
            marked_label(control): (float(levels[control]), LineStyle(GREY, dashes, 0.9, ""))
            for control, dashes in CONTROLS.items()
            if control in levels
        }
        dots = frame.assign(line=frame.index, series=frame["label"].map(CLASSES))
        facets.append(Facet("\n".join(panel_lines(panel)), dict(reversed(lines.items())), dots, across))
    styles = {"members": LineStyle(MEMBER, "", 4, "o"), "non-members": LineStyle(NONMEMBER, "", 4, "s")}
    drawn = draw_dots(facets, styles, "share of right answers, 95 % interval")
    frame = of_panels(frames, panels).rename(columns={"n": "passages"})
    return Drawing(drawn, frame, " ".join(results.cautions(panels)))


PLACEBO, OWN = "a member document as the non-members", "the non-members"
ENDS = "the first and the last member document"


@figure("placebo_ranks", needs=("metrics", "placebos"))
def of_placebos(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel, a line a method: a dot for each placebo, a diamond for the benchmark's own non-members.

    At the right, the diamond's rank from the top. The reading says which methods exceed all placebos.
    """
    selection, metric = artifact.get("selection", ["held_out"])[0], artifact.get("metric", "auc")
    panels, facets, frames, readings = results.panels(artifact), [], [], []
    for panel in panels:
        found = results.selected(artifact, panel, selection)
        rows = [
            results.placebos_of(panel, found[method]).assign(method=method)
            for method in ordered(artifact, found)
        ]
        frame = pd.concat(rows, ignore_index=True)
        if frame.empty:
            raise InputError(
                f"{where(artifact, panel)}: the benchmark has no placebos; set `placebos: true` in its entry, or leave "
                "the panel out."
            )
        own = frame[~frame["placebo"].astype(bool)].assign(
            control=lambda rows: rows["method"].map(is_control)
        )
        frames.append(frame[["method", "document", "placebo", "n_members", "n_nonmembers", "value", "rank"]])
        seeing = frame[~frame["method"].map(is_control).astype(bool)]
        first, documents = first_of_any(seeing)
        ends = ends_of_time(frame.loc[frame["placebo"].astype(bool), "document"])
        readings += [
            exceeding_placebos(panel, own.astype({"control": bool})),
            _beside_ranks(seeing, first, documents, ends),
        ]
        series = frame["placebo"].map({True: PLACEBO, False: OWN}).mask(frame["document"].isin(ends), ENDS)
        dots = frame.assign(line=frame["method"], series=series, low=np.nan, high=np.nan)
        ranks = {row["method"]: f"{row['rank']:.0f}/{row['placebos'] + 1:.0f}" for row in records_of(own)}
        lines = {method: marked_label(method) for method in own["method"]}
        across = {name: (level, CHANCE) for name, level in chance_of(metric).items()}
        title = f"{panel_label(panel)}\nsome method is first by chance: {first}/{documents}"
        facets.append(Facet(title, lines, dots, across, ranks))
    styles = {
        PLACEBO: LineStyle(GREY, "", 3, "o", alpha=0.6),
        ENDS: LineStyle(GREY, "", 4, "s", hollow=True),
        OWN: LineStyle(VERMILION, "", 4.5, "D"),
    }
    drawn = draw_dots(facets, styles, metric_label(metric))
    return Drawing(drawn, of_panels(frames, panels), " ".join(readings))


def _beside_ranks(frame: pd.DataFrame, first: int, documents: int, ends: Sequence[str]) -> str:
    """Say how often some method is first by chance, and how often the documents at both ends of time are first."""
    highest = frame[frame["value"] >= frame.groupby("method")["value"].transform("max")]
    methods = frame["method"].nunique()
    at_ends = joined([f"{name} for {int(highest['document'].eq(name).sum())}" for name in ends])
    return (
        f"Some method is first more often than one of them: {first} of the {documents} documents are first for at "
        f"least one of {methods} methods, which is the chance if all documents are alike. Where scores drift, the "
        f"documents at both ends of time are first more often: {at_ends} of {methods} methods."
    )
