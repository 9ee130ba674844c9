"""The passes of one model over one benchmark: the stored are kept, the missing run, the manifest is last."""

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
from pretrace.passes.cost import Cost
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix, Shots, prompt_prefix_of
from pretrace.passes.requests import (
    ENGINE_VERSION,
    PAST_CONTEXT,
    WINDOW,
    Evaluated,
    Part,
    PassRequest,
    Texts,
    expand,
    key_of,
    longest_text,
    windows,
)
from pretrace.passes.store import Store, table_of
from pretrace.runtime.files import write_json
from pretrace.runtime.logs import Progress, log
from pretrace.views.stored import StoredView

if TYPE_CHECKING:
    from pretrace.models.api.target import ApiTarget
    from pretrace.passes.echo import EchoScorer


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
    shots: Shots | None = None,
    evaluated: Evaluated | None = None,
    views: Mapping[str, StoredView] | None = None,
    window: int = WINDOW,
) -> dict[str, Any]:
    """Compute what the store does not hold yet and write the manifest; returns it.

    `names` has study, model and benchmark. `batch_tokens` is the budget of a batch, padding counted. `shots`
    gives the texts of a prefix (`prompt_prefix.Shots`), `evaluated` the ids of the texts that are read after it,
    `views` the stored views. Weights are loaded only if a part is missing; each part is stored as soon as it is
    done. Raises `InputError` for texts or weights that give no finite number, and for requests that the benchmark,
    the tokenizer, `shots` or `views` cannot answer.
    """
    kept = Store(store)
    kept.remove_abandoned()
    texts = Texts(target.tokenizer)
    how = {"batch_tokens": batch_tokens, "threads": threads}
    parts = expand(requests, benchmark, views or {}, evaluated)
    planned = [
        one
        for one in _planned(parts, texts, target, shots, window, how)
        # where every text fits into the context there is nothing past it
        if one.requests or one.part.coordinates["windows"] != PAST_CONTEXT
    ]
    records = {one.key: kept.record(one.key) for one in planned}
    missing = {one.key: one for one in planned if records[one.key] is None}
    name = f"{names['model']}/{names['benchmark']}"
    log.info("%s: %d passes, %d of them stored", name, len(records), len(records) - len(missing))
    if missing:
        with torch_settings(threads):
            records |= _compute(list(missing.values()), target, texts, kept, name, batch_tokens)
    entries = [
        {
            **one.part.coordinates,
            "statistics": one.part.statistics,
            "file": kept.file(one.key).name,
            **(records[one.key] or {}),
        }
        for one in planned
    ]
    facts = {key: getattr(target, key) for key in ("dtype", "device", "vocabulary", "context")}
    written = {
        **names, "engine": ENGINE_VERSION, "checkpoint": target.digest, **facts, **how, "views": entries
    }  # fmt: skip
    write_json(manifest, written)
    return written


@dataclass(frozen=True, slots=True)
class _Pass:
    """A part with its prompt prefix, the number of its requests, and the key of its file."""

    part: Part
    prompt_prefix: PromptPrefix
    window: int
    requests: int
    key: str


def _planned(
    parts: list[Part],
    texts: Texts,
    target: "Target | ApiTarget",
    shots: Shots | None,
    window: int,
    how: dict[str, int],
) -> list[_Pass]:
    """In the order of the parts, but those of the same texts are planned together: tokenised once."""
    planned: dict[int, _Pass] = {}
    for index in sorted(range(len(parts)), key=lambda index: str(parts[index].sent_texts)):
        part, at = parts[index], parts[index].coordinates
        prompt_prefix = PromptPrefix(start_token_ids(target.tokenizer, at["start_token"]))
        if at["prefix"]:
            longest = longest_text(part, texts)
            prompt_prefix = prompt_prefix_of(
                at, prompt_prefix.start, tokenizer=target.tokenizer, shots=shots, context=target.context,
                longest=longest,
            )  # fmt: skip
        asked = windows(part, texts, prompt_prefix, context=target.context, size=window)
        key, requests = key_of(part, asked, target=target, prompt_prefix=prompt_prefix, **how)
        planned[index] = _Pass(part, prompt_prefix, window, requests, key)
    return [planned[index] for index in range(len(parts))]


def _compute(
    missing: list[_Pass],
    target: "Target | ApiTarget",
    texts: Texts,
    store: Store,
    name: str,
    batch_tokens: int,
) -> dict[str, dict[str, Any]]:
    engine = _scorer(target, name, batch_tokens)
    # Sorted downwards, a prompt prefix follows the longer ones that begin with it: they are encoded once.
    missing = sorted(missing, key=lambda one: one.prompt_prefix.parts, reverse=True)
    records: dict[str, dict[str, Any]] = {}
    with Progress(name, total=sum(one.requests for one in missing), unit="texts") as progress:
        for one in missing:
            if stored := store.record(one.key):  # by another benchmark's job with the same texts, meanwhile
                records[one.key] = stored
                progress.update(one.requests)
                continue
            cost = Cost()
            sha256 = store.write(one.key, _tables(one, target.context, texts, engine, cost, progress))
            record = {"sha256": sha256, "batch_tokens": engine.batch_tokens, **cost.record()}
            record["gpu"] = gpu_name(target.device)
            store.finish(one.key, record)
            records[one.key] = record
            log.info("%s: %s", one.part.name, cost.summary())
    return records


def gpu_name(device: str) -> str | None:
    """The name of the GPU that `device` stands for in this process, None for any other device."""
    if not device.startswith("cuda"):
        return None
    return str(torch.cuda.get_device_name(device))


def _scorer(target: "Target | ApiTarget", name: str, batch_tokens: int) -> "Engine | EchoScorer":
    if isinstance(target, Target):
        return Engine(target.load(), name, batch_tokens, attention=target.prefix_attention())
    from pretrace.passes.echo import EchoScorer

    return EchoScorer(target, batch_tokens)


def _tables(
    one: _Pass,
    context: int | None,
    texts: Texts,
    engine: "Engine | EchoScorer",
    cost: Cost,
    progress: Progress,
) -> Iterator[pa.Table]:
    """The store's rows, window by window; nothing of a window outlives it."""

    def report(done: int, tokens: int) -> None:
        cost.ran += tokens
        progress.update(done, note=cost.note())

    for requests in windows(one.part, texts, one.prompt_prefix, context=context, size=one.window):
        values = engine.statistics(
            requests, one.prompt_prefix, statistics=one.part.statistics, progress=report
        )
        requests = engine.tokenised(requests, values, one.prompt_prefix)
        cost.texts += len(requests)
        cost.skipped += sum(request.skipped(one.prompt_prefix) is not None for request in requests)
        cost.truncated += sum(request.truncated for request in requests)
        cost.tokens += sum(value.shape[1] for value in values)
        table = table_of(requests, one.prompt_prefix, values)
        del requests, values
        yield table
        del table
