"""The one reader of users' and data sets' files: the rows of JSON lines, delimited text
or Parquet, or the one text of a text file, each with the place it came from."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.benchmarks.delimited import (
    delimited_rows,
    refuse_columns_twice,
    separator_of,
)
from pretrace.documents.unpacking import (
    CSV,
    FORMATS,
    JSON,
    LARGEST_ROW,
    PARQUET,
    format_of,
    has_begin_alone,
    joined_lines,
    not_unpacked,
    read_lines,
    stem_of,
    too_large,
)
from pretrace.runtime.errors import InputError, message_of
from pretrace.runtime.hub import fetched_files

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Row = dict[str, Any]
LocatedRow = tuple[str, Row]
"""A row, after its place: `file:line` or `file, row n`."""

Choice = Callable[[str, Sequence[str]], Sequence[str]]
"""(where, the names of a file's columns) -> those to read. Raises `InputError` if one
is missing."""


def only_columns(*needed: str) -> Choice:
    """Return the choice of those of `needed` that a file has."""
    return lambda where, names: [name for name in names if name in needed]


@dataclass(frozen=True)
class Settings:
    """How files are read, where the README of a data set says it and not their name.

    `delimited` has the arguments of `pandas.read_csv`; the others are for JSON: `field`
    has the rows, and with `arrays` a file may be one array of rows.
    """

    delimited: Mapping[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    errors: str = "strict"
    field: str | None = None
    arrays: bool = False


BY_NAME = Settings()


def rows(
    path: Path, choice: Choice | None = None, settings: Settings = BY_NAME
) -> Iterator[LocatedRow]:
    """Yield each row as (where, row): `where` is `file:line` or `file, row n`; it
    starts error messages.

    A text file (.txt) is one row without a label, whose id is the file's name. A
    byte-order mark, blank lines and, in CSV, rows of empty cells are skipped. In CSV
    every cell is a string, and an empty cell is None. Of Parquet, only the columns of
    `choice` are read. Raises `InputError` on a missing file, another format, or a line
    that cannot be read.
    """
    path = Path(path)
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:  # a name of 300 letters
        raise InputError(
            f"{path!s:.60}...: {error.strerror}; give a file: {FORMATS}."
        ) from error
    if not is_file:
        problem = "is a folder" if is_folder else "does not exist"
        raise InputError(f"{path} {problem}; give a file: {FORMATS}.")
    kind = format_of(path.name)
    if kind is None:
        raise InputError(f"{path}: the file name must end in {FORMATS}.")
    if kind == JSON:
        return jsonl_rows(path, settings)
    if kind == CSV:
        return delimited_rows(path, settings.delimited)
    if kind == PARQUET:
        return _parquet_rows(path, choice)
    return _text_rows(path)


def jsonl_rows(path: Path, settings: Settings = BY_NAME) -> Iterator[LocatedRow]:
    """Yield each object of a file of JSON lines with its place, `file:line`; of one
    array, with its number."""
    lines = read_lines(path, settings.encoding, settings.errors)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        is_array = settings.arrays and line.lstrip().startswith("[")
        if settings.field is not None or is_array:
            yield from _array_rows(
                path, joined_lines(path, chain([line], lines)), settings.field
            )
            return
        where = f"{path}:{number}"
        try:
            row = json.loads(line, object_pairs_hook=_unique_keys)
        except RecursionError as error:
            raise InputError(
                f"{where}: values are nested too deep; write one flat object a line."
            ) from error
        except _TwiceError as error:
            raise InputError(f"{where}: {error}") from error
        except ValueError as error:
            advice = _instead_of_jsonl(line, number)
            raise InputError(
                f"{where}: this line is not valid JSON ({error}); {advice}."
            ) from error
        if not isinstance(row, dict):
            example = '{"input": ..., "label": ...}'
            raise InputError(
                f"{where}: this line is not a JSON object; write {example}."
            )
        yield where, row


def _array_rows(path: Path, text: str, key: str | None) -> Iterator[LocatedRow]:
    """Yield the rows of one JSON value: an array of objects or of texts, or an object
    with an array for each column."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
        given = value if key is None else value[key]
        if isinstance(given, dict):
            columns = list(given)
            given = [
                dict(zip(columns, cells, strict=True))
                for cells in zip(*given.values(), strict=True)
            ]
    except (ValueError, TypeError, KeyError, RecursionError, _TwiceError) as error:
        what = (
            "one JSON array of rows"
            if key is None
            else f"a JSON object with rows in {key!r}"
        )
        raise InputError(
            f"{path}: cannot be read as {what} ({type(error).__name__}: {error})."
        ) from error
    for number, row in enumerate(given, start=1):
        where = f"{path}, row {number}"
        if not isinstance(row, dict | str):
            raise InputError(f"{where}: this is {row!r:.60} and not a JSON object.")
        yield where, {"text": row} if isinstance(row, str) else row


class _TwiceError(Exception):
    """A key of a JSON object is given twice."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _TwiceError(f"the key {key!r} is given twice in this line; keep one.")
    return row


def _instead_of_jsonl(line: str, number: int) -> str:
    """Advise on a line that is not JSON, by what it looks like."""
    if line.strip() in ("{", "["):
        return (
            "the file looks like one JSON value over many lines; write one object a "
            "line"
        )
    if number == 1 and (separator := separator_of(line)):
        endings = {
            "','": "end the name of the file in .csv",
            "tabs": "end the name of the file in .tsv",
        }
        advice = endings.get(separator, "save it as CSV with commas")
        return (
            f"the file looks like CSV with {separator} between the columns; {advice}, "
            "or write one object a line"
        )
    if line.startswith("{") and not line.endswith(("\n", "}")):
        return "the file ends within this line: is it cut off? Copy or fetch it again"
    return "write one object a line"


_OF_BYTES = {"binary", "large_binary", "binary_view"}
"""Types of columns that hold texts where Spark or Impala wrote the file."""

_ROWS_AT_ONCE = 10  # each may have hundreds of MB


@contextmanager
def opened_parquet(path: Path) -> Iterator["pq.ParquetFile"]:
    """Open a Parquet file whose columns have different names, and whose rows are not
    too large.

    Raises `InputError` if it is none, or where it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        strings = []
        for field in pq.read_schema(path):
            if pa.types.is_string(field.type):
                strings.append(field.name)
        # a value that many rows have is then in memory once
        with pq.ParquetFile(path, read_dictionary=strings) as file:
            refuse_columns_twice(str(path), file.schema_arrow.names)
            # on average: a few packed bytes may be many
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                if group.total_byte_size > LARGEST_ROW * max(1, group.num_rows):
                    raise too_large(f"{path}, row group {number + 1}", "a row")
            yield file
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        if has_begin_alone(path, b"PAR1"):
            raise not_unpacked(path, EOFError()) from error
        raise InputError(
            f"{path}: cannot be read as Parquet ({message_of(error)})."
        ) from error


def _parquet_rows(path: Path, choice: Choice | None) -> Iterator[LocatedRow]:
    number = 0
    with opened_parquet(path) as file:
        names = file.schema_arrow.names
        columns = names if choice is None else list(choice(str(path), names))
        for batch in file.iter_batches(batch_size=1000, columns=columns):
            of_bytes = []
            for column in batch.schema:
                if str(column.type) in _OF_BYTES:
                    of_bytes.append(column.name)
            for begin in range(0, batch.num_rows, _ROWS_AT_ONCE):
                try:
                    some = batch.slice(begin, _ROWS_AT_ONCE).to_pylist()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{path}: a text after row {number} is not UTF-8 "
                        f"({message_of(error)}); write the texts as UTF-8."
                    ) from error
                for row in some:
                    number += 1
                    for name in of_bytes:
                        row[name] = _decoded(row[name])
                    yield f"{path}, row {number}", row


