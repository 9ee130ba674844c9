"""Any data set of the Hugging Face hub, as its README's `configs:` say, or a folder
that `save_to_disk` wrote. The entry says which splits and columns are what; no code of
a data set is ever run.

Rows are as `local` takes them, under the data set's own names: `columns` maps `text`,
`label`, `subset`, `length`, `document`, `id`, `title` and `author` to its columns, and
a split may say `label`, `subset`, `length` or `document` for all its rows.

The `datasets` library says which files a split has, and with which settings. CSV, JSON
and Parquet are read by `benchmarks.rows`: `datasets` makes 7 of the cell 007 and a day
of the string 1999-05-03, drops the words `NA`, `None` and `null`, and reads columns
that nobody asks for. Its other formats (Arrow, text, archives) hold typed values.

The papers' benchmarks have loaders of their own, which read the released files by
`benchmarks.rows`, though WikiMIA and BookMIA are data sets of this kind too, and fetch
only the lengths that are asked for.
"""

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pretrace.benchmarks.archives import unpack
from pretrace.benchmarks.columns import is_missing, one_form
from pretrace.benchmarks.rows import LocatedRow, Settings, opened_parquet, rows
from pretrace.benchmarks.sources import FromHub, Text, loader
from pretrace.benchmarks.texts import (
    TEXT_COLUMNS,
    number_passages,
    tell_left_out,
    texts_of_rows,
)
from pretrace.documents.unpacking import (
    BROKEN,
    CSV,
    JSON,
    PARQUET,
    check_whole,
    format_of,
    not_unpacked,
    zip_archive,
)
from pretrace.runtime.errors import (
    InputError,
    explain_failure,
    first_names,
    nearest,
    require_name,
)
from pretrace.runtime.files import JsonObject, files_in, read_json
from pretrace.runtime.hub import MANIFEST
from pretrace.runtime.logs import tell
from pretrace.runtime.schema import Count, Keys, Maybe, Some, Unique

_BARE = ("0", "1", "0.0", "1.0")  # labels as CSV holds them
_DICT, _STATE = "dataset_dict.json", "state.json"  # what `save_to_disk` leaves
_READ_HERE = (CSV, JSON, PARQUET)
README = "README.md"
"""The file that assigns a data set's files to splits and configurations."""


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
    files: Maybe[Some[str]] = None
    """A pattern of its files, where the names of folders say what a text is; then all
    splits have one."""


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
    """A pattern of the files to fetch, for a repository with far more. Splits are then
    found by the files' names alone (default, all data files and the README)."""
    splits: Maybe[Some[Unique[str]] | Some[dict[str, Split | None]]] = None
    """Names of splits, read in this order; or a map from a split to the `label` (1, 0,
    null), `subset`, `length` or `document` of all its rows: `{members: {label: 1},
    nonmembers: {label: 0}}`. With `files`, a pattern, a split is made of the files that
    it names: `{members: {label: 1, files: "member/*.jsonl"}}` (default, the only
    split)."""
    columns: Maybe[ColumnNames] = None
    """The column for each of `text`, `label`, `subset`, `length`, `document`, `id`,
    `title`, `author`; other columns are not read (default, the names used in a file of
    your own)."""
    shared_nonmembers: bool = False
    """Non-members are in every subset of the members. Set it where subsets say how
    often members were inserted and non-members have no such number."""
    labels: Maybe[Some[dict[str | int | bool, Literal[0, 1] | None]]] = None
    """What the values of the label column mean: `{member: 1, nonmember: 0}`. For a
    column of classes, give the classes' names (default, 1 is member, 0 non-member)."""


def files_of_splits(entry: DataSet) -> dict[str, str]:
    """Return split -> the pattern of its files; {} if the data set itself says which
    files a split has."""
    splits = entry.splits if isinstance(entry.splits, dict) else {}
    patterns = {name: split.files for name, split in splits.items() if split}
    named = {name: files for name, files in patterns.items() if files}
    if named and len(named) < len(splits):
        lacking = next(name for name in splits if name not in named)
        raise InputError(
            f"splits.{lacking}: files is missing, and other splits have it: name the "
            "files of each split, or of none."
        )
    return named


Classes = Mapping[str, Sequence[str]]
"""Column of classes -> their names, in the order of their numbers."""


class SplitFiles(NamedTuple):
    """The files of a split that are read, how, and the classes that the README names.

    `others` are of another format than most: they are read if they have the columns.
    """

    files: Sequence[Path]
    others: Sequence[Path]
    settings: Settings
    classes: Classes


