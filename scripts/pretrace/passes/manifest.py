"""The manifest of a study's passes of one (model, benchmark), and the only way to read what it names."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import open_parquet, read_table, sha256_file

PLAIN = {"altered": "", "prefix": "", "draw": None, "shots": None, "inner_start": False, "windows": None}
"""The coordinates of a pass over the texts themselves, but for view, start token, subset and length."""


def read(manifest: dict[str, Any], store: Path, **at: Any) -> pa.Table:
    """The stored pass at these coordinates, its SHA-256 verified; those not given are `PLAIN`. Columns: `store.SCHEMA`.

    A damaged or missing file is removed together with the manifest, so that the same command computes it
    again, and the `InputError` says so. Coordinates that the manifest does not have are an `InputError` too.
    """
    return read_table(_file(manifest, store, PLAIN | at))


def read_batches(
    manifest: dict[str, Any], store: Path, at: Mapping[str, Any], rows: int
) -> Iterator[pa.RecordBatch]:
    """The pass at these coordinates, as `read` gives it, in batches of at most this many rows."""
    with open_parquet(_file(manifest, store, PLAIN | dict(at))) as file:
        yield from file.iter_batches(batch_size=rows)


def _file(manifest: dict[str, Any], store: Path, at: Mapping[str, Any]) -> Path:
    found = [entry for entry in manifest["views"] if all(entry[key] == value for key, value in at.items())]
    if not found:
        raise InputError(
            f"the passes of {_name(manifest)} have no {dict(at)}; run run_passes with a request for it"
        )
    file = Path(store) / found[0]["file"]
    if not file.is_file() or sha256_file(file) != found[0]["sha256"]:
        state = "damaged" if file.is_file() else "missing"
        file.unlink(missing_ok=True)
        manifest_path(Path(store).parent, manifest).unlink(missing_ok=True)
        raise InputError(
            f"{file} is {state} (its sha256 is not the manifest's). It and the manifest of {_name(manifest)} "
            "were removed: run the same command again to compute it."
        )
    return file


def manifest_path(passes: Path, names: dict[str, Any]) -> Path:
    """Where the manifest of a study's passes of a model on a benchmark lies under `passes`."""
    return Path(passes) / names["model"] / names["benchmark"] / f"{names['study']}.json"


def _name(manifest: dict[str, Any]) -> str:
    return f"{manifest['model']} on {manifest['benchmark']} (study {manifest['study']})"
