"""A benchmark's value of each method among those of its placebos: every document that plays the non-members."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.figures.drawing import GREY, PAGE, VERMILION, Drawing, lay_out, letter, new_figure, style
from pretrace.render.names import chance_level, method_label, metric_label, ordered, panel_label, row_label
from pretrace.render.phrases import joined
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError

Drawn = tuple[Panel, dict[str, pd.DataFrame]]
"""A panel, and by method the rows of `evaluation.placebos`, the benchmark's own among them."""


@figure("placebo_ranks", needs=("metrics", "placebos"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """Axes a panel, a line a method: a dot for each placebo, a diamond for the benchmark's own non-members."""
    selection = artifact.get("selection", ["held_out"])[0]
    drawn: list[Drawn] = []
    for panel in results.panels(artifact):
        found = results.selected(artifact, panel, selection)
        rows = {method: results.placebos_of(panel, found[method]) for method in ordered(artifact, found)}
        rows = {method: of for method, of in rows.items() if not of.empty}
        if not rows:
            raise InputError(
                f"artifact {artifact['artifact']}, panel {panel_label(panel)}: the benchmark has no placebos; set "
                "`placebos: true` in its entry, or leave the panel out."
            )
        drawn.append((panel, rows))
    return Drawing(
        figure=_figure(artifact, drawn),
        frame=_long(drawn),
        reading=" ".join(_reading(panel, rows) for panel, rows in drawn),
    )


def _figure(artifact: Artifact, drawn: Sequence[Drawn]) -> Any:
    metric = artifact.get("metric", "auc")
    lines = max(len(rows) for _, rows in drawn)
    with style():
        figure = new_figure(PAGE, 0.9 + 0.23 * lines)
        axes = figure.subplots(1, len(drawn), sharex=True, squeeze=False)[0]
        for place, (axis, (panel, rows)) in enumerate(zip(axes, drawn, strict=True)):
            _draw(axis, rows)
            axis.axvline(chance_level(metric), color="black", linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
            axis.set_title(letter(place) + panel_label(panel), fontsize=7)
            axis.set_xlabel(metric_label(metric))
        handles = [axes[0].collections[0], axes[0].collections[1]]
        figure.legend(handles, ["a member document as the non-members", "the non-members"],
                      loc="outside lower center", ncols=2)  # fmt: skip
        lay_out(figure)
    return figure


def _draw(axis: Any, rows: dict[str, pd.DataFrame]) -> None:
    for place, of in enumerate(rows.values()):
        placebos, own = of[of["placebo"]], of[~of["placebo"]].iloc[0]
        axis.scatter(placebos["value"], [place] * len(placebos), s=9, color=GREY, alpha=0.6, linewidth=0)
        axis.scatter(
            [own["value"]], [place], s=26, marker="D", color=VERMILION, edgecolor="white", linewidth=0.5
        )
        axis.annotate(f"{own['rank']:.0f}/{own['placebos'] + 1:.0f}", (1.0, place), (2, 0), fontsize=6.5,
                      xycoords=("axes fraction", "data"), textcoords="offset points", va="center")  # fmt: skip
    axis.set_yticks(range(len(rows)), [row_label(method) for method in rows])
    for label, method in zip(axis.get_yticklabels(), rows, strict=True):
        label.set_style("italic" if is_control(method) else "normal")
    axis.invert_yaxis()


def _long(drawn: Sequence[Drawn]) -> pd.DataFrame:
    keys = ["document", "placebo", "n_members", "n_nonmembers", "value", "rank"]
    return long_frame(
        [
            panel_record(panel) | {"method": method} | {key: row[key] for key in keys}
            for panel, rows in drawn
            for method, of in rows.items()
            for row in of.to_dict("records")
        ]
    )


def _reading(panel: Panel, rows: dict[str, pd.DataFrame]) -> str:
    own = {method: of[~of["placebo"]].iloc[0] for method, of in rows.items() if not is_control(method)}
    first = [method_label(method) for method, row in own.items() if row["rank"] == 1]
    count = max(int(row["placebos"]) for row in own.values())
    who = (
        f"{joined(first)} {'rank' if len(first) > 1 else 'ranks'} first" if first else "no method ranks first"
    )
    return (
        f"On {panel_label(panel)}, {who} of {count + 1}. If the non-members' document were like the others, a method "
        f"would rank first with probability {1 / (count + 1):.2f}."
    )
