"""The one reader of users' and data sets' files: the rows of JSON lines, CSV, TSV or Parquet, or the one text of a text
file, each with the place it came from; and what their columns must be."""

import codecs
import csv
import gzip
import io
import json
import re
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, cast

import zstandard
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from pretrace.runtime.errors import InputError, remedy
from pretrace.runtime.hub import fetched_files
from pretrace.runtime.schema import key_texts

Row = dict[str, Any]

JSON, CSV, PARQUET, PLAIN = "JSON lines", "CSV", "Parquet", "text"
_SUFFIXES = {
    ".jsonl": JSON, ".ndjson": JSON, ".json": JSON, ".csv": CSV, ".tsv": CSV, ".parquet": PARQUET, ".txt": PLAIN,
}  # fmt: skip
_PACKED = (".gz", ".zst")
FORMATS = ".jsonl, .ndjson, .json (JSON lines), .csv, .tsv or .txt, also with .gz or .zst, or .parquet"


def unpacked_name(name: str) -> str:
    """Return the last part of a file's name in small letters, without .gz or .zst."""
    name = name.rpartition("/")[2].lower()
    return name[: name.rindex(".")] if name.endswith(_PACKED) else name


def format_of(name: str) -> str | None:
    """Return what a file of this name holds, None if it is of no format that is read here."""
    kind = _SUFFIXES.get(Path(unpacked_name(name)).suffix)
    return None if kind == PARQUET and name.lower().endswith(_PACKED) else kind


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for its bytes; .gz and .zst are unpacked."""
    match path.suffix.lower():
        case ".gz":
            return cast(IO[bytes], gzip.open(path))
        case ".zst":
            frames = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
            return io.BufferedReader(frames)
    return path.open("rb")


def rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield each row as (where, row): `where` is `file:line`, or `file, row n` for Parquet; it starts error messages.

    A text file (.txt) is one row without a label, whose id is the file's name. A byte-order mark, blank lines and, in
    CSV, rows of empty cells are skipped. In CSV every cell is a string, and an empty cell is None. Raises `InputError`
    on a missing file, another format, or a line that cannot be read.
    """
    path = Path(path)
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:  # a name of 300 letters
        raise InputError(f"{path!s:.60}...: {error.strerror}; give a file: {FORMATS}.") from error
    if not is_file:
        problem = "is a folder" if is_folder else "does not exist"
        raise InputError(f"{path} {problem}; give a file: {FORMATS}.")
    if (kind := format_of(path.name)) is None:
        raise InputError(f"{path}: the file name must end in {FORMATS}.")
    return _READERS[kind](path)


def stem_of(path: Path) -> str:
    """Return a file's name without its format and compression."""
    return path.name[: len(Path(unpacked_name(path.name)).stem)]


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines with their line ends, decoded one by one so that an error can name its line."""
    number = 0
    try:
        with open_bytes(path) as file:
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        is_utf16 = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        problem = "the file is UTF-16" if is_utf16 else "this line is not UTF-8"
        advice = " (in Excel: CSV UTF-8)" if format_of(path.name) == CSV else ""
        raise InputError(
            f"{path}:{number}: {problem} ({error.reason} at byte {error.start}); save the file as UTF-8{advice}."
        ) from error
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        advice = remedy(error, "Is it whole and, where its name ends in .gz or .zst, packed so?")
        raise InputError(f"{path}: cannot be read after line {number} ({error}). {advice}") from error


def jsonl_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield each object of a file of JSON lines with its place, `file:line`."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line, object_pairs_hook=_unique_keys)
        except RecursionError as error:
            raise InputError(f"{where}: values are nested too deep; write one flat object a line.") from error
        except _TwiceError as error:
            raise InputError(f"{where}: {error}") from error
        except ValueError as error:
            advice = _instead_of_jsonl(line, number)
            raise InputError(f"{where}: this line is not valid JSON ({error}); {advice}.") from error
        if not isinstance(row, dict):
            example = '{"input": ..., "label": ...}'
            raise InputError(f"{where}: this line is not a JSON object; write {example}.")
        yield where, row


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
        return "the file looks like one JSON value over many lines; write one object a line"
    if number == 1 and (separator := _separator(line)):
        endings = {"','": "end the name of the file in .csv", "tabs": "end the name of the file in .tsv"}
        advice = endings.get(separator, "save it as CSV with commas")
        return f"the file looks like CSV with {separator} between the columns; {advice}, or write one object a line"
    return "write one object a line"


_SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}


def _separator(line: str) -> str:
    """Name the separator of a line that looks like a CSV header with texts or labels; "" for other lines."""
    for separator, name in _SEPARATORS.items():
        cells = {cell.strip().strip('"').lower() for cell in line.split(separator)}
        if len(cells) > 1 and cells & {"text", "input", "label"}:
            return name
    return ""


def _csv_rows(path: Path) -> Iterator[tuple[str, Row]]:
    csv.field_size_limit(sys.maxsize)
    separator = "\t" if unpacked_name(path.name).endswith(".tsv") else ","
    reader = csv.reader(read_lines(path), strict=True, delimiter=separator)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            where, line = f"{path}:{line}", reader.line_num + 1
            if not any(cells):  # a blank line, or the empty rows at the end of a spreadsheet
                continue
            if not header:
                header = _checked_header(where, cells, separator)
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{where}: {len(cells)} cells where the header has {len(header)}; put a text with commas in "
                    'double quotes (").'
                )
            yield where, {column: cell or None for column, cell in zip(header, cells, strict=True)}
    except csv.Error as error:
        problem = f"this is not valid CSV ({error}); save it again with quotes"
        if "new-line character" in str(error):  # the line ends that Excel calls Macintosh
            problem = "a line ends in a carriage return alone; save it with line ends of Unix or Windows"
        raise InputError(f"{path}:{reader.line_num or 1}: {problem}.") from error


def _checked_header(where: str, cells: list[str], separator: str) -> list[str]:
    if cells[0].lstrip().startswith("{"):
        raise InputError(
            f"{where}: the first line is a JSON object, not the names of columns; end the name of the file in .jsonl."
        )
    if len(cells) == 1 and (separated_by := _separator(cells[0])):
        commas = "separate them by commas (in a spreadsheet, save as CSV with the field separator ',')"
        advice = f"{commas if separator == ',' else 'separate them by tabs'}, or write JSON lines (.jsonl)"
        raise InputError(f"{where}: the columns are separated by {separated_by}; {advice}.")
    if twice := sorted({cell for cell in cells if cells.count(cell) > 1}):
        raise InputError(f"{where}: the header names {', '.join(map(repr, twice))} twice; keep one.")
    return cells


def _parquet_rows(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (pa.ArrowException, ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet after row {number} ({error}).") from error


def _text_rows(path: Path) -> Iterator[tuple[str, Row]]:
    yield str(path), {"id": stem_of(path), "text": "".join(read_lines(path)), "label": None}


_READERS = {JSON: jsonl_rows, CSV: _csv_rows, PARQUET: _parquet_rows, PLAIN: _text_rows}


class Columns(BaseModel):
    """The columns of a file: a subclass's fields; the text under one says what it must be. Others are ignored."""

    model_config = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False, defer_build=True)


