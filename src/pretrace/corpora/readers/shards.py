"""A corpus on the Hugging Face hub, a file at a time: fetched, turned into documents,
deleted."""

import fnmatch
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pretrace.corpora.readers.local import documents_in
from pretrace.corpora.sources import (
    CorpusEntry,
    corpus_source,
    write_documents,
    write_texts,
)
from pretrace.documents.unpacking import check_whole
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import JsonObject
from pretrace.runtime.hub import (
    Listing,
    fetch_file,
    fetched_files,
    list_files,
    names_in,
)
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Hub, Maybe, OnHub, Some

GIGABYTE = 10**9


class HubCorpus(OnHub, CorpusEntry):
    """Files of the Hugging Face hub."""

    hub: Hub
    files: Some[str]
    """The file of a shard: a name with {shard}, as
    `en/c4-train.{shard:05d}-of-01024.json.gz`, or a pattern whose matches are sorted by
    name; the first `shards` of them are read, or all if there are fewer. Formats: those
    of a corpus of your own."""
    gigabytes: Maybe[Annotated[float, Field(gt=0)]] = None
    """Text of all shards together, in 10^9 bytes of UTF-8. Each file gives an equal
    share from its beginning, so that with equal `shards` a smaller corpus is part of a
    larger one. A file with less text gives a warning (default, all)."""


@corpus_source("hub", entry=HubCorpus)
def hub(entry: HubCorpus, sources: list[Path]) -> Iterator[str]:
    """Yield the documents of one shard's file, in its order, up to its share of
    `gigabytes`.

    Every shard has the same share. A document that would go over it is not taken, nor
    any after it. Raises `InputError` where the file is broken, also beyond the share's
    end where it is gzipped or Parquet: nothing of a broken file is counted.
    """
    share = float("inf")
    if entry.gigabytes is not None:
        share = entry.gigabytes * GIGABYTE / entry.shards
    for path in sources:
        size = 0
        for text in documents_in(path, entry.field):
            size += len(text.encode())
            if size > share:
                break
            yield text
        else:
            if entry.gigabytes is not None:
                log.warning(
                    "%s holds %.3g GB of text, but its share of the corpus is %.3g GB: "
                    "raise shards or lower gigabytes",
                    path.name,
                    size / GIGABYTE,
                    share / GIGABYTE,
                )


def stream_shard(
    plain: JsonObject, shard: int, shards: int, out: Path, *, attempts: int
) -> dict[str, str]:
    """Write the documents of one shard to `out`, which appears whole or not at all; the
    file itself is deleted.

    Returns what the file was (`hub, revision, commit, file`), nothing of a user's own.
    A file that comes broken is fetched again, `attempts` times in all. With the entry's
    key `path`, a folder (or the one file) of the user's own is read instead. A shard
    beyond the last file is empty. Raises `InputError` where the last attempt fails too.
    """
    entry = HubCorpus.model_validate(plain)
    own = {}
    on_hub = partial(names_in, entry.hub, "dataset", entry.revision)
    if entry.path is not None:
        own = dict(fetched_files(Path(entry.path)))
    names = shard_names(entry, on_hub if entry.path is None else lambda: list(own))
    if shard >= len(names):
        log.info(
            "%s has %d files of the corpus; shard %d is empty",
            entry.hub,
            len(names),
            shard,
        )
        write_texts([], out, f"shard {shard}")
        return {}
    name = names[shard]
    plain = {**plain, "shards": len(names)}
    if entry.path is not None:
        own_file = _own_file(own, name, entry.path)
        write_documents(plain, [own_file], 0, 1, out)
        return {}
    out.parent.mkdir(parents=True, exist_ok=True)
    hidden = f".{out.stem}."
    for attempt in range(1, attempts + 1):
        try:
            with tempfile.TemporaryDirectory(".part", hidden, out.parent) as folder:
                path, commit = fetch_file(
                    entry.hub, "dataset", entry.revision, name, Path(folder)
                )
                if entry.gigabytes is not None:
                    check_whole(path)
                write_documents(plain, [path], 0, 1, out)
            break
        except InputError as error:
            if attempt == attempts:
                raise InputError(
                    f"shard {shard} of {shards} ({name}): {error}"
                ) from error
            log.warning("%s, attempt %d of %d: %s", name, attempt, attempts, error)
            time.sleep(2 ** (attempt - 1))
    return {
        "hub": entry.hub,
        "revision": entry.revision,
        "commit": commit,
        "file": name,
    }


def check_shards(entry: HubCorpus) -> Listing:
    """List the files that the jobs of a corpus fetch, without fetching any.

    Raises `InputError` if the repository, its revision, a file or the account's access
    is missing.
    """
    names = shard_names(entry, lambda: names_in(entry.hub, "dataset", entry.revision))
    files = list_files(entry.hub, "dataset", entry.revision, names, fetchable=True)
    if missing := [name for name in names if name not in files.files]:
        raise InputError(f"{entry.hub} at commit {files.commit} has no {missing[0]}.")
    return files


def shard_names(entry: HubCorpus, names: Callable[[], list[str]]) -> list[str]:
    """Return the file of each shard: `files` with its number filled in, or the first
    `names` that match it."""
    if "{shard" in entry.files:
        try:
            return [entry.files.format(shard=shard) for shard in range(entry.shards)]
        except (KeyError, IndexError, ValueError) as error:
            raise InputError(
                f"files: '{entry.files}' cannot be filled in ({error}); write "
                f"{{shard:05d}}."
            ) from error
    matching = sorted(fnmatch.filter(names(), entry.files))
    if not matching:
        raise InputError(
            f"files: no file of {entry.hub} matches '{entry.files}': "
            f"{nearest(entry.files, names())}"
        )
    return matching[: entry.shards]


def _own_file(files: Mapping[str, Path], name: str, folder: str) -> Path:
    """Return a user's file in place of the hub's: by its name in the repository, or
    that name's last part."""
    for known in (name, name.rpartition("/")[2]):
        if known in files:
            return files[known]
    raise InputError(
        f"{folder} has no {name}; give the folder that holds the corpus's files."
    )
