"""A row of metrics or tests as a record: what it says, by which settings it is, and an artifact's data as records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.selection import variant_of
from pretrace.methods.settings import written_parameters, written_value
from pretrace.questions.known import METHODS
from pretrace.render.registry import Artifact
from pretrace.runtime.errors import InputError

Panel = Mapping[str, Any]

STAR_LEVEL = 0.05
ACROSS = ("view", "draw", "reference", "separator")
"""Keys of a panel that tell it apart from others of one model, benchmark, subset and length."""


def one_setting(artifact: Artifact) -> str:
    """The artifact's first selection, of those that give a method one setting (`default`, where it names none).

    Raises `InputError` for `held_out`: it has a setting a fold, and scores of different settings are never pooled.
    """
    selection = str(artifact.get("selection", ["default"])[0])
    if selection == "held_out":
        raise InputError(
            f"artifact {artifact['artifact']}: selection 'held_out' has a setting for each fold, whose scores are not "
            "drawn as one; use default or best_on_test"
        )
    return selection


def named_variant(method: str, setting: str) -> str:
    """The method with what no selection chooses: `con_recall;access=zero`."""
    known = METHODS.get(method)
    variant = variant_of(setting, known.grid if known else ())
    return f"{method};{variant}" if variant else method


def by_parameter(grid: Mapping[str, Record], parameter: str, default: Mapping[str, str]) -> dict[str, Record]:
    """Grid rows that differ from the default setting in one parameter at most, by its value."""
    rows = {}
    for setting, row in grid.items():
        parsed = written_parameters(setting)
        if parameter in parsed and parsed | {parameter: ""} == {**default, parameter: ""}:
            rows[parsed[parameter]] = row
    return rows


def best_by_parameter(grid: Mapping[str, Record], parameter: str, method: str) -> dict[str, Record]:
    """For each value of a parameter, the grid row in which the others are at their best among the method's own grid.

    Of equal values, the one that has an interval.
    """
    rows: dict[str, Record] = {}
    for setting, row in sorted(
        grid.items(), key=lambda item: (-float(item[1]["value"]), pd.isna(item[1]["low"]))
    ):
        if in_grid(setting, method.split(";")[0], free=parameter):
            rows.setdefault(written_parameters(setting)[parameter], row)
    return rows


def in_grid(setting: str, method: str, free: str = "") -> bool:
    """Whether a setting has the parameters of the method's own grid and their values; of `free`, any value will do."""
    parsed, grid = written_parameters(setting), METHODS[method].grid if method in METHODS else {}
    return parsed.keys() == grid.keys() and all(
        name == free or value in map(written_value, grid[name]) for name, value in parsed.items()
    )


def is_starred(tests: Mapping[str, Record], method: str) -> bool:
    """Whether a method is significantly above the baseline: positive difference, Holm-corrected p <= 0.05."""
    test = tests.get(method)
    return test is not None and bool(test["difference"] > 0 and test["p_holm"] <= STAR_LEVEL)


def panel_record(panel: Panel) -> dict[str, Any]:
    usual = {"model": "", "benchmark": "", "subset": "", "length": None}
    return {key: panel.get(key, value) for key, value in usual.items()} | {
        key: panel[key] for key in ACROSS if key in panel
    }


def number_record(row: Record | None) -> dict[str, Any]:
    """The record of a metrics row; empty if there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        return dict.fromkeys(keys) | {"setting": "", "marks": ""}
    return {key: row[key] for key in keys}


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows by column name."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def long_frame(records: Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
    """Records as a frame; numbers stay numbers, and whole ones whole, where some or all are missing."""
    frame = pd.DataFrame(records)
    types = dict.fromkeys(("length", "n_members", "n_nonmembers"), "Int64")
    types |= dict.fromkeys(("low", "high", "sd", "difference", "p", "p_holm"), "float64")
    return frame.astype({column: of for column, of in types.items() if column in frame})


def of_panels(frames: Iterable[pd.DataFrame], panels: Iterable[Panel]) -> pd.DataFrame:
    """The frames of several panels as one, each row with its panel."""
    named = [frame.assign(**panel_record(panel)) for frame, panel in zip(frames, panels, strict=True)]
    return long_frame(pd.concat(named, ignore_index=True))


def csv_text(frame: pd.DataFrame) -> str:
    """Numbers in full (shortest form that reads back), booleans lower case, missing empty."""
    shown = frame.copy()
    for column in shown.columns[shown.dtypes.map(pd.api.types.is_bool_dtype)]:
        shown[column] = shown[column].map({True: "true", False: "false"})
    return str(shown.to_csv(index=False, lineterminator="\n"))
