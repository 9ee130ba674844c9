"""Tables and figures that a job draws besides its own, kept until their own jobs take
them.

To start Python and to import what draws takes longer than to draw. So a run lists its
jobs that draw, and a job that draws also draws a few others whose inputs are there.
What it drew is kept under the identity that its own job will have: a job takes only
what was made from its own inputs, settings and code, and else draws for itself.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.runtime.files import digest, read_json, write_json
from pretrace.runtime.identity import Identity
from pretrace.runtime.logs import lines_kept, log

_LINES = "lines.json"


class DrawingJob(NamedTuple):
    """A job of this run that draws: its parameters, outputs, all inputs, and those that
    the run makes."""

    settings: dict[str, Any]
    outputs: list[str]
    identity: str
    inputs: list[str]
    made_in_run: list[str]


class Ahead:
    """The folder of what is drawn ahead in a run of a study."""

    def __init__(self, study: Path) -> None:
        """`study`: the folder of the study's results."""
        self._study = study
        self._folder = study / "drawn"
        self._jobs = self._folder / "jobs.json"

    def start(self, jobs: Iterable[DrawingJob]) -> None:
        """List the jobs of a run, which draw for each other if there are several."""
        self.end()
        listed = list(jobs)
        if len(listed) > 1:
            write_json(self._jobs, listed)

    def end(self) -> None:
        """Remove what a run left."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def claim(self, record: str) -> bool:
        """Return whether no job has drawn or begun an artifact, by its first output;
        the caller begins."""
        try:
            (self._folder / f"{Path(record).stem}.begun").touch(exist_ok=False)
        except OSError:  # begun; or this run draws nothing ahead
            return False
        return True

    def waiting(self, record: str) -> Iterator[DrawingJob]:
        """Claim and yield the other jobs whose inputs are there, if the job with this
        first output is one of those that draw for each other."""
        if not self._jobs.is_file():
            return
        started = self._jobs.stat().st_mtime_ns
        jobs = [DrawingJob(*job) for job in read_json(self._jobs)]
        if not any(job.outputs[0] == record for job in jobs):
            return
        for job in jobs:
            is_made = all(_time(path) >= started for path in job.made_in_run)
            if is_made and all(map(_time, job.inputs)) and self.claim(job.outputs[0]):
                yield job

    @contextmanager
    def keeping(self, identity: Identity) -> Iterator[Path]:
        """Give an empty folder, and keep what is drawn in it with the lines of its log;
        keep nothing if the block raises."""
        place = self._place(identity)
        part = place.with_suffix(".part")
        try:
            with lines_kept() as lines:
                yield part
            write_json(part / _LINES, lines)
            part.replace(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def take(self, identity: Identity, outputs: Iterable[str]) -> bool:
        """Move what was drawn ahead to its place and log its lines; False if it was
        not drawn."""
        place = self._place(identity)
        taken = place.with_suffix(".taken")
        try:
            # all at once: a job that is killed here draws when it runs again
            place.replace(taken)
        except OSError:  # it was not drawn
            return False
        for output in outputs:
            (taken / Path(output).relative_to(self._study)).replace(output)
        log.info("drawn with others, by the job of one of them")
        for level, line in read_json(taken / _LINES):
            log.log(level, "%s", line)
        return True

    def _place(self, identity: Identity) -> Path:
        return self._folder / digest(identity)[:16]


def _time(path: str) -> int:
    """Return when a file changed, in ns; 0 if it is missing."""
    return Path(path).stat().st_mtime_ns if Path(path).exists() else 0
