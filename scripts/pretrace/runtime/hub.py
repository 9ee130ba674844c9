"""Files of the Hugging Face hub, through its own client: cache, resuming, waiting where the hub asks to wait.

The client's environment holds: HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME and HF_HUB_CACHE. A revision is
resolved to the commit that it names now, which is recorded with the files; within `pinned`, the revision that is
pinned stands for whatever is asked for.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pretrace.runtime.errors import InputError, remedy
from pretrace.runtime.files import atomic_path, read_json, sha256_file, write_json
from pretrace.runtime.logs import log

Kind = Literal["model", "dataset"]
T = TypeVar("T")

MANIFEST = "files.json"

_ATTEMPTS = 6
_TRY_AGAIN = (429, 500, 502, 503, 504)
_LONGEST_WAIT = 300.0  # seconds; the hub resets its limits every five minutes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Files of one commit, in the hub client's cache. `files`: their names in the repository, sorted.

    `revision`: what was asked for, which may be another than was pinned in its place.
    """

    hub: str
    revision: str
    commit: str
    folder: Path
    files: tuple[str, ...]


Pins = Mapping[Kind, Mapping[str, str]]
_PINS: ContextVar[Pins | None] = ContextVar("pins", default=None)


@contextmanager
def pinned(pins: Pins) -> Iterator[None]:
    """Within, a repository in `pins` (kind -> id -> commit or tag) is read at that revision, whatever is asked for."""
    token = _PINS.set(pins)
    try:
        yield
    finally:
        _PINS.reset(token)


def _revision_of(hub: str, kind: Kind, revision: str) -> str:
    return (_PINS.get() or {}).get(kind, {}).get(hub, revision)


def snapshot(hub: str, kind: Kind, revision: str, patterns: Sequence[str]) -> Snapshot:
    """Fetch the files whose names match one of the shell patterns; those that are in the cache are not asked for.

    `*` also matches `/`. Raises `InputError` with the remedy where the repository, its revision or the network is
    not there, or where its terms have not been accepted.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils import disable_progress_bars, filter_repo_objects

    disable_progress_bars()
    read_at = _revision_of(hub, kind, revision)
    cache = str(constants.HF_HUB_CACHE)
    with explained(hub, kind, read_at):
        fetched = _with_retries(
            lambda: snapshot_download(
                hub, repo_type=kind, revision=read_at, allow_patterns=list(patterns), cache_dir=cache
            )
        )
    folder = Path(fetched)
    there = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = tuple(filter_repo_objects(there, allow_patterns=list(patterns)))
    log.info("%s at %s is commit %s: %d files", hub, read_at, folder.name, len(files))
    return Snapshot(hub, revision, folder.name, folder, files)


def names_in(hub: str, kind: Kind, revision: str) -> list[str]:
    """The names of all files of a repository at a revision, sorted."""
    from huggingface_hub import HfApi

    revision = _revision_of(hub, kind, revision)
    with explained(hub, kind, revision):
        return sorted(_with_retries(lambda: HfApi().list_repo_files(hub, repo_type=kind, revision=revision)))


def fetch_file(hub: str, kind: Kind, revision: str, name: str, folder: Path) -> tuple[Path, str]:
    """Fetch one file into `folder`, outside the cache, and compare it with the hub's own record of it.

    Returns its path and the commit that the revision names. A download that breaks off is resumed by the client.
    Raises `InputError` where the bytes are not those whose SHA-256 the hub states (it does so for large files).
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    revision = _revision_of(hub, kind, revision)
    with explained(hub, kind, revision):
        about = _with_retries(
            lambda: get_hf_file_metadata(hf_hub_url(hub, name, repo_type=kind, revision=revision))
        )
        commit = about.commit_hash or revision
        path = Path(
            _with_retries(
                lambda: hf_hub_download(hub, name, repo_type=kind, revision=commit, local_dir=folder)
            )
        )
    stated = (about.etag or "").strip('"')
    if about.size is not None and path.stat().st_size != about.size:
        raise InputError(f"{hub}/{name}: received {path.stat().st_size} of {about.size} bytes. Run again.")
    if len(stated) == hashlib.sha256().digest_size * 2 and sha256_file(path) != stated:
        path.unlink()
        raise InputError(f"{hub}/{name}: the received file differs from the hub's (sha256). Run again.")
    return path, commit


