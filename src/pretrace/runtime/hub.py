"""Files of the Hugging Face hub, through its own client: cache, resuming, waiting if
the hub asks for it.

The client's environment holds: HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME and
HF_HUB_CACHE. A revision is resolved to its present commit, which is recorded with the
files; within `use_pins`, the pinned revision replaces it.
"""

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import yaml

from pretrace.runtime.errors import InputError, remedy, without_credentials
from pretrace.runtime.files import (
    atomic_path,
    files_in,
    read_json,
    sha256_file,
    write_json,
)
from pretrace.runtime.http import asked_wait
from pretrace.runtime.logs import LogFormatter, log

RepositoryKind = Literal["model", "dataset"]
T = TypeVar("T")

MANIFEST = "files.json"

_ATTEMPTS = 6
# too many requests, or the server's own fault: may pass
_TRY_AGAIN = (429, 500, 502, 503, 504)
_LONGEST_WAIT = 300.0  # seconds; the hub resets its limits every five minutes


class Snapshot(NamedTuple):
    """Files of one commit, in the hub client's cache. `files`: their names in the
    repository, sorted.

    `revision`: the one of the registry, even if a pinned one was read in its place.
    """

    hub: str
    revision: str
    commit: str
    folder: Path
    files: tuple[str, ...]


class ListedFile(NamedTuple):
    """A file that the hub lists: its size in bytes and the git id of its content."""

    size: int
    blob: str


class Listing(NamedTuple):
    """The files of a commit, by their names in the repository. `gated`: only accepted
    accounts may fetch them."""

    commit: str
    gated: bool
    files: dict[str, ListedFile]

    def select(self, patterns: Collection[str]) -> "Listing":
        """Return the listing of the files whose names match one of the shell patterns;
        `*` also matches `/`."""
        files = {}
        for name, file in self.files.items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                files[name] = file
        return self._replace(files=files)


Pins = Mapping[str, Mapping[str, str]]
"""`models` or `datasets` -> id on the hub -> commit or tag: the content of a file of
pins."""
_PINS: ContextVar[Pins | None] = ContextVar("pins", default=None)


def read_pins(path: str | None) -> Pins:
    """Read a file of pins that was checked while the study was planned; return nothing
    without a file."""
    if path is None:
        return {}
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


@contextmanager
def use_pins(path: str | None) -> Iterator[None]:
    """Read each repository in a file of pins at its revision there, whatever a caller
    asks for.

    Jobs read the file when they run. As a parameter it would rerun every job that
    fetches.
    """
    token = _PINS.set(read_pins(path))
    try:
        yield
    finally:
        _PINS.reset(token)


def _revision_of(hub: str, kind: RepositoryKind, revision: str) -> str:
    return (_PINS.get() or {}).get(f"{kind}s", {}).get(hub, revision)


def snapshot(
    hub: str, kind: RepositoryKind, revision: str, patterns: Sequence[str]
) -> Snapshot:
    """Fetch the files whose names match one of the shell patterns, unless they are in
    the cache.

    `*` also matches `/`. Raises `InputError` with the remedy if the repository, its
    revision or the network is missing, or if its terms have not been accepted.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils import disable_progress_bars, filter_repo_objects

    disable_progress_bars()
    read_at = _revision_of(hub, kind, revision)
    cache = str(constants.HF_HUB_CACHE)
    with explain_failures(hub, kind, read_at):
        fetch = partial(
            snapshot_download, hub, repo_type=kind, revision=read_at, cache_dir=cache
        )
        folder = Path(_with_retries(lambda: fetch(allow_patterns=list(patterns))))
    names = []
    for path in folder.rglob("*"):
        if path.is_file():
            names.append(path.relative_to(folder).as_posix())
    files = tuple(filter_repo_objects(sorted(names), allow_patterns=list(patterns)))
    log.info("%s at %s is commit %s: %d files", hub, read_at, folder.name, len(files))
    return Snapshot(hub, revision, folder.name, folder, files)


def list_files(
    hub: str,
    kind: RepositoryKind,
    revision: str,
    names: Sequence[str] | None = None,
    *,
    fetchable: bool = False,
) -> Listing:
    """List the files of a repository at a revision, or the files of `names` that it
    has, without fetching any.

    Raises `InputError` as `snapshot` does, but lists a gated repository to everybody.
    With `fetchable`, it raises one too if the account of HF_TOKEN may not fetch the
    files.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    api = HfApi()
    revision = _revision_of(hub, kind, revision)
    info_of = api.model_info if kind == "model" else api.dataset_info
    files = {}
    with explain_failures(hub, kind, revision):
        if names is None:
            info = _with_retries(
                lambda: info_of(hub, revision=revision, files_metadata=True)
            )
            for file in info.siblings or []:
                listed = ListedFile(file.size or 0, file.blob_id or "")
                files[file.rfilename] = listed
        else:  # the whole list of a corpus has tens of thousands of names
            info = _with_retries(
                lambda: info_of(hub, revision=revision, expand=["sha", "gated"])
            )
            ask = partial(
                api.get_paths_info, hub, list(names), repo_type=kind, revision=info.sha
            )
            for path in _with_retries(ask):
                if isinstance(path, RepoFile):
                    files[path.path] = ListedFile(path.size, path.blob_id)
        if fetchable and info.gated:
            _with_retries(lambda: api.auth_check(hub, repo_type=kind))
    return Listing(str(info.sha), bool(info.gated), files)


