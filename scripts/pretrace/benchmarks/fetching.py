"""Fetch what a benchmark is read from: files of the hub, an archive, or books."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pretrace.benchmarks.dolma_book import fetch_books
from pretrace.benchmarks.hub import wanted
from pretrace.runtime.archives import unpack
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import sha256_file, write_json
from pretrace.runtime.http import Fetcher
from pretrace.runtime.hub import MANIFEST, copy_files, snapshot


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
        if not found.files:
            raise InputError(
                f"{asked.hub} at commit {found.commit} has no file like {', '.join(asked.patterns[:3])}: its layout "
                "has changed; give the revision that has it, or a path under `paths` of config.yaml."
            )
        copy_files([found], folder)


def _fetch_archive(url: str, folder: Path, attempts: int) -> None:
    archive = folder / url.rpartition("/")[2]
    Fetcher(attempts).save(url, archive)
    names = unpack(archive, folder / "archive", (".jsonl",))
    hashes = {name: sha256_file(folder / "archive" / name) for name in names}
    described = {"hub": "archive", "commit": sha256_file(archive), "files": hashes}
    write_json(folder / MANIFEST, {"repositories": [described]})
