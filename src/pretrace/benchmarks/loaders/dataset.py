"""Any data set of the Hugging Face hub, read by the `datasets` library as its README's `configs:` say, or a folder that
`save_to_disk` wrote. The entry says which splits and columns are what; no code of a data set is ever run.

Rows are as `local` takes them, under the data set's own names: `columns` maps `text`, `label`, `subset`, `length`,
`document`, `id`, `title` and `author` to its columns, and a split may say `label`, `subset`, `length` or `document` for
all its rows.

CSV and JSON lines are read by `benchmarks.rows`: `datasets` makes 7 of the cell 007 and a day of the string 1999-05-03,
and drops the words `NA`, `None` and `null`. Its other formats (Parquet, Arrow, archives) hold typed values.

The papers' benchmarks have loaders of their own, which read the released files by `benchmarks.rows`, though WikiMIA and
BookMIA are data sets of this kind too, and fetch only the lengths that are asked for.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pretrace.benchmarks.loaders.local import check_rows, number_passages
from pretrace.benchmarks.rows import CSV, JSON, Row, format_of, open_bytes, rows
from pretrace.benchmarks.sources import FromHub, Text, loader
from pretrace.runtime.errors import InputError, explain_failure, nearest
from pretrace.runtime.hub import MANIFEST
from pretrace.runtime.logs import log
from pretrace.runtime.schema import Count, Keys, Maybe, Some, Unique

_LOCAL_NAMES = ("input", "text", "label", "subset", "length", "document", "id", "title", "author")
_BARE = ("0", "1", "0.0", "1.0")  # labels as CSV holds them
_DICT, _STATE = "dataset_dict.json", "state.json"  # what `save_to_disk` leaves


class Split(Keys):
    """Values shared by all rows of a split."""

    label: Literal[0, 1] | None = None
    """1 member, 0 non-member, null unknown."""
    subset: Maybe[str] = None
    """The name of a subset."""
    length: Maybe[Count] = None
    """Length in words."""
    document: Maybe[str] = None
    """The document that the texts were cut from."""


class ColumnNames(Keys):
    """The columns that are read, by the key of `local`."""

    text: str
    """The text."""
    label: Maybe[str] = None
    """1 member, 0 non-member, null unknown, or what `labels` says."""
    subset: Maybe[str] = None
    """The name of a subset."""
    length: Maybe[str] = None
    """Length in words."""
    document: Maybe[str] = None
    """The document that the text was cut from."""
    id: Maybe[str] = None
    """A name for the text, unique."""
    title: Maybe[str] = None
    """The document's title, for questions."""
    author: Maybe[str] = None
    """The document's author, for questions."""


class DataSet(FromHub):
    """Any data set of the hub."""

    path_is = "folder"

    hub_config: Maybe[str] = None
    """The configuration (default, the only one, or the one named `default`)."""
    files: Maybe[Some[str]] = None
    """A pattern of the files to fetch, for a repository with far more. Splits are then found by the files' names
    alone (default, all data files and the README)."""
    splits: Maybe[Some[Unique[str]] | Some[dict[str, Split | None]]] = None
    """Names of splits, read in this order; or a map from a split to the `label` (1, 0, null), `subset`, `length` or
    `document` of all its rows: `{members: {label: 1}, nonmembers: {label: 0}}` (default, the only split)."""
    columns: Maybe[ColumnNames] = None
    """The column for each of `text`, `label`, `subset`, `length`, `document`, `id`, `title`, `author`; other
    columns are not read (default, the names used in a file of your own)."""
    shared_nonmembers: bool = False
    """Non-members are in every subset of the members. Set it where subsets say how often members were inserted
    and non-members have no such number."""
    labels: Maybe[Some[dict[str | int | bool, Literal[0, 1] | None]]] = None
    """What the values of the label column mean: `{member: 1, nonmember: 0}`. For a column of classes, give the
    classes' names (default, 1 is member, 0 non-member)."""


