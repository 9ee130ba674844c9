"""Rows as records and frames, and frames as CSV."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.render.artifact import Panel


def records_of(frame: pd.DataFrame) -> list[Record]:
    """Return the frame's rows by column name."""
    records = []
    for row in frame.to_dict("records"):
        records.append({str(name): value for name, value in row.items()})
    return records


def number_record(row: Record | None) -> Record:
    """Return the record of a metrics row; empty if there is none."""
    keys = ("setting", "n_members", "n_nonmembers", "value", "low", "high", "marks")
    if row is None:
        return dict.fromkeys(keys) | {"setting": "", "marks": ""}
    return {key: row[key] for key in keys}


WHOLE = ("length", "n_members", "n_nonmembers")

NUMBERS = ("low", "high", "sd", "difference", "p", "p_holm")


def long_frame(records: Sequence[Record] | pd.DataFrame) -> pd.DataFrame:
    """Make a frame of records; numbers stay numbers, and whole ones whole, if some or
    all are missing."""
    frame = pd.DataFrame(records)
    types = {column: "Int64" for column in WHOLE if column in frame}
    types |= {column: "float64" for column in NUMBERS if column in frame}
    return frame.astype(types)


def of_panels(frames: Iterable[pd.DataFrame], panels: Iterable[Panel]) -> pd.DataFrame:
    """Join the frames of several panels, each row with its panel."""
    named = []
    for frame, panel in zip(frames, panels, strict=True):
        named.append(frame.assign(**panel.record))
    return long_frame(pd.concat(named, ignore_index=True))


def in_print(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with its models and benchmarks as `names` calls them in
    print."""
    named = {}
    for key in frame.columns.intersection(["model", "benchmark"]):
        named[key] = frame[key].map(lambda slug: names.get(slug, slug))
    return frame.assign(**named)


def csv_text(frame: pd.DataFrame) -> str:
    """Write numbers in full (shortest form that reads back), booleans lower case,
    missing empty.

    A text that a spreadsheet would run as a formula, such as an id `=HYPERLINK(...)`,
    gets an apostrophe before it.
    """
    shown = frame.copy()
    for column, dtype in shown.dtypes.items():
        if pd.api.types.is_bool_dtype(dtype):
            shown[column] = shown[column].map({True: "true", False: "false"})
        elif not pd.api.types.is_numeric_dtype(dtype):
            shown[column] = shown[column].map(_no_formula)
    return str(shown.to_csv(index=False, lineterminator="\n"))


_NAMES = (
    "model", "benchmark", "subset", "base", "reference", "document", "id", "text_id",
    "title", "author",
)  # fmt: skip


def read_csv(path: Path) -> pd.DataFrame:
    """Read what `csv_text` wrote: a work called 1984 or a model called null has that
    name, and a missing value is empty."""
    names = dict.fromkeys(_NAMES, str)
    return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])


def _no_formula(cell: Any) -> Any:
    """Return the cell, after an apostrophe if it begins like a formula, not a negative
    number; as OWASP advises."""
    starts = ("=", "+", "-", "@", "\t", "\r")
    if not isinstance(cell, str) or not cell.startswith(starts):
        return cell
    is_number = re.fullmatch(r"-[\d.]+(e[+-]?\d+)?", cell)
    return cell if is_number else f"'{cell}"
