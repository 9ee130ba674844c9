"""Rows of metrics and tests as estimates, and as records of an artifact's long data."""

from collections.abc import Mapping, Sequence
from statistics import mode
from typing import Any

import pandas as pd

from pretrace.render.names import method_label, panel_label
from pretrace.render.phrases import Estimate
from pretrace.render.selecting import Panel, Record, records_of

STAR_LEVEL = 0.05

_WHOLE = ("length", "n_members", "n_nonmembers")


def number(value: Any) -> float | None:
    """A number of a frame as float, None where it is missing."""
    return None if value is None or pd.isna(value) else float(value)


def estimate(row: Record) -> Estimate:
    """The value of a metrics row with its interval."""
    return float(row["value"]), number(row["low"]), number(row["high"])


def is_starred(tests: Mapping[str, Record], method: str) -> bool:
    """Whether a method is significantly above the baseline: positive difference, Holm-corrected p <= 0.05."""
    if method not in tests:
        return False
    test = tests[method]
    return bool(test["difference"] > 0 and test["p_holm"] <= STAR_LEVEL)


def multiplicity_note(families: int, what: str = "column") -> list[str]:
    """What Holm's correction inside each of several families leaves to chance."""
    if families < 2:
        return []
    return [
        f"The correction holds within a {what}, not over all of them: if nothing differed anywhere, up to "
        f"{STAR_LEVEL * families:.2g} of these {families} {what}s would be expected to have a star by chance."
    ]


def panel_record(panel: Panel) -> dict[str, Any]:
    return {
        "model": panel.get("model", ""),
        "benchmark": panel["benchmark"],
        "subset": panel.get("subset", ""),
        "length": panel.get("length"),
    } | {key: panel[key] for key in ("view", "draw", "reference", "separator") if key in panel}


def number_record(row: Record | None) -> dict[str, Any]:
    """What a metrics row says; empty where there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        return dict.fromkeys(keys) | {"setting": "", "marks": ""}
    return {key: row[key] for key in keys}


def other_texts_note(panels: Sequence[Panel], frame: pd.DataFrame) -> list[str]:
    """A note on methods evaluated on another number of texts than most of their panel, if there are any."""
    found: dict[str, None] = {}
    counted = frame.assign(count=frame["n_members"] + frame["n_nonmembers"])
    for _, own in counted.groupby(["panel", "metric", "selection"], sort=False):
        usual = mode(own["count"])
        for row in records_of(own[own["count"] != usual]):
            where = f"{method_label(row['method'])} on {panel_label(panels[row['panel']])}"
            found[f"{where} ({row['count']:,}, not {usual:,})"] = None
    return [f"On another number of texts than most methods: {'; '.join(found)}."] if found else []


def test_record(row: Record | None) -> dict[str, Any]:
    """What a test against a baseline says; empty where there is none."""
    if row is None:
        return {"baseline": "", "difference": None, "p": None, "p_holm": None}
    return {key: row[key] for key in ("baseline", "difference", "p", "p_holm")}


def long_frame(records: Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
    """Records as a frame; whole numbers stay whole where some are missing."""
    frame = pd.DataFrame(records)
    for column in frame.columns.intersection(list(_WHOLE)):
        frame[column] = frame[column].astype("Int64")
    return frame


def csv_text(frame: pd.DataFrame) -> str:
    """Numbers in full (shortest form that reads back), booleans lower case, missing empty."""
    shown = frame.copy()
    for column in shown.columns[shown.dtypes.map(pd.api.types.is_bool_dtype)]:
        shown[column] = shown[column].map({True: "true", False: "false"})
    return str(shown.to_csv(index=False, lineterminator="\n"))
