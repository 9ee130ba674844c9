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
        """Yield a pass as `read` gives it, in batches of at most this many rows, or of one of each file."""
        files = list(self._files(key))
        most = max(1, rows // max(1, len(files)))
        return _merged([_batches(file, most) for file in files])

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


def _batches(path: Path, rows: int) -> "Iterator[pa.RecordBatch]":
    """Yield the rows of a file in batches; the file is open only meanwhile, because a job reads hundreds."""
    groups = itertools.count()
    for group in groups:
        with open_parquet(path) as file:
            if group >= file.num_row_groups:
                return
            batches = file.read_row_group(group).to_batches(max_chunksize=rows)
        yield from batches


def _merged(sources: "list[Iterator[pa.RecordBatch]]") -> "Iterator[pa.RecordBatch]":
    """Yield the rows of sources that are each in `_ORDER`, all together in this order."""
    import pyarrow as pa

    heads = [(source, batch) for source in sources if (batch := next(source, None)) is not None]
    while len(heads) > 1:
        lasts = [_place(batch, len(batch) - 1) for _, batch in heads]
        ready, following = [], []
        for (source, batch), last in zip(heads, lasts, strict=True):
            whole = last == min(lasts)
            rows = range(len(batch))
            reached = len(batch) if whole else bisect_right(rows, min(lasts), key=partial(_place, batch))
            ready.append(batch[:reached])
            rest = next(source, None) if whole else batch[reached:]
            if rest is not None:
                following.append((source, rest))
        heads = following
        yield from pa.Table.from_batches(ready).sort_by(_ORDER).combine_chunks().to_batches()
    for source, batch in heads:
        yield batch
        yield from source


def _place(batch: "pa.RecordBatch", row: int) -> tuple[str, int]:
    return batch["text_id"][row].as_py(), batch["variant"][row].as_py()
