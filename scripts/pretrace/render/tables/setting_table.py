"""One method by one of its hyperparameters: DC-PDD table 5."""

from collections.abc import Mapping, Sequence

import pandas as pd

from pretrace.render.names import (
    method_label,
    metric_label,
    ordered,
    panel_label,
    parameter_label,
    parse_setting,
    row_label,
)
from pretrace.render.phrases import INTERVALS, Estimate, against_chance, conditions, joined, with_interval
from pretrace.render.records import estimate, long_frame, number_record, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import By, Panel, Record, by_parameter
from pretrace.render.tables.table import Block, Cell, Row, Table


@table("setting_table", needs=("metrics",), required=("method", "parameter"))
def render(artifact: Artifact, results: Results) -> Table:
    """One row a panel, one column a value of `options.parameter`; every other parameter at its default.

    Bold is the best value of a row, chosen on the evaluated texts; the default is marked in its header. The last
    columns are the artifact's `methods`, controls without that parameter.
    """
    method, parameter = artifact["options"]["method"], artifact["options"]["parameter"]
    panels = results.panels(artifact)
    controls = [
        results.selected(artifact, panel, "default") if "methods" in artifact else {} for panel in panels
    ]
    defaults = [parse_setting(results.default_setting(artifact, panel, method)) for panel in panels]
    rows = [
        by_parameter(results.grid(artifact, panel, method), parameter, default)
        for panel, default in zip(panels, defaults, strict=True)
    ]
    values = sorted({value for by in rows for value in by}, key=float)
    default_values = {default[parameter] for default in defaults}
    named = ordered(artifact, {name for of in controls for name in of})
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub=parameter_label(method, parameter),
        columns=(
            *((value, "default") if value in default_values else (value,) for value in values),
            *((row_label(name),) for name in named),
        ),
        blocks=(
            Block(
                "",
                tuple(
                    _row(panel, by, values, [of.get(name) for name in named])
                    for panel, by, of in zip(panels, rows, controls, strict=True)
                ),
            ),
        ),
        notes=tuple(_notes(artifact, rows, method)),
        frame=_long(artifact, panels, rows, values, defaults, controls),
        reading=_reading(artifact, panels, rows, defaults),
    )


def _best(by: By) -> str:
    return max(by, key=lambda value: (float(by[value]["value"]), -float(value)))


def _row(panel: Panel, by: By, values: Sequence[str], controls: Sequence[Record | None]) -> Row:
    best = _best(by)
    cells = []
    for value in values:
        if value in by:
            number, low, high = estimate(by[value])
            cells.append(Cell(number, low, high, bold=value == best))
        else:
            cells.append(Cell())
    cells += [Cell(*estimate(row)) if row is not None else Cell() for row in controls]
    return Row(panel_label(panel), tuple(cells))


def _notes(artifact: Artifact, rows: Sequence[By], method: str) -> list[str]:
    shown = [row for by in rows for row in by.values()]
    notes = [f"{method_label(method)}, every other parameter at its default."]
    notes += conditions(artifact, shown)
    return [
        *notes,
        f"{INTERVALS} Bold is the highest value of a row, seen on the evaluated texts themselves.",
    ]


def _long(
    artifact: Artifact,
    panels: Sequence[Panel],
    rows: Sequence[By],
    values: Sequence[str],
    defaults: Sequence[Mapping[str, str]],
    controls: Sequence[By],
) -> pd.DataFrame:
    method, parameter = artifact["options"]["method"], artifact["options"]["parameter"]
    records = [
        panel_record(panel)
        | {"selection": "grid", "method": method, "parameter": parameter, "parameter_value": value}
        | {"metric": artifact.get("metric", "auc")}
        | number_record(by.get(value))
        | {"default": value == default[parameter], "bold": value == _best(by)}
        for panel, by, default in zip(panels, rows, defaults, strict=True)
        for value in values
    ]
    records += [
        panel_record(panel)
        | {"selection": "default", "method": name, "parameter": "", "parameter_value": ""}
        | {"metric": artifact.get("metric", "auc")}
        | number_record(row)
        | {"default": True, "bold": False}
        for panel, of in zip(panels, controls, strict=True)
        for name, row in of.items()
    ]
    return long_frame(records)


def _reading(
    artifact: Artifact, panels: Sequence[Panel], rows: Sequence[By], defaults: Sequence[Mapping[str, str]]
) -> str:
    parameter, metric = artifact["options"]["parameter"], artifact.get("metric", "auc")
    method = method_label(artifact["options"]["method"])
    named = parameter_label(artifact["options"]["method"], parameter)
    sentences = []
    for panel, by, default in zip(panels, rows, defaults, strict=True):
        best, usual = _best(by), default[parameter]
        start = f"On {panel_label(panel)}, {method} is best at {named} = {best} ({_shown(by[best], metric)})"
        if best == usual:
            sentences.append(f"{start}, which is its default.")
        elif usual in by:
            sentences.append(
                f"{start}; at its default {usual} it is {_shown(by[usual], metric)}"
                f"{_overlap(by, best, usual)}."
            )
        else:
            sentences.append(f"{start}; its default {usual} was not scored.")
    spreads = [
        max(row["value"] for row in by.values()) - min(row["value"] for row in by.values()) for by in rows
    ]
    if max(map(len, rows)) > 1:
        span = joined([f"{spread:.3f}" for spread in spreads])
        sentences.append(f"Over the whole grid the {metric_label(metric)} moves by {span}.")
    return " ".join(sentences)


def _shown(row: Record, metric: str) -> str:
    return with_interval(estimate(row)) + against_chance(estimate(row), metric)


def _overlap(by: By, best: str, usual: str) -> str:
    """Say when the two intervals overlap."""
    first, second = estimate(by[best]), estimate(by[usual])
    return ", and the two intervals overlap" if _overlaps(first, second) else ""


def _overlaps(first: Estimate, second: Estimate) -> bool:
    (_, a_low, a_high), (_, b_low, b_high) = first, second
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return False
    return a_low <= b_high and b_low <= a_high
