"""What passes cost: texts, tokens, seconds and memory of a chunk, and of a pass as the
sum of its chunks."""

import resource
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_COUNTS = ("texts", "skipped", "truncated", "tokens")


class Cost:
    """Counts of one chunk and what they took. `tokens`: scored and stored; `ran`:
    computed, equal texts once.

    Tokens a second are computed ones, by wall time. CPU seconds are the process's, all
    threads together.
    """

    def __init__(self) -> None:
        self.texts = self.skipped = self.truncated = self.tokens = self.ran = 0
        self._begin, self._cpu = time.monotonic(), time.process_time()

    def note(self) -> str:
        speed, gpu = self.ran / self._seconds(), _peak_gpu_memory_mb()
        on_gpu = "" if gpu is None else f", on the GPU {gpu:.0f} MB"
        return f"{speed:.0f} tokens/s, peak memory {_peak_memory_mb():.0f} MB{on_gpu}"

    def record(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in _COUNTS} | {
            "seconds": round(self._seconds(), 3),
            "cpu_seconds": round(time.process_time() - self._cpu, 3),
            "tokens_per_second": round(self.ran / self._seconds(), 1),
            "peak_memory_mb": round(_peak_memory_mb(), 1),
            "peak_gpu_memory_mb": _peak_gpu_memory_mb(),
        }

    def _seconds(self) -> float:
        return max(time.monotonic() - self._begin, 1e-6)


def cost_of(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the cost of a pass from the records of its chunks, in the keys of one
    record.

    Counts and seconds are sums, tokens a second their ratio, memory the highest, the
    token budget the lowest.
    """
    seconds = sum(record["seconds"] for record in records)
    computed = sum(
        record["tokens_per_second"] * record["seconds"] for record in records
    )
    gpu_memory = [
        used for record in records if (used := record["peak_gpu_memory_mb"]) is not None
    ]
    return {
        **{key: sum(record[key] for record in records) for key in _COUNTS},
        "seconds": round(seconds, 3),
        "cpu_seconds": round(sum(record["cpu_seconds"] for record in records), 3),
        "tokens_per_second": round(computed / seconds, 1) if seconds else 0.0,
        "peak_memory_mb": max(
            (record["peak_memory_mb"] for record in records), default=None
        ),
        "peak_gpu_memory_mb": max(gpu_memory, default=None),
        "batch_tokens": min(
            (record["batch_tokens"] for record in records), default=None
        ),
        **{
            key: _names(record.get(key) for record in records)
            for key in ("gpu", "prefix_way")
        },
    }


def _names(names: Iterable[str | None]) -> str | None:
    return ", ".join(sorted({*filter(None, names)})) or None


def cost_line(cost: Mapping[str, Any]) -> str:
    """Return the cost of a pass as its line in the log."""
    left = f"{cost['skipped']} skipped, {cost['truncated']} truncated"
    texts = (
        f"{cost['texts']} texts ({left}), {cost['tokens']} tokens in "
        f"{cost['seconds']:.1f} s"
    )
    return (
        f"{texts}, {cost['tokens_per_second']:.0f} tokens/s, peak memory "
        f"{cost['peak_memory_mb']:.0f} MB"
    )


def _peak_memory_mb() -> float:
    """Return the peak memory of the process so far; Linux counts in KiB, macOS in
    bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**20 if sys.platform == "darwin" else 2**10
    )


def _peak_gpu_memory_mb() -> float | None:
    """Return the peak memory of the fullest GPU: a model may be on several, or on
    another than the first."""
    torch = sys.modules.get("torch")  # absent where a model behind an API reads
    if torch is None or not torch.cuda.is_initialized():
        return None
    peaks = [
        torch.cuda.max_memory_allocated(gpu) for gpu in range(torch.cuda.device_count())
    ]
    return round(max(peaks) / 2**20, 1)


def gpu_name(device: str) -> str | None:
    """Return the name of the GPU that `device` is in this process, None for any other
    device."""
    if not device.startswith("cuda"):
        return None
    import torch

    return str(torch.cuda.get_device_name(device))
