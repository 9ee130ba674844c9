"""A row of metrics or tests as a record: what it says, by which settings it is, and an artifact's data as records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.render.registry import Artifact, Panel
from pretrace.runtime.errors import InputError

STAR_LEVEL = 0.05
ACROSS = ("view", "draw", "reference", "separator")
"""Keys of a panel that tell it apart from others of one model, benchmark, subset and length."""


def one_setting(artifact: Artifact) -> str:
    """Return the artifact's first selection that gives a method one setting (`default` if it names none).

    Raises `InputError` for `held_out`: it has a setting a fold, and scores of different settings are never pooled.
    """
    selection = str(artifact.get("selection", ["default"])[0])
    if selection == "held_out":
        raise InputError(
            f"artifact {artifact['artifact']}: selection 'held_out' has a setting for each fold, whose scores are not "
            "drawn as one; use default or best_on_test"
        )
    return selection


def metrics_of(artifact: Artifact) -> list[str]:
    """Return the metrics shown side by side, or the artifact's one."""
    return list(artifact.get("options", {}).get("metrics", [artifact.get("metric", "auc")]))


def panel_record(panel: Panel) -> dict[str, Any]:
    given: Mapping[str, Any] = panel
    usual = {"model": "", "benchmark": "", "subset": "", "length": None}
    return {**usual, **{key: given[key] for key in (*usual, *ACROSS) if key in given}}


def number_record(row: Record | None) -> dict[str, Any]:
    """Return the record of a metrics row; empty if there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        return dict.fromkeys(keys) | {"setting": "", "marks": ""}
    return {key: row[key] for key in keys}


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the frame's rows by column name."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def long_frame(records: Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
    """Make a frame of records; numbers stay numbers, and whole ones whole, if some or all are missing."""
    frame = pd.DataFrame(records)
    types = dict.fromkeys(("length", "n_members", "n_nonmembers"), "Int64")
    types |= dict.fromkeys(("low", "high", "sd", "difference", "p", "p_holm"), "float64")
    return frame.astype({column: dtype for column, dtype in types.items() if column in frame})


def of_panels(frames: Iterable[pd.DataFrame], panels: Iterable[Panel]) -> pd.DataFrame:
    """Join the frames of several panels, each row with its panel."""
    named = [frame.assign(**panel_record(panel)) for frame, panel in zip(frames, panels, strict=True)]
    return long_frame(pd.concat(named, ignore_index=True))


def csv_text(frame: pd.DataFrame) -> str:
    """Write numbers in full (shortest form that reads back), booleans lower case, missing empty."""
    shown = frame.copy()
    for column in shown.columns[shown.dtypes.map(pd.api.types.is_bool_dtype)]:
        shown[column] = shown[column].map({True: "true", False: "false"})
    return str(shown.to_csv(index=False, lineterminator="\n"))
