"""Which files of the library a call enters, and how often a reader who follows it
changes the file.

Nothing is left out: checks, `runtime` and comprehensions count. A reader reads a
function once, where it is first called, and goes back to the function that called it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pretrace

LIBRARY = Path(pretrace.__file__).parent


@dataclass
class Walk:
    """The files of the functions of a call, in the order in which they are read."""

    stays: list[str] = field(default_factory=list)

    @property
    def files(self) -> set[str]:
        return {*self.stays}

    @property
    def returns(self) -> int:
        """How often the reader comes back to a file."""
        return len(self.stays) - len(self.files)

    def enter(self, file: str) -> None:
        if self.stays[-1:] != [file]:
            self.stays.append(file)


@contextmanager
def walk_of(function: Callable[..., Any] | None = None) -> Iterator[Walk]:
    """Follow the library's functions that run inside, or only those that run inside the
    first call of `function`."""
    walk = Walk()
    wanted = None if function is None else function.__code__
    reading: list[CodeType] = []  # functions that are read for the first time
    frames: list[tuple[FrameType, bool]] = []
    known: set[CodeType] = set()
    ended = False

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal ended
        code = frame.f_code
        if event == "return" and frames and frames[-1][0] is frame:
            _, is_first = frames.pop()
            if is_first:
                reading.pop()
                if reading:
                    walk.enter(_file_of(reading[-1]))
            ended = wanted is not None and not frames
        if event != "call" or ended or not code.co_filename.startswith(str(LIBRARY)):
            return
        if wanted is not None and not frames and code is not wanted:
            return
        is_first = code not in known
        frames.append((frame, is_first))
        if is_first:
            known.add(code)
            reading.append(code)
            walk.enter(_file_of(code))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield walk
    finally:
        sys.setprofile(before)


def _file_of(code: CodeType) -> str:
    return Path(code.co_filename).relative_to(LIBRARY).as_posix()
