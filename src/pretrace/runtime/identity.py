"""What a result was made from, kept inside it: a job's code and settings, and what each
of its inputs held.

Planning writes a small file for each job, an input of its rule. The file is older than
the job's outputs if they carry what the job would be made from now, and newer if not.
So content alone decides what runs: no time of a user's file, no memory of Snakemake.
"""

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.runtime.errors import InputError, remedy
from pretrace.runtime.files import (
    JsonObject,
    add_to_footer,
    content_of,
    digest,
    note_in_footer,
    read_json,
    sha256_file,
    write_json,
    write_text,
)

FOLDER, MADE_HERE = "results/identity", "results/"
_KEY = "identity"
_COMMENT = "\n<!-- identity: {} -->\n"
_COMMENTED = re.compile(rb"\n<!-- identity: (.*) -->\n\Z")


class Identity(NamedTuple):
    """What one result was made from; `made_from` and `beside` have hex SHA-256 by path.

    `job`: the SHA-256 of the job's code and settings. `beside`: the job's other
    outputs, which carry none of their own.
    """

    job: str
    made_from: dict[str, str]
    beside: dict[str, str]


class Job(NamedTuple):
    """A job of the workflow: the digest of its code, its parameters, and its files; no
    inputs that only order jobs."""

    code: str
    settings: JsonObject
    inputs: list[str]
    outputs: list[str]

    def about(self) -> dict[str, Any]:
        """Return what its identity file tells: its code, its settings by their digests,
        its inputs."""
        return {
            "code": self.code,
            "settings": {name: digest(value) for name, value in self.settings.items()},
            "inputs": sorted(set(self.inputs)),
        }


def job_digest(about: JsonObject) -> str:
    """Return the SHA-256 of a job's code and settings, given as `Job.about` tells
    them."""
    return digest({"code": about["code"], "settings": about["settings"]})


def identity_file(outputs: Iterable[str]) -> str:
    """Return the path of the identity file of the job with these outputs."""
    path = next(iter(outputs)).removeprefix(MADE_HERE)
    # not one suffix more: a file system takes 255 bytes of a name
    return f"{FOLDER}/{path.removesuffix('.json').removesuffix('.parquet')}.json"


def carriers(outputs: Iterable[str]) -> list[str]:
    """Return the outputs that carry an identity: the first, and every table. The first
    has the others' SHA-256."""
    first, *others = outputs
    return [first, *(path for path in others if path.endswith(".parquet"))]


def read_identity(path: str) -> Identity | None:
    """Read what a result carries; None if it is missing, carries nothing or is
    damaged."""
    try:
        written = _read(Path(path))
        return Identity(written["job"], written["made_from"], written["beside"])
    except (OSError, InputError, ValueError, KeyError, IndexError, TypeError):
        return None


def _read(path: Path) -> Any:
    if path.suffix == ".parquet":
        return json.loads(note_in_footer(path))
    if path.suffix == ".json":
        value = read_json(path)
        return (value[-1] if isinstance(value, list) else value)[_KEY]
    comment = _COMMENTED.search(path.read_bytes())
    return json.loads(comment[1] if comment else b"")


def identity_to_be(path: str, settings: JsonObject | None = None) -> Identity | None:
    """Return what a job that has this first output is made from; None if it is not
    planned, or if an input is missing or outdated.

    `settings`: those that the job was given, if it runs.
    """
    file = identity_file([path])
    if not Path(file).is_file():
        return None
    about = read_json(file)
    plan = Identities(is_job=True)
    for made in about["inputs"]:
        if not Path(made).exists() or not plan.is_current(made):
            return None
    if settings is not None:
        return identity_now(file, settings)
    made_from = {made: digest_of(made) for made in about["inputs"]}
    return Identity(job_digest(about), made_from, {})


def write_identity(path: str, identity: Identity) -> None:
    """Write an identity into a result: behind a table's footer, as a key of JSON (of a
    list's last object), else as a comment at the end.

    Not into a table's schema, which a copy keeps that was edited with pyarrow.
    """
    text = json.dumps(identity._asdict(), sort_keys=True, ensure_ascii=False)
    if path.endswith(".parquet"):
        add_to_footer(path, text.encode())
    elif path.endswith(".json"):
        value = read_json(path)
        holder = value[-1] if isinstance(value, list) else value
        holder[_KEY] = identity._asdict()
        write_json(path, value)
    else:
        write_text(path, Path(path).read_text(encoding="utf-8") + _COMMENT.format(text))


def digest_of(path: str) -> str:
    """Return the SHA-256 of what a result was made from, else of what a file or folder
    holds; "" if it is missing."""
    identity = read_identity(path) if path.startswith(MADE_HERE) else None
    return digest(identity) if identity else content_of(path)


def identity_now(file: str, settings: JsonObject) -> Identity:
    """Return what a job makes its outputs from now, by its identity file.

    The settings are those that the job was given: another plan may have changed the
    file since. Parameters that the file does not name do not count.
    """
    about = read_json(file)
    for name in about["settings"]:
        about["settings"][name] = digest(settings.get(name))
    made_from = {path: digest_of(path) for path in about["inputs"]}
    return Identity(job_digest(about), made_from, {})


