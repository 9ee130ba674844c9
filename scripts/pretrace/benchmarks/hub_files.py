"""The files of a benchmark among those fetched from the hub."""

import re
from pathlib import Path

from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import files_of

_ENDINGS = r"\.(?:parquet|jsonl|jsonl\.gz|csv)"


def files_of_split(source: Path, split: str) -> list[Path]:
    """The files of a split, in order: `data/{split}-00000-of-00001-{hash}.parquet`, `{split}.jsonl`, or all files
    in a folder `{split}`. Empty where there is none.
    """
    name = re.compile(
        rf"(?:^|/){re.escape(split)}(?:-\d+-of-\d+(?:-\w+)?{_ENDINGS}|{_ENDINGS}|/[^/]+{_ENDINGS})$"
    )
    return [path for found, path in files_of(source) if name.search(found)]


def single_file(source: Path, endings: tuple[str, ...], holding: str = "") -> Path:
    """The one file with such an ending; of several, the one whose name holds `holding`."""
    found = [(name, path) for name, path in files_of(source) if name.lower().endswith(endings)]
    if len(found) > 1 and holding:
        found = [(name, path) for name, path in found if holding in name.rpartition("/")[2].lower()]
    if len(found) != 1:
        listed = ", ".join(name for name, _ in found) or "none"
        raise InputError(
            f"{source}: exactly one file ending in {' or '.join(endings)} is needed; found: {listed}."
        )
    return found[0][1]