@dataclass(frozen=True)
class SplitRows:
    """The rows of a split, each with its position; its columns; the classes of columns that have their names."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Row]]
    classes: Mapping[str, Sequence[str]]


@loader("dataset", entry=DataSet)
def load(entry: DataSet, sources: list[Path], seed: int) -> list[Text]:
    """Return the rows of the entry's splits, in the order of both; rows without words are left out, and logged.

    Without a column for them, ids are `{row:06d}`, after `{split}-` if several splits are read. With the entry's key
    `question`, the texts are passages, numbered within each document and length. Raises `InputError` with the
    split and row of the first bad value, or with the valid names if the entry has an unknown one.
    """
    folder = _folder(entry, sources[0])
    with (
        tempfile.TemporaryDirectory(prefix="pretrace-datasets-") as cache,
        explain_failure(f"datasets cannot read {folder}"),
    ):
        splits = _splits(folder, entry.hub_config, cache)
        chosen = _rows_of_splits(entry, splits, folder)
        given = [
            row for split, shared in chosen.items()
            for row in _rows(entry, f"{folder}, split {split}", splits[split], shared,
                             f"{split}-" if len(chosen) > 1 else "")
        ]  # fmt: skip
    texts = [text for _, text in check_rows(given, str(folder))]
    if entry.shared_nonmembers:  # once in every subset of the members; the id then begins with the subset
        subsets = dict.fromkeys(text.subset for text in texts if text.label == 1)
        nonmembers = [
            replace(text, text_id=f"{subset}-{text.text_id}", subset=subset)
            for text in texts if text.label == 0
            for subset in subsets
        ]  # fmt: skip
        texts = [text for text in texts if text.label != 0] + nonmembers
    return number_passages(texts) if entry.question is not None else texts


def _folder(entry: DataSet, source: Path) -> Path:
    """Return the folder of the repository's files, as fetched, or the user's in their place."""
    folder = (source.parent / str(entry.hub) if source.name == MANIFEST else source).resolve()
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the one that holds the data set's files.")
    if odd := sorted(set("*?[]") & set(str(folder))):
        raise InputError(
            f"{folder}: datasets cannot read a folder with {' '.join(odd)} in its path; rename it."
        )
    return folder


def _splits(folder: Path, config: str | None, cache: str) -> dict[str, SplitRows]:
    """Return split -> rows; what `datasets` writes goes to `cache`."""
    import datasets

    datasets.disable_progress_bars()
    if (folder / _DICT).is_file() or (folder / _STATE).is_file():
        saved = datasets.load_from_disk(str(folder))
        of_splits = saved if isinstance(saved, datasets.DatasetDict) else {str(saved.split or "train"): saved}
        return {str(split): _typed(folder, str(split), table) for split, table in of_splits.items()}
    configs = datasets.get_dataset_config_names(str(folder))
    if config not in (None, *configs):
        hint = nearest(str(config), configs)
        raise InputError(f"{folder} has no configuration '{config}' (hub_config): {hint}")
    if config is None and len(configs) > 1 and "default" not in configs:
        raise InputError(f"{folder}: set hub_config to one of its configurations: {', '.join(configs)}.")
    builder = datasets.load_dataset_builder(str(folder), name=config, cache_dir=cache)
    files = {
        str(split): [Path(os.path.normpath(file)) for file in named]
        for split, named in (builder.config.data_files or {}).items()
    }
    for file in chain.from_iterable(files.values()):
        if not file.is_relative_to(folder):
            raise InputError(f"{folder}: its configs name {file}, which is not in it and is not read.")
    if _as_written(builder, files):
        classes = _classes(builder.info.features or {})
        return {split: _written(named, classes) for split, named in files.items()}
    builder.download_and_prepare()
    return {str(split): _typed(folder, str(split), table) for split, table in builder.as_dataset().items()}


def _as_written(builder: Any, files: Mapping[str, Sequence[Path]]) -> bool:
    """Return whether the files are CSV or JSON lines without settings of their own, which `benchmarks.rows` reads."""
    own = type(builder.config)()
    settings = ("sep", "header", "names", "quotechar", "skiprows", "encoding", "field")
    usual = all(getattr(builder.config, key, None) == getattr(own, key, None) for key in settings)
    return usual and all(map(_is_written, chain.from_iterable(files.values())))


def _is_written(file: Path) -> bool:
    kind = format_of(file.name)
    if kind != JSON:
        return kind == CSV
    with open_bytes(file) as content:  # one array of rows is read by `datasets`
        return not content.read(1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _written(files: Sequence[Path], classes: Mapping[str, Sequence[str]]) -> SplitRows:
    located = [row for file in files for row in rows(file)]
    columns = list(dict.fromkeys(column for _, row in located for column in row))
    return SplitRows(columns, located, classes)


def _typed(folder: Path, split: str, table: Any) -> SplitRows:
    places = (f"{folder}, split {split}, row {number}" for number in range(1, len(table) + 1))
    located = list(zip(places, table, strict=True))
    return SplitRows(table.column_names, located, _classes(table.features or {}))


def _classes(features: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    from datasets import ClassLabel

    return {name: feature.names for name, feature in features.items() if isinstance(feature, ClassLabel)}


def _rows_of_splits(
    entry: DataSet, splits: Mapping[str, SplitRows], folder: Path
) -> dict[str, Mapping[str, Any]]:
    """Return split -> values of all its rows, in the entry's order; of a data set with one split, that one."""
    if entry.splits is None:
        if len(splits) > 1:
            raise InputError(f"{folder}: name the ones to read under splits: {', '.join(splits)}.")
        return {split: {} for split in splits}
    if unknown := [split for split in entry.splits if split not in splits]:
        raise InputError(f"{folder} has no split '{unknown[0]}': {nearest(unknown[0], splits)}")
    rows = entry.splits if isinstance(entry.splits, dict) else dict.fromkeys(entry.splits)
    return {split: {} if values is None else values.set_fields() for split, values in rows.items()}


