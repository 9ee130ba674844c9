"""One model behind an API as models.yaml describes it: its address, its features and
its price."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pretrace.models.entries import Api
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import digest

NANO = 10**9  # money is counted in whole billionths of a dollar, so that sums are exact
_MESSAGE_TOKENS = 16  # more than any chat template puts around a message


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """The body of one request, without the model's name.

    `again` tells apart requests of one body that are all wanted (a malformed answer is
    asked for again).
    """

    body: Mapping[str, Any]
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
        """The server and model, which distinguish stored answers besides the body."""
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
        return digest(
            {**self.identity, "body": dict(request.body), "again": request.again}
        )

    def cost(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost in billionths of a dollar, rounded up."""
        dollars = (
            prompt_tokens * self.price.input + completion_tokens * self.price.output
        ) / 1e6
        return math.ceil(dollars * NANO)

    def most(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """Bound the (prompt, completion) tokens of a request's body: no tokenizer here
        has more tokens than a text has bytes."""
        if "messages" in body:
            prompt = sum(
                len(part["content"].encode()) + _MESSAGE_TOKENS
                for part in body["messages"]
            )
        else:
            given = body["prompt"]  # token ids or a text
            prompt = (
                len(given if isinstance(given, list) else given.encode())
                + _MESSAGE_TOKENS
            )
        return prompt, int(body.get("max_completion_tokens", body.get("max_tokens")))
