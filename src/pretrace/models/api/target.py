"""A model behind an API as a target of passes: the server scores what the model
reads."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pretrace.models.api.client import ApiClient
from pretrace.models.checkpoint import Checkpoint
from pretrace.runtime.files import digest


@dataclass(frozen=True)
class ApiTarget:
    """`tokenizer`: the model's own, that of `checkpoint`; `tokenizer_from` as in the
    model's entry.

    `context`: tokens that fit with the start token, or None.
    """

    client: ApiClient
    tokenizer: Any
    vocabulary: int
    context: int | None
    checkpoint: Checkpoint
    tokenizer_from: str | None = None

    dtype: ClassVar[str] = "float32"
    device: ClassVar[str] = "api"
    reads_alone: ClassVar[bool] = False

    @property
    def digest(self) -> str:
        identity = self.client.endpoint.identity
        return digest({**identity, "tokenizer": self.checkpoint.digest})
