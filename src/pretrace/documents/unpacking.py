"""Open users' and data sets' files: what a file holds by its name, its bytes unpacked,
its lines decoded."""

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import zstandard

from pretrace.runtime.errors import InputError, message_of, remedy

JSON, CSV, PARQUET, PLAIN = "JSON lines", "CSV", "Parquet", "text"
_SUFFIXES = {
    ".jsonl": JSON, ".ndjson": JSON, ".json": JSON, ".csv": CSV, ".tsv": CSV,
    ".parquet": PARQUET, ".txt": PLAIN,
}  # fmt: skip
FORMATS = (
    ".jsonl, .ndjson, .json (JSON lines), .csv, .tsv or .txt, also with .gz, .bz2, "
    ".xz, .zst or .zip, or .parquet"
)


def _open_zst(path: Path) -> Any:
    frames = zstandard.ZstdDecompressor().stream_reader(
        path.open("rb"), read_across_frames=True
    )
    return io.BufferedReader(frames)


def _open_zip(path: Path) -> Any:
    """Open the one file in a zip archive, not counting what macOS adds. Raises
    `InputError` if it has several."""
    archive = zipfile.ZipFile(path)
    own = []
    for member in archive.infolist():
        if not member.is_dir() and not member.filename.startswith("__MACOSX/"):
            own.append(member)
    if len(own) != 1:
        raise InputError(
            f"{path}: the archive has {len(own)} files, and is read if it has one; "
            "unpack it."
        )
    if own[0].flag_bits & 1:
        raise InputError(f"{path}: the archive is encrypted; unpack it.")
    return archive.open(own[0])


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zst,
    ".zip": _open_zip,
}  # fmt: skip
BROKEN = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError,
    zipfile.BadZipFile, NotImplementedError,
)  # fmt: skip
"""What a damaged file raises while it is unpacked."""


MOST_BLANK_LINES = 1_000_000
"""Blank lines that may follow each other."""

LARGEST_ROW = 1 << 28
"""Bytes, or characters, that a line or a row may have, unpacked; as many as a
document."""


def unpacked_name(name: str) -> str:
    """Return the last part of a file's name in small letters, without the ending of a
    compression."""
    name = name.rpartition("/")[2].lower()
    return name[: name.rindex(".")] if name.endswith(tuple(_OPENERS)) else name


def format_of(name: str) -> str | None:
    """Return what a file of this name holds, None if it is of no format that is read
    here."""
    kind = _SUFFIXES.get(Path(unpacked_name(name)).suffix)
    return None if kind == PARQUET and name.lower().endswith(tuple(_OPENERS)) else kind


def stem_of(path: Path) -> str:
    """Return a file's name without its format and compression."""
    return path.name[: len(Path(unpacked_name(path.name)).stem)]


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for its bytes, unpacked."""
    unpack = _OPENERS.get(path.suffix.lower())
    opened: IO[bytes] = path.open("rb") if unpack is None else unpack(path)
    return opened


def too_large(where: str, what: str) -> InputError:
    return InputError(
        f"{where}: {what} is larger than {LARGEST_ROW >> 20} MB, unpacked; divide it."
    )


def bounded_lines(path: Path, file: IO[Any]) -> Iterator[Any]:
    """Yield the lines of an open file.

    Raises `InputError` at a line that is larger than `LARGEST_ROW`, and at one blank
    line too many.
    """
    number = 1
    last = 0  # number of the last line that is not blank
    while line := file.readline(LARGEST_ROW + 1):
        if len(line) > LARGEST_ROW:
            raise too_large(f"{path}:{number}", "this line")
        if not line.isspace():
            last = number
        elif number - last > MOST_BLANK_LINES:
            raise InputError(
                f"{path}:{number}: more than {MOST_BLANK_LINES:,} blank lines; remove "
                "them."
            )
        yield line
        number += 1


def joined_lines(path: Path, lines: Iterable[str]) -> str:
    """Return the lines of a file as one text. Raises `InputError` if it is larger than
    `LARGEST_ROW`."""
    kept = []
    length = 0
    for line in lines:
        kept.append(line)
        length += len(line)
        if length > LARGEST_ROW:
            raise too_large(str(path), "the text")
    return "".join(kept)


def read_lines(
    path: Path, encoding: str = "utf-8", errors: str = "strict"
) -> Iterator[str]:
    """Yield the lines with their line ends. UTF-8 is decoded line by line, so that an
    error can name its line."""
    number = 0
    try:
        with open_bytes(path) as file:
            if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
                yield from bounded_lines(
                    path, io.TextIOWrapper(file, encoding, errors, newline="\n")
                )
                return
            for number, line in enumerate(bounded_lines(path, file), start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8", errors)
    except UnicodeDecodeError as error:
        is_utf16 = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        problem = "the file is UTF-16" if is_utf16 else "this line is not UTF-8"
        advice = " (in Excel: CSV UTF-8)" if format_of(path.name) == CSV else ""
        raise InputError(
            f"{path}:{number}: {problem} ({error.reason} at byte {error.start}); save "
            f"the file as UTF-8{advice}."
        ) from error
    except BROKEN as error:
        advice = remedy(
            error, "Is it whole, and packed as the ending of its name says?"
        )
        raise InputError(
            f"{path}: cannot be read after line {number} ({message_of(error)}). {advice}"
        ) from error
