"""Which of two types is faster on this processor: measured once for each model, written
down and kept.

Processor flags do not say it: with avx512_bf16 bfloat16 is twice as fast as float32 on
one processor and slower on another. The record stays beside the model's
checkpoint.json. A new folder measures again, so noise must not decide: the second type
must be clearly faster, and small models are not measured.
"""

import os
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pretrace.runtime.files import JsonObject, digest, read_json, write_json
from pretrace.runtime.logs import log
from pretrace.runtime.provenance import processor

Seconds = Callable[[], float]
"""Computes once, and gives the seconds that it took."""

REPETITIONS = 5  # the least of so many times counts: other work only ever adds
CLEARLY = 1.5
"""How many times as fast the second way must be: what it loses (digits, memory) must
pay, and noise must not decide."""
MEASURABLE = 20_000_000
"""Weights in matrices from which on a model is measured. A smaller one computes for a
millisecond or less."""
_TOKENS = 128  # that a probe reads
_WIDEST = 2048  # rows and columns of a larger matrix are timed in part
_clock = time.thread_time  # other work on the machine does not count


def faster(ways: Mapping[str, Seconds], about: JsonObject, folder: Path) -> str:
    """Choose one of two types by name: the second if it is at least `CLEARLY` times as
    fast as the first.

    Measures both `ways` to compute unless `folder`/speeds has a record about this
    processor, these threads and what `about` names. The first record that is written
    counts, also for a job that measured at the same time.
    """
    import torch

    threads = torch.get_num_threads()
    case = dict(about)
    case |= {"processor": processor(), "threads": threads, "torch": torch.__version__}
    record = folder / "speeds" / f"dtype-{digest(case)[:12]}.json"
    when = "as measured before"
    if not record.is_file():
        when = "measured now"
        _write_first(record, {"about": case, **_least_seconds(ways)})
    result = read_json(record)
    chosen = result["chosen"]
    times = []
    for way, seconds in result["seconds"].items():
        times.append(f"{way} {1000 * seconds:.3g} ms")
    log.info(
        "dtype: %s (%s, %s on %s with %d threads: %s)",
        chosen,
        ", ".join(times),
        when,
        case["processor"],
        threads,
        record,
    )
    return chosen


def _least_seconds(ways: Mapping[str, Seconds]) -> dict[str, Any]:
    """Measure the least seconds of each way; they take turns, because a machine's speed
    drifts."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(1 + REPETITIONS):
        for way, compute in ways.items():
            times[way].append(compute())
    # the first time is slow: kernels are made, pages are touched
    best = {way: min(seconds[1:]) for way, seconds in times.items()}
    first, second = ways
    is_faster = best[first] >= CLEARLY * best[second]
    return {"seconds": best, "chosen": second if is_faster else first}


def _write_first(path: Path, value: Any) -> None:
    """Write a record, whole, unless another job has."""
    part = path.with_suffix(f".{uuid.uuid4().hex}")
    write_json(part, value)
    try:
        os.link(part, path)
    except OSError:  # it is there, or the disk knows no links
        if not path.exists():
            write_json(path, value)
    part.unlink()


def products(shapes: Mapping[tuple[int, int], int], dtype: str) -> Seconds:
    """Make the matrix products of a forward pass over 128 tokens; `shapes`: [out, in]
    -> number of matrices."""
    import torch

    drawn = torch.Generator().manual_seed(0)

    def product(rows: int, columns: int) -> Seconds:
        weight = torch.randn(rows, columns, generator=drawn).to(getattr(torch, dtype))
        inputs = torch.randn(_TOKENS, columns, generator=drawn).to(weight.dtype)
        return lambda: time_call(lambda: torch.nn.functional.linear(inputs, weight))

    parts = []
    for (rows, columns), count in sorted(shapes.items()):
        some_rows = min(rows, _WIDEST)
        some_columns = min(columns, _WIDEST)
        times = count * (rows * columns) / (some_rows * some_columns)
        parts.append((times, product(some_rows, some_columns)))
    return lambda: sum(times * seconds() for times, seconds in parts)


def time_call(compute: Callable[[], object]) -> float:
    """Measure the seconds that a call takes this process's main thread."""
    begin = _clock()
    compute()
    return _clock() - begin
