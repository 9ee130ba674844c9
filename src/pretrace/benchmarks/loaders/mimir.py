"""MIMIR's raw files on the hub; the dataset's script is never run.

Duan et al., Do Membership Inference Attacks Work on Large Language Models?, COLM 2024.
`cache_100_200_1000_512/train/{set}.jsonl` (members) and `test/` (non-members) have one
JSON string a line, `train_neighbors/` and `test_neighbors/` the neighbours of the text
on the same line, as a list of strings.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pretrace.benchmarks.sources import (
    ReleasedVariant,
    Text,
    WithNeighbours,
    loader,
    view_loader,
)
from pretrace.benchmarks.texts import tell_left_out
from pretrace.documents.unpacking import read_lines
from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import fetched_files
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Maybe

NEIGHBOUR_SUFFIX = "_neighbors_25_bert_in_place_swap"
_CLASSES = (("train", "member", 1), ("test", "nonmember", 0))


class Mimir(WithNeighbours):
    """MIMIR, as its authors released it."""

    hub_config: Maybe[str] = None
    """The one set whose splits are the subsets, as `temporal_arxiv` (default, the
    subsets are the sets)."""
    hub_split: Maybe[str] = None
    """The split to read in every subset, as `ngram_7_0.2`."""


@loader("mimir")
def load(entry: Mimir, sources: list[Path], seed: int) -> list[Text]:
    """Return members, then non-members of each subset, in the files' order; the log
    counts texts without words."""
    texts = []
    for subset, name in mimir_sets(entry):
        for folder, kind, label in _CLASSES:
            path = _file(sources[0], folder, (name,))
            empty = []
            number = -1
            for number, (where, value) in enumerate(_values(path)):
                if not isinstance(value, str):
                    raise InputError(
                        f"{where}: {json.dumps(value)[:40]} is not a text; each line "
                        "of MIMIR is a JSON string."
                    )
                if value.strip():
                    text_id = _id(subset, kind, number)
                    texts.append(Text(text_id, value, label, subset=subset))
                else:
                    empty.append(where)
            tell_left_out(str(path), empty, number + 1)
    return texts


@view_loader("mimir")
def released_neighbours(
    entry: Mimir, sources: list[Path]
) -> Mapping[str, list[ReleasedVariant]]:
    """Return the view `neighbours-COUNT`: the neighbours of each text that the authors
    made by masking."""
    expected = entry.neighbours
    neighbours = []
    for subset, name in mimir_sets(entry):
        for folder, kind, label in _CLASSES:
            names = (f"{name}{NEIGHBOUR_SUFFIX}", name)
            path = _file(sources[0], f"{folder}_neighbors", names)
            other = 0
            for number, (where, value) in enumerate(_values(path)):
                is_list = isinstance(value, list)
                if not is_list or not all(isinstance(text, str) for text in value):
                    raise InputError(
                        f"{where}: {json.dumps(value)[:40]} is not a list of texts."
                    )
                text_id = _id(subset, kind, number)
                for text in value or [""]:
                    neighbours.append(ReleasedVariant(where, text_id, text, label))
                other += len(value) != expected
            if other:
                log.warning(
                    "%s: %d texts do not have the entry's %s neighbours",
                    path,
                    other,
                    expected,
                )
    return {f"neighbours-{expected}": neighbours}


def mimir_sets(entry: Mimir) -> list[tuple[str, str]]:
    """Return (subset, name of its files) of an entry: its sets in one split, or one set
    in all its splits."""
    if entry.hub_config is None:
        split = "" if entry.hub_split is None else f"_{entry.hub_split}"
        return [(subset, f"{subset}{split}") for subset in entry.subsets]
    if not entry.subsets:
        return [("", entry.hub_config)]
    return [(split, f"{entry.hub_config}_{split}") for split in entry.subsets]


def _id(subset: str, kind: str, number: int) -> str:
    return f"{subset}-{kind}-{number:04d}".removeprefix("-")


def _file(source: Path, folder: str, names: tuple[str, ...]) -> Path:
    files = {tuple(name.split("/")[-2:]): path for name, path in fetched_files(source)}
    for name in names:
        if path := files.get((folder, f"{name}.jsonl")):
            return path
    raise InputError(
        f"{source} has no {folder}/{names[0]}.jsonl; is the source MIMIR, with this "
        "set?"
    )


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            try:
                yield f"{path}:{number}", json.loads(line)
            except ValueError as error:
                raise InputError(
                    f"{path}:{number}: not JSON ({error}); fetch it again."
                ) from error