def mark_outputs(identity: Identity, outputs: Iterable[str]) -> None:
    """Write into a finished job's outputs what they were made from."""
    first, *others = carriers(outputs)
    beside = {}
    for path in outputs:
        # a checkpoint's record has the SHA-256 of its weights, which are too large to
        # be read at each start
        if path not in (first, *others) and not path.endswith(".safetensors"):
            beside[path] = sha256_file(path)
    write_identity(first, identity._replace(beside=beside))
    for path in others:
        write_identity(path, identity)


class Identities:
    """The identity files of a plan: writes those that changed, and sets the times that
    Snakemake compares.

    A job, which reads the plan again, finds them as they are (`is_job`).
    """

    def __init__(self, *, is_job: bool = False) -> None:
        self._is_job = is_job
        self._now = time.time()
        self._digests: dict[str, str] = {}
        self._readers: dict[str, list[Job]] = defaultdict(list)

    def plan(self, job: Job) -> str:
        """Return the path of a job's identity file, which is newer than the job's
        outputs if they are outdated.

        Raises:
            InputError: the file cannot be written.
        """
        path = identity_file(job.outputs)
        if self._is_job:
            return path
        file = Path(path)
        about = job.about()
        outputs = _existing(job.outputs)
        carrying = _existing(carriers(job.outputs)) if outputs else []
        outdated = {}
        for output in carrying:
            if self._is_outdated(output, about):
                outdated[str(output)] = _changed(output)
        try:
            _write_about(file, about, outdated)
            if outdated:
                newest = max(map(_time, outputs))
                if _time(file) <= newest:
                    moment = max(time.time(), newest + 1)
                    os.utime(file, (moment, moment))
            elif outputs:
                self._make_older(file, job, outputs)
        except OSError as error:
            raise InputError(
                f"{file} cannot be written ({error.strerror}). {remedy(error, _REMEDY)}"
            ) from error
        return path

    def is_current(self, output: str) -> bool:
        """Return whether a file is what its job would make now, as far as that job's
        own inputs say; files without a job are."""
        file = Path(identity_file([output]))
        if not output.startswith(MADE_HERE) or not file.is_file():
            return True
        return not self._is_outdated(Path(output), read_json(file))

    def _is_outdated(self, output: Path, about: JsonObject) -> bool:
        """Return whether an output was made from something else than its job would make
        it from now."""
        identity = read_identity(str(output))
        if identity is None or identity.job != job_digest(about):
            return True
        if [*identity.made_from] != about["inputs"]:
            return True
        # an input that is missing, as documents are once they are counted, says nothing
        for path, held in identity.made_from.items():
            if self._digest(path) not in ("", held):
                return True
        for path, held in identity.beside.items():
            if content_of(path) not in ("", held):
                return True
        return False

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            self._digests[path] = digest_of(path)
        return self._digests[path]

    def _make_older(self, file: Path, job: Job, outputs: Iterable[Path]) -> None:
        """Make outputs that are right no older than what they were made from, and the
        identity file no newer."""
        newest = max((_time(path) for path in _existing(job.inputs)), default=0.0)
        self._renew(job, newest)
        for path in job.inputs:
            self._readers[path].append(job)
        oldest = min(_time(path) for path in outputs)
        if _time(file) > oldest:
            os.utime(file, (oldest, oldest))

    def _renew(self, job: Job, newest: float) -> None:
        """Give outputs that are older than an input a later time, and so what was made
        from them."""
        moment = max(newest, self._now)
        for path in _existing(job.outputs):
            if _time(path) >= newest:
                continue
            # a file of somebody else's keeps its time, and is made again
            with suppress(PermissionError):
                os.utime(path, (moment, moment))
            for reader in self._readers[str(path)]:
                self._renew(reader, moment)


def _write_about(file: Path, about: JsonObject, outdated: Mapping[str, int]) -> None:
    """Write an identity file if what it tells changed.

    What it tells of outdated outputs is new each time that such a file is put in place:
    Snakemake takes an input for unchanged that has the bytes of the last run.
    """
    written = {}
    with suppress(FileNotFoundError, InputError, TypeError, ValueError):
        written = dict(read_json(file))
    known = written.pop("outdated", {})
    if written != about or (outdated and known != outdated):
        write_json(file, {**about, "outdated": outdated} if outdated else about)


def _existing(paths: Iterable[str]) -> list[Path]:
    return [Path(path) for path in paths if Path(path).exists()]


def _time(path: Path) -> float:
    """Return when a file changed, as Snakemake compares it: of a link, the later time
    of itself and of its file."""
    return max(path.lstat().st_mtime, path.stat().st_mtime)


def _changed(path: Path) -> int:
    """Return when anything about a file changed, in ns: a time that no copy sets
    back."""
    return path.stat().st_ctime_ns


_REMEDY = "Let the user who runs the workflow write to results/."
