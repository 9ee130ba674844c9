"""Pass tables read back, text by text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.plan import Cell
from pretrace.runtime.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


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


def read_rows(manifest: dict[str, Any], store: Path, cell: Cell, *, companion: str) -> dict[str, PassRow]:
    """Text id -> its row in the pass without prefix over that cell; nothing where the manifest holds no such
    pass."""
    from pretrace.passes import read

    if not _holds(manifest, cell, companion):
        return {}
    table = read(
        manifest,
        store,
        view=cell.view,
        companion=companion,
        start_token=cell.start_token,
        subset=cell.subset,
        length=cell.length,
    )
    if np.any(table["variant"].to_numpy() != 0):
        raise ValueError(f"{cell}: more than one variant of a text in a pass over the text itself")
    ids, reasons = table["text_id"].to_pylist(), table["skipped"].to_pylist()
    token_ids, logprobs = _arrays(table, "token_ids", np.int64), _arrays(table, "logprobs", np.float64)
    entropies, variances = _arrays(table, "entropies", np.float64), _arrays(table, "variances", np.float64)
    return {
        id: PassRow(
            token_ids=token_ids[i],
            logprobs=logprobs[i],
            entropies=entropies[i],
            variances=variances[i],
            skipped=reasons[i] or ("" if len(token_ids[i]) else "no scored token"),
        )
        for i, id in enumerate(ids)
    }


def _holds(manifest: Mapping[str, Any], cell: Cell, companion: str) -> bool:
    wanted = {
        "view": cell.view,
        "companion": companion,
        "prefix": "",
        "start_token": cell.start_token,
        "inner_start": False,
        "subset": cell.subset,
        "length": cell.length,
    }
    return any(wanted.items() <= entry.items() for entry in manifest["views"])


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
