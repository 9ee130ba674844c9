"""How the scores of members and non-members are distributed: Con-ReCall figure 4."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.render.figures.drawing import MEMBER, NONMEMBER, PAGE, Drawing, lay_out, new_figure, style
from pretrace.render.names import (
    SETTING_PHRASES,
    method_label,
    ordered,
    panel_label,
    panel_lines,
    where,
)
from pretrace.render.phrases import against_chance, joined, with_interval
from pretrace.render.records import estimate, long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, one_setting
from pretrace.runtime.errors import InputError

CLASSES = ((1, "members", MEMBER, "-"), (0, "non-members", NONMEMBER, (0, (4, 1.5))))
PLACES = np.linspace(0, 1, 201)


@figure("score_densities", needs=("metrics", "scores", "benchmarks", "prefixes"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A row a panel, a column a method: densities of both classes at the setting of `selecting.one_setting`.

    Scores are shifted and scaled to run from 0 to 1 over both classes together (min-max); the densities are
    Gaussian kernel estimates (Scott's rule). Each plot has the AUC of its scores.
    """
    panels = results.panels(artifact)
    selection = one_setting(artifact)
    rows = [results.selected({**artifact, "metric": "auc"}, panel, selection) for panel in panels]
    frames = [_densities(artifact, results, panel, of) for panel, of in zip(panels, rows, strict=True)]
    return Drawing(
        figure=_figure(artifact, panels, frames, rows),
        frame=pd.concat(frames, ignore_index=True),
        reading=" ".join(
            _reading(panel, of, frame, selection)
            for panel, of, frame in zip(panels, rows, frames, strict=True)
        ),
    )


def _densities(
    artifact: Artifact, results: Results, panel: Panel, rows: Mapping[str, Record]
) -> pd.DataFrame:
    """One row a method, class and place: the density there."""
    from scipy.stats import gaussian_kde

    scores = results.scores_of(artifact, panel)
    records = []
    for method in ordered(artifact, rows):
        of = scores[
            (scores["method"] == method.split(";")[0]) & (scores["setting"] == rows[method]["setting"])
        ]
        values = of["score"].to_numpy(dtype=float)
        if of["label"].nunique() < 2 or values.max() == values.min():
            raise InputError(
                f"{where(artifact, panel)}: the scores of {method} are all equal or of one class"
            )
        scaled = (values - values.min()) / (values.max() - values.min())
        for label, *_ in CLASSES:
            density = gaussian_kde(scaled[(of["label"] == label).to_numpy()])(PLACES)
            at = panel_record(panel) | {"method": method, "setting": rows[method]["setting"], "label": label}
            records += [at | {"scaled_score": x, "density": y} for x, y in zip(PLACES, density, strict=True)]
    return long_frame(records)


def _figure(
    artifact: Artifact,
    panels: Sequence[Panel],
    frames: Sequence[pd.DataFrame],
    rows: Sequence[Mapping[str, Record]],
) -> Any:
    methods = ordered(artifact, (method for of in rows for method in of))
    with style():
        figure = new_figure(PAGE, 1.75 * len(panels) + 0.35)
        grid = figure.subplots(len(panels), len(methods), squeeze=False)
        for axes, panel, frame, of in zip(grid, panels, frames, rows, strict=True):
            for axis, method in zip(axes, methods, strict=True):
                if method not in of:
                    axis.set_visible(False)
                    continue
                _draw(axis, frame[frame["method"] == method])
                text = f"{method_label(method)}\nAUC {with_interval(estimate(of[method]))}"
                axis.set_title(text, fontsize=7)
            axes[0].set_ylabel("\n".join(panel_lines(panel)) if len(panels) > 1 else "density")
        if len(panels) == 1:
            figure.suptitle(panel_label(panels[0]), fontsize=8)
        for axis in grid[-1]:
            axis.set_xlabel("score, min-max normalised")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2, handlelength=3)
        lay_out(figure)
    return figure


def _draw(axis: Any, of: pd.DataFrame) -> None:
    for label, name, color, dashes in CLASSES:
        line = of[of["label"] == label]
        axis.fill_between(line["scaled_score"], line["density"], color=color, alpha=0.16, linewidth=0)
        axis.plot(line["scaled_score"], line["density"], color=color, linestyle=dashes, label=name)
    axis.set(xlim=(0, 1), ylim=(0, None), xticks=(0, 0.5, 1))
    axis.tick_params(labelleft=False, left=False)


def overlap(of: pd.DataFrame) -> float:
    """The area that the densities of both classes share: 1 where they are equal, 0 where they are apart."""
    members, nonmembers = (of.loc[of["label"] == label, "density"].to_numpy() for label in (1, 0))
    common = np.trapezoid(np.minimum(members, nonmembers), PLACES)
    return float(2 * common / (np.trapezoid(members, PLACES) + np.trapezoid(nonmembers, PLACES)))


def _reading(panel: Panel, rows: Mapping[str, Record], frame: pd.DataFrame, selection: str) -> str:
    shared = {str(method): overlap(of) for method, of in frame.groupby("method", sort=False)}
    parts = [
        f"{100 * share:.0f} % by {method_label(method)} (AUC {with_interval(estimate(rows[method]))}"
        f"{against_chance(estimate(rows[method]), 'auc')})"
        for method, share in shared.items()
    ]
    least = min(shared, key=lambda method: shared[method])
    return (
        f"On {panel_label(panel)}, {SETTING_PHRASES[selection]}, the densities of members and "
        f"non-members have in common {joined(parts)}; "
        f"least by {method_label(least)}."
    )
