"""What no reader goes beyond: the size of a document, packed or unpacked, and the tags that are open in it."""

import zipfile
from io import BytesIO
from pathlib import Path

from pretrace.runtime.errors import InputError

LARGEST_DOCUMENT = 1 << 28
"""Bytes that a document, packed or unpacked, may have."""

MOST_OPEN = 1_000_000
"""Tags that may be open at once."""

MOST_TAGS = 5_000_000
"""Tags that a document may have: they take up to 40 seconds. A long book has some 100,000."""


def document_too_large(path: Path) -> InputError:
    return InputError(
        f"{path}: the document is larger than {LARGEST_DOCUMENT >> 20} MB, unpacked; divide it."
    )


def check_tags(tags: int, path: Path) -> None:
    """Raise `InputError` if a document has more than `MOST_TAGS`."""
    if tags > MOST_TAGS:
        raise InputError(
            f"{path}: the document has more than {MOST_TAGS:,} tags; divide it, or save it as text."
        )


def open_zip(data: bytes, path: Path) -> zipfile.ZipFile:
    """Open a zip archive whose members are as large as they say, which Python sees to, and not too large together."""
    archive = zipfile.ZipFile(BytesIO(data))
    if sum(member.file_size for member in archive.infolist()) > LARGEST_DOCUMENT:
        raise document_too_large(path)
    return archive
