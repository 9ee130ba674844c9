"""Open users' and data sets' files: what a file holds by its name, its bytes unpacked, its lines decoded."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import zstandard

from pretrace.runtime.errors import InputError, remedy

JSON, CSV, PARQUET, PLAIN = "JSON lines", "CSV", "Parquet", "text"
_SUFFIXES = {
    ".jsonl": JSON, ".ndjson": JSON, ".json": JSON, ".csv": CSV, ".tsv": CSV, ".parquet": PARQUET, ".txt": PLAIN,
}  # fmt: skip
FORMATS = (
    ".jsonl, .ndjson, .json (JSON lines), .csv, .tsv or .txt, also with .gz, .bz2, .xz or .zst, or .parquet"
)


def _open_zst(path: Path) -> Any:
    frames = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
    return io.BufferedReader(frames)


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zst,
}  # fmt: skip
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
"""What a damaged file raises while it is unpacked."""


def unpacked_name(name: str) -> str:
    """Return the last part of a file's name in small letters, without the ending of a compression."""
    name = name.rpartition("/")[2].lower()
    return name[: name.rindex(".")] if name.endswith(tuple(_OPENERS)) else name


def format_of(name: str) -> str | None:
    """Return what a file of this name holds, None if it is of no format that is read here."""
    kind = _SUFFIXES.get(Path(unpacked_name(name)).suffix)
    return None if kind == PARQUET and name.lower().endswith(tuple(_OPENERS)) else kind


def stem_of(path: Path) -> str:
    """Return a file's name without its format and compression."""
    return path.name[: len(Path(unpacked_name(path.name)).stem)]


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for its bytes, unpacked."""
    opened: IO[bytes] = _OPENERS.get(path.suffix.lower(), lambda plain: plain.open("rb"))(path)
    return opened


def read_lines(path: Path, encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """Yield the lines with their line ends. UTF-8 is decoded line by line, so that an error can name its line."""
    number = 0
    try:
        with open_bytes(path) as file:
            if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
                yield from io.TextIOWrapper(file, encoding, errors, newline="\n")
                return
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8", errors)
    except UnicodeDecodeError as error:
        is_utf16 = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        problem = "the file is UTF-16" if is_utf16 else "this line is not UTF-8"
        advice = " (in Excel: CSV UTF-8)" if format_of(path.name) == CSV else ""
        raise InputError(
            f"{path}:{number}: {problem} ({error.reason} at byte {error.start}); save the file as UTF-8{advice}."
        ) from error
    except BROKEN as error:
        advice = remedy(error, "Is it whole, and packed as the ending of its name says?")
        raise InputError(f"{path}: cannot be read after line {number} ({error}). {advice}") from error
