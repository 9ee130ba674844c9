"""Methods against models and benchmarks: DC-PDD tables 2 and 3."""

from collections.abc import Sequence

import pandas as pd

from pretrace.render.method_reading import Column, reading
from pretrace.render.names import (
    SELECTION_LABELS,
    SELECTION_NOTES,
    is_control,
    method_label,
    ordered,
    panel_lines,
)
from pretrace.render.phrases import INTERVALS, conditions
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    is_starred,
    long_frame,
    number_record,
    panel_record,
    test_record,
)
from pretrace.render.registry import SELECTIONS, Artifact
from pretrace.render.results import Panel, Results
from pretrace.render.table import Block, Cell, Row, Table, bold_best, mark_notes, signs_of


def render(artifact: Artifact, results: Results) -> Table:
    """One row a method, one column a panel, a block each for held-out, default and best-on-test settings.

    Bold is the highest method of a column; a star says that a method beats the baseline by the paired
    bootstrap on held-out settings, Holm-corrected p <= 0.05.
    """
    panels = results.panels(artifact)
    columns = [_column(artifact, results, panel, panels) for panel in panels]
    methods = ordered(
        artifact, (method for column in columns for rows in column.selected.values() for method in rows)
    )
    blocks = tuple(_block(columns, methods, selection) for selection in _selections(artifact))
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=tuple(panel_lines(column.panel, control=column.control) for column in columns),
        blocks=blocks,
        notes=tuple(_notes(artifact, columns, blocks)),
        frame=_long(artifact, columns, methods, blocks),
        reading=" ".join(reading(artifact, columns)),
    )


def _selections(artifact: Artifact) -> list[str]:
    wanted = artifact.get("selection", SELECTIONS)
    return [selection for selection in SELECTIONS if selection in wanted]


def _column(artifact: Artifact, results: Results, panel: Panel, panels: Sequence[Panel]) -> Column:
    return Column(
        panel=panel,
        control=results.is_placebo(panel),
        placebo=results.placebo_of(panel, panels),
        selected={
            selection: results.selected(artifact, panel, selection) for selection in _selections(artifact)
        },
        tests=results.bootstrap_tests(artifact, panel, artifact["baseline"])
        if "baseline" in artifact
        else {},
    )


def _block(columns: Sequence[Column], methods: Sequence[str], selection: str) -> Block:
    rows = [
        Row(
            label=method_label(method) + (" (control, no model)" if is_control(method) else ""),
            cells=tuple(_cell(column, method, selection) for column in columns),
            control=is_control(method),
        )
        for method in methods
    ]
    return Block(f"{SELECTION_LABELS[selection]} ({SELECTION_NOTES[selection]})", bold_best(rows))


def _cell(column: Column, method: str, selection: str) -> Cell:
    rows = column.selected[selection]
    if method not in rows:
        return Cell()
    value, low, high = estimate(rows[method])
    return Cell(
        value=value,
        low=low,
        high=high,
        star=selection == "held_out" and not is_control(method) and is_starred(column.tests, method),
        signs=signs_of(rows[method]["marks"]),
    )


def _notes(artifact: Artifact, columns: Sequence[Column], blocks: Sequence[Block]) -> list[str]:
    rows = [row for column in columns for rows in column.selected.values() for row in rows.values()]
    notes = conditions(artifact, rows)
    notes.append(
        f"{INTERVALS} Bold is the highest method of a column; rows without a model are not in contest."
    )
    if "baseline" in artifact:
        notes.append(
            f"* above {method_label(artifact['baseline'])} by the paired stratified bootstrap on held-out "
            f"settings, Holm-corrected over the column's methods, p ≤ {STAR_LEVEL:g}."
        )
    if any(column.control for column in columns):
        notes.append(
            "A placebo column has two classes that the model knows alike: only what exceeds it is membership."
        )
    return notes + mark_notes([row for block in blocks for row in block.rows])


def _long(
    artifact: Artifact, columns: Sequence[Column], methods: Sequence[str], blocks: Sequence[Block]
) -> pd.DataFrame:
    records = []
    for selection, block in zip(_selections(artifact), blocks, strict=True):
        for method, row in zip(methods, block.rows, strict=True):
            for column, cell in zip(columns, row.cells, strict=True):
                rows = column.selected[selection]
                tests = column.tests if selection == "held_out" else {}
                records.append(
                    panel_record(column.panel)
                    | {
                        "placebo": column.control,
                        "selection": selection,
                        "method": method,
                        "control": row.control,
                    }
                    | {"metric": artifact.get("metric", "auc")}
                    | number_record(rows.get(method))
                    | test_record(tests.get(method))
                    | {"star": cell.star, "bold": cell.bold}
                )
    return long_frame(records)