def _number(value: Any) -> Any:
    if isinstance(value, bool | bytes):
        raise ValueError
    return value


def _words(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; fill it, or drop the row")
    if "\0" in text:
        raise ValueError("holds a NUL character (U+0000), which is not text; remove it")
    if text.encode(errors="ignore").decode() != text:
        raise ValueError("holds half a surrogate pair, which is not text; encode it as UTF-8")
    if all(character.isspace() or unicodedata.category(character) in ("Cc", "Cf") for character in text):
        raise ValueError("shows nothing, it holds control or zero-width characters; fill it, or drop the row")
    return text


LONGEST_NAME = 500  # characters; a longer id, document or subset is a text in the wrong column


def _short(name: str) -> str:
    if len(name) > LONGEST_NAME:
        told = f"has {len(name)} characters, more than {LONGEST_NAME}"
        raise ValueError(f"{told}; is it a text? Give a short name")
    return name


def _one_name(value: Any) -> Any:
    """Return a name in the one form of its spellings: NFC, and 7 for 7.0, as a column with gaps writes it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        name = unicodedata.normalize("NFC", value)
        return name.removesuffix(".0") if re.fullmatch(r"\d+\.0", name, re.ASCII) else name
    return value


WholeNumber = BeforeValidator(_number)
Label = Annotated[int, WholeNumber, Field(ge=0, le=1)] | None
Length = Annotated[int, WholeNumber, Field(ge=1, le=10**9)] | None
Words = Annotated[str, Strict(), AfterValidator(_words)]
"""A text with at least one word and without NUL characters."""
Named = Annotated[str, BeforeValidator(_one_name), AfterValidator(_words), AfterValidator(_short)]
"""A name, or a number that is one."""
Name = Annotated[
    Named | None,
    BeforeValidator(lambda name: None if name == "" else name),
    AfterValidator(lambda name: name or ""),
]
"""The same, "" without one."""


def checked_row(where: str, row: Row, kind: type[Columns]) -> Row:
    """Return the columns of a row that `kind` has, each in its type.

    Raises `InputError` with the first column that is missing or wrong, and what it must be.
    """
    try:
        parsed = kind.model_validate(row)
        return {column: getattr(parsed, column) for column in row if column in parsed.model_fields_set}
    except ValidationError as error:
        mistake = error.errors()[0]
    column, said = str(mistake["loc"][0]), str(mistake.get("ctx", {}).get("error", ""))
    must_be = key_texts(kind)[column]
    if column not in row:
        columns = ", ".join(map(str, row)) or "none"
        raise InputError(f"{where}: there is no column '{column}'; found: {columns}. Give {must_be}.")
    value = "empty" if row[column] is None else f"{row[column]!r:.60}"
    raise InputError(f"{where}: {column} {said or f'is {value}; it must be {must_be}'}.")


def files_of_split(source: Path, split: str) -> list[Path]:
    """Return the files of a split, in order; empty without any.

    They are `data/{split}-00000-of-00001-{hash}.parquet`, `{split}.jsonl`, or all files in a folder `{split}`.
    """
    name = re.compile(rf"(?:^|/){re.escape(split)}(?:(?:-\d+-of-\d+(?:-\w+)?)?\.\w+(?:\.gz|\.zst)?|/[^/]+)$")
    return [path for file, path in fetched_files(source) if name.search(file) and format_of(file)]


def single_file(source: Path, endings: tuple[str, ...], holding: str = "") -> Path:
    """Return the one file with such an ending; of several, the one whose name holds `holding`."""
    files = {name: path for name, path in fetched_files(source) if name.lower().endswith(endings)}
    if len(files) > 1 and holding:
        files = {name: path for name, path in files.items() if holding in name.rpartition("/")[2].lower()}
    if len(files) != 1:
        needed, listed = " or ".join(endings), ", ".join(files) or "none"
        raise InputError(f"{source}: exactly one file ending in {needed} is needed; found: {listed}.")
    return next(iter(files.values()))