@dataclass(frozen=True)
class RowsOfFile:
    """The rows of a file, or of a whole split, each with its place; the columns that
    any of them has."""

    path: Path
    columns: Sequence[str]
    rows: Sequence[LocatedRow]
    classes: Classes = field(default_factory=dict)


class TypedSplit(NamedTuple):
    """A split that only `datasets` reads."""

    table: Any


@loader("dataset")
def load(entry: DataSet, sources: list[Path], seed: int) -> list[Text]:
    """Return the rows of the entry's splits, in the order of both; rows without words
    are left out, and told.

    Without a column for them, ids are `{row:06d}`, after `{split}-` if several splits
    are read. With the entry's key `question`, the texts are passages, numbered within
    each document and length. Raises `InputError` with the file and row of the first bad
    value, or with the valid names if the entry has an unknown one.
    """
    folder = _folder(entry, sources[0])
    given: list[LocatedRow] = []
    with _cache_for(folder) as cache:
        splits = _splits(folder, entry, cache)
        chosen = _rows_of_splits(entry, splits, folder)
        for split, shared in chosen.items():
            prefix = f"{split}-" if len(chosen) > 1 else ""
            given += _rows(
                entry, f"{folder}, split {split}", splits[split], shared, prefix
            )
    texts = texts_of_rows(given, str(folder))
    if entry.shared_nonmembers:
        texts = _in_every_subset(texts)
    return number_passages(texts) if entry.question is not None else texts


def check_splits(entry: DataSet, folder: Path) -> None:
    """Check that a data set's folder has the configuration and the splits that an entry
    names; reads no text.

    Raises `InputError` with the nearest name that there is.
    """
    folder = _folder(entry, folder)
    with _cache_for(folder) as cache:
        names = _saved_splits(folder)
        if names is None:
            names = [*_chosen_files(folder, entry, cache).own]
        _rows_of_splits(entry, names, folder)


@contextmanager
def _cache_for(folder: Path) -> Iterator[str]:
    """Make a folder for what `datasets` reads and writes; a failure names the user's
    folder in place of one in it."""
    with tempfile.TemporaryDirectory(prefix="pretrace-datasets-") as cache:
        try:
            with explain_failure(f"datasets cannot read {folder}"):
                yield os.path.realpath(cache)
        except InputError as error:
            place = rf"{re.escape(os.path.realpath(cache))}/\w+"
            said = re.sub(place, lambda _: str(folder), str(error))
            # of all that it reads
            shown, _, _ = said.partition(" with any supported extension")
            raise InputError(shown) from error


def _saved_splits(folder: Path) -> list[str] | None:
    """Return the splits of a data set that `datasets` saved to the folder; None for any
    other folder."""
    if (folder / _DICT).is_file():
        return [*map(str, read_json(folder / _DICT)["splits"])]
    if (folder / _STATE).is_file():
        return [str(read_json(folder / _STATE).get("_split") or "train")]
    return None


class ChosenFiles(NamedTuple):
    """The files that `datasets` chose for each split (`own`), and those of other
    formats that the same patterns name (`others`); `written` is what the README says of
    the configuration."""

    builder: Any
    written: JsonObject
    own: Mapping[str, Sequence[Path]]
    others: Mapping[str, Sequence[Path]]


def _chosen_files(folder: Path, entry: DataSet, cache: str) -> ChosenFiles:
    """Return what each split is read from; what the folder has besides is told."""
    from datasets.load import dataset_module_factory

    files, broken = files_in(folder)
    builder = _builder(folder, files, entry, cache)
    shown = Path(builder.base_path)
    parameters = dataset_module_factory(str(shown)).builder_configs_parameters
    configs = parameters.metadata_configs or {}
    written = configs.get(builder.config.name, {})
    own = _paths(builder.config.data_files or {}, shown, folder)
    named = _files_of_patterns(shown, written, folder)
    others = {}
    for split in own:
        others[split] = [
            file for file in named.get(split, []) if file not in own[split]
        ]
    read: set[Path] = set()
    for paths in (*own.values(), *others.values()):
        read.update(paths)
    for other in configs.values():
        for paths in _files_of_patterns(shown, other, folder).values():
            read.update(paths)
    unread = []
    for file in [*files, *broken]:
        name = file.relative_to(folder).as_posix()
        is_hidden = any(part.startswith(".") for part in name.split("/"))
        if file not in read and not is_hidden and name != README:
            unread.append(name)
    if unread:
        tell(
            "%s: %d files are not read: %s. If texts are in them, name all files of "
            "texts under configs in README.md",
            folder,
            len(unread),
            first_names(unread),
        )
    return ChosenFiles(builder, written, own, others)


