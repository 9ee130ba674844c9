"""The passes of one model over one benchmark: stored chunks are kept, missing ones run,
the manifest is last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pandas as pd

from pretrace.models.tokens import start_token_ids
from pretrace.passes.chunk_table import chunk_table
from pretrace.passes.cost import Cost, cost_line, cost_of, gpu_name
from pretrace.passes.drafts import STORED, Draft, finished
from pretrace.passes.prompt_prefix import PromptPrefix, prompt_prefix_of
from pretrace.passes.requests import (
    CHUNK_TOKENS,
    Evaluated,
    Pass,
    Request,
    TokenisedTexts,
    batch_tokens_of,
    chunk_key,
    chunks_of,
    engine_of,
    longest_text,
    passes_of,
)
from pretrace.passes.shares import WHOLE, JobShare
from pretrace.passes.store import Store
from pretrace.passes.text_check import TextCheck
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, write_json
from pretrace.runtime.logs import Progress, log
from pretrace.views.prefixes import ShotTexts
from pretrace.views.readings import PassKey, PassRequest
from pretrace.views.stored import ViewTexts

if TYPE_CHECKING:
    import pyarrow as pa

    from pretrace.models.api.target import ApiTarget
    from pretrace.models.target import Target
    from pretrace.passes.echo import EchoScorer
    from pretrace.passes.engine import Engine


def no_shots(key: PassKey) -> Sequence[str]:
    shots = key.reading.shots
    name = f"prefix '{shots.prefix.name}', draw {shots.draw}" if shots else ""
    raise InputError(
        f"a pass asks for {name}, and the shots are not among this job's inputs."
    )


def run(
    requests: Sequence[PassRequest], *, store: Path, manifest: Path, **options: Any
) -> JsonObject:
    """Compute the chunks of passes that the store does not hold yet and write the
    manifest; returns it. Arguments and errors as `fill`'s."""
    draft, records = fill(requests, store=store, **options)
    written = finished(draft, records.__getitem__)
    write_json(manifest, written)
    return written


def fill(
    requests: Sequence[PassRequest],
    *,
    benchmark: pd.DataFrame,
    names: dict[str, str],
    target: "Target | ApiTarget",
    store: Path,
    batch_tokens: int | str,
    threads: int,
    load: Callable[[], Any] | None = None,
    shots: ShotTexts = no_shots,
    evaluated: Evaluated | None = None,
    views: Mapping[str, ViewTexts] | None = None,
    chunk_tokens: int = CHUNK_TOKENS,
    share: JobShare | None = None,
    note_left: Callable[[float], None] = lambda left: None,
) -> tuple[Draft, dict[str, JsonObject]]:
    """Compute the chunks of passes that the store does not hold yet; returns the draft
    of the manifest, and the records of the chunks by key.

    `names` has study, model and benchmark. `batch_tokens` is the budget of a batch,
    padding counted, or `auto`. `load` gives the loaded model (None: the target's own
    way, each time anew). `shots` gives the texts of shots, `evaluated` the ids of the
    texts that are read after them, `views` the stored views. With a `share` only its
    chunks are computed. `note_left` is told which share of the tokens is left.
    Weights are loaded only if a chunk is missing; each chunk is stored as soon as it is
    done. Raises `InputError` for texts or weights that give no finite number, and for
    requests that the benchmark, the tokenizer, `shots` or `views` cannot answer.
    """
    name = f"{names['model']}/{names['benchmark']}"
    files = Store(store)
    files.remove_abandoned()
    check = TextCheck(target)
    texts = TokenisedTexts(target.tokenizer, check)
    batch_tokens = batch_tokens_of(batch_tokens, target.device)
    settings = {"batch_tokens": batch_tokens, "threads": threads}
    passes = passes_of(requests, benchmark, views or {}, evaluated)
    planned = _plan_tasks(passes, texts, target, shots, chunk_tokens, settings)
    for read in passes:
        check.refuse(read.text_ids)
    reading = check.facts(read.key.reading.start_token for read in passes)
    for remark in reading["remarks"]:
        log.warning("%s: %s", name, remark)
    # a prompt prefix follows the longer ones that begin with it: they are encoded once
    ordered = sorted(planned, key=lambda task: task.prompt_prefix.parts, reverse=True)
    chunks_by_key = {}
    for task in ordered:
        for chunk in task.chunks:
            chunks_by_key[chunk.key] = chunk
    own_share = share or WHOLE
    own = own_share.of([*chunks_by_key.values()], lambda chunk: chunk.tokens)
    records = {}
    missing = {}
    for chunk in own:
        record = files.record(chunk.key)
        if record is None:
            missing[chunk.key] = chunk
        else:
            records[chunk.key] = record
    log.info(
        STORED,
        name,
        f" (share {share.number} of {share.total})" if share else "",
        len(planned),
        len(own),
        len(records),
    )
    if missing:
        whole = sum(chunk.tokens for chunk in own)
        with _reader(target, load, name, batch_tokens, threads) as engine:
            records |= _compute(
                ordered,
                missing,
                engine,
                gpu_name(target.device),
                files,
                name,
                lambda left: note_left(left / whole),
            )
    draft: Draft = dict(names)
    draft["engine"] = engine_of(target)
    draft["checkpoint"] = target.digest
    draft |= reading
    for key in ("dtype", "device", "vocabulary", "context"):
        draft[key] = getattr(target, key)
    draft |= settings
    draft["views"] = [task.row() for task in planned]
    return draft, records


