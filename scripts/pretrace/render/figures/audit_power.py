"""The power of an audit: how many documents it finds, by how many of a document's texts it is given."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.lines import Line2D

from pretrace.evaluation.audit import COMBINED
from pretrace.evaluation.audit_power import power
from pretrace.evaluation.evidence import LEVEL
from pretrace.render.figures.drawing import (
    BLACK,
    GREY,
    Drawing,
    LineStyle,
    facet_grid,
    lay_out,
    line_styles,
    style,
)
from pretrace.render.names import method_label, ordered, panel_label
from pretrace.render.phrases import joined, with_interval
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.calibration_table import wilson
from pretrace.runtime.errors import InputError

FALSE_ALARMS = (0, (1, 1.5))


@figure("audit_power", needs=("scores", "benchmarks", "prefixes"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel (a model, a benchmark with documents, a length), a line a method."""
    panels = list(artifact["panels"])
    found = [_measured(artifact, results, panel) for panel in panels]
    return Drawing(
        figure=_figure(artifact, panels, found),
        frame=long_frame(
            [
                panel_record(panel) | record
                for panel, of in zip(panels, found, strict=True)
                for record in records_of(of)
            ]
        ),
        reading=" ".join([*map(_reading, panels, found), *_documents(panels, found)]),
    )


def _measured(artifact: Artifact, results: Results, panel: Panel) -> pd.DataFrame:
    """`audit_power.power` with Wilson's intervals of so many documents; the panel says what of several counts."""
    counts = {
        "start_token": panel["start_token"],
        "references": {*panel.get("references", ()), ""},
        "paraphraser": None,
    }
    of = power(
        results.side_of(panel), counts, length=panel.get("length"), methods=artifact.get("methods", ())
    )
    if of.empty:
        raise InputError(
            f"artifact {artifact['artifact']}, panel {panel_label(panel)}: too few documents of members and of "
            "non-members; it needs a benchmark whose texts name their documents"
        )
    records = [row | _ends(row) for row in records_of(of)]
    return pd.DataFrame(records)


def _ends(row: Record) -> dict[str, float | None]:
    _, low, high = wilson(round(row["value"] * row["documents"]), row["documents"])
    return {"low": low, "high": high}


def _figure(artifact: Artifact, panels: Sequence[Panel], found: Sequence[pd.DataFrame]) -> Any:
    methods = ordered(artifact, {method for of in found for method in of["method"]})
    styles = line_styles(methods) | {COMBINED: LineStyle(BLACK, "-", 1.8)}
    with style():
        figure, grid = facet_grid(len(panels), row=2.4, rest=0.4)
        for at, axis in enumerate(grid.flat[: len(panels)]):
            for method in methods:
                _draw(axis, found[at][found[at]["method"] == method], styles[method], method_label(method))
            axis.axhline(LEVEL, color=GREY, linewidth=0.6, label=f"{LEVEL:.0%}".replace("%", " %"))
            axis.set_title(panel_label(panels[at]), loc="left", fontsize=7)
            axis.set_xlabel("texts given of each document")
            axis.set_xticks(sorted(found[at]["texts"].unique()))
            axis.set_ylim(0, 1)
        for axis in grid[:, 0]:
            axis.set_ylabel(f"share of documents with p ≤ {LEVEL:g}")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        handles.append(Line2D([], [], color=BLACK, linestyle=FALSE_ALARMS, linewidth=0.8))
        labels.append("non-members (false alarms)")
        columns = -(-len(labels) // -(-len(labels) // 4))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3)
        lay_out(figure)
    return figure


def _draw(axis: Any, of: pd.DataFrame, line: LineStyle, label: str) -> None:
    members, others = (of[of["label"] == kind] for kind in (1, 0))
    axis.plot(members["texts"], members["value"], color=line.color, linestyle=line.dashes, linewidth=line.width,
              marker=line.marker, markersize=3, label=label)  # fmt: skip
    axis.plot(others["texts"], others["value"], color=line.color, linestyle=FALSE_ALARMS, linewidth=0.8)
    if label == method_label(COMBINED):
        axis.fill_between(
            members["texts"], members["low"], members["high"], color=line.color, alpha=0.12, linewidth=0,
            label=f"95 % interval, {label.lower()}",
        )  # fmt: skip


def _reading(panel: Panel, of: pd.DataFrame) -> str:
    method = COMBINED if of["method"].eq(COMBINED).any() else str(of["method"].iloc[0])
    of = of[of["method"] == method]
    texts = int(of["texts"].max())
    values = {
        (row["label"], row["texts"]): with_interval((row["value"], row["low"], row["high"]))
        for row in records_of(of)
    }
    return (
        f"{panel_label(panel)}: {method_label(method).lower()} finds {values[1, 1]} of the members' documents by "
        f"one text and {values[1, texts]} by {texts}; of the non-members' it calls {values[0, 1]} and "
        f"{values[0, texts]}."
    )


def _documents(panels: Sequence[Panel], found: Sequence[pd.DataFrame]) -> list[str]:
    """How many documents each number of texts rests on; once, where that is the same of every panel."""
    counts = {panel_label(panel): _counted(of) for panel, of in zip(panels, found, strict=True)}
    if len(set(counts.values())) == 1:
        return [f"Members' documents with so many texts: {next(iter(counts.values()))}."]
    return [f"Members' documents with so many texts, {name}: {counted}." for name, counted in counts.items()]


def _counted(of: pd.DataFrame) -> str:
    """`83 with 1 to 5, 53 with 6`, by the numbers of texts."""
    members = of[of["label"] == 1].drop_duplicates("texts").sort_values("texts")
    parts = []
    for documents, rows in members.groupby("documents", sort=False):
        first, last = rows["texts"].min(), rows["texts"].max()
        parts.append(f"{documents} with {first}" + (f" to {last}" if last > first else ""))
    return joined(parts)