def _builder(folder: Path, files: Sequence[Path], entry: DataSet, cache: str) -> Any:
    """Return what `datasets` would read the files by, in the entry's configuration or
    the only one.

    It is shown the files of rows alone, if there are any: it chooses by the commonest
    ending, and takes notes (.md), configurations (.toml) and logs (.eval) for rows.
    """
    import datasets

    datasets.disable_progress_bars()
    config = entry.hub_config
    patterns = files_of_splits(entry)
    failure: Exception | None = None
    for name, is_shown in _SHOWN_FILES.items():
        shown = Path(cache, name)
        shown.mkdir()
        if patterns:
            (shown / README).write_text(_readme(patterns), encoding="utf-8")
        _link_files(folder, filter(is_shown, files), shown)
        try:
            configs = datasets.get_dataset_config_names(str(shown))
            if config not in (None, *configs):
                hint = nearest(str(config), configs)
                raise InputError(
                    f"{folder} has no configuration '{config}' (hub_config): {hint}"
                )
            if config is None and len(configs) > 1 and "default" not in configs:
                raise InputError(
                    f"{folder}: set hub_config to one of its configurations: "
                    f"{', '.join(configs)}."
                )
            return datasets.load_dataset_builder(
                str(shown), name=config, cache_dir=cache
            )
        except FileNotFoundError as error:  # no file that it reads
            failure = error
    assert failure is not None
    raise failure


def _rows_in(file: Path) -> list[str]:
    """Return the names of the files of rows in a file: its own, or those in a zip
    archive."""
    names = [file.name]
    if file.suffix.lower() == ".zip":
        try:
            with zip_archive(file) as archive:
                names = names if format_of(file.name) else archive.namelist()
        except BROKEN as error:
            raise not_unpacked(file, error) from error
    return [name for name in names if format_of(name) in _READ_HERE]


_SHOWN_FILES: Mapping[str, Callable[[Path], object]] = {
    "rows": _rows_in,
    "others": lambda file: file.suffix.lower() not in (".md", ".toml", ".eval"),
    "all": bool,
}
"""Which files `datasets` is shown, if it reads none of those before."""


def _readme(patterns: Mapping[str, str]) -> str:
    """Write a README by which `datasets` makes splits of the files that patterns
    name."""
    files = [{"split": name, "path": path} for name, path in patterns.items()]
    configs = [{"config_name": "default", "data_files": files}]
    # JSON is YAML, too
    return f"---\n{json.dumps({'configs': configs})}\n---\n"


def _link_files(folder: Path, files: Iterable[Path], place: Path) -> None:
    """Give a folder these files of another one, and its README unless it has one."""
    for file in [*files, folder / README, folder / ".huggingface.yaml"]:
        link = place / file.relative_to(folder)
        if not file.is_file() or link.exists():
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        rows = _rows_in(file)
        if rows not in ([], [file.name]):
            with zipfile.ZipFile(link, "w") as archive:  # without notes beside the rows
                for name in rows:
                    archive.writestr(name, b"")
        else:
            link.symlink_to(file.resolve())


def _in_every_subset(texts: Sequence[Text]) -> list[Text]:
    """Return the texts with each non-member once in every subset of the members; its id
    then begins with the subset."""
    subsets = dict.fromkeys(text.subset for text in texts if text.label == 1)
    others = [text for text in texts if text.label != 0]
    for text in texts:
        if text.label != 0:
            continue
        for subset in subsets:
            text_id = f"{subset}-{text.text_id}"
            others.append(replace(text, text_id=text_id, subset=subset))
    return others


def _folder(entry: DataSet, source: Path) -> Path:
    """Return the folder of the repository's files, as fetched, or the user's in their
    place."""
    folder = (
        source.parent / str(entry.hub) if source.name == MANIFEST else source
    ).resolve()
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder; give the one that holds the data set's files."
        )
    return folder


