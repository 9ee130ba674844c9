"""The one reader of delimited text (CSV, TSV, other separators): every cell is text as
written, an empty one is None.

Files of users follow their name: commas, or tabs in a .tsv. The README of a data set
can say more: its settings are those of `pandas.read_csv`, and are read so, but for
types, which it would guess.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.documents.unpacking import (
    LARGEST_ROW,
    bounded_lines,
    open_bytes,
    read_lines,
    too_large,
    unpacked_name,
)
from pretrace.runtime.errors import InputError, explain_failure
from pretrace.runtime.files import JsonObject
from pretrace.runtime.logs import tell

if TYPE_CHECKING:
    import pandas as pd

Cells = dict[str, str | None]

SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}
"""Separators of columns, as messages name them."""

_OF_TYPES = {
    "chunksize", "converters", "date_format", "decimal", "engine", "false_values",
    "float_precision", "keep_default_na",
    "memory_map", "na_filter", "thousands", "true_values", "verbose",
}  # fmt: skip
"""Settings of `pandas.read_csv` that say how cells become values of a type, or how
fast, and not which cells exist."""

_OF_C_ENGINE = {"comment", "lineterminator"}
"""Settings that only pandas' own parser reads as `datasets` does; the other one notices
rows that are too short."""


def delimited_rows(path: Path, settings: JsonObject) -> Iterator[tuple[str, Cells]]:
    """Yield (where, cells by column) of each row; rows of empty cells are skipped.

    `settings` are keyword arguments of `pandas.read_csv`; without any, the file's name
    says how it is read. Raises `InputError` at a row with more or fewer cells than the
    header, and at a column that is named twice.
    """
    telling = {key: value for key, value in settings.items() if key not in _OF_TYPES}
    separator = "\t" if unpacked_name(path.name).endswith(".tsv") else ","
    if telling in ({}, {"sep": separator}):
        return _rows_by_name(path, separator)
    return _rows_by_settings(path, telling)


def _rows_by_name(path: Path, separator: str) -> Iterator[tuple[str, Cells]]:
    csv.field_size_limit(LARGEST_ROW)
    reader = csv.reader(read_lines(path), strict=True, delimiter=separator)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            where = f"{path}:{line}"
            line = reader.line_num + 1
            # a blank line, or the empty rows at the end of a spreadsheet
            if not any(cells):
                continue
            if not header:
                header = _checked_header(where, cells, separator)
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{where}: {len(cells)} cells where the header has "
                    f"{len(header)}; put a text with commas in "
                    'double quotes (").'
                )
            row = {}
            for place, cell in enumerate(cells):
                # a text began with a double quote, and the quote went on
                if "\n" in cell and _holds_rows(cell, place, header, separator):
                    raise InputError(
                        f"{where}: the cell of '{header[place]}' begins with a double "
                        f"quote and holds {cell.count(chr(10))} "
                        'further rows up to the next quote; write " in texts as "" and '
                        "quote the cell, or write JSON lines."
                    )
                row[header[place]] = cell or None
            yield where, row
    except csv.Error as error:
        if "field limit" in str(error):
            raise too_large(f"{path}:{line}", "a cell") from error
        problem = f"this is not valid CSV ({error}); save it again with quotes"
        if "unexpected end" in str(error):
            problem = (
                "this is not valid CSV, because the file ends within a cell in quotes; "
                "is it cut off, or is a closing quote missing?"
            )
        # the line ends that Excel calls Macintosh
        if "new-line character" in str(error):
            problem = (
                "a line ends in a carriage return alone; save it with line ends of "
                "Unix or Windows"
            )
        raise InputError(f"{path}:{reader.line_num or 1}: {problem}.") from error


def _checked_header(where: str, cells: list[str], separator: str) -> list[str]:
    if cells[0].lstrip().startswith("{"):
        raise InputError(
            f"{where}: the first line is a JSON object, not the names of columns; end "
            "the name of the file in .jsonl."
        )
    if len(cells) == 1 and (separated_by := separator_of(cells[0])):
        remedy = "separate them by tabs"
        if separator == ",":
            remedy = (
                "separate them by commas (in a spreadsheet, save as CSV with the field "
                "separator ',')"
            )
        raise InputError(
            f"{where}: the columns are separated by {separated_by}; {remedy}, or write "
            "JSON lines (.jsonl)."
        )
    refuse_columns_twice(where, cells)
    return cells


def separator_of(line: str) -> str:
    """Name the separator of a line that looks like a CSV header with texts or labels;
    "" for other lines."""
    for separator, name in SEPARATORS.items():
        cells = {cell.strip().strip('"').lower() for cell in line.split(separator)}
        if len(cells) > 1 and cells & {"text", "input", "label"}:
            return name
    return ""


def refuse_columns_twice(where: str, columns: list[str]) -> None:
    """Raise `InputError` if two columns have one name: only the last would be read."""
    if twice := sorted({column for column in columns if columns.count(column) > 1}):
        raise InputError(
            f"{where}: the header names {', '.join(map(repr, twice))} twice; keep one."
        )


def _holds_rows(cell: str, place: int, header: list[str], separator: str) -> bool:
    """Return whether a cell with line ends looks like the end of a row, whole rows, and
    the beginning of one."""
    first, *inner, last = cell.split("\n")
    wanted = len(header) - 1
    if first.count(separator) != wanted - place or last.count(separator) != place:
        return False
    if any(line.count(separator) != wanted for line in inner):
        return False
    if "label" not in header:  # commas in the lines of a text are common, tabs are not
        return separator == "\t"
    column = header.index("label")
    labels = []
    for line in (separator * place + first, *inner):
        labels.append(line.split(separator)[column].strip())
    labels += last.split(separator)[column : column + 1]
    return {*labels} <= {"", "0", "1"} and {*labels} != {""}


def _rows_by_settings(path: Path, settings: JsonObject) -> Iterator[tuple[str, Cells]]:
    table = _table_by_settings(path, settings)
    columns = [*map(str, table.columns)]
    for column in columns:  # pandas' name of a second column
        name, dot, count = column.rpartition(".")
        if dot and count.isdecimal() and name in columns:
            refuse_columns_twice(f"{path}, header", [name, name])
    missing = settings.get("na_values") or []
    missing_in = {column: _missing_in(column, missing) for column in columns}
    for number, values in enumerate(table.itertuples(index=False, name=None), start=1):
        where = f"{path}, row {number}"
        cells = {}
        for column, value in zip(columns, values, strict=True):
            if isinstance(value, float):
                raise InputError(
                    f"{where}: the row has fewer cells than the {len(columns)} "
                    "columns; fill it."
                )
            is_missing = value == "" or value in missing_in[column]
            cells[column] = None if is_missing else value
        if any(cells.values()):
            yield where, cells


def _table_by_settings(path: Path, settings: JsonObject) -> "pd.DataFrame":
    """Read a file as text by the settings of pandas that its README gives."""
    import pandas as pd

    engine: Any = "c" if _OF_C_ENGINE & settings.keys() else "python"
    given = {key: value for key, value in settings.items() if key != "na_values"}
    too_long: list[list[str]] = []
    if engine == "python" and given.get("on_bad_lines") in ("skip", "warn"):
        given["on_bad_lines"] = too_long.append
    what = f"{path}: cannot be read with the settings {settings} of the README"
    with explain_failure(what), open_bytes(path) as file:
        for _ in bounded_lines(path, file):  # pandas would take any line into memory
            pass
    with explain_failure(what), open_bytes(path) as file:
        table = pd.read_csv(
            file, dtype=str, keep_default_na=False, engine=engine, **given
        )
    if too_long:
        tell(
            "%s: %d rows have more cells than the header: left out, as the README says",
            path,
            len(too_long),
        )
    index_column = settings.get("index_col")
    if index_column is not None and index_column is not False:  # 0 is the first column
        return table.reset_index()
    if not isinstance(table.index, pd.RangeIndex):
        raise InputError(
            f"{path}: rows have more cells than the {len(table.columns)} of the header."
        )
    return table


def _missing_in(column: str, missing: Any) -> set[str]:
    """Return what `na_values` calls missing in a column: one value, several, or values
    by column."""
    own = missing.get(column, []) if isinstance(missing, Mapping) else missing
    return {*map(str, own)} if isinstance(own, list | tuple) else {str(own)}
