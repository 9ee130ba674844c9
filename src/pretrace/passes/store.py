"""The content-addressed store of chunks of passes and answers: {key}.parquet,
{key}.json with its SHA-256 and cost.

The record is written last: a file without one was not finished. Neither is ever
changed, so that jobs may share a store, and what a failed or killed job had finished is
found by the next.
"""

import contextlib
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import TOKEN_STATISTICS, Request
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import (
    JsonObject,
    atomic_path,
    read_json,
    sha256_file,
    write_json,
)
from pretrace.runtime.logs import log

_ABANDONED_AFTER = 24 * 3600  # seconds

_TEXT_COLUMNS = {
    "text_id": pa.string(),
    "variant": pa.int32(),
    "token_ids": pa.list_(pa.int32()),
}
_FACT_COLUMNS = {
    "n_tokens": pa.int32(),
    "truncated": pa.bool_(),
    "shots_used": pa.int32(),
    "skipped": pa.string(),
}
_STATISTIC_COLUMNS = dict.fromkeys(TOKEN_STATISTICS["top40"], pa.list_(pa.float32()))
_STATISTIC_COLUMNS["ranks"] = pa.list_(pa.int32())

PASS_SCHEMA = pa.schema({**_TEXT_COLUMNS, **_STATISTIC_COLUMNS, **_FACT_COLUMNS})


def chunk_table(
    chunk: list[Request], prompt_prefix: PromptPrefix, values: list[np.ndarray]
) -> pa.Table:
    """Return the store's rows of one chunk; `values` as `Engine.statistics` gives
    them."""
    rows = []
    scored = []
    ends = [0]
    for request in chunk:
        row = {
            "text_id": request.text_id,
            "variant": request.variant,
            "n_tokens": request.n_tokens,
            "truncated": request.truncated,
            "shots_used": prompt_prefix.shots_used,
            "skipped": request.skip_reason(prompt_prefix),
        }
        tokens = request.scored_tokens(prompt_prefix)
        rows.append(row)
        scored.append(tokens)
        ends.append(ends[-1] + len(tokens))
    offsets = pa.array(ends, pa.int32())
    columns = {"token_ids": scored}
    for number, name in enumerate(_names_of(len(values[0]))):
        columns[name] = [of_text[number] for of_text in values]
    table = pa.Table.from_pylist(rows, schema=PASS_SCHEMA)
    for name, parts in columns.items():
        field = PASS_SCHEMA.field(name)
        numbers = pa.array(np.concatenate(parts), field.type.value_type)
        lists = pa.ListArray.from_arrays(offsets, numbers)
        table = table.set_column(PASS_SCHEMA.get_field_index(name), field, lists)
    return table


def _names_of(count: int) -> tuple[str, ...]:
    """Return the names of so many statistics: the kinds of `TOKEN_STATISTICS` differ in
    their number."""
    for names in TOKEN_STATISTICS.values():
        if len(names) == count:
            return tuple(names)
    raise ValueError(f"no kind of statistics has {count} numbers")


class Store:
    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def remove_abandoned(self) -> None:
        """Remove unfinished files that nothing has written to for a day: their writer
        was killed.

        A living job writes its file at once.
        """
        for part in sorted(self.path.glob(".*.part")):
            with contextlib.suppress(FileNotFoundError):  # another job removed it first
                if time.time() - part.stat().st_mtime > _ABANDONED_AFTER:
                    part.unlink()
                    log.info("removed %s: a killed job left it unfinished", part)

    def stored(self) -> list[str]:
        """Return the keys of the stored chunks, sorted."""
        return sorted(record.stem for record in self.path.glob("[!.]*.json"))

    def file(self, key: str) -> Path:
        return self.path / f"{key}.parquet"

    def record(self, key: str) -> JsonObject | None:
        """Return the record of a stored chunk whose file is whole, else None; damaged
        files are removed."""
        file = self.file(key)
        record_file = self._record_file(key)
        if not record_file.is_file():
            return None
        try:
            record = read_json(record_file)
            if record["sha256"] == sha256_file(file):
                return record
            log.warning("%s is damaged and is computed again", file)
        except (InputError, FileNotFoundError, KeyError, TypeError):
            log.warning(
                "%s or its record is missing or damaged; it is computed again", file
            )
        record_file.unlink()
        file.unlink(missing_ok=True)
        return None

    def write(self, key: str, table: pa.Table, cost: JsonObject) -> JsonObject:
        """Write a chunk's rows, then its record, which says that they are whole;
        returns the record."""
        with atomic_path(self.file(key)) as part:
            pq.write_table(table, part, compression="zstd")
            record = {**cost, "sha256": sha256_file(part)}
        write_json(self._record_file(key), record)
        return record

    def _record_file(self, key: str) -> Path:
        return self.path / f"{key}.json"
