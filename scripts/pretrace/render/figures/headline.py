"""What a study found, before all else: every method of each benchmark beside what needs no model and the placebos."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.figures.dots import Facet, draw_dots
from pretrace.render.figures.drawing import BLUE, CHANCE, GREY, VERMILION, Drawing, LineStyle
from pretrace.render.names import (
    BLIND,
    across_labels,
    chance_level,
    method_label,
    metric_label,
    ordered,
    panel_label,
    place_label,
)
from pretrace.render.phrases import joined, with_interval
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.rows import (
    Panel,
    Record,
    estimate,
    is_starred,
    long_frame,
    number,
    number_record,
    panel_record,
    records_of,
)
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
    panels = results.panels(artifact)
    frames = [_found(artifact, results, panel) for panel in panels]
    metric = artifact.get("metric", "auc")
    if chance_level(metric) is None:
        raise InputError(f"artifact {artifact['artifact']}: {metric} has no level that chance reaches")
    return Drawing(
        figure=_figure(metric, list(zip(panels, frames, strict=True))),
        frame=pd.concat(frames, ignore_index=True),
        reading="\n".join(_reading(metric, list(zip(panels, frames, strict=True)))),
    )


def _found(artifact: Artifact, results: Results, panel: Panel) -> pd.DataFrame:
    """A row a method: its value, that of its placebos, whether it is above chance, blind and all placebos."""
    metric = artifact.get("metric", "auc")
    rows = results.selected(artifact, panel, "held_out")
    tests = results.bootstrap_tests(artifact, panel, BLIND)
    best = _best(rows)
    records = [
        panel_record(panel)
        | {"label": _place(panel), "metric": metric, "method": method, "control": is_control(method)}
        | number_record(rows[method])
        | {"best": method == best, "above_chance": _above(rows[method], metric)}
        | {"above_blind": is_starred(tests, method) if method in tests else None}
        | _beside_placebos(results, panel, rows[method])
        for method in ordered(artifact, rows)
    ]
    return long_frame(records)


def _best(rows: Mapping[str, Record]) -> str:
    methods = [method for method in rows if not is_control(method)]
    return max(methods, key=lambda method: float(rows[method]["value"]), default="")


def _above(row: Record, metric: str) -> bool:
    _, low, _ = estimate(row)
    return low is not None and low > (chance_level(metric) or 0)


def _beside_placebos(results: Results, panel: Panel, row: Record) -> dict[str, Any]:
    """The placebos' mean and standard deviation, the method's rank among them, and whether it is the first."""
    among = results.among_placebos(panel, row)
    return among | {"above_placebos": among["rank"] == 1 if among["rank"] is not None else None}


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
    sentences = [_chance(metric, best), *_blind(best, found), *_placebos(best)]
    return [*sentences, _left([(panel, _clear(frame)) for panel, frame in found], best)]


def _chance(metric: str, best: Sequence[Found]) -> str:
    above = [one for one in best if one[1]["above_chance"]]
    top = max(best, key=lambda one: float(one[1]["value"]))
    name = f"{method_label(top[1]['method'])} on {panel_label(top[0])}"
    verdict = "above chance" if above else "an interval that includes chance"
    if len(best) == 1:
        return f"The highest held-out {metric_label(metric)} is {_value(top[1])}, of {name}: {verdict}."
    return (
        f"The best method's held-out {metric_label(metric)} is above chance on {_count(above, best)}; the highest is "
        f"{_value(top[1])} ({name})."
    )


def _blind(best: Sequence[Found], found: Sequence[tuple[Panel, pd.DataFrame]]) -> list[str]:
    tested = [one for one in best if one[1]["above_blind"] is not None]
    level = [one for one in tested if not one[1]["above_blind"]]
    if not tested:
        return []
    if not level:
        return [f"It is above the blind classifier, which sees no model, on {_count(tested, best)}."]
    blind = {
        id(panel): _value(row)
        for panel, frame in found
        for row in records_of(frame[frame["method"] == BLIND])
    }
    named = f" ({blind[id(level[0][0])]} there)" if len(level) == 1 else ""
    return [
        f"On {_names(level)} it is not clearly above the blind classifier, which sees no model{named}: what it finds "
        "there may be how the classes differ."
    ]


def _placebos(best: Sequence[Found]) -> list[str]:
    beside = [one for one in best if one[1]["above_placebos"] is not None]
    if not beside:
        return []
    parts = [
        f"on {_place(panel)}, {method_label(row['method'])} ranks {_rank(row)} (placebos: mean "
        f"{row['placebo_mean']:.2f}, SD {row['placebo_sd']:.2f})"
        for panel, row in beside[:FEW]
    ]
    start = (
        "Placebos, in which another document plays the non-members, hold nothing that was kept from the model"
    )
    return [f"{start}: {'; '.join(parts)}."]


def _rank(row: Record) -> str:
    return f"{row['rank']:.0f} of {row['placebos'] + 1:.0f}"


def _clear(frame: pd.DataFrame) -> list[Record]:
    """The methods that are above chance, the blind classifier and every placebo."""
    return [
        row
        for row in records_of(frame[~frame["control"]])
        if row["above_chance"] and row["above_blind"] is not False and row["above_placebos"] is not False
    ]


def _left(clear: Sequence[tuple[Panel, Sequence[Record]]], best: Sequence[Found]) -> str:
    there = [(panel, max(rows, key=lambda row: float(row["value"]))) for panel, rows in clear if rows]
    if not there:
        return (
            "No method is above chance, the blind classifier and every placebo at once: nothing here shows by itself "
            "that a text was trained on."
        )
    shown = "; ".join(
        f"{method_label(row['method'])} {_value(row)} on {panel_label(panel)}" for panel, row in there[:FEW]
    )
    more = f"; and {len(there) - FEW} more" if len(there) > FEW else ""
    return f"Above all of these, and so a sign of training, is what is found on {_count(there, best)}: {shown}{more}."


def _count(some: Sequence[Found], of: Sequence[Found]) -> str:
    return panel_label(of[0][0]) if len(of) == 1 else f"{len(some)} of {len(of)} panels"


def _names(found: Sequence[Found]) -> str:
    if len(found) > FEW:
        return f"{len(found)} panels"
    return joined([panel_label(panel) for panel, _ in found])


def _value(row: Record, digits: int = 3) -> str:
    return with_interval(estimate(row), digits)


def lines(frame: pd.DataFrame) -> list[str]:
    """A line a panel of the long data of `render`, for a terminal: the best method, and what stands beside it."""
    rows = records_of(frame[frame["best"]])
    blind = {_key(row): row for row in records_of(frame[frame["method"] == BLIND])}
    shown = [_line(row, blind.get(_key(row))) for row in rows]
    if len(shown) > LINES:
        return [*shown[: LINES - 1], f"and {len(shown) - LINES + 1} more, in the report"]
    return shown


def _key(row: Record) -> tuple[Any, str]:
    return row["model"], row["label"]


def _line(row: Record, blind: Record | None) -> str:
    metric = metric_label(row["metric"])
    text = f"{row['label']}, {row['model']}: {method_label(row['method'])} {metric} {_value(row, 2)}"
    beside = [f"{_value(blind, 2)} without a model"] if blind else []
    if number(row["rank"]) is not None:
        beside.append(f"rank {_rank(row)} among placebos of mean {row['placebo_mean']:.2f}")
    return f"{text} ({', '.join(beside)})" if beside else text
