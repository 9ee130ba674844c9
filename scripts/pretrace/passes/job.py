"""The passes of one model over one benchmark: the stored are kept, the missing run, the manifest is last."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import torch

from pretrace.models.settings import torch_settings
from pretrace.models.target import Target
from pretrace.models.tokens import start_token_ids
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix, prompt_prefix_of
from pretrace.passes.requests import (
    ENGINE_VERSION,
    WINDOW,
    Evaluated,
    Pass,
    Texts,
    key_of,
    longest_text,
    passes_of,
    windows,
)
from pretrace.passes.store import Store, table_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_json
from pretrace.runtime.logs import Progress, log
from pretrace.views.prefixes import ShotTexts
from pretrace.views.readings import PAST_CONTEXT, PassKey, PassRequest
from pretrace.views.stored import StoredView

if TYPE_CHECKING:
    from pretrace.models.api.target import ApiTarget
    from pretrace.passes.echo import EchoScorer


def no_shots(key: PassKey) -> Sequence[str]:
    shots = key.reading.shots
    name = f"prefix '{shots.prefix.name}', draw {shots.draw}" if shots else ""
    raise InputError(f"a pass asks for {name}, and the shots are not among this job's inputs.")


def run(
    requests: Sequence[PassRequest],
    *,
    benchmark: pd.DataFrame,
    names: dict[str, str],
    target: "Target | ApiTarget",
    store: Path,
    manifest: Path,
    batch_tokens: int,
    threads: int,
    shots: ShotTexts = no_shots,
    evaluated: Evaluated | None = None,
    views: Mapping[str, StoredView] | None = None,
    window: int = WINDOW,
) -> dict[str, Any]:
    """Compute what the store does not hold yet and write the manifest; returns it.

    `names` has study, model and benchmark. `batch_tokens` is the budget of a batch, padding counted. `shots`
    gives the texts of shots, `evaluated` the ids of the texts that are read after them, `views` the stored views.
    Weights are loaded only if a pass is missing; each pass is stored as soon as it is done. Raises `InputError` for
    texts or weights that give no finite number, and for requests that the benchmark, the tokenizer, `shots` or
    `views` cannot answer.
    """
    files = Store(store)
    files.remove_abandoned()
    texts = Texts(target.tokenizer)
    settings = {"batch_tokens": batch_tokens, "threads": threads}
    passes = passes_of(requests, benchmark, views or {}, evaluated)
    planned = [
        task
        for task in _planned(passes, texts, target, shots, window, settings)
        # if every text fits into the context, there is nothing past it
        if task.requests or task.read.key.reading.windows != PAST_CONTEXT
    ]
    records = {task.key: files.record(task.key) for task in planned}
    missing = {task.key: task for task in planned if records[task.key] is None}
    name = f"{names['model']}/{names['benchmark']}"
    log.info("%s: %d passes, %d of them stored", name, len(records), len(records) - len(missing))
    if missing:
        with torch_settings(threads):
            records |= _compute(list(missing.values()), target, texts, files, name, batch_tokens)
    rows = [
        task.read.key.to_json()
        | {"statistics": task.read.statistics, "file": files.file(task.key).name, **(records[task.key] or {})}
        for task in planned
    ]
    facts = {key: getattr(target, key) for key in ("dtype", "device", "vocabulary", "context")}
    written = {
        **names, "engine": ENGINE_VERSION, "checkpoint": target.digest, **facts, **settings, "views": rows
    }  # fmt: skip
    write_json(manifest, written)
    return written


@dataclass(frozen=True, slots=True)
class _Task:
    """A pass with its prompt prefix, the number of its requests, and the key of its file."""

    read: Pass
    prompt_prefix: PromptPrefix
    window: int
    requests: int
    key: str


def _planned(
    passes: list[Pass],
    texts: Texts,
    target: "Target | ApiTarget",
    shots: ShotTexts,
    window: int,
    settings: dict[str, int],
) -> list[_Task]:
    """Return tasks in the order of the passes; passes over the same texts are planned together, tokenised once."""
    planned: dict[int, _Task] = {}
    for index in sorted(range(len(passes)), key=lambda index: str(passes[index].sent_texts)):
        read, reading = passes[index], passes[index].key.reading
        prompt_prefix = PromptPrefix(start_token_ids(target.tokenizer, reading.start_token))
        if reading.shots:
            prompt_prefix = prompt_prefix_of(
                reading.shots, prompt_prefix.start, tokenizer=target.tokenizer,
                texts=shots(read.key), context=target.context,
                longest=longest_text(read, texts),
            )  # fmt: skip
        requests = windows(read, texts, prompt_prefix, context=target.context, size=window)
        key, count = key_of(read, requests, target=target, prompt_prefix=prompt_prefix, **settings)
        planned[index] = _Task(read, prompt_prefix, window, count, key)
    return [planned[index] for index in range(len(passes))]


def _compute(
    missing: list[_Task],
    target: "Target | ApiTarget",
    texts: Texts,
    store: Store,
    name: str,
    batch_tokens: int,
) -> dict[str, dict[str, Any]]:
    engine: Engine | EchoScorer
    if isinstance(target, Target):
        engine = Engine(target.load(), name, batch_tokens, attention=target.prefix_attention())
    else:
        from pretrace.passes import echo

        engine = echo.EchoScorer(target, batch_tokens)
    # Sorted downwards, a prompt prefix follows the longer ones that begin with it: they are encoded once.
    missing = sorted(missing, key=lambda task: task.prompt_prefix.parts, reverse=True)
    records: dict[str, dict[str, Any]] = {}
    with Progress(name, total=sum(task.requests for task in missing), unit="texts") as progress:
        for task in missing:
            if stored := store.record(task.key):  # by another benchmark's job with the same texts, meanwhile
                records[task.key] = stored
                progress.update(task.requests)
                continue
            cost = Cost()
            sha256 = store.write(task.key, _tables(task, target.context, texts, engine, cost, progress))
            record = {"sha256": sha256, "batch_tokens": engine.batch_tokens, **cost.record()}
            record["gpu"] = gpu_name(target.device)
            store.finish(task.key, record)
            records[task.key] = record
            log.info("%s: %s", task.read.key.name, cost.summary())
    return records


def gpu_name(device: str) -> str | None:
    """Return the name of the GPU that `device` is in this process, None for any other device."""
    if not device.startswith("cuda"):
        return None
    return str(torch.cuda.get_device_name(device))


def _tables(
    task: _Task,
    context: int | None,
    texts: Texts,
    engine: "Engine | EchoScorer",
    cost: "Cost",
    progress: Progress,
) -> Iterator[pa.Table]:
    """Yield the store's rows, window by window; nothing of a window outlives it."""

    def report(done: int, tokens: int) -> None:
        cost.ran += tokens
        progress.update(done, note=cost.note())

    for requests in windows(task.read, texts, task.prompt_prefix, context=context, size=task.window):
        values = engine.statistics(
            requests, task.prompt_prefix, statistics=task.read.statistics, progress=report
        )
        requests = engine.tokenised(requests, values, task.prompt_prefix)
        cost.texts += len(requests)
        cost.skipped += sum(request.skipped(task.prompt_prefix) is not None for request in requests)
        cost.truncated += sum(request.truncated for request in requests)
        cost.tokens += sum(value.shape[1] for value in values)
        table = table_of(requests, task.prompt_prefix, values)
        del requests, values
        yield table
        del table


class Cost:
    """Counts of one pass and what they took. `tokens`: scored and stored; `ran`: computed, equal texts once.

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
    """Return the peak memory of the process so far; Linux counts in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _peak_gpu_memory_mb() -> float | None:
    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_initialized() else None
