"""The passes of one model over one benchmark: stored chunks are kept, missing ones run, the manifest is last."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pandas as pd

from pretrace.models.tokens import start_token_ids
from pretrace.passes.chunks import (
    CHUNK_TOKENS,
    ENGINE_VERSION,
    Chunk,
    chunk_requests,
    chunks_of,
    content_digest,
)
from pretrace.passes.cost import Cost, cost_of, gpu_name, summary
from pretrace.passes.prompt_prefix import PromptPrefix, prompt_prefix_of
from pretrace.passes.requests import Evaluated, Pass, Request, Texts, longest_text, passes_of
from pretrace.passes.store import Store, renamed, table_of
from pretrace.passes.text_check import TextCheck
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_json
from pretrace.runtime.logs import Progress, log
from pretrace.views.prefixes import ShotTexts
from pretrace.views.readings import PAST_CONTEXT, PassKey, PassRequest
from pretrace.views.stored import StoredView

if TYPE_CHECKING:
    import pyarrow as pa

    from pretrace.models.api.target import ApiTarget
    from pretrace.models.target import Target
    from pretrace.passes.echo import EchoScorer
    from pretrace.passes.engine import Engine


def no_shots(key: PassKey) -> Sequence[str]:
    shots = key.reading.shots
    name = f"prefix '{shots.prefix.name}', draw {shots.draw}" if shots else ""
    raise InputError(f"a pass asks for {name}, and the shots are not among this job's inputs.")


class Share(NamedTuple):
    """One of several jobs that read a model's passes over a benchmark together: `number` from 1 to `total`."""

    number: int
    total: int

    @classmethod
    def named(cls, name: str) -> "Share | None":
        """Return the share of a name like `2of4`, None for an empty name: the whole."""
        return cls(*map(int, name.split("of"))) if name else None


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
    chunk_tokens: int = CHUNK_TOKENS,
    share: Share | None = None,
) -> dict[str, Any]:
    """Compute the chunks of passes that the store does not hold yet and write the manifest; returns it.

    `names` has study, model and benchmark. `batch_tokens` is the budget of a batch, padding counted. `shots`
    gives the texts of shots, `evaluated` the ids of the texts that are read after them, `views` the stored views.
    With a `share` only its chunks are computed, and the manifest names no passes: it says that they are stored.
    Weights are loaded only if a chunk is missing; each chunk is stored as soon as it is done. Raises `InputError` for
    texts or weights that give no finite number, and for requests that the benchmark, the tokenizer, `shots` or
    `views` cannot answer.
    """
    files = Store(store)
    files.remove_abandoned()
    check = TextCheck(target)
    texts = Texts(target.tokenizer, check)
    settings = {"batch_tokens": batch_tokens, "threads": threads}
    passes = passes_of(requests, benchmark, views or {}, evaluated)
    planned = [
        task
        for task in _planned(passes, texts, target, shots, chunk_tokens, settings)
        # if every text fits into the context, there is nothing past it
        if task.chunks or task.read.key.reading.windows != PAST_CONTEXT
    ]
    for read in passes:
        check.refuse(read.text_ids)
    reading = check.facts(read.key.reading.start_token for read in passes)
    for remark in reading["remarks"]:
        log.warning("%s/%s: %s", names["model"], names["benchmark"], remark)
    own = _of_share(planned, share)
    records = {key: record for key in own if (record := files.record(key))}
    name = f"{names['model']}/{names['benchmark']}"
    of_share = f" (share {share.number} of {share.total})" if share else ""
    log.info(
        "%s%s: %d passes in %d chunks, %d of them stored",
        name,
        of_share,
        len(planned),
        len(own),
        len(records),
    )
    records |= _renamed(planned, own.keys() - records.keys(), target, texts, files, name)
    if missing := {key: chunk for key, chunk in own.items() if key not in records}:
        with _reader(target, name, batch_tokens, threads) as engine:
            records |= _compute(planned, missing, engine, target, texts, files, name)
    rows = [] if share else [_row(task, [records[chunk.key] for chunk in task.chunks]) for task in planned]
    facts = reading | {key: getattr(target, key) for key in ("dtype", "device", "vocabulary", "context")}
    written = {
        **names, "engine": ENGINE_VERSION, "checkpoint": target.digest, **facts, **settings, "views": rows
    }  # fmt: skip
    write_json(manifest, written)
    return written


@dataclass(frozen=True, slots=True)
class _Task:
    """A pass with its prompt prefix and its chunks."""

    read: Pass
    prompt_prefix: PromptPrefix
    chunks: list[Chunk]


