"""One log a job, with progress that says what, how far and how fast; on the terminal
what a user has to know."""

import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pretrace.runtime.errors import InputError, message_of, printable, remedy

log = logging.getLogger("pretrace")
EVERY = 5.0  # seconds between two lines of progress
_LOGGERS = [log, logging.getLogger("py.warnings")]
_WARNING = re.compile(r"[-0-9]+ [:,0-9]+ WARNING ")


def prepare_terminal() -> None:
    """Make the process that runs the workflow able to print and to start jobs, wherever
    it runs.

    Characters that a terminal's encoding lacks are escaped. A user id without a name,
    as containers give, gets its number as name, for which Snakemake asks. Raises
    `InputError` if the path of Python has a blank, because Snakemake does not quote it
    in the commands of jobs.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    os.environ.setdefault("USER", str(os.getuid()))
    if re.search(r"\s", sys.executable):
        raise InputError(
            "the path of Python has a blank, which Snakemake cannot run: "
            f"{sys.executable}. Move the folder with the environment to a path without "
            "blanks."
        )


def say(text: str, *, to: TextIO | None = None) -> None:
    """Print a line of the workflow's own, whatever names of others are in it."""
    print(f"pretrace: {printable(text)}", file=to, flush=True)


class LogFormatter(logging.Formatter):
    """Writes lines without control characters and passwords, whatever names of others
    are in them."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class _Terminal(logging.StreamHandler[TextIO]):
    """Show errors, and the last line of a job without a terminal: on one, jobs would
    tear Snakemake's bars."""

    def __init__(self, name: str) -> None:
        super().__init__(sys.stderr)
        self._name = name
        self._last: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "file_only", False):
            return
        if getattr(record, "on_terminal", False):
            super().emit(record)
        elif record.levelno >= logging.ERROR:
            super().emit(record)
            self._last = None
        else:
            self._last = record

    def finish(self) -> None:
        if self._last is not None and not self.stream.isatty():
            line = printable(f"{self._name}: {self._last.getMessage()}")
            self.stream.write(f"{line}\n")


def tell(message: str, *values: object) -> None:
    """Log a warning that the terminal shows, too: what of a user's input takes no
    part."""
    log.warning(message, *values, extra={"on_terminal": True})


def print_answer(lines: Iterable[str]) -> None:
    """Print what the user asked a job for, such as an estimate, and log it."""
    text = printable("\n".join(lines))
    log.info("%s", text, extra={"file_only": True})
    print(f"\n{text}", flush=True)  # after the line of a bar


@contextmanager
def job_log(path: str | Path, mode: str = "w") -> Iterator[None]:
    """Send log lines and warnings to `path`, opened in a `mode`; end the job at an
    error, without a bare traceback.

    An `InputError` shows its message alone, a failure of the machine (a full disk) its
    remedy. Anything else is a defect of ours: its traceback goes to the log file and
    the terminal says where.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    to_file = logging.FileHandler(path, mode=mode, encoding="utf-8")
    to_file.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s"))
    # results/STUDY/logs/RULE/...: the rule and what it works on
    to_terminal = _Terminal(path.with_suffix("").as_posix().rpartition("logs/")[2])
    to_terminal.setFormatter(LogFormatter("%(message)s"))
    logging.captureWarnings(True)
    for logger in _LOGGERS:
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [to_file, to_terminal] if logger is log else [to_file]
    try:
        yield
        to_terminal.finish()
    except InputError as error:
        log.error("error: %s", error)
        sys.exit(1)
    except Exception as error:
        advice = remedy(error)
        if advice:
            log.error("error: %s. %s", message_of(error), advice)
            sys.exit(1)
        log.exception("unexpected error", extra={"file_only": True})
        log.error(
            "unexpected error: %s: %s (a defect of pretrace; the traceback is in %s)",
            type(error).__name__,
            error,
            path,
        )
        sys.exit(1)
    finally:
        to_file.close()


class _Lines(logging.Handler):
    """Keeps lines with their levels."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelno, record.getMessage()))


@contextmanager
def lines_kept() -> Iterator[list[tuple[int, str]]]:
    """Keep the lines and warnings of a block, each with its level, in place of logging
    them."""
    handler = _Lines()
    before = {logger: logger.handlers for logger in _LOGGERS}
    for logger in _LOGGERS:
        logger.handlers = [handler]
    try:
        yield handler.lines
    finally:
        for logger, handlers in before.items():
            logger.handlers = handlers


@contextmanager
def progress_on_stderr() -> Iterator[None]:
    """Print lines of progress that took `EVERY` seconds or more, for a caller without a
    log."""
    handler = logging.StreamHandler()
    level = log.level
    handler.addFilter(lambda record: getattr(record, "elapsed", 0.0) >= EVERY)
    handler.setFormatter(LogFormatter("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def warnings_since(moment: float, folders: Iterable[str]) -> list[str]:
    """Return the different warnings in the logs of folders that were written after
    `moment`, sorted."""
    warnings = set()
    for folder in folders:
        for path in Path(folder).rglob("*.log"):
            if path.stat().st_mtime < moment:
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                if _WARNING.match(line):
                    warnings.add(line.split(" WARNING ", 1)[1])
    return sorted(warnings)


# no bar: it would be read in a log
_METER = {
    True: "{desc}: {n:,} of {total:,}{unit} in {elapsed}, {remaining} left, "
    "{rate_noinv_fmt}",
    False: "{desc}: {n:,}{unit} in {elapsed}, {rate_noinv_fmt}",
}
"""With a known total and without."""


class Progress:
    """A progress line at most every five seconds, and one at the end.

    >>> with Progress("run_passes tiny/sotu", total=1340, unit="texts") as progress:
    ...     progress.update(64, note="2010 tokens/s")
    """

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self.what = what
        self.total = total
        self.unit = unit
        self.done = 0
        self.note = ""
        self._start = time.monotonic()
        self._last = self._start
        self._shown = -1

    def update(self, count: int = 1, note: str = "") -> None:
        self.done += count
        self.note = note or self.note
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            self._show()

    def _show(self) -> None:
        self._shown = self.done
        elapsed = time.monotonic() - self._start
        # here, because most jobs end before their first line
        from tqdm import tqdm

        line = tqdm.format_meter(
            self.done,
            self.total or 0,
            elapsed,
            prefix=self.what,
            unit=f" {self.unit}",
            bar_format=_METER[bool(self.total)],
        )
        note = f", {self.note}" if self.note else ""
        log.info("%s%s", line, note, extra={"elapsed": elapsed})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        if kind is None and self._shown != self.done:
            self._show()
