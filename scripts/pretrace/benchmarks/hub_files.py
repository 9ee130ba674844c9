"""The hub files that a benchmark's entry needs, and how to find them among the fetched files."""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import files_of

MIMIR_CACHE = "cache_100_200_1000_512"
NEIGHBOUR_SUFFIX = "_neighbors_25_bert_in_place_swap"
README = "README.md"
"""The file that assigns a data set's files to splits and configurations."""

_FORMATS = ("parquet", "arrow", "csv", "tsv", "json", "jsonl", "ndjson", "txt")
_COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst")
_ENDINGS = r"\.(?:parquet|jsonl|jsonl\.gz|csv)"


class Wanted(NamedTuple):
    """Files of one repository, by shell patterns."""

    hub: str
    revision: str
    patterns: tuple[str, ...]


def wanted(entry: Mapping[str, Any], part: str) -> Wanted:
    """The files to fetch for the `texts` or the `views` of a benchmark."""
    hub, revision = entry["hub"], entry.get("revision", "main")
    if entry["source"] == "wikimia":
        splits = [f"WikiMIA_length{length}" for length in entry["lengths"]]
        if part == "texts":
            return Wanted(hub, revision, _of_splits(splits))
        splits = [f"{split}_{kind}" for split in splits for kind in ("paraphrased", "perturbed")]
        return Wanted(entry["views_hub"], entry.get("views_revision", "main"), _of_splits(splits))
    if entry["source"] == "mimir":
        folders = ("train", "test") if part == "texts" else ("train_neighbors", "test_neighbors")
        endings = ("",) if part == "texts" else ("", NEIGHBOUR_SUFFIX)
        names = [name for _, name in mimir_sets(entry)]
        files = product(folders, names, endings)
        return Wanted(
            hub, revision, tuple(f"{MIMIR_CACHE}/{of}/{name}{end}.jsonl" for of, name, end in files)
        )
    if entry["source"] == "dataset":
        data = [f"*.{one}{packed}" for one in _FORMATS for packed in _COMPRESSIONS]
        return Wanted(hub, revision, (entry["files"],) if "files" in entry else (*data, README))
    return Wanted(hub, revision, {"bookmia": ("*.jsonl", "*.parquet")}.get(entry["source"], ("*.csv",)))


def _of_splits(splits: list[str]) -> tuple[str, ...]:
    return tuple(f"*{split}{end}*" for split in splits for end in "-./")


def mimir_sets(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(subset, name of its files) of a MIMIR entry: its sets in one split, or one set in all its splits."""
    if "hub_config" not in entry:
        split = f"_{entry['hub_split']}" if "hub_split" in entry else ""
        return [(subset, f"{subset}{split}") for subset in entry["subsets"]]
    config = entry["hub_config"]
    return [(split, f"{config}_{split}") for split in entry.get("subsets", [])] or [("", config)]


def files_of_split(source: Path, split: str) -> list[Path]:
    """The files of a split, in order: `data/{split}-00000-of-00001-{hash}.parquet`, `{split}.jsonl`, or all files
    in a folder `{split}`. Empty where there is none.
    """
    name = re.compile(
        rf"(?:^|/){re.escape(split)}(?:-\d+-of-\d+(?:-\w+)?{_ENDINGS}|{_ENDINGS}|/[^/]+{_ENDINGS})$"
    )
    return [path for found, path in files_of(source) if name.search(found)]


def single_file(source: Path, endings: tuple[str, ...], holding: str = "") -> Path:
    """The one file with such an ending; of several, the one whose name holds `holding`."""
    found = [(name, path) for name, path in files_of(source) if name.lower().endswith(endings)]
    if len(found) > 1 and holding:
        found = [(name, path) for name, path in found if holding in name.rpartition("/")[2].lower()]
    if len(found) != 1:
        listed = ", ".join(name for name, _ in found) or "none"
        raise InputError(
            f"{source}: exactly one file ending in {' or '.join(endings)} is needed; found: {listed}."
        )
    return found[0][1]
