"""A model behind an API as a target of passes: the server scores what the model reads."""

from dataclasses import dataclass
from typing import Any, ClassVar

from pretrace.models.api.client import ApiClient
from pretrace.models.checkpoint import Checkpoint
from pretrace.models.tokens import SERVER_START
from pretrace.runtime.files import digest


@dataclass(frozen=True)
class ApiTarget:
    """`tokenizer`: the model's own, or `CodePoints` where it is not known; `vocabulary` is then None.

    `context`: tokens that fit with the start token, or None. `checkpoint`: the tokenizer's; `tokenizer_from` as in the
    model's entry.
    """

    client: ApiClient
    tokenizer: Any
    tokenizer_digest: str
    vocabulary: int | None
    context: int | None
    checkpoint: Checkpoint | None = None
    tokenizer_from: str | None = None

    dtype: ClassVar[str] = "float32"
    device: ClassVar[str] = "api"

    @property
    def knows_ids(self) -> bool:
        return self.vocabulary is not None

    @property
    def digest(self) -> str:
        return digest({**self.client.endpoint.identity, "tokenizer": self.tokenizer_digest})


class CodePoints:
    """Stands for a tokenizer that is not known: a text is sent as it is, as one number a character."""

    all_special_tokens: ClassVar[list[str]] = []

    def __init__(self, name: str, starts: bool) -> None:
        self.name_or_path = f"{name}, whose entry names no tokenizer"
        self._start = [SERVER_START] if starts else []

    def __call__(
        self, texts: str | list[str], *, add_special_tokens: bool = True, **_: Any
    ) -> dict[str, Any]:
        start = self._start if add_special_tokens else []
        if isinstance(texts, str):
            return {"input_ids": start + [ord(character) for character in texts]}
        return {"input_ids": [start + [ord(character) for character in text] for text in texts]}

    def get_vocab(self) -> dict[str, int]:
        return {}

    def get_added_vocab(self) -> dict[str, int]:
        return {}
