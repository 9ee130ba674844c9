"""The passes of one model over one benchmark: the stored are kept, the missing run, the manifest is last."""

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator
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
    cells = expand(requests, benchmark)
    keyed: list[tuple[Cell, tuple[int, ...], str]] = []
    for cell in cells:
        start = start_token_ids(target.tokenizer, cell.coordinates["start_token"])
        asked = windows(cell, target, start, window)
        keyed.append(
            (cell, start, key_of(cell, asked, target=target, start=start, batch_tokens=batch_tokens))
        )
    records = {key: kept.record(key) for _, _, key in keyed}
    missing = {key: (cell, start) for cell, start, key in keyed if records[key] is None}
    name = f"{names['model']}/{names['benchmark']}"
    log.info("%s: %d passes, %d of them stored", name, len(records), len(records) - len(missing))
    if missing:
        with _torch_settings(threads):
            records |= _compute(missing, target, kept, names["model"], batch_tokens, window)
    views = [
        {
            **cell.coordinates,
            "statistics": cell.statistics,
            "file": kept.file(key).name,
            **(records[key] or {}),
        }
        for cell, _, key in keyed
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


def _compute(
    missing: dict[str, tuple[Cell, tuple[int, ...]]],
    target: Target,
    store: Store,
    name: str,
    batch_tokens: int,
    window: int,
) -> dict[str, dict[str, Any]]:
    from pretrace.passes.engine import Engine

    engine = Engine(target.load(), name, batch_tokens)
    records: dict[str, dict[str, Any]] = {}
    for key, (cell, start) in missing.items():
        cost = _Cost()
        with Progress(f"{name}: {cell.name}", total=None, unit="texts") as progress:
            tables = _tables(cell, target, start, window, engine, cost, progress)
            sha256 = store.write(key, tables)
        records[key] = {"sha256": sha256, "batch_tokens": engine.batch_tokens, **cost.record()}
        store.finish(key, records[key])
        for what in ("skipped", "truncated"):
            if records[key][what]:
                log.info("%s: %d of %d texts %s", cell.name, records[key][what], records[key]["texts"], what)
    return records


def _tables(
    cell: Cell,
    target: Target,
    start: tuple[int, ...],
    window: int,
    engine: "Engine",
    cost: "_Cost",
    progress: Progress,
) -> Iterator["pa.Table"]:
    """The store's rows, window by window; nothing of a window outlives it."""

    def report(texts: int, tokens: int) -> None:
        cost.ran += tokens
        progress.update(texts, note=cost.note())

    for requests in windows(cell, target, start, window):
        values = engine.statistics(requests, start, full=cell.full, progress=report)
        cost.texts += len(requests)
        cost.skipped += sum(request.skipped(start) is not None for request in requests)
        cost.truncated += sum(request.truncated for request in requests)
        cost.tokens += sum(value.shape[1] for value in values)
        yield table_of(requests, start, values)


class _Cost:
    """Counts of one cell and what they took. `tokens`: scored tokens stored; `ran`: those computed, repeats
    left out.
    """

    def __init__(self) -> None:
        self.texts = self.skipped = self.truncated = self.tokens = self.ran = 0
        self._begin = time.monotonic()

    def note(self) -> str:
        return (
            f"{self.ran / self._seconds():.0f} tokens/s, peak memory {_peak_memory_mb():.0f} MB{_gpu_note()}"
        )

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
    """A fixed number of threads and deterministic kernels, for equal bytes; put back as they were
    afterwards.
    """
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
