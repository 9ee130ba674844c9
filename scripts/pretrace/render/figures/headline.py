"""A study's main result: every method on each benchmark, next to the controls and the placebos."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.questions.known import is_control
from pretrace.render.figures.dots import Facet, draw_dots
from pretrace.render.figures.drawing import BLUE, CHANCE, GREY, VERMILION, Drawing, LineStyle
from pretrace.render.names import (
    BLIND,
    across_labels,
    chance_level,
    method_label,
    metric_label,
    panel_label,
    place_label,
)
from pretrace.render.phrases import with_interval
from pretrace.render.registry import Artifact
from pretrace.render.results import Results, beside_controls
from pretrace.render.rows import Panel, records_of
from pretrace.runtime.errors import InputError

LINES = 7
"""Lines that a terminal is given of it."""
FEW = 3
"""Panels that the reading names; of more it counts."""


def headline(artifact: Artifact, results: Results) -> Drawing:
    """Axes a panel, a line a method: its held-out value with interval, grey without a model, and its placebos.

    The reading says on which panels a method is above chance, the blind classifier and every placebo.
    """
    metric = artifact.get("metric", "auc")
    chance = chance_level(metric)
    if chance is None:
        raise InputError(f"artifact {artifact['artifact']}: {metric} has no chance level")
    panels = results.panels(artifact)
    frame = beside_controls(artifact, results).sort_values("panel", kind="stable", ignore_index=True)
    models = frame[~frame["control"]]
    frame = frame.assign(
        label=[_place(panels[at]) for at in frame["panel"]],
        best=frame.index.isin(models.groupby("panel")["value"].idxmax()),
        above_chance=frame["low"] > chance,
        above_placebos=frame["rank"].eq(1).astype("boolean").mask(frame["rank"].isna()),
    )
    return Drawing(_figure(metric, chance, panels, frame), frame, _reading(panels, frame))


def _place(panel: Panel) -> str:
    """A panel without its model: `sotu, 64 words`."""
    if "label" in panel:
        return ", ".join([str(panel["label"]), *across_labels(panel)])
    return f"{panel['benchmark']}{place_label(panel)}"


SEEING, BLINDLY, ON_PLACEBOS = "sees the model", "sees no model", "the same on the placebos, mean and SD"
STYLES = {
    SEEING: LineStyle(BLUE, "", 4, "o", shift=-0.12),
    BLINDLY: LineStyle(GREY, "", 4, "o", shift=-0.12),
    ON_PLACEBOS: LineStyle(VERMILION, "", 3, "D", hollow=True, shift=0.2),
}


def _figure(metric: str, chance: float, panels: Sequence[Panel], frame: pd.DataFrame) -> Any:
    lines = {method: method_label(method) for method in sorted(frame["method"].unique(), key=is_control)}
    own = frame.assign(series=frame["control"].map({True: BLINDLY, False: SEEING}))
    mean, sd = (frame[f"placebo_{key}"].astype(float) for key in ("mean", "sd"))
    placebos = frame.assign(series=ON_PLACEBOS, value=mean, low=mean - sd, high=mean + sd)
    dots = pd.concat([own, placebos.dropna(subset="value")]).assign(line=lambda both: both["method"])
    facets = [
        Facet(
            f"{panel['model']}\n{_place(panel)}",
            lines,
            dots[dots["panel"] == at],
            {"chance": (chance, CHANCE)},
        )
        for at, panel in enumerate(panels)
    ]
    return draw_dots(facets, STYLES, f"held-out {metric_label(metric)}")


def _reading(panels: Sequence[Panel], frame: pd.DataFrame) -> str:
    """The best method of each panel among those above chance, and above blind and placebos where there are any."""
    models = frame[~frame["control"]]
    with_blind = models["panel"].isin(frame.loc[frame["method"] == BLIND, "panel"])
    beaten = models["beats_blind"].fillna(~with_blind) & models["above_placebos"].fillna(True)
    clear = models[models["above_chance"] & beaten]
    best = records_of(clear.loc[clear.groupby("panel")["value"].idxmax()])
    if not best:
        return (
            "No method is above chance, the blind classifier and every placebo at once: nothing here shows by itself "
            "that a text was trained on."
        )
    shown = "; ".join(
        f"{method_label(row['method'])} {_value(row)} on {panel_label(panels[row['panel']])}"
        for row in best[:FEW]
    )
    more = f"; and {len(best) - FEW} more" if len(best) > FEW else ""
    return (
        "A method is above chance, the blind classifier and every placebo, which is a sign of training, on "
        f"{len(best)} of {models['panel'].nunique()} panels: {shown}{more}."
    )


def _value(row: Record, digits: int = 3) -> str:
    return with_interval(estimate(row), digits)


def lines(frame: pd.DataFrame) -> list[str]:
    """One line for each panel of `render`'s long data, for a terminal: the best method, and the controls next to
    it."""
    keys = ["model", "label"]
    blind = {tuple(row[key] for key in keys): row for row in records_of(frame[frame["method"] == BLIND])}
    best = records_of(frame[frame["best"]])
    shown = [_line(row, blind.get(tuple(row[key] for key in keys))) for row in best]
    if len(shown) > LINES:
        return [*shown[: LINES - 1], f"and {len(shown) - LINES + 1} more, in the report"]
    return shown


def _line(row: Record, blind: Record | None) -> str:
    metric = metric_label(row["metric"])
    text = f"{row['label']}, {row['model']}: {method_label(row['method'])} {metric} {_value(row, 2)}"
    beside = [f"{_value(blind, 2)} without a model"] if blind else []
    if number(row["rank"]) is not None:
        rank = f"{row['rank']:.0f} of {row['placebos'] + 1:.0f}"
        beside.append(f"rank {rank} among placebos of mean {row['placebo_mean']:.2f}")
    return f"{text} ({', '.join(beside)})" if beside else text
