"""Pass tables read back, text by text."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.plan import Cell
from pretrace.runtime.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Beside:
    """What stands beside a cell's texts in a pass: another view of them, or a prefix before them."""

    companion: str = ""
    prefix: str = ""
    draw: int | None = None
    shots: int | None = None


@dataclass(frozen=True)
class PassRow:
    """One text of a pass; its statistics are [n] arrays, float64 (ids: int64), None where the pass has
    none."""

    token_ids: np.ndarray
    logprobs: np.ndarray
    entropies: np.ndarray | None
    variances: np.ndarray | None
    skipped: str
    """Why the text has no scored token; "" where it has."""
    shots_used: int | None = None


def read_rows(
    manifest: dict[str, Any], store: Path, cell: Cell, beside: Beside | None = None
) -> dict[str, PassRow]:
    """Text id -> its row in that pass over that cell; nothing where the manifest holds no such pass."""
    variants = read_variants(manifest, store, cell, beside)
    if any(len(rows) > 1 for rows in variants.values()):
        raise ValueError(f"{cell}: more than one variant of a text in a pass over the text itself")
    return {id: row for id, [row] in variants.items()}


def read_variants(
    manifest: dict[str, Any], store: Path, cell: Cell, beside: Beside | None = None
) -> dict[str, list[PassRow]]:
    """Text id -> the rows of its variants, in order, as `read_rows`."""
    from pretrace.passes import read

    at = _coordinates(cell, beside or Beside())
    if not any(at.items() <= entry.items() for entry in manifest["views"]):
        return {}
    table = read(manifest, store, **at)
    variants: dict[str, dict[int, PassRow]] = {}
    for id, variant, row in zip(
        table["text_id"].to_pylist(), table["variant"].to_pylist(), _rows(table), strict=True
    ):
        variants.setdefault(id, {})[variant] = row
    return {id: [rows[variant] for variant in sorted(rows)] for id, rows in variants.items()}


def _coordinates(cell: Cell, beside: Beside) -> dict[str, Any]:
    return {
        "view": cell.view,
        "companion": beside.companion,
        "prefix": beside.prefix,
        "draw": beside.draw,
        "shots": beside.shots,
        "start_token": cell.start_token,
        "inner_start": cell.inner_start and bool(beside.prefix),
        "subset": cell.subset,
        "length": cell.length,
    }


def _rows(table: "pa.Table") -> list[PassRow]:
    token_ids, logprobs = _arrays(table, "token_ids", np.int64), _arrays(table, "logprobs", np.float64)
    entropies, variances = _arrays(table, "entropies", np.float64), _arrays(table, "variances", np.float64)
    reasons, shots_used = table["skipped"].to_pylist(), table["shots_used"].to_pylist()
    return [
        PassRow(
            token_ids=token_ids[i],
            logprobs=logprobs[i],
            entropies=entropies[i],
            variances=variances[i],
            skipped=reason or ("" if len(token_ids[i]) else "no scored token"),
            shots_used=shots_used[i],
        )
        for i, reason in enumerate(reasons)
    ]


def _arrays(table: "pa.Table", column: str, dtype: Any) -> list[Any]:
    """The lists of a column as arrays; None for each row where the pass did not store the column."""
    lists = table[column].combine_chunks()
    if len(lists) == lists.null_count:
        return [None] * len(lists)
    flat = lists.flatten().to_numpy(zero_copy_only=False).astype(dtype)
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    for bad in np.flatnonzero(~np.isfinite(flat))[:1]:
        id = table["text_id"][int(np.searchsorted(ends, bad, side="right"))]
        raise InputError(
            f"the model gave {column} of text '{id}' that are {flat[bad]}. Run the model with dtype: float32."
        )
    return np.split(flat, ends[:-1])
