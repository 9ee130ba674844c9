"""Fetch what a benchmark is read from: files of the hub, an archive, or books."""

import fnmatch
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pretrace.benchmarks import benchmark_entry
from pretrace.benchmarks.archives import unpack
from pretrace.benchmarks.loaders.chinese import PatentMia
from pretrace.benchmarks.loaders.dataset import README, DataSet, files_of_splits
from pretrace.benchmarks.loaders.dolma_book import DolmaBook, addresses, fetch_books
from pretrace.benchmarks.loaders.mimir import NEIGHBOUR_SUFFIX, Mimir, mimir_sets
from pretrace.benchmarks.loaders.wikimia import WikiMia
from pretrace.benchmarks.sources import BenchmarkEntry, FromHub
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, sha256_file, write_json
from pretrace.runtime.http import Fetcher, check_address
from pretrace.runtime.hub import (
    MANIFEST,
    ListedFile,
    Listing,
    copy_files,
    list_files,
    names_in,
    snapshot,
)

MIMIR_CACHE = "cache_100_200_1000_512"

_FORMATS = ("parquet", "arrow", "csv", "tsv", "json", "jsonl", "ndjson", "txt")
_COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst", ".zip")


class Wanted(NamedTuple):
    """Files of one repository, as groups of shell patterns: each group must match at
    least one file.

    Without `every`, only one of the groups must match: views are not released for every
    length.
    """

    hub: str
    revision: str
    groups: tuple[tuple[str, ...], ...]
    every: bool = True

    @property
    def patterns(self) -> list[str]:
        return [*chain.from_iterable(self.groups)]


def files_wanted(entry: FromHub, part: str) -> Wanted:
    """Return the files to fetch for the `texts` or the `views` of a benchmark."""
    if isinstance(entry, WikiMia):
        return _of_wikimia(entry, part)
    hub, revision = str(entry.hub), entry.revision
    if isinstance(entry, Mimir):
        return Wanted(hub, revision, _groups_of_mimir(entry, part))
    if isinstance(entry, DataSet):
        patterns = files_of_splits(entry).values()
        if patterns:
            return Wanted(hub, revision, tuple((pattern,) for pattern in patterns))
        if entry.files is not None:
            return Wanted(hub, revision, ((entry.files,),))
        data = []
        for ending in _FORMATS:
            for packed in _COMPRESSIONS:
                data.append(f"*.{ending}{packed}")
        return Wanted(hub, revision, (tuple(data), (README,)), every=False)
    files = ("*.jsonl", "*.parquet") if entry.source == "bookmia" else ("*.csv",)
    return Wanted(hub, revision, (files,))


def _of_splits(splits: list[str]) -> tuple[tuple[str, ...], ...]:
    groups = []
    for split in splits:
        groups.append((f"*{split}-*", f"*{split}.*", f"*{split}/*"))
    return tuple(groups)


def fetch_dataset(
    plain: JsonObject, part: str, folder: Path, *, seed: int, attempts: int
) -> None:
    """Fetch the `texts` or the `views` of a benchmark into `folder`, and write
    `files.json` when all is there.

    `files.json` names each repository with the commit that its revision stood for, and
    each file with its SHA-256.
    """
    entry = benchmark_entry(plain)
    if isinstance(entry, DolmaBook):
        fetch_books(entry, folder, seed, attempts)
    elif isinstance(entry, PatentMia):
        archive = folder / entry.url.rpartition("/")[2]
        Fetcher(attempts).save(entry.url, archive)
        names = unpack(archive, folder / "archive", (".jsonl",))
        hashes = {name: sha256_file(folder / "archive" / name) for name in names}
        described = {"hub": "archive", "commit": sha256_file(archive), "files": hashes}
        write_json(folder / MANIFEST, {"repositories": [described]})
    elif isinstance(entry, FromHub):
        files = files_wanted(entry, part)
        try:
            fetched = snapshot(files.hub, "dataset", files.revision, files.patterns)
        except InputError as error:
            raise InputError(
                f"{error} Access: {entry.access or 'not stated'}."
            ) from error
        _require(entry, files, fetched.files, fetched.commit)
        copy_files([fetched], folder)


def check_dataset(entry: BenchmarkEntry, part: str) -> Listing:
    """List the files that `fetch_dataset` fetches, without fetching their data.

    Raises `InputError` if a repository, a revision, a file, an address or the account's
    access is missing.
    """
    pages = []
    if isinstance(entry, PatentMia):
        pages = [entry.url]
    elif isinstance(entry, DolmaBook):
        pages = addresses(entry)
    if pages:
        listed = {page: ListedFile(check_address(page), "") for page in pages}
        return Listing("", False, listed)
    assert isinstance(entry, FromHub)
    files = files_wanted(entry, part)
    whole = list_files(files.hub, "dataset", files.revision, fetchable=True)
    matching = whole.select(files.patterns)
    _require(entry, files, matching.files, whole.commit)
    return matching


def _of_wikimia(entry: WikiMia, part: str) -> Wanted:
    splits = [f"WikiMIA_length{length}" for length in entry.lengths]
    if part == "texts":
        return Wanted(str(entry.hub), entry.revision, _of_splits(splits))
    views = []
    for split in splits:
        views += [f"{split}_paraphrased", f"{split}_perturbed"]
    hub, revision = str(entry.views_hub), entry.views_revision
    return Wanted(hub, revision, _of_splits(views), every=False)


def _groups_of_mimir(entry: Mimir, part: str) -> tuple[tuple[str, ...], ...]:
    """Return the files of each set: that of its texts, or both of its neighbours."""
    suffix = "" if part == "texts" else "_neighbors"
    groups = []
    for folder in (f"train{suffix}", f"test{suffix}"):
        for _, name in mimir_sets(entry):
            path = f"{MIMIR_CACHE}/{folder}/{name}"
            group = [f"{path}.jsonl"]
            if part != "texts":
                group.append(f"{path}{NEIGHBOUR_SUFFIX}.jsonl")
            groups.append(tuple(group))
    return tuple(groups)


def _require(
    entry: FromHub, files: Wanted, names: Collection[str], commit: str
) -> None:
    """Raise `InputError` if a group of the wanted files is not among these names, or
    the repository has no data."""
    missing = []
    for group in files.groups:
        if not any(fnmatch.filter(names, pattern) for pattern in group):
            missing.append(group)
    if isinstance(entry, DataSet) and set(names) <= {README}:
        for name in names_in(files.hub, "dataset", commit):
            if name.endswith(".py"):
                raise InputError(
                    f"{files.hub} at commit {commit} has no data files, only a script "
                    f"({name}), and scripts are never run. Many such data sets have "
                    "Parquet files at revision: refs/convert/parquet; or make the data "
                    "once where you trust the script, save them (`save_to_disk`) and "
                    "give the folder under `paths` of config.yaml."
                )
        missing = list(files.groups)
    has_none = len(missing) == len(files.groups)
    if has_none or (missing and files.every):
        raise InputError(
            f"{files.hub} at commit {commit} has no file like "
            f"{', '.join(missing[0][:3])}: its layout has changed; give the revision "
            "that has it, or a path under `paths` of config.yaml."
        )
