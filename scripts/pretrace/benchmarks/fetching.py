"""Fetch what a benchmark is read from: files of the hub, an archive, or books."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pretrace.benchmarks.hub_files import README, wanted
from pretrace.benchmarks.loaders.dolma_book import fetch_books
from pretrace.runtime.archives import unpack
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import sha256_file, write_json
from pretrace.runtime.http import Fetcher
from pretrace.runtime.hub import MANIFEST, copy_files, names_in, snapshot


def fetch_dataset(entry: Mapping[str, Any], part: str, folder: Path, *, seed: int, attempts: int) -> None:
    """Fetch the `texts` or the `views` of a benchmark into `folder`, and write `files.json` when all is there.

    `files.json` names each repository with the commit that its revision stood for, and each file with its SHA-256.
    """
    if entry["source"] == "dolma_book":
        fetch_books(entry, folder, seed, attempts)
    elif "url" in entry:
        _fetch_archive(entry["url"], folder, attempts)
    else:
        asked = wanted(entry, part)
        try:
            found = snapshot(asked.hub, "dataset", asked.revision, asked.patterns)
        except InputError as error:
            raise InputError(f"{error} Access: {entry.get('access', 'not stated')}.") from error
        if set(found.files) <= {README}:
            if entry["source"] == "dataset":
                _refuse_script(asked.hub, found.commit)
            raise InputError(
                f"{asked.hub} at commit {found.commit} has no file like {', '.join(asked.patterns[:3])}: its layout "
                "has changed; give the revision that has it, or a path under `paths` of config.yaml."
            )
        copy_files([found], folder)


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
