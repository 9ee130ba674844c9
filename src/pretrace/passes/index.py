"""The passes of a model on a benchmark, by the manifest that run_passes writes: the
only reader of stored passes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, read_json, read_table, sha256_file
from pretrace.views.readings import PassKey

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PassIndex:
    """The passes of a `manifest`, whose files lie in `store`; a manifest without passes
    is `{"views": []}`."""

    manifest: JsonObject
    store: Path

    @classmethod
    def of_files(cls, manifest: str | Path | None, store: str | Path) -> "PassIndex":
        """Read the manifest of a job; without a file, an index without passes."""
        return cls(read_json(manifest) if manifest else {"views": []}, Path(store))

    @cached_property
    def rows(self) -> dict[PassKey, JsonObject]:
        """Return the manifest's rows by pass, in its order."""
        rows = {}
        for row in self.manifest["views"]:
            key = PassKey.from_json(row)
            if key in rows:
                raise InputError(
                    f"the passes of {self.name} have '{key.name}' twice; run "
                    "run_passes again."
                )
            rows[key] = row
        return rows

    @property
    def name(self) -> str:
        """Say whose passes they are, for messages."""
        names = self.manifest
        return (
            f"{names['model']} on {names['benchmark']} (study {names.get('study', '')})"
        )

    def read(self, key: PassKey) -> "pa.Table":
        """Return a stored pass, the SHA-256 of its files verified. Columns:
        `chunk_table.PASS_SCHEMA`.

        A damaged or missing file is removed together with the manifest, so that the
        same command computes it again, and the `InputError` says so. A pass that the
        manifest does not have is an `InputError` too.
        """
        import pyarrow as pa

        from pretrace.passes.chunk_table import PASS_SCHEMA

        tables = [read_table(file) for file in self._files(key)]
        return pa.concat_tables(tables) if tables else PASS_SCHEMA.empty_table()

    def batches(self, key: PassKey, rows: int) -> "Iterator[pa.RecordBatch]":
        """Yield a pass as `read` gives it, in batches of at most this many rows; one
        chunk is in memory at a time."""
        for file in self._files(key):
            yield from read_table(file).to_batches(max_chunksize=rows)

    def _files(self, key: PassKey) -> Iterator[Path]:
        """Yield the files of the pass's chunks in order, each verified when it is
        reached."""
        if key not in self.rows:
            raise InputError(
                f"the passes of {self.name} have no '{key.name}'; run run_passes with "
                "a request for it"
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
        of_pair = Path(self.store).parent / names["model"] / names["benchmark"]
        (of_pair / f"{names['study']}.json").unlink(missing_ok=True)
        raise InputError(
            f"{file} is {state} (its sha256 is not the manifest's). It and the "
            f"manifest of {self.name} were removed: run the same command again to "
            "compute it."
        )