def copy_files(snapshots: Sequence[Snapshot], folder: Path) -> None:
    """Copy the files of snapshots to `folder`, and describe them in `files.json`, written last.

    The paths are `{owner}/{name}/{file}`.
    """
    described = []
    for one in snapshots:
        hashes = {}
        for name in one.files:
            target = folder / one.hub / name
            with atomic_path(target) as part:
                shutil.copyfile(one.folder / name, part)
            hashes[name] = sha256_file(target)
        described.append({"hub": one.hub, "revision": one.revision, "commit": one.commit, "files": hashes})
    write_json(folder / MANIFEST, {"repositories": described})


def files_of(source: Path) -> list[tuple[str, Path]]:
    """(name in the repository, path) of what was fetched, or of a user's file or folder in its place; sorted.

    `source`: a `files.json`, a folder or a file.
    """
    source = Path(source)
    if source.is_dir():
        return sorted(
            (path.relative_to(source).as_posix(), path) for path in source.rglob("*") if path.is_file()
        )
    if source.name != MANIFEST:
        return [(source.name, source)]
    return sorted(
        (name, source.parent / one["hub"] / name)
        for one in read_json(source)["repositories"]
        for name in one["files"]
    )


class Fetched(NamedTuple):
    """A repository that a job read. `revision`: what it asked for, "" in records of before that was recorded.

    `kind`: `model`, `dataset`, or `archive` of the web, whose `commit` is its SHA-256.
    """

    kind: str
    hub: str
    revision: str
    commit: str


def repositories_of(record: Path) -> list[Fetched]:
    """A hub repository that was read, from a model's checkpoint.json, a benchmark's files.json or a shard's record.

    Nothing, where it came from elsewhere.
    """
    said = read_json(record)
    if "source" in said:
        origin, _, place = said["source"].partition(":")
        hub, _, commit = place.rpartition("@")
        return [Fetched("model", hub, said.get("revision", ""), commit)] if origin == "hub" else []
    return [
        Fetched(
            "dataset" if "/" in one["hub"] else "archive", one["hub"], one.get("revision", ""), one["commit"]
        )
        for one in said.get("repositories", [said] if said else [])
    ]


@contextmanager
def explained(hub: str, kind: Kind, revision: str) -> Iterator[None]:
    """Turn what the hub's client raises into an `InputError` with the remedy."""
    import httpx2
    from huggingface_hub import constants, errors

    place = f"{constants.ENDPOINT}/{'datasets/' if kind == 'dataset' else ''}{hub}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise InputError(
            f"{hub} is gated: accept its terms at {place} and set HF_TOKEN to a token of that account "
            "(environment, or `hf auth login`)."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise InputError(
            f"{hub} has no revision '{revision}': give a branch, tag, commit or refs/pr/N that {place} has."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise InputError(
            f"{place} is not there, or private: check the id, or set HF_TOKEN to a token that may read it."
        ) from error
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
        raise InputError(
            f"{hub} at '{revision}' is not in the hub's cache ({constants.HF_HUB_CACHE}), and the hub at "
            f"{constants.ENDPOINT} is not reached ({_first_line(error)}). Fetch it on a machine with a network "
            "(HF_HUB_OFFLINE unset), set HF_ENDPOINT to a mirror, or give a path under `paths` of config.yaml."
        ) from error
    except errors.EntryNotFoundError as error:
        raise InputError(f"{hub} at '{revision}' lacks a file: {_first_line(error)}") from error
    except (errors.HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        raise InputError(
            f"{hub} at '{revision}' could not be fetched from {constants.ENDPOINT}: {_first_line(error)}. "
            f"{remedy(error, 'The received part is kept; run again.')}"
        ) from error


def _with_retries(ask: Callable[[], T]) -> T:
    """The result of `ask`, repeated while the hub limits requests or fails; the hub says how long to wait."""
    for attempt in range(1, _ATTEMPTS):
        try:
            return ask()
        except OSError as error:
            wait = _wait_of(error, 2.0**attempt)
            if wait is None:
                raise
            log.warning("%s; asking again in %.0f seconds", _first_line(error), wait)
            time.sleep(wait)
    return ask()


def _wait_of(error: BaseException, usual: float) -> float | None:
    """Seconds until it makes sense to ask again, None where it makes none."""
    from huggingface_hub.errors import HfHubHTTPError

    if not isinstance(error, HfHubHTTPError):
        return _wait_of(error.__cause__, usual) if error.__cause__ else None
    if error.response.status_code not in _TRY_AGAIN:
        return None
    asked = error.response.headers.get("Retry-After", "")
    return min(float(asked), _LONGEST_WAIT) if asked.isdecimal() else usual


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
