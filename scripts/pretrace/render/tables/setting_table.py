"""One method by one of its hyperparameters: DC-PDD table 5."""

from collections.abc import Iterable
from typing import Any

from pretrace.render.names import (
    METHOD_LABELS,
    method_label,
    panel_label,
    parameter_label,
    parse_setting,
    row_label,
)
from pretrace.render.phrases import INTERVALS, conditions
from pretrace.render.records import long_frame, number_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, by_parameter, records_of
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Place, Placed, Table, cell_of, lay_out, table_of


@table("setting_table", needs=("metrics",), required=("method", "parameter"))
def render(artifact: Artifact, results: Results) -> Table:
    """One row a panel, one column a value of `options.parameter`; every other parameter at its default.

    Bold is the best value of a row, chosen on the evaluated texts; the default is marked in its header. The last
    columns are the artifact's `methods`, controls without that parameter.
    """
    method, parameter = artifact["options"]["method"], artifact["options"]["parameter"]
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _of_panel(artifact, results, panel, at)]
    )
    defaults = set(frame.loc[frame["default"], "parameter_value"])
    order = list(METHOD_LABELS)
    cells = [
        Placed(
            "",
            Place(row["panel"], (panel_label(panels[row["panel"]]),)),
            Place((0, float(value)), (value, "default") if value in defaults else (value,))
            if (value := row["parameter_value"])
            else Place((1, order.index(row["method"])), (row_label(row["method"]),)),
            cell_of(row),
        )
        for row in records_of(frame)
    ]
    notes = [
        f"{method_label(method)}, every other parameter at its default.",
        *conditions(artifact, records_of(frame[frame["selection"] == "grid"])),
        f"{INTERVALS} Bold is the highest value of a row, seen on the evaluated texts themselves.",
    ]
    return table_of(artifact, lay_out(cells, parameter_label(method, parameter)), notes, frame)


def _of_panel(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    """The method at each value of the parameter, and the artifact's methods at their default settings."""
    method, parameter = artifact["options"]["method"], artifact["options"]["parameter"]
    default = parse_setting(results.default_setting(artifact, panel, method))
    rows = by_parameter(results.grid(artifact, panel, method), parameter, default)
    best = max(rows, key=lambda value: (float(rows[value]["value"]), -float(value)))
    controls = results.selected(artifact, panel, "default") if "methods" in artifact else {}
    shown = [(method, parameter, value, rows[value]) for value in sorted(rows, key=float)]
    shown += [(name, "", "", row) for name, row in controls.items()]
    for name, of, value, row in shown:
        yield (
            keys_of(at, panel, {**row, "method": name})
            | {"selection": row["selection"], "parameter": of, "parameter_value": value}
            | {"metric": artifact.get("metric", "auc")} | number_record(row)
            | {"default": value in ("", default[parameter]), "bold": bool(value) and value == best}
        )  # fmt: skip
