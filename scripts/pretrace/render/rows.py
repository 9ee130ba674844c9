"""Rows of results and an artifact's data, as records and as frames."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.significance import simultaneous
from pretrace.render.registry import Panel

STAR_LEVEL = 0.05


def number_record(row: Record | None) -> Record:
    """Return the record of a metrics row; empty if there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        return dict.fromkeys(keys) | {"setting": "", "marks": ""}
    return {key: row[key] for key in keys}


def records_of(frame: pd.DataFrame) -> list[Record]:
    """Return the frame's rows by column name."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def long_frame(records: Sequence[Record] | pd.DataFrame) -> pd.DataFrame:
    """Make a frame of records; numbers stay numbers, and whole ones whole, if some or all are missing."""
    frame = pd.DataFrame(records)
    types = dict.fromkeys(("length", "n_members", "n_nonmembers"), "Int64")
    types |= dict.fromkeys(("low", "high", "sd", "difference", "p", "p_holm"), "float64")
    return frame.astype({column: dtype for column, dtype in types.items() if column in frame})


def for_the_best(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the ends of intervals that pay for the choice of the best method of a group, controls aside."""
    groups = [frame[key] for key in by]
    methods = (~frame["control"].astype(bool)).groupby(groups, dropna=False).transform("sum").clip(lower=1)
    value = frame["value"].astype(float)
    return pd.DataFrame(
        {end: simultaneous(value, frame[end].astype(float), methods) for end in ("low", "high")}
    )


def of_panels(frames: Iterable[pd.DataFrame], panels: Iterable[Panel]) -> pd.DataFrame:
    """Join the frames of several panels, each row with its panel."""
    named = [frame.assign(**panel.record) for frame, panel in zip(frames, panels, strict=True)]
    return long_frame(pd.concat(named, ignore_index=True))


def in_print(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with its models and benchmarks as `names` calls them in print."""
    known = frame.columns.intersection(["model", "benchmark"])
    return frame.assign(**{key: frame[key].map(lambda slug: names.get(slug, slug)) for key in known})


def csv_text(frame: pd.DataFrame) -> str:
    """Write numbers in full (shortest form that reads back), booleans lower case, missing empty.

    A text that a spreadsheet would run as a formula, such as an id `=HYPERLINK(...)`, gets an apostrophe before it.
    """
    shown = frame.copy()
    for column, dtype in shown.dtypes.items():
        if pd.api.types.is_bool_dtype(dtype):
            shown[column] = shown[column].map({True: "true", False: "false"})
        elif not pd.api.types.is_numeric_dtype(dtype):
            shown[column] = shown[column].map(_no_formula)
    return str(shown.to_csv(index=False, lineterminator="\n"))


def _no_formula(cell: Any) -> Any:
    """Return the cell, after an apostrophe if it begins like a formula, not a negative number; as OWASP advises."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    return cell if re.fullmatch(r"-[\d.]+(e[+-]?\d+)?", cell) else f"'{cell}"
