"""How much work a job has left: kept beside its output, so that a job that goes on asks a scheduler for less time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json, write_json

EVERY = 5.0
"""Seconds between two notes, at least."""


@contextmanager
def work_left(output: Path) -> Iterator[Callable[[float], None]]:
    """Give the function that notes which share of the work is left, from 1 to 0, until the job ends well."""
    path = _note_of(output)
    noted_at = time.monotonic() - EVERY

    def note(left: float) -> None:
        nonlocal noted_at
        if time.monotonic() - noted_at >= EVERY:
            noted_at = time.monotonic()
            write_json(path, {"left": round(left, 3)})

    yield note
    path.unlink(missing_ok=True)


def share_left(output: str | Path) -> float:
    """Return the share of the work that a killed job has left to do for `output`; 1 if no job has begun it."""
    try:
        return min(1.0, max(0.0, float(read_json(_note_of(Path(output)))["left"])))
    except (OSError, InputError, KeyError, TypeError, ValueError):
        return 1.0


def _note_of(output: Path) -> Path:
    return output.with_suffix(".left")