def _decoded(value: bytes | None) -> bytes | str | None:
    """Return bytes as text if they are UTF-8; else as they are, which no column of
    texts takes."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def _text_rows(path: Path) -> Iterator[LocatedRow]:
    yield (
        str(path),
        {
            "id": stem_of(path),
            "text": joined_lines(path, read_lines(path)),
            "label": None,
        },
    )


def files_of_split(source: Path, split: str) -> list[Path]:
    """Return the files of a split, in order; empty without any.

    They are `data/{split}-00000-of-00001-{hash}.parquet`, `{split}.jsonl`, or all files
    in a folder `{split}`.
    """
    name = re.compile(
        rf"(?:^|/){re.escape(split)}(?:(?:-\d+-of-\d+(?:-\w+)?)?\.\w+(?:\.gz|\.zst)?|/[^/]+)$"
    )
    files = []
    for file, path in fetched_files(source):
        if name.search(file) and format_of(file):
            files.append(path)
    return files


def single_file(source: Path, endings: tuple[str, ...], holding: str = "") -> Path:
    """Return the one file with such an ending; of several, the one whose name holds
    `holding`."""
    files = {}
    named = {}
    for name, path in fetched_files(source):
        last = name.rpartition("/")[2].lower()
        if last.endswith(endings):
            files[name] = path
            if holding in last:
                named[name] = path
    if len(files) > 1:
        files = named
    if len(files) != 1:
        needed = " or ".join(endings)
        listed = ", ".join(files) or "none"
        raise InputError(
            f"{source}: exactly one file ending in {needed} is needed; found: {listed}."
        )
    return next(iter(files.values()))
