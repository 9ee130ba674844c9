"""Texts to token counts by a tokenizer of transformers, fast where it has a Rust backend."""

import json
from collections.abc import Iterable
from itertools import chain, repeat
from typing import Any

import numpy as np

from pretrace.corpora.cutting import Cutting, cutting_of
from pretrace.corpora.stream import by_size

_BATCH = 1 << 21  # characters encoded at a time


class Encoder:
    """Counts the tokens of texts, special tokens left out, text never truncated.

    `tokenizer`: a transformers tokenizer, or a bare `tokenizers.Tokenizer`. `cutting` is None where documents
    have to be encoded whole (unknown parts, or no Rust backend). `size`: one more than the largest token id.
    """

    def __init__(self, tokenizer: Any, max_tokens: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._backend: Any = None
        self.cutting: Cutting | None = None
        special = set(getattr(tokenizer, "all_special_ids", ()))
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if hasattr(backend, "encode_batch_fast"):
            description = backend.to_str()
            parts = json.loads(description)
            self._backend = type(backend).from_str(description)  # a copy: the caller's keeps its settings
            self._backend.no_truncation()
            self._backend.no_padding()
            self.cutting = cutting_of(parts) if max_tokens is None else None
            special |= {token["id"] for token in parts["added_tokens"] if token["special"]}
        self.special = np.array(sorted(special), np.int64)
        self.size = 1 + max(chain(tokenizer.get_vocab().values(), special))

    def count(self, texts: Iterable[str], weights: Iterable[int] = repeat(1)) -> np.ndarray:
        """How often each token occurs, a text's tokens times its weight (a whole number): (size,) int64."""
        counts = np.zeros(self.size, np.int64)
        for batch in by_size(zip(texts, weights, strict=False), _BATCH, size=lambda weighed: len(weighed[0])):
            encoded = self._encode([text for text, _ in batch])
            weighed = [weight for _, weight in batch]
            lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
            ids = np.fromiter(chain.from_iterable(encoded), np.int64, lengths.sum())
            totals = np.bincount(ids, np.repeat(np.array(weighed, np.float64), lengths), self.size)
            counts += totals.astype(np.int64)  # exact: sums of whole numbers below 2**53
        counts[self.special] = 0
        return counts

    def _encode(self, texts: list[str]) -> list[list[int]]:
        if self._backend is not None:
            encoded = [each.ids for each in self._backend.encode_batch_fast(texts, add_special_tokens=False)]
        else:
            encoded = [self._tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        return [ids[: self._max_tokens] for ids in encoded] if self._max_tokens else encoded
