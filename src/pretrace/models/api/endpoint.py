"""One model behind an API as models.yaml describes it: its address, its features and
its price."""

import math
import os
from dataclasses import dataclass

from pretrace.models.entries import Api
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, digest

NANO = 10**9  # money is counted in whole billionths of a dollar, so that sums are exact
_MESSAGE_TOKENS = 16  # more than any chat template puts around a message


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """The body of one request, without the model's name.

    `again` tells apart requests of one body that are all wanted (a malformed answer is
    asked for again).
    """

    body: JsonObject
    again: int = 0


class Endpoint(Api):
    """The key `api` of an entry of models.yaml."""

    name: str
    """The entry's name, for messages."""

    @property
    def chat(self) -> bool:
        return self.endpoint == "chat"

    @property
    def identity(self) -> dict[str, str]:
        """Return the server and model, which distinguish stored answers besides the
        body."""
        return {
            "base_url": self.base_url.rstrip("/"),
            "endpoint": self.endpoint,
            "model": self.model,
        }

    def key(self) -> str:
        """Read the API key from the environment; "" for a server without one."""
        if not self.key_env:
            return ""
        key = os.environ.get(self.key_env)
        if not key:
            raise InputError(
                f"models.{self.name}: the environment variable {self.key_env}, which "
                f"holds the key of {self.base_url}, is not set. Export it and run "
                "again; keys are never read from a file."
            )
        return key

    def key_of(self, request: ApiRequest) -> str:
        """Return the hex SHA-256 of all that an answer depends on."""
        body = dict(request.body)
        return digest({**self.identity, "body": body, "again": request.again})

    def cost(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost in billionths of a dollar, rounded up."""
        of_prompt = prompt_tokens * self.price.input
        of_completion = completion_tokens * self.price.output
        dollars = (of_prompt + of_completion) / 1e6
        return math.ceil(dollars * NANO)

    def most(self, body: JsonObject) -> tuple[int, int]:
        """Bound the (prompt, completion) tokens of a request's body: no tokenizer here
        has more tokens than a text has bytes."""
        if "messages" in body:
            parts = [message["content"] for message in body["messages"]]
        else:
            parts = [body["prompt"]]
        prompt = 0
        for part in parts:  # a text, or token ids
            tokens = part if isinstance(part, list) else part.encode()
            prompt += len(tokens) + _MESSAGE_TOKENS
        return prompt, int(body.get("max_completion_tokens", body.get("max_tokens")))
