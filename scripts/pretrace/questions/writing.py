"""Writers of paraphrases: a model behind an API, or a checkpoint that samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pretrace.models import load_checkpoint, torch_settings
from pretrace.models.api import ApiClient, connected
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.over_api import reply_of, request_of
from pretrace.questions.paraphrasing import TEMPERATURE, Writer

_CUT = Reply(None, "cut at the highest number of tokens")


@contextmanager
def writer_of(
    entry: Mapping[str, Any],
    name: str,
    *,
    model: str,
    checkpoint_json: str | Path,
    store: Path,
    budget_usd: float,
    batch_tokens: int,
    threads: int,
    **placement: Any,
) -> Iterator[Writer]:
    """A model that writes: behind an API where `entry` has `api`, else a checkpoint that `entry` says how to load.

    An API needs `model`, `store` (of answers) and `budget_usd`, a checkpoint the others; `placement`: `device`, `gpus`.
    """
    if "api" in entry:
        with connected(model, entry["api"], store=store, budget_usd=budget_usd) as client:
            yield ApiWriter(client)
        return
    from pretrace.questions.sampling import LocalWriter

    with torch_settings(threads):
        yield LocalWriter(load_checkpoint(Path(checkpoint_json), **placement, **entry), name, batch_tokens)


class ApiWriter:
    """A `paraphrasing.Writer`."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def write(
        self, prompts: Sequence[Prompt], most: Sequence[int], again: int, progress: Callable[[int], None]
    ) -> list[Reply]:
        chat = self._client.endpoint.chat
        requests = [
            request_of(prompt, chat=chat, temperature=TEMPERATURE, again=again, max_tokens=tokens)
            for prompt, tokens in zip(prompts, most, strict=True)
        ]
        return self._client.ask(requests, _whole_reply, progress)


def _whole_reply(body: Mapping[str, Any]) -> Reply:
    reply = reply_of(body)
    return _CUT if body["choices"][0].get("finish_reason") == "length" else reply
