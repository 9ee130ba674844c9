"""One model behind an API as models.yaml describes it: where it is asked, what it offers, what it costs."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import digest

NANO = 10**9  # money is counted in whole billionths of a dollar, so that sums are exact
_MESSAGE_TOKENS = 16  # more than any chat template puts around a message


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """The body of one request, without the model's name.

    `again` tells apart requests of one body that are all wanted (a malformed answer is asked for again).
    """

    body: Mapping[str, Any]
    again: int = 0


@dataclass(frozen=True)
class Endpoint:
    """Keys as under `api:` of models.yaml; prices in US dollars per million tokens."""

    name: str
    base_url: str
    model: str
    endpoint: str
    input_price: float
    output_price: float
    key_env: str = ""
    concurrency: int = 8
    attempts: int = 8
    timeout: float = 120
    top_logprobs: int = 0
    logit_bias: Mapping[str, list[int]] = field(default_factory=dict)
    echo: bool = False

    @classmethod
    def of(cls, name: str, api: Mapping[str, Any]) -> Self:
        """The endpoint of a registry entry's `api` (checked by the schema), known in messages as `name`."""
        given = {key: value for key, value in api.items() if key != "price"}
        price = api["price"]
        return cls(name=name, input_price=price["input"], output_price=price["output"], **given)

    @property
    def chat(self) -> bool:
        return self.endpoint == "chat"

    @property
    def identity(self) -> dict[str, str]:
        """Who answers: what distinguishes stored answers beside the body."""
        return {"base_url": self.base_url.rstrip("/"), "endpoint": self.endpoint, "model": self.model}

    def key(self) -> str:
        """The API key, read from the environment; "" for a server that asks for none."""
        if not self.key_env:
            return ""
        if not os.environ.get(self.key_env):
            raise InputError(
                f"models.{self.name}: the environment variable {self.key_env}, which holds the key of "
                f"{self.base_url}, is not set. Export it and run again; keys are never read from a file."
            )
        return os.environ[self.key_env]

    def key_of(self, request: ApiRequest) -> str:
        """Hex SHA-256 of all that an answer depends on."""
        return digest({**self.identity, "body": dict(request.body), "again": request.again})

    def cost(self, prompt_tokens: int, completion_tokens: int) -> int:
        """In billionths of a dollar, rounded up."""
        dollars = (prompt_tokens * self.input_price + completion_tokens * self.output_price) / 1e6
        return math.ceil(dollars * NANO)

    def most(self, request: ApiRequest) -> tuple[int, int]:
        """The most (prompt, completion) tokens that a request can cost: no tokenizer here has more tokens
        than a text has bytes.
        """
        return _most_tokens(request.body), int(request.body["max_tokens"])


def _most_tokens(body: Mapping[str, Any]) -> int:
    if "messages" in body:
        return sum(len(one["content"].encode()) + _MESSAGE_TOKENS for one in body["messages"])
    prompt = body["prompt"]
    return (len(prompt) if isinstance(prompt, list) else len(prompt.encode())) + _MESSAGE_TOKENS
