"""Writers of paraphrases and of continued texts: a model behind an API, or a checkpoint that samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.models.api.client import ApiClient, connected
from pretrace.models.settings import torch_settings
from pretrace.models.target import load_checkpoint
from pretrace.questions import continuing
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.over_api import TOKENS_A_WORD, reply_of, request_of
from pretrace.questions.paraphrasing import TEMPERATURE
from pretrace.questions.prompts import Wording

if TYPE_CHECKING:
    from pretrace.questions.sampling import LocalWriter

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
    wording: Wording | None = None,
    **placement: Any,
) -> "Iterator[ApiWriter | LocalWriter]":
    """A model that writes: behind an API where `entry` has `api`, else a checkpoint that `entry` says how to load.

    An API needs `model`, `store` (of answers), `budget_usd` and, to continue texts, `wording`; a checkpoint the others;
    `placement`: `device`, `gpus`.
    """
    if "api" in entry:
        with connected(model, entry["api"], store=store, budget_usd=budget_usd) as client:
            yield ApiWriter(client, wording)
        return
    from pretrace.questions.sampling import LocalWriter

    with torch_settings(threads):
        yield LocalWriter(load_checkpoint(Path(checkpoint_json), **placement, **entry), name, batch_tokens)


class ApiWriter:
    """A `paraphrasing.Writer` and a `continuing.Continuer`."""

    def __init__(self, client: ApiClient, wording: Wording | None = None) -> None:
        self._client, self._wording = client, wording

    def write(
        self, prompts: Sequence[Prompt], most: Sequence[int], again: int, progress: Callable[[int], None]
    ) -> list[Reply]:
        chat = self._client.endpoint.chat
        requests = [
            request_of(prompt, chat=chat, temperature=TEMPERATURE, again=again, max_tokens=tokens)
            for prompt, tokens in zip(prompts, most, strict=True)
        ]
        return self._client.ask(requests, _whole_reply, progress)

    def continuations(
        self, openings: Sequence[str], rests: Sequence[str], samples: int, progress: Callable[[int], None]
    ) -> list[list[str]]:
        """Each sample is a request of its own, whose answer is stored; a chat model is told to continue the passage."""
        assert self._wording is not None
        chat = self._client.endpoint.chat
        requests = [
            request_of(
                self._wording.completion(opening, chat=chat),
                chat=chat,
                temperature=continuing.TEMPERATURE,
                again=sample,
                max_tokens=TOKENS_A_WORD * len(rest.split()),
            )
            for opening, rest in zip(openings, rests, strict=True)
            for sample in range(samples)
        ]
        asked = 0

        def answered(count: int) -> None:
            nonlocal asked
            before, asked = asked, asked + count
            progress(asked // samples - before // samples)

        texts = [reply.text for reply in self._client.ask(requests, reply_of, answered)]
        of_opening = (texts[at : at + samples] for at in range(0, len(texts), samples))
        space = " " if chat else ""
        return [[f"{space}{text}" for text in group if text is not None] for group in of_opening]


def _whole_reply(body: Mapping[str, Any]) -> Reply:
    reply = reply_of(body)
    return _CUT if body["choices"][0].get("finish_reason") == "length" else reply
