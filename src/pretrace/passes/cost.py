"""What passes cost: texts, tokens, seconds and memory of a chunk, and of a pass as the
sum of its chunks."""

import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

from pretrace.runtime.files import JsonObject

_COUNTS = ("texts", "skipped", "truncated", "tokens")


class Cost:
    """Counts of one chunk and what they took. `tokens`: scored and stored; `ran`:
    computed, equal texts once.

    Tokens a second are computed ones, by wall time. CPU seconds are the process's, all
    threads together.
    """

    def __init__(self) -> None:
        self.texts = 0
        self.skipped = 0
        self.truncated = 0
        self.tokens = 0
        self.ran = 0
        self._begin = time.monotonic()
        self._cpu_begin = time.process_time()

    def note(self) -> str:
        speed = self.ran / self._seconds()
        gpu = _peak_gpu_memory_mb()
        on_gpu = "" if gpu is None else f", on the GPU {gpu:.0f} MB"
        return f"{speed:.0f} tokens/s, peak memory {_peak_memory_mb():.0f} MB{on_gpu}"

    def record(self) -> dict[str, Any]:
        seconds = self._seconds()
        cpu_seconds = time.process_time() - self._cpu_begin
        record = {key: getattr(self, key) for key in _COUNTS}
        record["seconds"] = round(seconds, 3)
        record["cpu_seconds"] = round(cpu_seconds, 3)
        record["tokens_per_second"] = round(self.ran / seconds, 1)
        record["peak_memory_mb"] = round(_peak_memory_mb(), 1)
        record["peak_gpu_memory_mb"] = _peak_gpu_memory_mb()
        return record

    def _seconds(self) -> float:
        return max(time.monotonic() - self._begin, 1e-6)


def cost_of(records: Sequence[JsonObject]) -> dict[str, Any]:
    """Return the cost of a pass from the records of its chunks, in the keys of one
    record.

    Counts and seconds are sums, tokens a second their ratio, memory the highest, the
    token budget the lowest.
    """

    def values(key: str) -> list[Any]:
        """Return what the chunks have of a key, without None and what they lack."""
        return [record[key] for record in records if record.get(key) is not None]

    cost = {key: sum(values(key)) for key in _COUNTS}
    seconds = sum(values("seconds"))
    computed = []
    for record in records:
        computed.append(record["tokens_per_second"] * record["seconds"])
    cost["seconds"] = round(seconds, 3)
    cost["cpu_seconds"] = round(sum(values("cpu_seconds")), 3)
    cost["tokens_per_second"] = round(sum(computed) / seconds, 1) if seconds else 0.0
    for key in ("peak_memory_mb", "peak_gpu_memory_mb"):
        cost[key] = max(values(key), default=None)
    cost["batch_tokens"] = min(values("batch_tokens"), default=None)
    for key in ("gpu", "prefix_way"):
        cost[key] = ", ".join(sorted(set(values(key)))) or None
    return cost


def cost_line(cost: JsonObject) -> str:
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _peak_gpu_memory_mb() -> float | None:
    """Return the peak memory of the fullest GPU: a model may be on several, or on
    another than the first."""
    torch = sys.modules.get("torch")  # absent where a model behind an API reads
    if torch is None or not torch.cuda.is_initialized():
        return None
    gpus = range(torch.cuda.device_count())
    return round(max(map(torch.cuda.max_memory_allocated, gpus)) / 2**20, 1)


def gpu_name(device: str) -> str | None:
    """Return the name of the GPU that `device` is in this process, None for any other
    device."""
    if not device.startswith("cuda"):
        return None
    import torch

    return str(torch.cuda.get_device_name(device))
