"""The cost of a part's passes: counts, seconds, peak memory."""

import resource
import sys
import time
from typing import Any

import torch


class Cost:
    """Counts of one part and what they took. `tokens`: scored and stored; `ran`: computed, equal texts once.

    Tokens a second are computed ones, by wall time. CPU seconds are the process's, all threads together.
    """

    def __init__(self) -> None:
        self.texts = self.skipped = self.truncated = self.tokens = self.ran = 0
        self._begin, self._cpu = time.monotonic(), time.process_time()

    def note(self) -> str:
        speed, gpu = self.ran / self._seconds(), _peak_gpu_memory_mb()
        on_gpu = "" if gpu is None else f", on the GPU {gpu:.0f} MB"
        return f"{speed:.0f} tokens/s, peak memory {_peak_memory_mb():.0f} MB{on_gpu}"

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
            "cpu_seconds": round(time.process_time() - self._cpu, 3),
            "tokens_per_second": round(self.ran / self._seconds(), 1),
            "peak_memory_mb": round(_peak_memory_mb(), 1),
            "peak_gpu_memory_mb": _peak_gpu_memory_mb(),
        }

    def _seconds(self) -> float:
        return max(time.monotonic() - self._begin, 1e-6)


def _peak_memory_mb() -> float:
    """Peak memory of the process so far; Linux counts in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _peak_gpu_memory_mb() -> float | None:
    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_initialized() else None
