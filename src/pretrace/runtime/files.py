"""Atomic writers, checked readers, and the digests that name things by their
content."""

import glob
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pretrace.runtime.errors import InputError, message_of, remedy

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

JsonObject = Mapping[str, Any]
"""A JSON object, as the parameters of a job hold entries, runs and requests."""


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a temporary path that replaces `path` when the block ends well, and is
    removed when it does not."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name}.", suffix=".part"
    )
    os.close(handle)
    part = Path(name)
    try:
        yield part
        move_finished(part, target)
    finally:
        part.unlink(missing_ok=True)


def remove_unfinished(path: str | Path) -> None:
    """Remove the temporary files of `path` that killed processes left; no other process
    may be writing it."""
    target = Path(path)
    for part in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        part.unlink(missing_ok=True)


def move_finished(part: Path, target: Path) -> None:
    """Put a temporary file in the place of `target`, on the same disk, with the
    permissions of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    part.chmod(0o666 & ~mask)
    part.replace(target)


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")


def writable(text: str) -> str:
    """Return a text as UTF-8 can hold it: halves of a character that stand side by side
    become it, and a half alone becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON with sorted keys, two spaces, non-ASCII as it is: equal values give
    equal bytes."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    write_text(path, f"{text}\n")


def read_json(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON ({error}). {_REMEDY}") from error


ROW_GROUP = 1 << 20
"""Rows of a table that are written, or read in parts, at one time."""


def write_parquet(
    path: str | Path,
    table: "pd.DataFrame | pa.Table",
    schema: "pa.Schema | None" = None,
) -> None:
    """Write a table with the metadata of `schema`, without pandas' own, so that equal
    tables give equal bytes."""
    write_parquet_parts(path, [table], schema)


def write_parquet_parts(
    path: str | Path,
    parts: "Iterable[pd.DataFrame | pa.Table]",
    schema: "pa.Schema | None" = None,
) -> None:
    """Write a table that comes in parts, at least one, with the bytes of the table as a
    whole.

    Without `schema`, all parts have the first one's.
    """
    tables = _as_tables(parts, schema)
    first = next(tables)
    with parquet_writer(path, first.schema) as writer:
        for group in _row_groups(chain([first], tables)):
            writer.write_table(group, row_group_size=ROW_GROUP)


@contextmanager
def parquet_writer(
    path: str | Path, schema: "pa.Schema"
) -> "Iterator[pq.ParquetWriter]":
    """Give the writer of a file that appears whole or not at all; its pages have
    checksums, and so has its footer."""
    import pyarrow.parquet as pq

    with atomic_path(path) as part:
        with pq.ParquetWriter(
            part, schema, compression="zstd", write_page_checksum=True
        ) as writer:
            yield writer
        _sign_footer(part)


_SIGNED = b"SHA-256 of the footer: "
_NOTED = b"note of pretrace: "
_END = b"PAR1"


def _sign_footer(path: Path, note: bytes = b"") -> None:
    """Put a note and a digest behind the footer: without one, a flipped bit there reads
    as other values or types.

    They count as the footer's last bytes, which readers of Parquet leave alone
    (pyarrow, pandas, DuckDB, polars).
    """
    with path.open("r+b") as file:
        signed = _footer_of(file)
        footer = signed.partition(_SIGNED)[0].partition(_NOTED)[0]
        noted = footer + (_NOTED + note if note else b"")
        whole = noted + _SIGNED + hashlib.sha256(noted).digest()
        file.seek(-8 - len(signed), os.SEEK_END)
        file.write(whole + len(whole).to_bytes(4, "little") + _END)
        file.truncate()


def add_to_footer(path: str | Path, note: bytes) -> None:
    """Add a note to a table that `parquet_writer` wrote, or replace it; no data is
    rewritten."""
    _sign_footer(Path(path), note)


def note_in_footer(path: str | Path) -> bytes:
    """Read the note of a table; b"" if it has none, or if its footer is not as
    `parquet_writer` left it."""
    with Path(path).open("rb") as file:
        footer, _, digest_of_footer = _footer_of(file).rpartition(_SIGNED)
    whole = digest_of_footer == hashlib.sha256(footer).digest()
    return footer.partition(_NOTED)[2] if whole else b""


def _footer_of(file: IO[bytes]) -> bytes:
    """Read the footer of a Parquet file; b"" if no footer has its length."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 8, 0))
    length = int.from_bytes(file.read(4), "little")
    if length + 8 > size:
        return b""
    file.seek(size - 8 - length)
    return file.read(length)


def _check_footer(path: str | Path) -> None:
    """Raise `OSError` if a footer that `parquet_writer` wrote has changed; files of
    others have no digest."""
    with Path(path).open("rb") as file:
        footer, _, digest_of_footer = _footer_of(file).rpartition(_SIGNED)
    if footer and digest_of_footer != hashlib.sha256(footer).digest():
        raise OSError("its footer is damaged")


def _as_tables(
    parts: "Iterable[pd.DataFrame | pa.Table]", schema: "pa.Schema | None"
) -> "Iterator[pa.Table]":
    import pyarrow as pa

    metadata = None if schema is None else schema.metadata
    for part in parts:
        if not isinstance(part, pa.Table):
            part = pa.Table.from_pandas(part, schema=schema, preserve_index=False)
        part = part.replace_schema_metadata(metadata)
        schema = part.schema if schema is None else schema
        yield part


def _row_groups(tables: "Iterator[pa.Table]") -> "Iterator[pa.Table]":
    """Yield the rows as tables of one row group each; an empty table without rows."""
    import pyarrow as pa

    waiting = next(tables)
    alone = True
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        alone = False
        while len(waiting) > ROW_GROUP:
            yield waiting[:ROW_GROUP].combine_chunks()
            waiting = waiting[ROW_GROUP:]
    yield waiting if alone else waiting.combine_chunks()


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> "pa.Table":
    """Read a Parquet file as an Arrow table; a missing, damaged or foreign file is an
    error for users."""
    import pyarrow.parquet as pq

    with _read_as_parquet(path):
        chosen = list(columns) if columns is not None else None
        table = pq.read_table(path, columns=chosen, page_checksum_verification=True)
        _check_footer(path)
        return table


def read_parquet_parts(path: str | Path) -> "Iterator[pd.DataFrame]":
    """Read a table as `read_parquet`, some rows at a time."""
    with open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=ROW_GROUP // 4):
            yield batch.to_pandas(types_mapper=_nullable().get)


@contextmanager
def open_parquet(path: str | Path) -> "Iterator[pq.ParquetFile]":
    """Open a Parquet file to be read in parts, its pages checked; a failure is an error
    for users."""
    import pyarrow.parquet as pq

    with _read_as_parquet(path):
        _check_footer(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file


@contextmanager
def _read_as_parquet(path: str | Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist. {_REMEDY}") from error
    except MemoryError:  # one of Arrow's exceptions is both
        raise
    except (pa.ArrowException, OSError) as error:
        advice = remedy(error, _REMEDY)
        raise InputError(
            f"{path} cannot be read as Parquet ({message_of(error)}). {advice}"
        ) from error


def read_parquet(
    path: str | Path, columns: Sequence[str] | None = None
) -> "pd.DataFrame":
    """Read a table as a data frame; whole numbers with gaps stay whole (`Int64`)."""
    return read_table(path, columns).to_pandas(types_mapper=_nullable().get)


def read_parquet_if_given(
    path: str | Path | Sequence[str] | None,
) -> "pd.DataFrame | None":
    """Read a table that a job may have as an input; None without one, or for the empty
    list that a rule then has in its place."""
    return read_parquet(str(path)) if path else None


def _nullable() -> "dict[pa.DataType, Any]":
    import pandas as pd
    import pyarrow as pa

    return {
        pa.int64(): pd.Int64Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }


_REMEDY = (
    "If it was generated, delete it and run the same command again; if it is yours, "
    "replace it."
)


def kind_of(path: str) -> str:
    """Return `file`, `folder`, `device` (or a pipe), or "" if nothing is there or no
    system takes the path."""
    try:
        own = Path(path)
        if own.is_dir():
            return "folder"
        if own.is_file():
            return "file"
        return "device" if own.exists() else ""
    except (OSError, ValueError):
        return ""


def files_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of a folder and of the folders in it, those behind links too;
    and what is not read.

    That is what a broken link or one to a folder above it, or a second link to one
    folder, stands for, and devices.
    """
    files: list[Path] = []
    unread = []
    walked = set()
    for root, folders, names in os.walk(
        folder, followlinks=True, onerror=_refuse_folder
    ):
        place = os.path.realpath(root)
        if place in walked:
            unread.append(Path(root))
            folders.clear()
            continue
        walked.add(place)
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            listed = files if path.is_file() else unread
            listed.append(path)
    return files, unread


def _refuse_folder(error: OSError) -> None:
    raise InputError(
        f"{error.filename} cannot be read ({error.strerror}). {remedy(error)}"
    ) from error


def sha256_file(path: str | Path) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


CONTENTS = Path("results/.hashes.json")
"""The SHA-256 of large files, by path, size and times, so that a checkpoint is read
once and not at every start."""

LARGE = 1 << 24
"""Bytes of a file from which on its SHA-256 is kept."""


@cache
def content_of(path: str) -> str:
    """Return the SHA-256 of what a file holds, or of all files of a folder with their
    names; "" where none is. That of a large file is kept."""
    own = Path(path)
    if own.is_dir():
        contents = {}
        files, _ = files_in(own)
        for file in files:
            contents[str(file.relative_to(own))] = content_of(str(file))
        return digest(contents)
    if not own.is_file():
        return ""
    if own.stat().st_size < LARGE:
        return sha256_file(own)
    # a folder's name may hold bytes that are not UTF-8
    name = digest(str(own.resolve()))
    return hash_files({name: own}, CONTENTS)[name]


_SETTLED = 2.0  # seconds, the coarsest times of a file system
_MOST_THREADS = 16  # that hash files


def hash_files(files: Mapping[str, Path], memory: Path | None = None) -> dict[str, str]:
    """Return the SHA-256 of files by name.

    What `memory` keeps of a file holds while its size, its number on the disk and its
    times of change are the same; `ctime` is among them, which no copy sets back. Several
    are hashed at a time: a thread hashes 1.3 GB a second, and disks of GPUs' machines
    read more.
    """
    known = _known_hashes(memory) if memory and memory.is_file() else {}
    hashes = {}
    unknown = {}
    for name, file in files.items():
        kept = known.get(name)
        if kept and kept[1:] == _stamp(file):
            hashes[name] = kept[0]
        else:
            unknown[name] = file
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as threads:
        hashed = threads.map(_hash_file, unknown.values())
        settled = {}
        for name, (sha256, stamp) in zip(unknown, hashed, strict=True):
            hashes[name] = sha256
            if stamp:
                settled[name] = [sha256, *stamp]
    if memory and settled:
        write_json(memory, known | settled)
    return hashes


def _known_hashes(memory: Path) -> dict[str, list[Any]]:
    known = read_json(memory)
    is_object = isinstance(known, dict)
    if is_object and all(isinstance(value, list) for value in known.values()):
        return known
    raise InputError(
        f"{memory} is damaged. Delete it: then the large files are hashed once more."
    )


def _stamp(file: Path) -> list[int]:
    """Return what changes with a file: its size, its number on the disk, and in ns the
    last change of its bytes and of anything about it."""
    about = file.stat()
    return [about.st_size, about.st_ino, about.st_mtime_ns, about.st_ctime_ns]


def _hash_file(file: Path) -> tuple[str, list[int]]:
    """Return a file's SHA-256 and its stamp; [] if that cannot tell a later change."""
    stamp = _stamp(file)
    # a file that was written just now could change without a change of its times
    is_settled = time.time() - file.stat().st_mtime > _SETTLED
    sha256 = sha256_file(file)
    return sha256, stamp if is_settled and stamp == _stamp(file) else []


def digest(value: Any) -> str:
    """Return the hex SHA-256 of a JSON value, whatever the order of its keys."""
    written = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()