def _rows(
    entry: DataSet, where: str, split: SplitRows, shared: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, Row]]:
    """Yield the rows with the column names of `local`, each with its position in the source."""
    columns = _columns(entry, where, split.columns, shared)
    labels = {str(value): label for value, label in entry.labels.items()} if entry.labels else None
    names = split.classes.get(columns.get("label", ""))  # a number alone does not say which class is 1
    empty = 0
    for number, (place, row) in enumerate(split.rows, start=1):
        renamed = {name: row.get(column) for name, column in columns.items()} | dict(shared)
        text = renamed.get("text", renamed.get("input"))
        if text is None or (isinstance(text, str) and not text.strip()):
            empty += 1
            continue
        if "label" in columns:
            renamed["label"] = _label(place, renamed["label"], names, labels)
        yield place, {"id": f"{prefix}{number:06d}"} | renamed
    if empty:
        log.warning("%s: %d of %d rows have no words: left out", where, empty, len(split.rows))


def _columns(entry: DataSet, where: str, columns: Sequence[str], shared: Mapping[str, Any]) -> dict[str, str]:
    """Return our name -> the data set's column: the entry's, else the columns that are called as in `local`."""
    usual = {name: name for name in _LOCAL_NAMES if name in columns}
    given: Mapping[str, str] = usual if entry.columns is None else entry.columns.set_fields()
    for name, column in given.items():
        if column not in columns:
            hint = nearest(column, columns)
            raise InputError(f"{where}: there is no column '{column}' (columns.{name}): {hint}")
    if entry.columns is not None and (twice := sorted(set(given) & set(shared))):
        raise InputError(f"{where}: {twice[0]} is given by both columns and splits; remove one.")
    if len({"text", "input"} & set(given)) != 1:
        listed = ", ".join(columns)
        raise InputError(f"{where}: set columns.text to the column that holds the texts, one of {listed}.")
    if "label" not in given and "label" not in shared:
        raise InputError(
            f"{where}: no column is called label: set columns.label to the one with 1 for members and 0 for "
            f"non-members, of {', '.join(columns)}, or give a split's rows one label: splits: {{NAME: {{label: 1}}}}."
        )
    return {name: column for name, column in given.items() if name not in shared}


def _label(
    where: str, value: Any, names: Sequence[str] | None, labels: Mapping[str, int | None] | None
) -> Any:
    """Read a value in the label column: 1, 0 or None; a wrong value is returned for `local` to refuse."""
    if names is not None and isinstance(value, int):
        value = names[value] if value >= 0 else None
        if labels is None and value in ("0", "1"):
            return int(value)
    if labels is None and value not in _BARE and isinstance(value, (str, bool)):
        example = f"labels: {{{value}: 1}}"
        raise InputError(f"{where}: label is {value!r}; say under labels what it means: {example}.")
    if labels is None or value is None:
        return value
    name = f"{value:g}" if isinstance(value, float) else str(value)
    if name not in labels:
        hint = nearest(name, labels)
        raise InputError(f"{where}: label is {value!r}, which is missing under labels: {hint}")
    return labels[name]
