"""Pass tables read back, some texts at a time."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.plan import Cell
from pretrace.runtime.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 5_000


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


class Walk(dict[str, list[PassRow]]):
    """Text id -> the rows of its variants, in order, of some of a cell's texts at a time; see `step`.

    A pass of 10^6 texts is never in memory as a whole. Its file is ordered by text id.
    """

    def __init__(self, batches: "Iterator[pa.RecordBatch]") -> None:
        self._batches = batches
        self._ahead: list[tuple[str, int, PassRow]] = []

    def step(self, last: str) -> None:
        """Go on to the texts up to the id `last`: to those that follow the last step's."""
        while not self._ahead or self._ahead[-1][0] <= last:
            batch = next(self._batches, None)
            if batch is None:
                break
            rows = _rows(batch)
            if any(one[0] > other[0] for one, other in pairwise([*self._ahead[-1:], *rows])):
                raise ValueError("a pass is not ordered by text id")
            self._ahead += rows
        reached = bisect_right(self._ahead, last, key=lambda row: row[0])
        self.clear()
        for id, of_text in groupby(self._ahead[:reached], key=lambda row: row[0]):
            self[id] = [row for _, _, row in sorted(of_text, key=lambda row: row[1])]
        del self._ahead[:reached]

    def one(self, id: str) -> PassRow | None:
        """The row of a text, in a pass over the texts themselves; None where it has none."""
        rows = self.get(id, [])
        if len(rows) > 1:
            raise ValueError(f"{id}: more than one variant of a text in a pass over the text itself")
        return rows[0] if rows else None


def walk(manifest: dict[str, Any], store: Path, cell: Cell, beside: Beside) -> Walk:
    """The pass over a cell from its start; an empty one where the manifest holds no such pass."""
    from pretrace.passes import read_batches

    at = _coordinates(cell, beside)
    if not any(at.items() <= entry.items() for entry in manifest["views"]):
        return Walk(iter(()))
    return Walk(read_batches(manifest, store, at, ROWS_AT_ONCE))


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


def _rows(batch: "pa.RecordBatch") -> list[tuple[str, int, PassRow]]:
    token_ids, logprobs = _arrays(batch, "token_ids", np.int64), _arrays(batch, "logprobs", np.float64)
    entropies, variances = _arrays(batch, "entropies", np.float64), _arrays(batch, "variances", np.float64)
    ids, variants, reasons, shots_used = (
        batch[column].to_pylist() for column in ("text_id", "variant", "skipped", "shots_used")
    )
    rows = [
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
    return list(zip(ids, variants, rows, strict=True))


def _arrays(batch: "pa.RecordBatch", column: str, dtype: Any) -> list[Any]:
    """The lists of a column as arrays; None for each row where the pass did not store the column."""
    lists = batch[column]
    if len(lists) == lists.null_count:
        return [None] * len(lists)
    flat = lists.flatten().to_numpy(zero_copy_only=False).astype(dtype)
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    for bad in np.flatnonzero(~np.isfinite(flat))[:1]:
        id = batch["text_id"][int(np.searchsorted(ends, bad, side="right"))]
        raise InputError(
            f"the model gave {column} of text '{id}' that are {flat[bad]}. Run the model with dtype: float32."
        )
    return np.split(flat, ends[:-1])