def _planned(
    passes: list[Pass],
    texts: Texts,
    target: "Target | ApiTarget",
    shots: ShotTexts,
    chunk_tokens: int,
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
        chunks = chunks_of(read, texts, prompt_prefix, target=target, tokens=chunk_tokens, **settings)
        planned[index] = _Task(read, prompt_prefix, chunks)
    return [planned[index] for index in range(len(passes))]


def _by_prefix(planned: Iterable[_Task]) -> list[_Task]:
    """Sort tasks so that a prompt prefix follows the longer ones that begin with it: they are encoded once."""
    return sorted(planned, key=lambda task: task.prompt_prefix.parts, reverse=True)


def _of_share(planned: list[_Task], share: Share | None) -> dict[str, Chunk]:
    """Return a share's chunks by key: neighbours in the order of computing, about as many tokens as the others'."""
    every = {chunk.key: chunk for task in _by_prefix(planned) for chunk in task.chunks}
    if share is None:
        return every
    sizes = [chunk.tokens for chunk in every.values()]
    # a chunk belongs to the share that its middle lies in
    shares = [
        int((end - size / 2) * share.total / sum(sizes)) + 1
        for end, size in zip(accumulate(sizes), sizes, strict=True)
    ]
    pairs = zip(every.items(), shares, strict=True)
    return {key: chunk for (key, chunk), number in pairs if number == share.number}


def _row(task: _Task, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a pass's row of the manifest: its key, its files in order, and what their chunks took together."""
    files = [
        {"file": f"{chunk.key}.parquet", "sha256": record["sha256"]}
        for chunk, record in zip(task.chunks, records, strict=True)
    ]
    return task.read.key.to_json() | {"statistics": task.read.statistics, "files": files} | cost_of(records)


@contextmanager
def _reader(
    target: "Target | ApiTarget", name: str, batch_tokens: int, threads: int
) -> "Iterator[Engine | EchoScorer]":
    """Load the model into an engine, with torch's settings; a model behind an API needs no torch."""
    if target.device == "api":
        from pretrace.passes.echo import EchoScorer

        yield EchoScorer(cast("ApiTarget", target), batch_tokens)
        return
    from pretrace.models.devices import torch_settings
    from pretrace.passes.engine import Engine

    with torch_settings(threads):
        yield Engine(cast("Target", target).load(), name, batch_tokens)


def _renamed(
    planned: list[_Task],
    missing: Collection[str],
    target: "Target | ApiTarget",
    texts: Texts,
    store: Store,
    name: str,
) -> dict[str, dict[str, Any]]:
    """Store missing chunks whose texts the store holds under other ids; returns their records by key."""
    records: dict[str, dict[str, Any]] = {}
    for task in planned:
        for chunk in task.chunks:
            if chunk.key not in missing or chunk.key in records or not (found := store.alike(chunk.content)):
                continue
            table, record = found
            requests = chunk_requests(chunk, task.read, texts, task.prompt_prefix, target.context)
            ids = [request.text_id for request in requests]
            rows = renamed(table, ids, [content_digest(request) for request in requests])
            records[chunk.key] = record | {"sha256": store.write(chunk.key, rows)}
            store.finish(chunk.key, records[chunk.key])
    if records:
        log.info("%s: the texts of %d chunks are stored under other ids", name, len(records))
    return records


def _compute(
    planned: list[_Task],
    missing: Mapping[str, Chunk],
    engine: "Engine | EchoScorer",
    target: "Target | ApiTarget",
    texts: Texts,
    store: Store,
    name: str,
) -> dict[str, dict[str, Any]]:
    """Compute and store the missing chunks; returns their records by key."""
    gpu = gpu_name(target.device)
    records: dict[str, dict[str, Any]] = {}
    with Progress(name, total=sum(chunk.requests for chunk in missing.values()), unit="texts") as progress:
        for task in _by_prefix(planned):
            wanted = [chunk for chunk in task.chunks if chunk.key in missing and chunk.key not in records]
            for chunk in wanted:
                # a job of another benchmark with the same texts may have stored it meanwhile
                if stored := store.record(chunk.key):
                    progress.update(chunk.requests)
                    records[chunk.key] = stored
                    continue
                requests = chunk_requests(chunk, task.read, texts, task.prompt_prefix, target.context)
                table, cost = _computed(requests, task, engine, progress)
                way = engine.prefix_way(task.prompt_prefix)
                record = cost | {"sha256": store.write(chunk.key, table), "gpu": gpu, "prefix_way": way}
                store.finish(chunk.key, record)
                records[chunk.key] = record
            if wanted:
                log.info(
                    "%s: %s",
                    task.read.key.name,
                    summary(cost_of([records[chunk.key] for chunk in wanted])),
                )
    return records


def _computed(
    requests: list[Request], task: _Task, engine: "Engine | EchoScorer", progress: Progress
) -> tuple["pa.Table", dict[str, Any]]:
    """Compute a chunk; returns its rows for the store and its cost."""
    cost = Cost()

    def report(done: int, tokens: int) -> None:
        cost.ran += tokens
        progress.update(done, note=cost.note())

    contents = [content_digest(request) for request in requests]
    values = engine.statistics(requests, task.prompt_prefix, statistics=task.read.statistics, progress=report)
    requests = engine.tokenised(requests, values, task.prompt_prefix)
    cost.texts = len(requests)
    cost.skipped = sum(request.skipped(task.prompt_prefix) is not None for request in requests)
    cost.truncated = sum(request.truncated for request in requests)
    cost.tokens = sum(value.shape[1] for value in values)
    table = table_of(requests, task.prompt_prefix, values, contents)
    return table, {"batch_tokens": engine.batch_tokens, **cost.record()}
