"""The passes of a model on a benchmark, by the manifest that run_passes writes: the only reader of stored passes."""

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import open_parquet, read_table, sha256_file
from pretrace.views.readings import PassKey

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PassIndex:
    """The passes of a `manifest`, whose files lie in `store`; a manifest without passes is `{"views": []}`."""

    manifest: Mapping[str, Any]
    store: Path

    @cached_property
    def rows(self) -> dict[PassKey, Mapping[str, Any]]:
        """Return the manifest's rows by pass, in its order."""
        rows: dict[PassKey, Mapping[str, Any]] = {}
        for row in self.manifest["views"]:
            key = PassKey.from_json(row)
            if key in rows:
                raise InputError(f"the passes of {self._name} have '{key.name}' twice; run run_passes again.")
            rows[key] = row
        return rows

    @property
    def _name(self) -> str:
        names = self.manifest
        return f"{names['model']} on {names['benchmark']} (study {names.get('study', '')})"

    def read(self, key: PassKey) -> "pa.Table":
        """Return a stored pass, the SHA-256 of its files verified. Columns: `store.SCHEMA`.

        A damaged or missing file is removed together with the manifest, so that the same command computes it
        again, and the `InputError` says so. A pass that the manifest does not have is an `InputError` too.
        """
        import pyarrow as pa

        from pretrace.passes.store import SCHEMA

        tables = [read_table(file) for file in self._files(key)]
        if len(tables) < 2:
            return tables[0] if tables else SCHEMA.empty_table()
        return pa.concat_tables(tables).sort_by(_ORDER)

    def batches(self, key: PassKey, rows: int) -> "Iterator[pa.RecordBatch]":
        """Yield a pass as `read` gives it, in batches of at most this many rows."""
        files = list(self._files(key))
        for table in _merged([_parts(file, rows // len(files)) for file in files]):
            yield from _in_order(table, rows)

    def _files(self, key: PassKey) -> Iterator[Path]:
        """Yield the files of the pass's chunks in order, each verified when it is reached."""
        if key not in self.rows:
            raise InputError(
                f"the passes of {self._name} have no '{key.name}'; run run_passes with a request for it"
            )
        for stored in self.rows[key]["files"]:
            file = Path(self.store) / stored["file"]
            if not file.is_file() or sha256_file(file) != stored["sha256"]:
                self._remove(file)
            yield file

    def _remove(self, file: Path) -> NoReturn:
        state = "damaged" if file.is_file() else "missing"
        file.unlink(missing_ok=True)
        names = self.manifest
        manifest = Path(self.store).parent / names["model"] / names["benchmark"] / f"{names['study']}.json"
        manifest.unlink(missing_ok=True)
        raise InputError(
            f"{file} is {state} (its sha256 is not the manifest's). It and the manifest of {self._name} "
            "were removed: run the same command again to compute it."
        )


_ORDER = [("text_id", "ascending"), ("variant", "ascending")]


def _parts(path: Path, rows: int) -> "Iterator[pa.Table]":
    """Yield a file in parts of about these rows, whole row groups; it is open only meanwhile: a job reads hundreds."""
    start, groups = 0, 1
    while start < groups:
        with open_parquet(path) as file:
            groups = file.num_row_groups
            if not groups:
                return
            stop = min(start + max(1, rows // max(1, file.metadata.row_group(0).num_rows)), groups)
            table = file.read_row_groups(range(start, stop))
        yield table
        start = stop


def _merged(sources: "list[Iterator[pa.Table]]") -> "Iterator[pa.Table]":
    """Yield the rows of sources that are each in `_ORDER`, some of all at a time: none comes before the last table's.

    Of each source at most two tables are in memory.
    """
    import pyarrow as pa

    ahead: list[list[pa.Table]] = [list(itertools.islice(source, 2)) for source in sources]
    while any(ahead):
        # of a source with one table alone there is nothing more to come
        last = min((_last(tables[-1]) for tables in ahead if len(tables) == 2), default=None)
        ready = []
        for source, tables in zip(sources, ahead, strict=True):
            while tables and (last is None or _last(tables[0]) <= last):
                ready.append(tables.pop(0))
            if tables and (reached := _reached(tables[0], last)):
                ready.append(tables[0][:reached])
                tables[0] = tables[0][reached:]
            tables += itertools.islice(source, 2 - len(tables))
        yield pa.concat_tables(ready).combine_chunks()


def _in_order(table: "pa.Table", rows: int) -> "Iterator[pa.RecordBatch]":
    """Yield a table's rows in `_ORDER`, this many at a time: a sorted copy of it is never whole."""
    import pyarrow.compute as pc

    order = pc.sort_indices(table, _ORDER)
    for start in range(0, len(table), rows):
        yield from table.take(order.slice(start, rows)).to_batches()


def _reached(table: "pa.Table", last: Any) -> int:
    """Return how many rows of a table come up to the place `last`."""
    return bisect_right(range(len(table)), last, key=partial(_place, table))


def _last(table: "pa.Table") -> tuple[str, int]:
    return _place(table, len(table) - 1)


def _place(table: "pa.Table", row: int) -> tuple[str, int]:
    return table["text_id"][row].as_py(), table["variant"][row].as_py()