class _Chunk(NamedTuple):
    """The key of a chunk, and how many requests and tokens it has, with one token more
    for each request."""

    key: str
    requests: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Task:
    """A pass with its prompt prefix and its chunks; `requests` yields the requests of
    each chunk."""

    read: Pass
    prompt_prefix: PromptPrefix
    chunks: list[_Chunk]
    requests: Callable[[], Iterator[list[Request]]]

    def row(self) -> dict[str, Any]:
        """Return the pass's row of the manifest's draft."""
        row = self.read.key.to_json()
        row["statistics"] = self.read.statistics
        row["shots_used"] = self.prompt_prefix.shots_used
        row["chunks"] = [chunk.key for chunk in self.chunks]
        return row


def _plan_tasks(
    passes: list[Pass],
    texts: TokenisedTexts,
    target: "Target | ApiTarget",
    shots: ShotTexts,
    chunk_tokens: int,
    settings: dict[str, int],
) -> list[_Task]:
    """Return tasks in the order of the passes, without those that have nothing past the
    context.

    Passes over the same texts are planned together, tokenised once.
    """
    tasks = {}
    for read in sorted(passes, key=lambda read: str(read.sent_texts)):
        reading = read.key.reading
        start = start_token_ids(target.tokenizer, reading.start_token)
        prompt_prefix = PromptPrefix(start)
        longest = longest_text(read, texts)
        # a view without any of these texts has none of the shots, either
        if reading.shots and longest:
            prompt_prefix = prompt_prefix_of(
                reading.shots, start, tokenizer=target.tokenizer,
                texts=shots(read.key), context=target.context, longest=longest,
            )  # fmt: skip
        requests = partial(
            chunks_of, read, texts, prompt_prefix, target.context, chunk_tokens
        )
        chunks = []
        for chunk in requests():
            tokens = sum(1 + len(request.tokens) for request in chunk)
            key = chunk_key(chunk, read, prompt_prefix, target=target, **settings)
            chunks.append(_Chunk(key, len(chunk), tokens))
        if chunks or not reading.past_context:
            tasks[read.key] = _Task(read, prompt_prefix, chunks, requests)
    return [tasks[read.key] for read in passes if read.key in tasks]


@contextmanager
def _reader(
    target: "Target | ApiTarget",
    load: Callable[[], Any] | None,
    name: str,
    batch_tokens: int,
    threads: int,
) -> "Iterator[Engine | EchoScorer]":
    """Load the model into an engine, with torch's settings; a model behind an API needs
    no torch."""
    if target.device == "api":
        from pretrace.passes.echo import EchoScorer

        yield EchoScorer(cast("ApiTarget", target), batch_tokens)
        return
    from pretrace.models.devices import torch_settings
    from pretrace.passes.engine import Engine

    with torch_settings(threads):
        load = load or cast("Target", target).load
        yield Engine(load(), name, batch_tokens)


def _compute(
    ordered: list[_Task],
    missing: Mapping[str, _Chunk],
    engine: "Engine | EchoScorer",
    gpu: str | None,
    store: Store,
    name: str,
    note_left: Callable[[int], None],
) -> dict[str, JsonObject]:
    """Compute and store the missing chunks; returns their records by key. `note_left`
    is told the tokens to do."""
    records = {}
    left = sum(chunk.tokens for chunk in missing.values())
    texts = sum(chunk.requests for chunk in missing.values())
    with Progress(name, total=texts, unit="texts") as progress:
        for task in ordered:
            wanted = []
            for chunk in task.chunks:
                if chunk.key in missing and chunk.key not in records:
                    wanted.append(chunk.key)
            if not wanted:
                continue
            for chunk, requests in zip(task.chunks, task.requests(), strict=True):
                if chunk.key not in wanted:
                    continue
                # a job of another benchmark with the same texts may have stored it
                # meanwhile
                record = store.record(chunk.key)
                if record:
                    progress.update(chunk.requests)
                else:
                    table, took = _compute_chunk(requests, task, engine, progress)
                    record = store.write(chunk.key, table, took | {"gpu": gpu})
                records[chunk.key] = record
                left -= chunk.tokens
                note_left(left)
            cost = cost_of([records[key] for key in wanted])
            log.info("%s: %s", task.read.key.name, cost_line(cost))
    return records


def _compute_chunk(
    requests: list[Request],
    task: _Task,
    engine: "Engine | EchoScorer",
    progress: Progress,
) -> tuple["pa.Table", dict[str, Any]]:
    """Compute a chunk; returns its rows for the store and its cost."""
    cost = Cost()

    def report(done: int, tokens: int) -> None:
        cost.ran += tokens
        progress.update(done, note=cost.note())

    prefix = task.prompt_prefix
    statistics = task.read.statistics
    values = engine.statistics(requests, prefix, statistics=statistics, progress=report)
    cost.texts = len(requests)
    cost.skipped = sum(request.skip_reason(prefix) is not None for request in requests)
    cost.truncated = sum(request.truncated for request in requests)
    cost.tokens = sum(value.shape[1] for value in values)
    record = cost.record()
    record["batch_tokens"] = engine.batch_tokens
    record["prefix_way"] = engine.prefix_way(prefix)
    return chunk_table(requests, prefix, statistics, values), record
