"""Fetch what a benchmark is read from: files of the hub, an archive, or books."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.benchmarks import entry_of
from pretrace.benchmarks.loaders.chinese import PatentMia
from pretrace.benchmarks.loaders.dataset import DataSet
from pretrace.benchmarks.loaders.dolma_book import DolmaBook, fetch_books
from pretrace.benchmarks.loaders.mimir import NEIGHBOUR_SUFFIX, Mimir, mimir_sets
from pretrace.benchmarks.loaders.wikimia import WikiMia
from pretrace.benchmarks.sources import FromHub
from pretrace.runtime.archives import unpack
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import sha256_file, write_json
from pretrace.runtime.http import Fetcher
from pretrace.runtime.hub import MANIFEST, copy_files, names_in, snapshot

MIMIR_CACHE = "cache_100_200_1000_512"
README = "README.md"
"""The file that assigns a data set's files to splits and configurations."""

_FORMATS = ("parquet", "arrow", "csv", "tsv", "json", "jsonl", "ndjson", "txt")
_COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst")


class Wanted(NamedTuple):
    """Files of one repository, by shell patterns."""

    hub: str
    revision: str
    patterns: Sequence[str]


def wanted(entry: FromHub, part: str) -> Wanted:
    """Return which files to fetch for the `texts` or the `views` of a benchmark."""
    hub, revision = str(entry.hub), entry.revision
    if isinstance(entry, WikiMia):
        splits = [f"WikiMIA_length{length}" for length in entry.lengths]
        if part == "views":
            hub, revision = str(entry.views_hub), entry.views_revision
            splits = [f"{split}_{kind}" for split in splits for kind in ("paraphrased", "perturbed")]
        return Wanted(hub, revision, [f"*{split}{end}*" for split in splits for end in "-./"])
    if isinstance(entry, Mimir):
        folders = ("train", "test") if part == "texts" else ("train_neighbors", "test_neighbors")
        endings = ("",) if part == "texts" else ("", NEIGHBOUR_SUFFIX)
        files = product(folders, [name for _, name in mimir_sets(entry)], endings)
        return Wanted(
            hub, revision, [f"{MIMIR_CACHE}/{place}/{name}{end}.jsonl" for place, name, end in files]
        )
    if isinstance(entry, DataSet):
        data = [f"*.{kind}{packed}" for kind in _FORMATS for packed in _COMPRESSIONS]
        return Wanted(hub, revision, [*data, README] if entry.files is None else [entry.files])
    return Wanted(hub, revision, ["*.jsonl", "*.parquet"] if entry.source == "bookmia" else ["*.csv"])


def fetch_dataset(given: Mapping[str, Any], part: str, folder: Path, *, seed: int, attempts: int) -> None:
    """Fetch the `texts` or the `views` of a benchmark into `folder`, and write `files.json` when all is there.

    `files.json` names each repository with the commit that its revision stood for, and each file with its SHA-256.
    """
    entry = entry_of(given)
    if isinstance(entry, DolmaBook):
        fetch_books(entry, folder, seed, attempts)
    elif isinstance(entry, PatentMia):
        _fetch_archive(entry.url, folder, attempts)
    elif isinstance(entry, FromHub):
        hub, revision, patterns = wanted(entry, part)
        try:
            copy = snapshot(hub, "dataset", revision, patterns)
        except InputError as error:
            raise InputError(f"{error} Access: {entry.access or 'not stated'}.") from error
        if set(copy.files) <= {README}:
            if isinstance(entry, DataSet):
                _refuse_script(hub, copy.commit)
            raise InputError(
                f"{hub} at commit {copy.commit} has no file like {', '.join(patterns[:3])}: its layout has changed; "
                "give the revision that has it, or a path under `paths` of config.yaml."
            )
        copy_files([copy], folder)


def _refuse_script(hub: str, commit: str) -> None:
    """Raise `InputError` where a repository has code in place of data."""
    if scripts := [name for name in names_in(hub, "dataset", commit) if name.endswith(".py")]:
        raise InputError(
            f"{hub} at commit {commit} has no data files, only a script ({scripts[0]}), and scripts are never run. "
            "Many such data sets have Parquet files at revision: refs/convert/parquet; or make the data once where you "
            "trust the script, save them (`save_to_disk`) and give the folder under `paths` of config.yaml."
        )


def _fetch_archive(url: str, folder: Path, attempts: int) -> None:
    archive = folder / url.rpartition("/")[2]
    Fetcher(attempts).save(url, archive)
    names = unpack(archive, folder / "archive", (".jsonl",))
    hashes = {name: sha256_file(folder / "archive" / name) for name in names}
    described = {"hub": "archive", "commit": sha256_file(archive), "files": hashes}
    write_json(folder / MANIFEST, {"repositories": [described]})
