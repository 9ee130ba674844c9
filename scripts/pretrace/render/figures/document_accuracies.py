"""DE-COP's accuracy on each document, members beside non-members: DE-COP figure 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.render.figures.drawing import GREY, MEMBER, NONMEMBER, Drawing, lay_out, new_figure, style
from pretrace.render.figures.paired_bars import mean_of_groups
from pretrace.render.names import panel_label, panel_lines, where
from pretrace.render.phrases import Estimate, with_interval
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import seed_of

CLASSES = {1: ("members", MEMBER, "o"), 0: ("non-members", NONMEMBER, "s")}
NAMED = 30
"""As many documents have a line and a name each; more are ranked side by side."""

CONTROLS = {"longest_option": ("longest option", (0, (4, 2))), "odd_one_out": ("odd one out", (0, (1, 1.5)))}


@figure("document_accuracies", needs=("metrics", "answers"), optional=("documents",))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: a point a document of `options.documents` (default, all), intervals by bootstrap of passages.

    Vertical lines are what the controls reach over the same documents.
    """
    panels = results.panels(artifact)
    frames = [_accuracies(artifact, results, panel) for panel in panels]
    levels = [_levels(artifact, results, panel) for panel in panels]
    return Drawing(
        figure=_figure(panels, frames, levels),
        frame=long_frame(pd.concat(frames, ignore_index=True)),
        reading=" ".join(
            [*map(_reading, panels, frames, levels), *results.cautions(panels)],
        ),
    )


def _accuracies(artifact: Artifact, results: Results, panel: Panel) -> pd.DataFrame:
    """The documents by class and rising accuracy: document, label, value, low, high."""
    answers = results.answers_of(artifact, panel)
    answers = answers[answers["label"].notna()]
    wanted = artifact["options"].get("documents")
    if wanted:
        there = set(answers["document"])
        for name in wanted:
            if name not in there:
                raise InputError(
                    f"{where(artifact, panel)}: unknown document '{name}': {nearest(name, there)}"
                )
        answers = answers[answers["document"].isin(wanted)]
    records = []
    for document, of in answers.groupby("document"):
        seed = seed_of(panel["model"], panel["benchmark"], document)
        value, low, high = mean_of_groups(of["correct"].to_numpy(np.float64), of["passage"].to_numpy(), seed)
        passages = of["passage"].nunique()
        records.append(
            panel_record(panel)
            | {
                "document": document,
                "label": int(of["label"].iloc[0]),
                "passages": passages,
                "answers": len(of),
            }
            | {"value": value, "low": low, "high": high}
        )
    frame = pd.DataFrame(records).astype({"low": float, "high": float})
    return frame.sort_values(["label", "value", "document"], ignore_index=True)


def _levels(artifact: Artifact, results: Results, panel: Panel) -> dict[str, float]:
    """What the controls reach, mean over documents; those that answered."""
    found = {}
    for control in CONTROLS:
        try:
            answers = results.answers_of(artifact, panel, control)
        except InputError:
            continue
        found[control] = float(answers.groupby("document")["correct"].mean().mean())
    return found


def _figure(
    panels: Sequence[Panel], frames: Sequence[pd.DataFrame], levels: Sequence[dict[str, float]]
) -> Any:
    most = max(map(len, frames))
    with style():
        height = 0.17 * min(most, NAMED) + 1.2 if most <= NAMED else 3.2
        figure = new_figure(3.4 if len(panels) == 1 else 6.8, height)
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        highest = max(end for frame in frames for end in frame[["value", "high"]].max())
        highest = max([highest, *(level for of in levels for level in of.values())])
        for axis, panel, frame, of in zip(axes, panels, frames, levels, strict=True):
            _draw(axis, frame, of, named=len(frame) <= NAMED)
            axis.set_xlim(-0.02, highest + 0.02)
            axis.set_title("\n".join(panel_lines(panel)), fontsize=7)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        lay_out(figure)
    return figure


def _draw(axis: Any, frame: pd.DataFrame, levels: dict[str, float], *, named: bool) -> None:
    for label, (name, color, marker) in CLASSES.items():
        of = frame[frame["label"] == label]
        value = of["value"].to_numpy()
        ends = [
            np.maximum(0, np.nan_to_num(value - of["low"])),
            np.maximum(0, np.nan_to_num(of["high"] - value)),
        ]
        axis.errorbar(value, of.index, xerr=ends, fmt=marker, color=color, markersize=3 if named else 1.6,
                      elinewidth=0.8 if named else 0.4, capsize=1.5 if named else 0, label=name)  # fmt: skip
    for control, level in levels.items():
        name, dashes = CONTROLS[control]
        axis.axvline(level, color=GREY, linewidth=0.9, linestyle=dashes, label=f"{name} (no model)")
    if named:
        axis.set_yticks(frame.index, [document.replace("_", " ")[:40] for document in frame["document"]])
    else:
        axis.set_yticks([])
        axis.set_ylabel(f"{len(frame)} documents, by class and accuracy")
    axis.set_xlabel("share of right answers, 95 % interval")


def _reading(panel: Panel, frame: pd.DataFrame, levels: dict[str, float]) -> str:
    parts = []
    for label, (name, *_) in CLASSES.items():
        of = frame[frame["label"] == label]
        if len(of):
            low, high = of.iloc[0], of.iloc[-1]
            parts.append(
                f"the {len(of)} {name} reach {of['value'].mean():.3f} on average, from {with_interval(_of(low))} "
                f"({low['document'].replace('_', ' ')}) to {with_interval(_of(high))} "
                f"({high['document'].replace('_', ' ')})"
            )
    text = f"On {panel_label(panel)}, {' and '.join(parts)}."
    told = " and ".join(f"{CONTROLS[control][0]} {level:.3f}" for control, level in levels.items())
    return f"{text} Without a model: {told}." if told else text


def _of(row: "pd.Series[Any]") -> Estimate:
    low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
    return float(row["value"]), low, high
