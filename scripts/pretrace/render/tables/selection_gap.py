"""What choosing hyperparameters on the evaluated texts adds: best-on-test minus held-out, per method."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from pretrace.methods import METHODS
from pretrace.questions.known import is_control
from pretrace.render.names import (
    AT_EDGE,
    format_value,
    ordered,
    panel_label,
    parse_setting,
    row_label,
)
from pretrace.render.phrases import DASHES, INTERVALS, conditions
from pretrace.render.records import estimate, long_frame
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Cell, Table, by_panel, cell_of, lay_out, rows_of, table_of

FEW = 4
"""Of as many panels, each has a block of its own."""

CHOSEN = {"best": "best_on_test", "held_out": "held_out"}
"""Selections by what the CSV's columns call them."""


@table("selection_gap", needs=("metrics",))
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: settings in the grid, best on test, held out, and their difference.

    The two numbers rest on the same texts, so the gap has no interval. A method without a hyperparameter has
    one setting: its gap is what averaging over folds alone does. Of more than `FEW` panels, a block has the
    means of each method, another the gaps of each panel.
    """
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _gaps(artifact, results, panel, at)]
    )
    records = records_of(frame)
    few = len(panels) <= FEW
    if few:
        cells = [
            one
            for at, panel in enumerate(panels)
            for one in rows_of(
                panel_label(panel),
                ((row_label(r["method"]), _each(r), r["control"]) for r in records if r["panel"] == at),
            )
        ]
        blocks = lay_out(cells)
    else:
        both = frame[frame["gap"].notna()]
        means = (
            (row_label(method), _means(both[both["method"] == method]), is_control(method))
            for method in ordered(artifact, both["method"])
        )
        gaps = by_panel(artifact, panels, records, "Gap of each panel", lambda row: _gap(row, marked=True))
        blocks = [*lay_out(rows_of("Means over panels", means)), *lay_out(gaps, "Panel")]
    notes = [
        *conditions(artifact, records),
        INTERVALS if few else DASHES,
        "Settings: how many the method could choose from. Gap: best on test minus held out, of the same texts and "
        "therefore without an interval. A method with one setting has nothing to choose: its gap is what averaging "
        "over folds does.",
    ]
    if not few:
        notes.append(
            "A row stands for all panels that have the method: Settings and Largest gap are of the panel where they "
            "are largest, the others means."
        )
    return table_of(artifact, blocks, notes, frame)


def _each(row: Record) -> Iterable[tuple[str, Cell]]:
    """The cells of a method on a panel."""
    yield "Settings", Cell(words=f"{row['settings']}")
    for name, head in (("best", "Best on test"), ("held_out", "Held out")):
        yield head, cell_of({key: row[f"{name}_{key}"] for key in ("value", "low", "high", "marks")}, AT_EDGE)
    yield "Gap", _gap(row)


def _means(own: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
    """The cells of a method over all panels that have it."""
    yield "Panels", Cell(words=f"{len(own)}")
    yield "Settings", Cell(words=f"{own['settings'].max()}")
    yield "Best on test", Cell(float(own["best_value"].mean()))
    yield "Held out", Cell(float(own["held_out_value"].mean()))
    yield "Gap", Cell(float(own["gap"].mean()), signed=True)
    yield "Largest gap", Cell(float(own["gap"].max()), signed=True)


def _gap(row: Record, *, marked: bool = False) -> Cell:
    """The gap, marked where the held-out choice lies at an edge of its grid."""
    marks = row["held_out_marks"] if marked else ""
    return cell_of({"value": row["gap"], "marks": marks}, AT_EDGE, signed=True)


def _gaps(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    chosen = {name: results.selected(artifact, panel, selection) for name, selection in CHOSEN.items()}
    settings = _settings(results.rows(artifact, panel))
    for method in ordered(artifact, [method for rows in chosen.values() for method in rows]):
        rows = {name: of[method] for name, of in chosen.items() if method in of}
        numbers = {name: estimate(row) for name, row in rows.items()}
        about = next(iter(rows.values()))
        record = keys_of(at, panel, about) | {
            "metric": artifact.get("metric", "auc"),
            "settings": settings.get(method, 1),
        }
        for name in CHOSEN:
            row, (value, low, high) = rows.get(name, {}), numbers.get(name, (None, None, None))
            record |= {f"{name}_setting": row.get("setting", ""), f"{name}_marks": row.get("marks", "")}
            record |= {f"{name}_value": value, f"{name}_low": low, f"{name}_high": high}
        both = len(rows) == len(CHOSEN)
        yield record | {"gap": record["best_value"] - record["held_out_value"] if both else None}


def _settings(rows: pd.DataFrame) -> dict[str, int]:
    """How many settings a method could choose from: those of the run that lie in the method's own grid."""
    grid = rows[rows["selection"] == "grid"]
    return {
        str(method): max(1, sum(_is_choice(str(method), setting) for setting in of["setting"].unique()))
        for method, of in grid.groupby("method")
    }


def _is_choice(method: str, setting: str) -> bool:
    values = METHODS[method].grid if method in METHODS else {}
    parsed = parse_setting(setting)
    return set(parsed) == set(values) and all(
        parsed[name] in map(format_value, values[name]) for name in parsed
    )
