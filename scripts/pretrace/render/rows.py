"""Which rows of metrics and tests a panel shows, as records; and records as an artifact's data."""

from collections.abc import Mapping, Sequence
from statistics import mode
from typing import Any

import pandas as pd

from pretrace.evaluation.metrics import EACH
from pretrace.evaluation.selection import variant_of
from pretrace.methods.settings import written_parameters, written_value
from pretrace.questions.known import METHODS
from pretrace.render.names import method_label, panel_label, where
from pretrace.render.phrases import Estimate
from pretrace.render.registry import Artifact
from pretrace.runtime.errors import InputError

Panel = Mapping[str, Any]
Record = Mapping[str, Any]
"""A row of metrics or tests by column."""

By = Mapping[str, Record]
"""Metrics rows by the parameter's value, as settings spell it."""

FREE_KEYS = ("unit", "view", "start_token", "draw", "reference")


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


def is_meant(subset: str, panel: Panel, there: set[str]) -> bool:
    """A panel without a subset is the whole benchmark where that was evaluated, else every subset."""
    if "subset" not in panel:
        return subset == "" or "" not in there
    return subset != "" if panel["subset"] == EACH else subset == panel["subset"]


def places(frame: pd.DataFrame, panel: Panel) -> "pd.Series[bool]":
    """Rows of the panel's subset and length; its subset "" is all of a benchmark that has subsets."""
    length, subset = frame["length"], frame["subset"].eq(panel["subset"])
    if panel["subset"] == "" and not subset.any():
        subset = frame["subset"].notna()
    at_length = length.isna() if panel["length"] is None else length.eq(panel["length"])
    return (subset & at_length).fillna(False).astype(bool)


def fixed(frame: pd.DataFrame, artifact: Artifact, panel: Panel) -> "pd.Series[bool]":
    """Rows that agree with what the artifact or panel fixes; "" and null mean that a key does not apply."""
    options = artifact.get("options", {})
    keep = frame["unit"] == options.get("unit", "text")
    keep &= frame["view"].isin([panel.get("view", options.get("view", "original")), ""])
    keep &= frame["draw"].isna() | (frame["draw"] == draw_of(artifact, panel))
    start_token = panel.get("start_token", artifact.get("start_token"))
    if start_token is not None:
        keep &= frame["start_token"].isin([start_token, ""])
    references = panel.get("references", options.get("references"))
    if "reference" in panel:
        references = [panel["reference"]]
    if references is not None:
        keep &= frame["reference"].isin([*references, ""])
    return keep.fillna(False).astype(bool)


def draw_of(artifact: Artifact, panel: Panel) -> int:
    """The draw of prefixes that the panel shows."""
    return int(panel.get("draw", artifact.get("options", {}).get("draw", 0)))


def evaluation_set_of(artifact: Artifact, there: Sequence[str]) -> str:
    """The artifact's evaluation set; all texts where no method has a prefix, so that there are no other sets."""
    wanted = str(artifact.get("evaluation_set", "all"))
    return wanted if wanted in there or "all" not in there else "all"


def with_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of chosen settings, each method with what no selection chooses: `con_recall;access=zero`."""
    pairs = zip(rows["method"], rows["setting"], strict=True)
    return rows.assign(method=[named_variant(method, setting.split("|")[0]) for method, setting in pairs])


def named_variant(method: str, setting: str) -> str:
    known = METHODS.get(method)
    variant = variant_of(setting, known.grid if known else ())
    return f"{method};{variant}" if variant else method


def of_methods(rows: pd.DataFrame, artifact: Artifact) -> pd.DataFrame:
    """Rows of the artifact's methods, or, where it names none, of all but variants."""
    if "methods" in artifact:
        return rows[rows["method"].isin(list(artifact["methods"]))]
    return rows[~rows["method"].str.contains(";")]


def check_unambiguous(rows: pd.DataFrame, artifact: Artifact, panel: Panel) -> None:
    """Raise `InputError` where rows of one method differ in a key that nothing fixes."""
    for key in FREE_KEYS:
        values = rows.groupby("method")[key].agg(lambda column: sorted(map(str, column.dropna().unique())))
        for method, found in values.items():
            if len(found) > 1:
                raise InputError(
                    f"{where(artifact, panel)}: {method} has rows of "
                    f"several {key}: {', '.join(found)}; name one {_WHERE_TO_FIX[key]}"
                )


_WHERE_TO_FIX = {
    "unit": "as options.unit",
    "view": "as options.view",
    "draw": "as options.draw",
    "reference": "under the panel's references or options.references",
    "start_token": "as start_token",
}


def by(rows: pd.DataFrame, key: str, artifact: Artifact, panel: Panel, what: str) -> dict[str, Record]:
    """Rows by a column in which none may come twice."""
    twice = rows[key][rows[key].duplicated()]
    if not twice.empty:
        raise InputError(
            f"{where(artifact, panel)}: {what} has two rows of {twice.iloc[0]}; "
            "the file is not as evaluate writes it: delete it and run again"
        )
    return {str(row[key]): row for row in records_of(rows)}


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows by column name."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def nothing(artifact: Artifact, panel: Panel, frame: pd.DataFrame, metric: str, evaluation_set: str) -> str:
    """What to say where no row matches."""
    keys = ["unit", "view", "start_token", "subset", "length", "evaluation_set", "metric"]
    wanted = f"metric {metric}, evaluation set {evaluation_set}"
    if "start_token" in artifact:
        wanted += f", start token {artifact['start_token']}"
    methods = f", methods {', '.join(artifact['methods'])}" if "methods" in artifact else ""
    return f"{where(artifact, panel)}: no row with {wanted}{methods}; there are: {listing(frame[keys])}"


def listing(frame: pd.DataFrame) -> str:
    """Each column with its distinct values, for an error message."""
    parts = []
    for column in frame.columns:
        values = [str(value) if value != "" else "''" for value in frame[column].dropna().unique()]
        parts.append(f"{column} {', '.join(sorted(values)) or 'none'}")
    return "; ".join(parts)


def by_parameter(grid: Mapping[str, Record], parameter: str, default: Mapping[str, str]) -> By:
    """Grid rows that differ from the default setting in one parameter at most, by its value."""
    rows = {}
    for setting, row in grid.items():
        parsed = written_parameters(setting)
        if parameter in parsed and parsed | {parameter: ""} == {**default, parameter: ""}:
            rows[parsed[parameter]] = row
    return rows


def best_by_parameter(grid: Mapping[str, Record], parameter: str, method: str) -> By:
    """For each value of a parameter, the grid row in which the others are at their best among the method's own grid."""
    tried = METHODS[method.split(";")[0]].grid
    rows: dict[str, Record] = {}
    for setting, row in grid.items():
        if in_grid(setting, tried, free=parameter):
            value = written_parameters(setting)[parameter]
            if value not in rows or _order(row) > _order(rows[value]):
                rows[value] = row
    return rows


def in_grid(setting: str, grid: Mapping[str, Sequence[Any]], free: str = "") -> bool:
    """Whether a setting has the grid's parameters and its values; of the parameter `free`, any value will do."""
    parsed = written_parameters(setting)
    return parsed.keys() == grid.keys() and all(
        name == free or value in map(written_value, grid[name]) for name, value in parsed.items()
    )


def _order(row: Record) -> tuple[float, bool]:
    """Of equal values, the one that has an interval."""
    return float(row["value"]), not pd.isna(row["low"])


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
