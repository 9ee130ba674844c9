"""Open users' and data sets' files: what a file holds by its name, its bytes unpacked,
its lines decoded."""

import bz2
import codecs
import gzip
import io
import lzma
import tarfile
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


_PACKED_AT_ONCE = 1024
"""Bytes of a .zst file that are unpacked at once: 32 MB at most, since 4 bytes may
stand for 128 KB."""

_LONGEST_WINDOW = 1 << 31
"""Bytes that a .zst file may refer back, in memory: those of `zstd --long=31`."""


class _ZstReader(io.RawIOBase):
    """Unpacks a .zst file, frame after frame.

    Raises `EOFError` where the file ends within a frame: zstandard's own reader takes
    it for whole.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._frame: Any = None  # that is being unpacked
        self._packed = b""
        self._unpacked = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._unpacked:
            self._packed = self._packed or self._file.read(_PACKED_AT_ONCE)
            if not self._packed and self._frame is not None:
                raise EOFError
            if not self._packed:
                return 0
            if self._frame is None:
                opener = zstandard.ZstdDecompressor(max_window_size=_LONGEST_WINDOW)
                self._frame = opener.decompressobj()
            self._unpacked = memoryview(self._frame.decompress(self._packed))
            self._packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        size = min(len(buffer), len(self._unpacked))
        buffer[:size] = self._unpacked[:size]
        self._unpacked = self._unpacked[size:]
        return size


def _open_zst(path: Path) -> Any:
    return io.BufferedReader(_ZstReader(path), 1 << 17)  # a block of Zstandard


def zip_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip archive. Raises `EOFError` if its end is missing, where its contents
    are listed."""
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        if has_begin_alone(path, b"PK\3\4") or not path.stat().st_size:
            raise EOFError from None
        raise


def has_begin_alone(path: Path, mark: bytes) -> bool:
    """Return whether a file begins with a mark and does not end with it, as a whole
    Parquet file does."""
    with path.open("rb") as file:
        begin = file.read(len(mark))
        file.seek(max(0, path.stat().st_size - len(mark)))
        return begin == mark != file.read()


def _open_zip(path: Path) -> Any:
    """Open the one file in a zip archive, not counting what macOS adds. Raises
    `InputError` if it has several."""
    archive = zip_archive(path)
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
    """Open a file for its bytes, unpacked. Raises `EOFError`, also while it is read, if
    a packed file is cut off."""
    unpack = _OPENERS.get(path.suffix.lower())
    if unpack is None:
        return path.open("rb")
    if not path.stat().st_size:  # which gzip takes for whole
        raise EOFError
    opened: IO[bytes] = unpack(path)
    return opened


def check_whole(path: Path) -> None:
    """Read a packed file, or a tar archive, to its end, where its checksum, or its
    mark, is."""
    name = unpacked_name(path.name)
    is_tar = name.endswith(".tar")
    if name == path.name.lower() and not is_tar:
        return
    try:
        with open_bytes(path) as file:
            if is_tar:
                _check_whole_tar(file)
            while file.read(1 << 22):
                pass
    except BROKEN as error:
        raise not_unpacked(path, error) from error


def _check_whole_tar(file: IO[bytes]) -> None:
    """Raise `EOFError` if a tar archive ends within a member, or without the empty
    block at its end, which tarfile does not ask for."""
    try:
        with tarfile.open(fileobj=file, mode="r|") as archive:
            for _ in archive:
                pass
            read = archive.fileobj.tell()
    except tarfile.ReadError as error:
        raise EOFError from error
    if read < archive.offset + tarfile.BLOCKSIZE:
        raise EOFError


def not_unpacked(path: Path, error: Exception, place: str = "") -> InputError:
    """Return the error of a file that raised one of `BROKEN`, after a place in it."""
    said = message_of(error)
    advice = "It is damaged, or not packed as the ending of its name says."
    if isinstance(error, EOFError):
        said = "the file is cut off"
        advice = "Copy or fetch it again."
    return InputError(
        f"{path}: cannot be read{place} ({said}). {remedy(error, advice)}"
    )


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
        if error.reason == "unexpected end of data" and error.end == len(error.object):
            raise not_unpacked(path, EOFError(), f" after line {number - 1}") from error
        raise InputError(
            f"{path}:{number}: {problem} ({error.reason} at byte {error.start}); save "
            f"the file as UTF-8{advice}."
        ) from error
    except BROKEN as error:
        raise not_unpacked(path, error, f" after line {number}") from error
