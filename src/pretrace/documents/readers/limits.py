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
"""Tags or lines that a document may have. A long book has some 100,000; so many tags take
up to 40 seconds."""

MEMORY_OF_A_PDF = 4 << 30
"""Bytes of memory that it may take to read a PDF: a page of a few kilobytes can hold
billions of strings."""

SECONDS_OF_A_PDF = 600
"""Seconds of a processor that it may take to read a PDF."""


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
