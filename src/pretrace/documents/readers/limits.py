"""What no reader goes beyond: the size of a document, packed or unpacked, and how many
pieces it has."""

import zipfile
from io import BytesIO
from pathlib import Path

from pretrace.runtime.errors import InputError

LARGEST_DOCUMENT = 1 << 28
"""Bytes that a document, packed or unpacked, may have."""

MOST_OPEN = 1_000_000
"""Tags that may be open at once."""

MOST_PIECES = 5_000_000
"""Tags, lines, or strings of a PDF that a document may have. A long book has some
100,000.

So many tags take up to 40 seconds, so many strings of a PDF some minutes.
"""

MOST_STRINGS_OF_A_PAGE = 100_000
"""Strings that a page of a PDF may have: the time to read it grows with their
square."""


def document_too_large(path: Path) -> InputError:
    return InputError(
        f"{path}: the document is larger than {LARGEST_DOCUMENT >> 20} MB, unpacked; "
        "divide it."
    )


def check_pieces(pieces: int, what: str, path: Path) -> None:
    """Raise `InputError` if a document has more than `MOST_PIECES` of what is named, as
    tags."""
    if pieces > MOST_PIECES:
        raise InputError(
            f"{path}: the document has more than {MOST_PIECES:,} {what}; divide it."
        )


def open_zip(data: bytes, path: Path) -> zipfile.ZipFile:
    """Open a zip archive whose members are as large as they say, which Python sees to,
    and not too large together."""
    archive = zipfile.ZipFile(BytesIO(data))
    if sum(member.file_size for member in archive.infolist()) > LARGEST_DOCUMENT:
        raise document_too_large(path)
    return archive


def check_members(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise `InputError` if the XML in an archive has too many tags: its tree takes 100
    bytes of memory for each."""
    tags = 0
    for name in archive.namelist():
        tags += archive.read(name).count(b"<")
    check_pieces(tags, "tags", path)
