"""Who writes paraphrases: a model behind an API, or a checkpoint that samples."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pretrace.models.api import ApiClient
from pretrace.questions.answering import Prompt, Reply
from pretrace.questions.over_api import reply_of, request_of
from pretrace.questions.paraphrasing import TEMPERATURE

_CUT = Reply(None, "cut at the highest number of tokens")


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