def _splits(
    folder: Path, entry: DataSet, cache: str
) -> dict[str, SplitFiles | TypedSplit]:
    """Return what each split is read from; what is unpacked, or written by `datasets`,
    goes to `cache`."""
    import datasets

    datasets.disable_progress_bars()
    if (folder / _DICT).is_file() or (folder / _STATE).is_file():
        saved = datasets.load_from_disk(str(folder))
        if not isinstance(saved, datasets.DatasetDict):
            saved = {str(saved.split or "train"): saved}
        return _typed(saved)
    chosen = _chosen_files(folder, entry, cache)
    files = {}
    formats = set()
    for split, named in chosen.own.items():
        files[split] = _unpacked(named, folder, cache)
        formats |= {format_of(file.name) for file in files[split]}
    builder = chosen.builder
    if not formats <= {*_READ_HERE}:
        for file in chain.from_iterable(files.values()):
            check_whole(file)
        builder.download_and_prepare()
        for split, left_out in chosen.others.items():
            names = [file.name for file in left_out]
            _tell_not_read(f"{folder}, split {split}", names, builder.name)
        return _typed(builder.as_dataset())
    settings = _settings(builder, chosen.written)
    classes = _classes(builder.info.features or {})
    splits: dict[str, SplitFiles | TypedSplit] = {}
    for split, own in files.items():
        splits[split] = SplitFiles(own, chosen.others[split], settings, classes)
    return splits


def _typed(tables: Mapping[Any, Any]) -> dict[str, SplitFiles | TypedSplit]:
    """Return the tables that `datasets` read, by split."""
    return {str(split): TypedSplit(table) for split, table in tables.items()}


def _tell_not_read(where: str, names: Sequence[str], format: str | None) -> None:
    """Say on the terminal which files of a split are not read."""
    if names:
        reason = f"they are not {format} with the columns of the others"
        tell(
            "%s: %d files are not read, because %s: %s",
            where,
            len(names),
            reason,
            ", ".join(names),
        )


def _paths(
    files: Mapping[Any, Iterable[str]], shown: Path, folder: Path
) -> dict[str, list[Path]]:
    """Return split -> its files in the user's folder, not in the one that `datasets` is
    shown; one of a zip archive is without the part that names it."""
    paths: dict[str, list[Path]] = {}
    for split, named in files.items():
        own = paths[str(split)] = []
        for name in named:
            file = Path(os.path.normpath(name))
            if file.is_relative_to(shown):
                file = folder / file.relative_to(shown)
            elif not file.is_relative_to(folder):
                raise InputError(
                    f"{folder}: its configs name {file}, which is not in it and is not "
                    "read."
                )
            own.append(file)
    return paths


def _unpacked(files: Iterable[Path], folder: Path, cache: str) -> list[Path]:
    """Return the files with those of a zip archive in its place, unpacked into
    `cache`."""
    unpacked = []
    for file in files:
        if file.suffix.lower() != ".zip":
            unpacked.append(file)
            continue
        place = Path(cache, "unpacked") / file.relative_to(folder)
        names = unpack(file, place, ("",))
        read = [name for name in names if format_of(name) in _READ_HERE] or names
        if left_out := sorted({*names} - {*read}):
            tell(
                "%s: %d files in it are not read: %s",
                file,
                len(left_out),
                ", ".join(left_out),
            )
        unpacked += [place / name for name in read]
    return unpacked


def _files_of_patterns(
    shown: Path, written: JsonObject, folder: Path
) -> dict[str, list[Path]]:
    """Return split -> all files that its patterns name: `datasets` itself reads those
    of the commonest format alone."""
    from datasets.data_files import DataFilesDict, get_data_patterns, sanitize_patterns

    base = str(shown / written.get("data_dir", ""))
    own = written.get("data_files")
    patterns = get_data_patterns(base) if own is None else sanitize_patterns(own)
    files = DataFilesDict.from_patterns(patterns, base_path=base)
    return _paths(files, shown, folder)


def _settings(builder: Any, written: JsonObject) -> Settings:
    """Return how the files are read: what the configuration says otherwise than
    `datasets` does by itself."""
    config = builder.config
    if hasattr(config, "pd_read_csv_kwargs"):
        usual = type(config)().pd_read_csv_kwargs
        given = {}
        for key, value in config.pd_read_csv_kwargs.items():
            if usual.get(key) != value:
                given[key] = value
        given.pop("sep", None)  # by the name of a file, unless it is written
        if {"sep", "delimiter"} & written.keys():
            given["sep"] = config.sep
        return Settings(delimited=given, arrays=True)
    encoding = getattr(config, "encoding", None) or "utf-8"
    errors = getattr(config, "encoding_errors", None) or "strict"
    return Settings(
        encoding=encoding,
        errors=errors,
        field=getattr(config, "field", None),
        arrays=True,
    )


