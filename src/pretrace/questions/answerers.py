"""The model that answers questions or writes texts, opened as its entry says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pretrace.models.tokens import load_tokenizer
from pretrace.questions.answering import Answerer
from pretrace.runtime.files import JsonObject


@contextmanager
def answerer_of(
    entry: JsonObject,
    name: str,
    *,
    model: str,
    checkpoint_json: str | Path,
    api_answers: Path,
    local_answers: Path,
    budget_usd: float,
    batch_tokens: int | str,
    threads: int,
    **placement: Any,
) -> Iterator[Answerer]:
    """Open a model: behind an API if `entry` has `api`, else the checkpoint, loaded as
    `entry` says.

    An API needs `model`, `api_answers` (the file of its answers) and `budget_usd`; its
    `checkpoint_json` is its tokenizer's, or empty. A checkpoint needs `local_answers`
    (the folder of its answers), `batch_tokens`, `threads` and the `placement`:
    `device`, `gpus`. `batch_tokens` may be `auto`. `name` begins log lines.
    """
    # imports are here, so that models behind APIs need no torch and others need no
    # client
    if "api" in entry:
        from pretrace.models.api.client import connect
        from pretrace.questions.over_api import ApiAnswerer

        with connect(
            model, entry["api"], store=api_answers, budget_usd=budget_usd
        ) as client:
            tokenizer = None
            if checkpoint_json:
                encoding = {}
                for key in ("special_tokens", "tokenizer_from"):
                    if key in entry:
                        encoding[key] = entry[key]
                tokenizer = load_tokenizer(Path(checkpoint_json), **encoding)
            asking = ApiAnswerer(client, tokenizer)
            yield asking
            asking.finish()
        return
    from pretrace.models.devices import torch_settings
    from pretrace.models.target import load_checkpoint
    from pretrace.passes.requests import batch_tokens_of
    from pretrace.questions.local import LocalAnswerer, answered_how
    from pretrace.questions.stored import StoredAnswers

    with torch_settings(threads):
        target = load_checkpoint(Path(checkpoint_json), **placement, **entry)
        batch_tokens = batch_tokens_of(batch_tokens, target.device)
        how = answered_how(target, batch_tokens, threads)
        with StoredAnswers(local_answers, how, name) as stored:
            answerer = LocalAnswerer(target, name, batch_tokens, stored)
            yield answerer
            answerer.finish()
