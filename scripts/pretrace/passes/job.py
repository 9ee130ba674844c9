"""The passes of one model over one benchmark: the stored are kept, the missing run, the manifest is last."""

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.models import Target, start_token_ids
from pretrace.passes.requests import ENGINE_VERSION, WINDOW, Cell, expand, key_of, windows
from pretrace.passes.store import Store, table_of
from pretrace.runtime.files import write_json
from pretrace.runtime.logs import Progress, log

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from pretrace.passes.engine import Engine


def run(
    requests: list[dict[str, Any]],
    *,
    benchmark: "pd.DataFrame",
    names: dict[str, str],
    target: Target,
    store: Path,
    manifest: Path,
    batch_tokens: int,
    threads: int,
    window: int = WINDOW,
) -> dict[str, Any]:
    """Compute what the store does not hold yet and write the manifest; returns it.

    `names` has study, model and benchmark. `batch_tokens` is the budget of a batch, padding counted. Weights
    load only if something is missing; each cell is in the store as soon as it is done. Raises `InputError`
    for texts or weights that give no finite number, and for requests that the benchmark or the tokenizer
    cannot answer.
    """
    kept = Store(store)
    planned = [_plan(cell, target, batch_tokens, window) for cell in expand(requests, benchmark)]
    records = {one.key: kept.record(one.key) for one in planned}
    missing = {one.key: one for one in planned if records[one.key] is None}
    name = f"{names['model']}/{names['benchmark']}"
    log.info("%s: %d passes, %d of them stored", name, len(records), len(records) - len(missing))
    if missing:
        with _torch_settings(threads):
            records |= _compute(list(missing.values()), target, kept, name, batch_tokens)
    views = [
        {
            **one.cell.coordinates,
            "statistics": one.cell.statistics,
            "file": kept.file(one.key).name,
            **(records[one.key] or {}),
        }
        for one in planned
    ]
    written = {
        **names,
        "engine": ENGINE_VERSION,
        "checkpoint": target.digest,
        "dtype": target.dtype,
        "device": target.device,
        "vocabulary": target.vocabulary,
        "context": target.context,
        "batch_tokens": batch_tokens,
        "threads": threads,
        "views": views,
    }
    write_json(manifest, written)
    return written


@dataclass(frozen=True, slots=True)
class _Pass:
    """A cell with its start token, the number of its requests, and the key of its file in the store."""

    cell: Cell
    start: tuple[int, ...]
    window: int
    requests: int
    key: str


def _plan(cell: Cell, target: Target, batch_tokens: int, window: int) -> _Pass:
    start = start_token_ids(target.tokenizer, cell.coordinates["start_token"])
    asked = windows(cell, target, start, window)
    key, requests = key_of(cell, asked, target=target, start=start, batch_tokens=batch_tokens)
    return _Pass(cell, start, window, requests, key)


def _compute(
    missing: list[_Pass], target: Target, store: Store, name: str, batch_tokens: int
) -> dict[str, dict[str, Any]]:
    from pretrace.passes.engine import Engine

    engine = Engine(target.load(), name, batch_tokens)
    records: dict[str, dict[str, Any]] = {}
    with Progress(name, total=sum(one.requests for one in missing), unit="texts") as progress:
        for one in missing:
            cost = _Cost()
            sha256 = store.write(one.key, _tables(one, target, engine, cost, progress))
            record = {"sha256": sha256, "batch_tokens": engine.batch_tokens, **cost.record()}
            store.finish(one.key, record)
            records[one.key] = record
            log.info("%s: %s", one.cell.name, cost.summary())
    return records


def _tables(
    one: _Pass, target: Target, engine: "Engine", cost: "_Cost", progress: Progress
) -> Iterator["pa.Table"]:
    """The store's rows, window by window; nothing of a window outlives it."""

    def report(texts: int, tokens: int) -> None:
        cost.ran += tokens
        progress.update(texts, note=cost.note())

    for requests in windows(one.cell, target, one.start, one.window):
        values = engine.statistics(requests, one.start, full=one.cell.full, progress=report)
        cost.texts += len(requests)
        cost.skipped += sum(request.skipped(one.start) is not None for request in requests)
        cost.truncated += sum(request.truncated for request in requests)
        cost.tokens += sum(value.shape[1] for value in values)
        table = table_of(requests, one.start, values)
        del requests, values
        yield table
        del table


class _Cost:
    """Counts of one cell and what they took. `tokens`: scored and stored; `ran`: computed, repeats not."""

    def __init__(self) -> None:
        self.texts = self.skipped = self.truncated = self.tokens = self.ran = 0
        self._begin = time.monotonic()

    def note(self) -> str:
        speed = self.ran / self._seconds()
        return f"{speed:.0f} tokens/s, peak memory {_peak_memory_mb():.0f} MB{_gpu_note()}"

    def summary(self) -> str:
        left = f"{self.skipped} skipped, {self.truncated} truncated"
        return f"{self.texts} texts ({left}), {self.tokens} tokens in {self._seconds():.1f} s, {self.note()}"

    def record(self) -> dict[str, Any]:
        return {
            "texts": self.texts,
            "skipped": self.skipped,
            "truncated": self.truncated,
            "tokens": self.tokens,
            "seconds": round(self._seconds(), 3),
            "tokens_per_second": round(self.ran / self._seconds(), 1),
            "peak_memory_mb": round(_peak_memory_mb(), 1),
            "peak_gpu_memory_mb": _peak_gpu_memory_mb(),
        }

    def _seconds(self) -> float:
        return max(time.monotonic() - self._begin, 1e-6)


def _peak_memory_mb() -> float:
    """Of the process so far; Linux counts in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _peak_gpu_memory_mb() -> float | None:
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_initialized() else None


def _gpu_note() -> str:
    peak = _peak_gpu_memory_mb()
    return "" if peak is None else f", on the GPU {peak:.0f} MB"


@contextlib.contextmanager
def _torch_settings(threads: int) -> Iterator[None]:
    """Fixed threads and deterministic kernels, for equal bytes; put back afterwards."""
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