def _classes(features: JsonObject) -> dict[str, Sequence[str]]:
    from datasets import ClassLabel

    classes = {}
    for name, feature in features.items():
        if isinstance(feature, ClassLabel):
            classes[name] = feature.names
    return classes


def _rows_of_splits(
    entry: DataSet, splits: Collection[str], folder: Path
) -> Mapping[str, JsonObject]:
    """Return split -> values of all its rows, in the entry's order; of a data set with
    one split, that one."""
    if entry.splits is None:
        if len(splits) > 1:
            raise InputError(
                f"{folder}: name the ones to read under splits: {', '.join(splits)}."
            )
        return {split: {} for split in splits}
    if unknown := [split for split in entry.splits if split not in splits]:
        raise InputError(
            f"{folder} has no split '{unknown[0]}': {nearest(unknown[0], splits)}"
        )
    rows = (
        entry.splits if isinstance(entry.splits, dict) else dict.fromkeys(entry.splits)
    )
    shared: dict[str, dict[str, Any]] = {}
    for split, values in rows.items():
        shared[split] = {} if values is None else dict(values.set_fields())
        shared[split].pop("files", None)
    return shared


def _rows(
    entry: DataSet,
    where: str,
    split: SplitFiles | TypedSplit,
    shared: JsonObject,
    prefix: str,
) -> Iterator[LocatedRow]:
    """Yield the rows with the column names of `local`, each with its position in the
    source."""
    if isinstance(split, TypedSplit):
        given = _read_typed(entry, where, split, shared)
    else:
        given = _read_files(entry, where, split, shared)
    columns = _columns(entry, where, given.columns, shared)
    labels = {}
    for value, label in (entry.labels or {}).items():
        labels[one_form(str(value))] = label
    # a number alone does not say which class is 1
    names = given.classes.get(columns.get("label", ""))
    empty = []
    for number, (place, row) in enumerate(given.rows, start=1):
        renamed = {name: row.get(column) for name, column in columns.items()}
        renamed |= shared
        text = renamed.get("text", renamed.get("input"))
        if is_missing(text) or (isinstance(text, str) and not text.strip()):
            empty.append(place)
            continue
        if "label" in columns:
            renamed["label"] = _label(place, renamed["label"], names, labels)
        yield place, {"id": f"{prefix}{number:06d}"} | renamed
    tell_left_out(where, empty, len(given.rows))


def _read_typed(
    entry: DataSet, where: str, split: TypedSplit, shared: JsonObject
) -> RowsOfFile:
    """Read the columns of a split that are needed, as `datasets` types them."""
    names = split.table.column_names
    needed = list(dict.fromkeys(_columns(entry, where, names, shared).values()))
    table = split.table.select_columns(needed)
    located = []
    for number, row in enumerate(table, start=1):
        located.append((f"{where}, row {number}", row))
    return RowsOfFile(Path(where), names, located, _classes(split.table.features or {}))


def _read_files(
    entry: DataSet, where: str, split: SplitFiles, shared: JsonObject
) -> RowsOfFile:
    """Read the files of a split, which have the same columns; others that have them,
    too, are read, or told."""
    own = [_read_file(file, entry, shared, split.settings) for file in split.files]
    first = own[0]
    needed = _columns(entry, where, first.columns, shared)
    for given in own[1:]:
        if lacking := _difference(entry, first, given):
            raise InputError(
                f"{given.path}: the files of a split have the same columns; {lacking}. "
                "Rename the column, or give the files splits of their own (configs in "
                "README.md)."
            )
    left_out = []
    for file in split.others:
        try:
            given = _read_file(file, entry, shared, split.settings)
        except InputError:
            left_out.append(file.name)
            continue
        if {*needed.values()} <= {*given.columns}:
            own.append(given)
        else:
            left_out.append(file.name)
    _tell_not_read(where, left_out, format_of(split.files[0].name))
    located: list[LocatedRow] = []
    classes = dict(split.classes)
    for given in own:
        located += given.rows
        classes = dict(given.classes) | classes
    return RowsOfFile(Path(where), first.columns, located, classes)