def names_in(hub: str, kind: RepositoryKind, revision: str) -> list[str]:
    """List the names of all files of a repository at a revision, sorted."""
    from huggingface_hub import HfApi

    revision = _revision_of(hub, kind, revision)
    list_names = partial(
        HfApi().list_repo_files, hub, repo_type=kind, revision=revision
    )
    with explain_failures(hub, kind, revision):
        return sorted(_with_retries(list_names))


def fetch_file(
    hub: str, kind: RepositoryKind, revision: str, name: str, folder: Path
) -> tuple[Path, str]:
    """Fetch one file into `folder`, outside the cache, and compare it with the hub's
    own record of it.

    Returns its path and the commit that the revision names. The client resumes a
    download that broke off. Raises `InputError` if the bytes do not have the SHA-256
    that the hub states (it does so for large files).
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    revision = _revision_of(hub, kind, revision)
    with explain_failures(hub, kind, revision):
        url = hf_hub_url(hub, name, repo_type=kind, revision=revision)
        metadata = _with_retries(lambda: get_hf_file_metadata(url))
        commit = metadata.commit_hash or revision
        fetch = partial(
            hf_hub_download,
            hub,
            name,
            repo_type=kind,
            revision=commit,
            local_dir=folder,
        )
        path = Path(_with_retries(fetch))
    stated = (metadata.etag or "").strip('"')
    if metadata.size is not None and path.stat().st_size != metadata.size:
        raise InputError(
            f"{hub}/{name}: received {path.stat().st_size} of {metadata.size} bytes. "
            "Run again."
        )
    if len(stated) == hashlib.sha256().digest_size * 2 and sha256_file(path) != stated:
        path.unlink()
        raise InputError(
            f"{hub}/{name}: the received file differs from the hub's (sha256). Run "
            "again."
        )
    return path, commit


def copy_files(snapshots: Sequence[Snapshot], folder: Path) -> None:
    """Copy the files of snapshots to `folder`, and describe them in `files.json`,
    written last.

    The paths are `{owner}/{name}/{file}`.
    """
    described = []
    for source in snapshots:
        hashes = {}
        for name in source.files:
            target = folder / source.hub / name
            with atomic_path(target) as part:
                shutil.copyfile(source.folder / name, part)
            hashes[name] = sha256_file(target)
        about = {
            "hub": source.hub,
            "revision": source.revision,
            "commit": source.commit,
        }
        described.append(about | {"files": hashes})
    write_json(folder / MANIFEST, {"repositories": described})


def fetched_files(source: Path) -> list[tuple[str, Path]]:
    """List (name in the repository, path) of what was fetched, or of a user's file or
    folder; sorted.

    `source`: a `files.json`, a folder or a file.
    """
    source = Path(source)
    if source.is_dir():
        files, _ = files_in(source)
        return sorted((path.relative_to(source).as_posix(), path) for path in files)
    if source.name != MANIFEST:
        return [(source.name, source)]
    fetched = []
    for repository in read_json(source)["repositories"]:
        for name in repository["files"]:
            fetched.append((name, source.parent / repository["hub"] / name))
    return sorted(fetched)


def pins_of(
    repositories: Iterable[Mapping[str, str]], pins: Pins
) -> tuple[str, list[str]]:
    """Return a file of pins, and the repositories that it lacks, as they were read at
    several commits.

    It has the commits of `repositories` (`kind, hub, commit`) and, of others, the
    `pins`.
    """
    commits: dict[tuple[str, str], set[str]] = {}
    for repository in repositories:
        key = (f"{repository['kind']}s", repository["hub"])
        commits.setdefault(key, set()).add(repository["commit"])
    known = {kind: dict(pins.get(kind, {})) for kind in ("models", "datasets")}
    several = []
    for (kind, hub), read in commits.items():
        if kind in known and len(read) == 1:
            known[kind][hub] = min(read)
        elif kind in known:
            several.append(hub)
    return yaml.safe_dump(known), sorted(several)


class Fetched(NamedTuple):
    """A repository that a job read. `revision`: what it asked for, "" in older records.

    `kind`: `model`, `dataset`, or `archive` of the web, whose `commit` is its SHA-256.
    """

    kind: str
    hub: str
    revision: str
    commit: str


def repositories_of(record: Path) -> list[Fetched]:
    """List what was fetched, by a model's checkpoint.json, a benchmark's files.json or
    a shard's record."""
    content = read_json(record)
    if "source" in content:
        origin, _, place = content["source"].partition(":")
        hub, _, commit = place.rpartition("@")
        if origin != "hub":
            return []
        return [Fetched("model", hub, content.get("revision", ""), commit)]
    fetched = []
    for source in content.get("repositories", [content] if content else []):
        hub = source["hub"]
        revision = source.get("revision", "")
        kind = "dataset" if "/" in hub else "archive"
        fetched.append(Fetched(kind, hub, revision, source["commit"]))
    return fetched


