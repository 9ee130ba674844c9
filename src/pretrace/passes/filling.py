"""One job reads several benchmarks of a model: it only fills the store, and leaves each
pair's own job the draft of its manifest.

Comes in: what is to be read of each pair, as JSON (`Pair.filling`). A pair that is not
ready, or whose texts are refused, keeps no other from its passes: its own job reads it,
or says why not.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pretrace.passes.drafts import is_filled, write_draft
from pretrace.passes.shares import JobShare
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, read_parquet
from pretrace.runtime.identity import identity_to_be, read_identity
from pretrace.runtime.logs import log
from pretrace.runtime.work_left import work_left


def fill_pairs(
    pairs: Sequence[JsonObject],
    *,
    checkpoint: Path,
    loading: JsonObject,
    names: dict[str, str],
    store: Path,
    batch_tokens: int | str,
    threads: int,
    share: JobShare | None = None,
) -> dict[str, str]:
    """Fill the store for the pairs of a model that are ready, with those that become
    ready meanwhile; returns what came of each benchmark.

    The weights are loaded at most once, and torch is imported only if a text is read.
    `loading`: what `load_checkpoint` takes; `names` has study and model. Other
    arguments as those of `job.fill`.
    """

    @cache
    def target() -> Any:
        from pretrace.models.devices import torch_settings
        from pretrace.models.target import load_checkpoint

        with torch_settings(threads):
            return load_checkpoint(checkpoint, **loading)

    @cache
    def load() -> Any:
        return target().load()

    def outcome_of(pair: JsonObject) -> str:
        manifest = pair["manifest"]
        identity = identity_to_be(manifest)
        if identity is None:
            return NOT_READY
        is_read = read_identity(manifest) == identity
        if is_read or (share is None and is_filled(manifest, identity, store)):
            return "read before"
        from pretrace.passes.job import fill

        try:
            with work_left(pair["note"], pair["requests"], pair["read"]) as note_left:
                draft, _ = fill(
                    **read_inputs(**pair["inputs"]),
                    requests=pass_requests(pair["requests"]),
                    names=names | {"benchmark": pair["benchmark"]},
                    target=target(),
                    load=load,
                    store=store,
                    batch_tokens=batch_tokens,
                    threads=threads,
                    share=share,
                    note_left=note_left,
                )
        except InputError as error:
            return f"left to its own job, {error}"
        write_draft(manifest, identity, draft)
        return "filled"

    outcomes = dict.fromkeys((pair["benchmark"] for pair in pairs), NOT_READY)
    is_new = True
    while is_new:
        is_new = False
        for pair in pairs:
            benchmark = pair["benchmark"]
            if outcomes[benchmark] == NOT_READY:
                outcomes[benchmark] = outcome_of(pair)
                is_new |= outcomes[benchmark] == "filled"
    for benchmark, outcome in outcomes.items():
        log.info("%s on %s: %s", names["model"], benchmark, outcome)
    return outcomes


NOT_READY = "not ready, left to its own job"


def pass_requests(requests: Sequence[JsonObject]) -> list[Any]:
    """Return the requests of a job's parameters."""
    from pretrace.views.readings import PassRequest

    return [PassRequest.from_json(request) for request in requests]


def read_inputs(
    benchmark: str, prefixes: Any, completions: Any, views: Sequence[str]
) -> dict[str, Any]:
    """Return what `job.fill` takes of the files of a pair, [] for one that is not
    needed."""
    from pretrace.views.prefixes import evaluated_reader, shots_reader
    from pretrace.views.stored import read_views

    table = read_parquet(benchmark)
    texts = read_views(views)
    return {
        "benchmark": table,
        "views": texts,
        "shots": shots_reader(table, prefixes, completions, texts),
        "evaluated": evaluated_reader(table, prefixes),
    }
