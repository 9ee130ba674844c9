"""Answers of a completions endpoint that scores prompts, computed by the project's own
engine on a tiny model."""

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.convert_slow_tokenizer import bytes_to_unicode

from pretrace.models.target import load_checkpoint
from pretrace.passes.engine import Engine
from pretrace.passes.prompt_prefix import PromptPrefix
from pretrace.passes.requests import Request

_BYTES = {character: value for value, character in bytes_to_unicode().items()}


@cache
def loaded(checkpoint_json: Path) -> tuple[Any, Any]:
    target = load_checkpoint(checkpoint_json, dtype="float32", device="cpu")
    return target.tokenizer, target.load()


class EchoServer:
    """A responder for `loopback.Loopback`, in the documented shape.

    shifted  each log-probability under the distribution after its token, as
             llama-cpp-python gives without a start token
    garbled  a token that is a part of a character is U+FFFD, as vLLM writes it; else
             `bytes:\\x..`
    ignored  `echo` and `prompt_logprobs` are ignored, as by llama.cpp
    most     the most log-probabilities that it gives a token, as `vllm serve
             --max-logprobs`
    told     what becomes of log-probabilities before they are told, as logits that
             stand for them
    """

    def __init__(
        self, checkpoint_json: Path, *, shifted: bool = False, garbled: bool = False,
        ignored: bool = False,
        most: int = 40, told: Callable[[Any], Any] = lambda values: values,
    ) -> None:  # fmt: skip
        self.tokenizer, self.model = loaded(checkpoint_json)
        self.engine = Engine(self.model, "server", 4096)
        self.shifted, self.garbled, self.ignored, self.most = (
            shifted,
            garbled,
            ignored,
            most,
        )
        self.told = told
        self.prompts: list[str | list[int]] = []
        self._lock = threading.Lock()  # one model for all connections

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock, torch.inference_mode():
            self.prompts.append(body["prompt"])
            return self._answer(body)

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["prompt"]
        ids = (
            prompt if isinstance(prompt, list) else self.tokenizer(prompt)["input_ids"]
        )
        after = self.told(
            self.model(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(-1)
        )
        counts = {
            "prompt_tokens": len(ids),
            "completion_tokens": 1,
            "total_tokens": len(ids) + 1,
        }
        shown = {"id": "x", "object": "text_completion", "model": "m", "usage": counts}
        if "prompt_logprobs" in body and not self.ignored:
            return shown | {
                "choices": [self._of_vllm(ids, after, body["prompt_logprobs"])]
            }
        generated = int(after[-1].argmax())
        tokens, logprobs, rows = [generated], [float(after[-1, generated])], [after[-1]]
        if body.get("echo") and not self.ignored:
            tokens = [*ids, generated]
            logprobs = (
                [None, *self._shifted(ids, after), 0.0]
                if self.shifted
                else [None, *self._scored(ids), *logprobs]
            )
            rows = [None, *after]
        pieces = [self._piece(token) for token in tokens]
        top = [
            None if row is None else self._top(row, body.get("logprobs", 1))
            for row in rows
        ]
        offsets = np.cumsum([0, *(len(piece) for piece in pieces)])[:-1].tolist()
        shape = {
            "tokens": pieces,
            "text_offset": offsets,
            "token_logprobs": logprobs,
            "top_logprobs": top,
        }
        choice = {
            "text": "".join(pieces),
            "index": 0,
            "finish_reason": "length",
            "logprobs": shape,
        }
        return shown | {"choices": [choice]}

    def _of_vllm(
        self, ids: list[int], after: torch.Tensor, most: int
    ) -> dict[str, Any]:
        """A choice as vLLM 0.11 gives it: of each token the likeliest and its own, by
        id; -9999 for a p of 0."""

        def place(row: torch.Tensor, id: int) -> dict[str, Any]:
            top = row.topk(min(most, self.most)).indices.tolist()
            return {
                str(token): {
                    "logprob": max(float(row[token]), -9999.0),
                    "rank": int((row >= row[token]).sum()),
                    "decoded_token": self._piece(token),
                }
                for token in dict.fromkeys((id, *top))
            }

        listed = [
            None,
            *(place(row, id) for row, id in zip(after, ids[1:], strict=False)),
        ]
        written = self._piece(int(after[-1].argmax()))
        return {
            "index": 0,
            "text": written,
            "logprobs": None,
            "finish_reason": "length",
            "stop_reason": None,
            "prompt_logprobs": listed,
            "prompt_token_ids": None,
            "token_ids": None,
        }

    def _scored(self, ids: list[int]) -> list[float]:
        request = Request("t", 0, np.array(ids, dtype=np.int32), len(ids))
        (values,) = self.engine.statistics(
            [request], PromptPrefix(), statistics="logprobs"
        )
        return [float(self.told(value)) for value in values[0]]

    @staticmethod
    def _shifted(ids: list[int], after: torch.Tensor) -> list[float]:
        return [float(after[place, token]) for place, token in enumerate(ids)][1:]

    def _top(self, row: torch.Tensor, count: int) -> dict[str, float]:
        values, ids = row.topk(count)
        return {
            self._piece(int(id)): float(value)
            for id, value in zip(ids, values, strict=True)
        }

    def _piece(self, id: int) -> str:
        written = self.tokenizer.convert_ids_to_tokens(id)
        if written is None or id in self.tokenizer.all_special_ids:
            return written or ""
        data = bytes(_BYTES[character] for character in written)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return (
                "\ufffd"
                if self.garbled
                else "bytes:" + "".join(f"\\x{value:02x}" for value in data)
            )
