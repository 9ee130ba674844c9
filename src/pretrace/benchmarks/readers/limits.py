"""What no reader goes beyond: the size of a document, packed or unpacked, and the tags that are open in it."""

import zipfile
from io import BytesIO
from pathlib import Path

from pretrace.runtime.errors import InputError

LARGEST_DOCUMENT = 1 << 28
"""Bytes that a document, packed or unpacked, may have."""

MOST_OPEN = 1_000_000
"""Tags that may be open at once; old HTML closes no paragraphs."""


def document_too_large(path: Path) -> InputError:
    return InputError(
        f"{path}: the document is larger than {LARGEST_DOCUMENT >> 20} MB, unpacked; divide it."
    )


def open_zip(data: bytes, path: Path) -> zipfile.ZipFile:
    """Open a zip archive whose members are as large as they say, which Python sees to, and not too large together."""
    archive = zipfile.ZipFile(BytesIO(data))
    if sum(member.file_size for member in archive.infolist()) > LARGEST_DOCUMENT:
        raise document_too_large(path)
    return archive
