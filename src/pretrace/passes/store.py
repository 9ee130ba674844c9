"""The content-addressed store of chunks of passes and answers: {key}.parquet,
{key}.json with its SHA-256 and cost.

The record is written last: a file without one was not finished. Neither is ever
changed, so that jobs may share a store, and what a failed or killed job had finished is
found by the next.
"""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import (
    JsonObject,
    atomic_path,
    read_json,
    sha256_file,
    write_json,
)
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    import pyarrow as pa

_ABANDONED_AFTER = 24 * 3600  # seconds


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

    def write(self, key: str, table: "pa.Table", cost: JsonObject) -> JsonObject:
        """Write a chunk's rows, then its record, which says that they are whole;
        returns the record."""
        import pyarrow.parquet as pq

        with atomic_path(self.file(key)) as part:
            pq.write_table(table, part, compression="zstd")
            record = {**cost, "sha256": sha256_file(part)}
        write_json(self._record_file(key), record)
        return record

    def _record_file(self, key: str) -> Path:
        return self.path / f"{key}.json"
