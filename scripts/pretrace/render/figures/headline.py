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
from pretrace.render.phrases import joined, with_interval
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results, above_baseline, estimates
from pretrace.render.rows import Panel, records_of
from pretrace.runtime.errors import InputError

LINES = 7
"""Lines that a terminal is given of it."""
FEW = 3
"""Benchmarks that a sentence names; of more it counts."""


@figure("headline", needs=("metrics", "tests", "placebos"))
def render(artifact: Artifact, results: Results) -> Drawing:
    """Axes a panel, a line a method: its held-out value with interval, grey without a model, and its placebos.

    The reading says on which panels the best method is above chance, above the blind classifier and first among the
    placebos, and what is all three.
    """
    metric = artifact.get("metric", "auc")
    chance = chance_level(metric)
    if chance is None:
        raise InputError(f"artifact {artifact['artifact']}: {metric} has no chance level")
    panels = results.panels(artifact)
    frame = estimates({**artifact, "baseline": BLIND}, results, ["held_out"], results.among_placebos)
    frame = frame.sort_values("panel", kind="stable", ignore_index=True)
    models = frame[~frame["control"]]
    frame = frame.assign(
        label=[_place(panels[at]) for at in frame["panel"]],
        best=frame.index.isin(models.groupby("panel")["value"].idxmax()),
        above_chance=frame["low"] > chance,
        above_blind=above_baseline(frame),
        above_placebos=frame["rank"].eq(1).astype("boolean").mask(frame["rank"].isna()),
    )
    found = [(panel, frame[frame["panel"] == at]) for at, panel in enumerate(panels)]
    return Drawing(_figure(metric, found), frame, "\n".join(_reading(metric, found)))


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


def _figure(metric: str, found: Sequence[tuple[Panel, pd.DataFrame]]) -> Any:
    named = {method: None for _, frame in found for method in frame["method"]}
    lines = {method: method_label(method) for method in sorted(named, key=is_control)}
    chance = {"chance": (chance_level(metric) or 0.0, CHANCE)}
    facets = []
    for panel, frame in found:
        own = frame.assign(series=frame["control"].map({True: BLINDLY, False: SEEING}))
        mean, sd = (frame[f"placebo_{key}"].astype(float) for key in ("mean", "sd"))
        placebos = frame.assign(series=ON_PLACEBOS, value=mean, low=mean - sd, high=mean + sd)
        dots = pd.concat([own, placebos.dropna(subset="value")]).assign(line=lambda of: of["method"])
        title = f"{panel.get('model', '')}\n{_place(panel)}"
        facets.append(Facet(title, lines, dots, chance))
    return draw_dots(facets, STYLES, f"held-out {metric_label(metric)}")


Found = tuple[Panel, Record]
"""A panel and the row of its best method."""


def _reading(metric: str, found: Sequence[tuple[Panel, pd.DataFrame]]) -> list[str]:
    """Up to four sentences: chance, the blind classifier, the placebos, and what is left."""
    best = [(panel, row) for panel, frame in found for row in records_of(frame[frame["best"]])]
    if not best:
        return ["No method that sees a model was evaluated."]
    clear = [
        (panel, max(rows, key=lambda row: float(row["value"])))
        for panel, frame in found
        if (rows := [row for row in records_of(frame[~frame["control"]]) if _is_clear(row)])
    ]
    return [_chance(metric, best), *_blind(best, found), *_placebos(best), _left(clear, best)]


def _is_clear(row: Record) -> bool:
    """Whether a method is above chance, and above the blind classifier and every placebo where there are any."""
    beaten = [row[name] for name in ("above_blind", "above_placebos") if not pd.isna(row[name])]
    return bool(row["above_chance"]) and all(beaten)


def _chance(metric: str, best: Sequence[Found]) -> str:
    above = [one for one in best if one[1]["above_chance"]]
    panel, row = max(best, key=lambda one: float(one[1]["value"]))
    name = f"{method_label(row['method'])} on {panel_label(panel)}"
    if len(best) == 1:
        verdict = "above chance" if above else "an interval that includes chance"
        return f"The highest held-out {metric_label(metric)} is {_value(row)}, of {name}: {verdict}."
    return (
        f"The best method's held-out {metric_label(metric)} is above chance on {_count(above, best)}; the highest is "
        f"{_value(row)} ({name})."
    )


def _blind(best: Sequence[Found], found: Sequence[tuple[Panel, pd.DataFrame]]) -> list[str]:
    tested = [one for one in best if not pd.isna(one[1]["above_blind"])]
    level = [panel for panel, row in tested if not row["above_blind"]]
    if not tested:
        return []
    if not level:
        return [f"It is above the blind classifier, which sees no model, on {_count(tested, best)}."]
    reached = ""
    if len(level) == 1:
        (frame,) = [frame for panel, frame in found if panel is level[0]]
        reached = f" ({_value(records_of(frame[frame['method'] == BLIND])[0])} there)"
    names = f"{len(level)} panels" if len(level) > FEW else joined([panel_label(panel) for panel in level])
    return [
        f"On {names} it is not clearly above the blind classifier, which sees no model{reached}: what it finds there "
        "may be how the classes differ."
    ]


def _placebos(best: Sequence[Found]) -> list[str]:
    parts = [
        f"on {_place(panel)}, {method_label(row['method'])} ranks {_rank(row)} (placebos: mean "
        f"{row['placebo_mean']:.2f}, SD {row['placebo_sd']:.2f})"
        for panel, row in best
        if not pd.isna(row["above_placebos"])
    ]
    start = (
        "Placebos, in which another document plays the non-members, hold nothing that was kept from the model"
    )
    return [f"{start}: {'; '.join(parts[:FEW])}."] if parts else []


def _rank(row: Record) -> str:
    return f"{row['rank']:.0f} of {row['placebos'] + 1:.0f}"


def _left(clear: Sequence[Found], best: Sequence[Found]) -> str:
    if not clear:
        return (
            "No method is above chance, the blind classifier and every placebo at once: nothing here shows by itself "
            "that a text was trained on."
        )
    shown = "; ".join(
        f"{method_label(row['method'])} {_value(row)} on {panel_label(panel)}" for panel, row in clear[:FEW]
    )
    more = f"; and {len(clear) - FEW} more" if len(clear) > FEW else ""
    return f"Above all of these, and so a sign of training, is what is found on {_count(clear, best)}: {shown}{more}."


def _count(some: Sequence[Found], of: Sequence[Found]) -> str:
    return panel_label(of[0][0]) if len(of) == 1 else f"{len(some)} of {len(of)} panels"


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
        beside.append(f"rank {_rank(row)} among placebos of mean {row['placebo_mean']:.2f}")
    return f"{text} ({', '.join(beside)})" if beside else text
