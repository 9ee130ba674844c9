"""The settings that a run scored of a method: the variant that one is of, and those
along one parameter."""

from collections.abc import Mapping

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.selection import variant_of
from pretrace.methods.settings import written_parameters, written_value
from pretrace.questions.method_facts import METHODS


def named_variant(method: str, setting: str) -> str:
    """Return the method's name with the part of a setting that no selection chooses:
    `con_recall;access=zero`."""
    grid = METHODS[method].grid if method in METHODS else ()
    return ";".join(filter(None, [method, variant_of(setting, grid)]))


def in_grid(setting: str, method: str, free: str) -> bool:
    """Tell whether a setting has the parameters and values of the method's own grid;
    `free` may have any value."""
    parsed = written_parameters(setting)
    grid = METHODS[method].grid if method in METHODS else {}
    if parsed.keys() != grid.keys():
        return False
    for name, value in parsed.items():
        if name != free and value not in map(written_value, grid[name]):
            return False
    return True


def along(
    rows: Mapping[str, Record], parameter: str, method: str, default: str | None
) -> list[tuple[str, Record]]:
    """Return the row of each value of a parameter, by ascending value, among the rows
    of a method's settings.

    The other parameters are those of the setting `default`. Without one they are at
    their best in the method's own grid; of equal values, the row that has an interval.
    """
    row_of_value: dict[str, Record] = {}

    def rank(setting: str) -> tuple[float, bool]:
        row = rows[setting]
        return -float(row["value"]), bool(pd.isna(row["low"]))

    for setting in sorted(rows, key=rank):
        parsed = written_parameters(setting)
        if default is None:
            is_meant = in_grid(setting, method.split(";")[0], free=parameter)
        else:
            fixed = written_parameters(default)
            is_meant = parsed | {parameter: ""} == fixed | {parameter: ""}
        if parameter in parsed and is_meant:
            row_of_value.setdefault(parsed[parameter], rows[setting])
    values = sorted(row_of_value, key=float)
    return [(value, row_of_value[value]) for value in values]
