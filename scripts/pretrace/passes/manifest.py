"""The manifest of a study's passes of one (model, benchmark), and the only way to read what it names."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import open_parquet, read_table, sha256_file

if TYPE_CHECKING:
    import pyarrow as pa


def read(
    manifest: dict[str, Any],
    store: Path,
    *,
    view: str,
    companion: str = "",
    prefix: str = "",
    draw: int | None = None,
    shots: int | None = None,
    start_token: str,
    inner_start: bool = False,
    subset: str,
    length: int | None,
) -> "pa.Table":
    """The stored pass (columns of DESIGN's store) at these coordinates, its SHA-256 verified.

    A damaged or missing file is removed together with the manifest, so that the same command computes it
    again, and the `InputError` says so. Coordinates that the manifest does not have are an `InputError` too.
    """
    at = {
        "view": view,
        "companion": companion,
        "prefix": prefix,
        "draw": draw,
        "shots": shots,
        "start_token": start_token,
        "inner_start": inner_start,
        "subset": subset,
        "length": length,
    }
    return read_table(_file(manifest, store, at))


def read_batches(
    manifest: dict[str, Any], store: Path, at: Mapping[str, Any], rows: int
) -> "Iterator[pa.RecordBatch]":
    """The pass at these coordinates, all those that `read` names, at most so many rows at a time."""
    with open_parquet(_file(manifest, store, at)) as file:
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
            "were removed: run the same command again to compute it anew."
        )
    return file


def manifest_path(passes: Path, names: dict[str, Any]) -> Path:
    """Where the manifest of a study's passes of a model on a benchmark lies under `passes`."""
    return Path(passes) / names["model"] / names["benchmark"] / f"{names['study']}.json"


def _name(manifest: dict[str, Any]) -> str:
    return f"{manifest['model']} on {manifest['benchmark']} (study {manifest['study']})"
