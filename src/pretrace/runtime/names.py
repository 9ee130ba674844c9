"""Names of files and folders: which a study may give to its results, and which
Snakemake takes of the user's files."""

import re
import unicodedata
from pathlib import Path

from pretrace.runtime.errors import LONGEST_REPEATED, InputError, shorten

SHARED_FOLDERS = (
    "answers", "api", "benchmarks", "completions", "corpora", "downloads", "identity",
    "logs", "models", "passes",
    "prefixes", "tokenizers", "views", "works",
)  # fmt: skip
"""The folders of results/ that studies share."""

MOST_BYTES = 100
"""Bytes of a name in UTF-8. A file system takes 255 of a file, whose name may join
those of a study, its model and a view that the model makes, and has a suffix while it
is written."""

_EXPANDED = re.compile(r"(?P<braces>[{}])|<[a-z][a-z0-9_]*>")
"""What Snakemake replaces in the paths of a rule: wildcards, and its variables for
parts of paths."""


def check_study_name(name: str) -> str:
    """Return the name of a study. Raises `ValueError` if results/ has no place for a
    folder of that name."""
    size = len(name.encode())
    if size > MOST_BYTES:
        raise ValueError(
            f"{shorten(repr(name))} has {size} bytes in UTF-8; give a name of at most "
            f"{MOST_BYTES}"
        )
    if name.casefold() in (*SHARED_FOLDERS, "readme.md"):
        raise ValueError(f"{name!r} is reserved; choose another")
    return name


def make_name(text: str, most: int, otherwise: str) -> str:
    """Return the letters, digits, `.`, `_` and `-` of a text, in any script, as a name
    of at most `most` bytes.

    Everything between them becomes `_`. A text without any gives `otherwise`.
    """
    name = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", text)).strip("_.-")
    # half of a letter at the end is dropped
    cut = name.encode()[:most].decode(errors="ignore")
    return cut.rstrip("_.-") or otherwise


def check_path(path: str | Path, where: str = "") -> None:
    """Refuse a path of the user's that Snakemake would read as another, or whose bytes
    are not UTF-8.

    Args:
        path: of a file or folder that becomes the input of a rule.
        where: the file and key that name it, if any do.

    Raises:
        InputError: with the place, the path, and what to do.
    """
    place = f"{where}: " if where else ""
    expanded = _EXPANDED.search(str(path))
    if expanded is not None:
        what = "braces" if expanded["braces"] else expanded[0]
        raise InputError(
            f"{place}{_end_of(path)}: the name has {what}, which Snakemake takes for "
            "wildcards; rename the file or folder."
        )
    check_encoding(path, where)


def check_encoding(path: str | Path, where: str = "") -> None:
    """Refuse a path of the user's whose bytes are not UTF-8: no result could name it.
    Arguments as `check_path`."""
    place = f"{where}: " if where else ""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{place}{_end_of(path)}: the name is not UTF-8; rename the file or folder."
        ) from error


def _end_of(path: str | Path) -> str:
    """Return a path as an error repeats it: whole, or its end, where the name is that
    is wrong."""
    text = str(path)
    return text if len(text) <= LONGEST_REPEATED else f"...{text[-LONGEST_REPEATED:]}"
