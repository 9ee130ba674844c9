"""How much work a job has left: kept beside its output, so that a job that goes on asks
a scheduler for less time."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, read_json, write_json
from pretrace.runtime.identity import digest_of

EVERY = 5.0
"""Seconds between two notes, at least."""


class Note(NamedTuple):
    """What a job noted: which share of its work is `left`, from 1 to 0, and what the
    work was.

    `requests`: its parameters of that name. `read`: what its texts and its model were
    made from, by path.
    """

    left: float
    requests: list[JsonObject]
    read: dict[str, str]


@contextmanager
def work_left(
    output: str | Path, requests: list[JsonObject], inputs: Iterable[str]
) -> Iterator[Callable[[float], None]]:
    """Give the function that notes which share of the work is left; a job that ends
    well has nothing left."""
    path = _note_of(output)
    read = {file: digest_of(file) for file in inputs}
    noted_at = time.monotonic() - EVERY

    def write(left: float) -> None:
        write_json(path, Note(round(left, 3), requests, read)._asdict())

    def note(left: float) -> None:
        nonlocal noted_at
        if time.monotonic() - noted_at >= EVERY:
            noted_at = time.monotonic()
            write(left)

    yield note
    write(0.0)


def read_note(output: str | Path) -> Note | None:
    """Return what the last job noted beside its output; None if no job did, or the note
    is damaged."""
    try:
        note = Note(**read_json(_note_of(output)))
        left = min(1.0, max(0.0, float(note.left)))
    except (OSError, InputError, TypeError, ValueError):
        return None
    is_whole = isinstance(note.requests, list) and isinstance(note.read, dict)
    return note._replace(left=left) if is_whole else None


def _note_of(output: str | Path) -> Path:
    return Path(output).with_suffix(".left")
