"""Requests -> statistics: length-sorted batches under a token budget that halves when memory runs out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pretrace.passes.requests import Request
from pretrace.passes.statistics import ROWS, Reduction, output_layer
from pretrace.runtime.errors import InputError
from pretrace.runtime.logs import log

_FALLBACK_ROWS = 512  # positions whose logits are alive at a time where the head cannot be applied apart


class Engine:
    """A loaded model and the token budget of its batches (padding counted), which only ever falls."""

    def __init__(self, model: Any, name: str, batch_tokens: int) -> None:
        self.name = name
        self.batch_tokens = batch_tokens
        self._model = model
        self._device = next(model.parameters()).device
        with torch.inference_mode():
            self._head = output_layer(model)
        if self._head is None:
            log.info(
                "%s: the output layer is not plain linear; its logits are taken from the whole model", name
            )

    def statistics(
        self,
        window: list[Request],
        start: tuple[int, ...],
        *,
        full: bool,
        progress: Callable[[int, int], None] = lambda texts, tokens: None,
    ) -> list[np.ndarray]:
        """For each request, float32 [3 or 1, scored tokens], rows as in `statistics.ROWS`.

        Equal requests run once. Batches form within the window, longest first, so that memory is at its peak
        at the start. `progress(texts, tokens)` is told of each batch. Raises `InputError` for a number that
        is not finite.
        """
        copies: dict[bytes, list[int]] = {}
        for index, request in enumerate(window):
            copies.setdefault(request.tokens.tobytes(), []).append(index)
        empty = np.zeros((len(ROWS[full]), 0), dtype=np.float32)
        results = [empty] * len(window)
        todo = [indices for indices in copies.values() if window[indices[0]].skipped(start) is None]
        todo.sort(key=lambda indices: -len(window[indices[0]].tokens))
        progress(len(window) - sum(map(len, todo)), 0)
        while todo:
            longest = len(start) + len(window[todo[0][0]].tokens)
            batch = todo[: max(1, self.batch_tokens // longest)]
            computed = self._attempt([window[indices[0]] for indices in batch], start, full)
            if computed is None:
                self._back_off(len(batch), longest, window[batch[0][0]])
                continue
            for indices, values in zip(batch, computed, strict=True):
                for index in indices:
                    results[index] = values
            progress(sum(map(len, batch)), sum(values.shape[1] for values in computed))
            del todo[: len(batch)]
        return results

    def _attempt(self, batch: list[Request], start: tuple[int, ...], full: bool) -> list[np.ndarray] | None:
        """The statistics of one batch, or None where memory does not suffice."""
        try:
            computed = self._run(batch, start, full)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            return None
        for request, values in zip(batch, computed, strict=True):
            if not np.isfinite(values).all():
                raise InputError(
                    f"{self.name} gives a probability that is not a number for text '{request.text_id}': "
                    "weights or activations overflow. Set dtype: float32 for this model; if it is float32, "
                    "its weights are damaged: fetch or save the checkpoint again."
                )
        return computed

    def _back_off(self, texts: int, longest: int, request: Request) -> None:
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        if texts == 1:
            raise InputError(
                f"{self.name}: text '{request.text_id}' ({longest} tokens) alone does not fit into memory; "
                "set max_length for this model, a narrower dtype, or run it on a larger device"
            )
        self.batch_tokens = max(min(self.batch_tokens, texts * longest) // 2, 1)
        log.warning("%s: out of memory; going on with %d tokens a batch", self.name, self.batch_tokens)

    def _run(self, batch: list[Request], start: tuple[int, ...], full: bool) -> list[np.ndarray]:
        """Right padding under causal attention needs no mask; the last token need not be read."""
        rows = [np.concatenate([np.asarray(start, dtype=np.int32), request.tokens]) for request in batch]
        first = max(len(start), 1)
        width = max(map(len, rows)) - 1
        inputs = np.zeros((len(rows), width), dtype=np.int64)
        for place, row in zip(inputs, rows, strict=True):
            place[: len(row) - 1] = row[:-1]
        scored = [np.arange(first - 1, len(row) - 1) + number * width for number, row in enumerate(rows)]
        targets = np.concatenate([row[first:] for row in rows])
        with torch.inference_mode():
            values = self._forward(
                torch.from_numpy(inputs).to(self._device),
                [torch.from_numpy(positions).to(self._device) for positions in scored],
                torch.from_numpy(targets).to(self._device, torch.int64),
                full,
            )
        ends = np.cumsum([len(positions) for positions in scored])[:-1]
        return np.split(values.cpu().numpy(), ends, axis=1)

    def _forward(
        self, inputs: torch.Tensor, scored: list[torch.Tensor], targets: torch.Tensor, full: bool
    ) -> torch.Tensor:
        if self._head is None:
            return self._forward_whole(inputs, scored, targets, full)
        hidden = self._model.base_model(input_ids=inputs, use_cache=False).last_hidden_state
        hidden = hidden.flatten(0, 1).index_select(0, torch.cat(scored))
        return self._head.statistics(hidden, targets, full=full)

    def _forward_whole(
        self, inputs: torch.Tensor, scored: list[torch.Tensor], targets: torch.Tensor, full: bool
    ) -> torch.Tensor:
        """Without a separate head: whole logits of a few texts at a time."""
        out = torch.empty(len(ROWS[full]), len(targets), device=inputs.device)
        width, done = inputs.shape[1], 0
        texts = max(1, _FALLBACK_ROWS // width)
        for at in range(0, len(inputs), texts):
            logits = self._model(input_ids=inputs[at : at + texts], use_cache=False).logits.flatten(0, 1)
            rows = torch.cat(scored[at : at + texts]) - at * width
            span = slice(done, done + len(rows))
            Reduction(logits.shape[-1], logits.device)(logits[rows], targets[span], out[:, span])
            done = span.stop
        return out


def _is_out_of_memory(error: BaseException) -> bool:
    """CUDA has an exception of its own; the CPU allocator says it in words."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)