@contextmanager
def explain_failures(hub: str, kind: RepositoryKind, revision: str) -> Iterator[None]:
    """Turn what the hub's client raises into an `InputError` with the remedy."""
    import httpx2
    from huggingface_hub import constants, errors

    # it repeats addresses, too
    for handler in logging.getLogger("huggingface_hub").handlers:
        handler.setFormatter(LogFormatter("%(message)s"))
    place = f"{constants.ENDPOINT}/{'datasets/' if kind == 'dataset' else ''}{hub}"
    unreached = (
        f"{hub} at '{revision}' is not in the hub's cache ({constants.HF_HUB_CACHE}), "
        f"and the hub at {constants.ENDPOINT} is not reached ({{error}}). Fetch it on "
        "a machine with a network (HF_HUB_OFFLINE unset), set HF_ENDPOINT to a mirror, "
        "or give a path under `paths` of config.yaml."
    )
    # the first that fits counts: most of them are kinds of the last
    messages = {
        errors.GatedRepoError: f"{hub} is gated: accept its terms at {place} and set "
        "HF_TOKEN to a token of that account (environment, or `hf auth login`).",
        errors.RevisionNotFoundError: f"{hub} has no revision '{revision}': give a "
        f"branch, tag, commit or refs/pr/N that {place} has.",
        errors.RepositoryNotFoundError: f"{place} is not there, or private: check the "
        "id, or set HF_TOKEN to a token that may read it.",
        errors.OfflineModeIsEnabled: unreached,
        errors.LocalEntryNotFoundError: unreached,
        errors.EntryNotFoundError: f"{hub} at '{revision}' lacks a file: {{error}}",
    }
    try:
        yield
    except (
        errors.HfHubHTTPError,
        errors.EntryNotFoundError,
        httpx2.HTTPError,
        OSError,
    ) as error:
        advice = remedy(error, "The received part is kept; run again.")
        message = (
            f"{hub} at '{revision}' could not be fetched from {constants.ENDPOINT}: "
            f"{{error}}. {advice}"
        )
        if _is_limited(error):
            message = (
                f"{constants.ENDPOINT} limits requests ({{error}}) and {hub} at "
                f"'{revision}' was not fetched. Wait five minutes and run again, or "
                "set HF_TOKEN to a token of yours: accounts have higher limits."
            )
        else:
            for of_kind, text in messages.items():
                if isinstance(error, of_kind):
                    message = text
                    break
        raise InputError(message.replace("{error}", _first_line(error))) from error
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        AssertionError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{hub} at '{revision}': what {constants.ENDPOINT} answers is not the "
            f"answer of a hub ({type(error).__name__}: {_first_line(error):.200}). Is "
            "it the page of a proxy? Check HF_ENDPOINT and the network."
        ) from error


def _with_retries(ask: Callable[[], T]) -> T:
    """Return the result of `ask`, repeated while the hub limits requests or fails; it
    may say how long to wait."""
    import httpx2

    for attempt in range(1, _ATTEMPTS):
        try:
            return ask()
        except (OSError, httpx2.TransportError) as error:
            wait = _wait_of(error, 2.0**attempt)
            if wait is None:
                raise
            log.warning("%s; asking again in %.0f seconds", _first_line(error), wait)
            time.sleep(wait)
    return ask()


def _wait_of(error: BaseException, usual: float) -> float | None:
    """Return the seconds before the next request, or None if another one cannot
    help."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, httpx2.TransportError | ConnectionResetError):
        # no server is there, or it broke off
        return None if isinstance(error, httpx2.ConnectError) else usual
    if not isinstance(error, HfHubHTTPError):
        return _wait_of(error.__cause__, usual) if error.__cause__ else None
    if error.response.status_code not in _TRY_AGAIN:
        return None
    asked = asked_wait(error.response.headers)
    return usual if asked is None else min(asked, _LONGEST_WAIT)


def _is_limited(error: BaseException | None) -> bool:
    """Return whether the hub sent a request back for there were too many, whatever its
    client made of that."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None and response.status_code == 429:
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(error: BaseException) -> str:
    said = str(error).strip() or type(error).__name__
    return without_credentials(said).splitlines()[0]