def _difference(entry: DataSet, first: RowsOfFile, other: RowsOfFile) -> str:
    """Say which column of ours only one of two files has; "" if they have the same."""
    named = (
        TEXT_COLUMNS if entry.columns is None else entry.columns.set_fields().values()
    )
    for column in named:
        if (column in first.columns) != (column in other.columns):
            owner, lacking = (
                (first, other) if column in first.columns else (other, first)
            )
            return f"{owner.path.name} has '{column}', and {lacking.path.name} has not"
    return ""


def _read_file(
    file: Path, entry: DataSet, shared: JsonObject, settings: Settings
) -> RowsOfFile:
    if format_of(file.name) not in _READ_HERE:
        raise InputError(f"{file}: another format")
    names: list[str] = []

    def choice(where: str, there: Sequence[str]) -> list[str]:
        names.extend(there)
        return list(dict.fromkeys(_columns(entry, where, there, shared).values()))

    located = list(rows(file, choice, settings))
    if not names:
        columns: dict[str, None] = {}
        for _, row in located:
            columns |= dict.fromkeys(row)
        names = list(columns)
    label = _columns(entry, str(file), names, shared).get("label", "")
    return RowsOfFile(file, names, located, _classes_in(file, label))


def _classes_in(file: Path, column: str) -> Classes:
    """Return the classes of a column that a Parquet file names itself."""
    if format_of(file.name) != PARQUET:
        return {}
    with opened_parquet(file) as opened:
        metadata = opened.schema_arrow.metadata or {}
    described = json.loads(metadata.get(b"huggingface", "{}"))
    feature = described.get("info", {}).get("features", {}).get(column, {})
    is_of_classes = feature.get("_type") == "ClassLabel"
    return {column: feature["names"]} if is_of_classes else {}


def _columns(
    entry: DataSet, where: str, columns: Sequence[str], shared: JsonObject
) -> dict[str, str]:
    """Return our name -> the data set's column: the entry's, else the columns that are
    called as in `local`."""
    usual = {name: name for name in TEXT_COLUMNS if name in columns}
    given: Mapping[str, str] = (
        usual if entry.columns is None else entry.columns.set_fields()
    )
    for name, column in given.items():
        require_name(
            column, columns, f"{where}: there is no column '{column}' (columns.{name})"
        )
    if entry.columns is not None and (twice := sorted(set(given) & set(shared))):
        raise InputError(
            f"{where}: {twice[0]} is given by both columns and splits; remove one."
        )
    if len({"text", "input"} & set(given)) != 1:
        listed = ", ".join(columns)
        raise InputError(
            f"{where}: set columns.text to the column that holds the texts, one of "
            f"{listed}."
        )
    if "label" not in given and "label" not in shared:
        raise InputError(
            f"{where}: no column is called label: set columns.label to the one with 1 "
            f"for members and 0 for non-members, of {', '.join(columns)}, or give a "
            f"split's rows one label: splits: {{NAME: {{label: 1}}}}."
        )
    return {name: column for name, column in given.items() if name not in shared}


def _label(
    where: str,
    value: Any,
    names: Sequence[str] | None,
    labels: Mapping[str, int | None],
) -> Any:
    """Read a value in the label column: 1, 0 or None; a wrong value is returned for
    `local` to refuse."""
    if is_missing(value) or value == "":
        return None
    if names is not None:
        value = _class_name(where, value, names)
        if value is None or (not labels and value in ("0", "1")):
            return value
    name = one_form(str(value))
    if not labels:
        if value not in _BARE and isinstance(value, (str, bool)):
            example = f"labels: {{{value}: 1}}"
            raise InputError(
                f"{where}: label is {value!r}; say under labels what it means: "
                f"{example}."
            )
        return value
    require_name(
        name, labels, f"{where}: label is {value!r}, which is missing under labels"
    )
    return labels[name]


_WHOLE = re.compile(r"\s*(-?\d+)(?:\.0+)?\s*", re.ASCII)


def _class_name(where: str, value: Any, names: Sequence[str]) -> Any:
    """Return the name of a class by its number, which CSV holds as text; a name as it
    is, None for -1."""
    if isinstance(value, bool) or not (written := _WHOLE.fullmatch(str(value))):
        return value
    number = int(written[1])
    if number >= len(names):
        listed = ", ".join(names)
        raise InputError(
            f"{where}: label is {value}, and the classes are 0 to {len(names) - 1}: "
            f"{listed}."
        )
    return names[number] if number >= 0 else None
