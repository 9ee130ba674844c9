"""The output of a model's forward pass at each position: hidden states, otherwise
logits."""

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pretrace.passes.attention import SHARED_PREFIX
from pretrace.passes.requests import TOKEN_STATISTICS
from pretrace.passes.statistics import Reduction, base_of, output_layer

# positions whose whole logits exist at a time where the head cannot be applied apart
_LOGITS_ALIVE = 512
_LOGITS_SHARE = 0.05  # of a GPU's memory that such logits may take


def to_device(values: np.ndarray, device: torch.device) -> Tensor:
    """Return a copy on `device`. A GPU fetches it from pinned memory, so that nothing
    here waits for the GPU."""
    tensor = torch.from_numpy(values)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


_STRETCHED = {
    "longrope": "original_max_position_embeddings",
    "dynamic": "max_position_embeddings",
}
"""Rotary embeddings whose angles depend on how long the longest text of a batch is ->
the length from which they do."""


def _stretches(config: Any) -> list[int]:
    text = config.get_text_config()
    rope = getattr(text, "rope_parameters", None) or {}
    lengths = set()
    # one for each kind of layer, or one for all
    for kind in (rope, *rope.values()):
        if isinstance(kind, dict):
            name = _STRETCHED.get(str(kind.get("rope_type")))
            if name:
                lengths.add(kind.get(name) or getattr(text, name))
    return sorted(lengths)


def _mixes_texts(model: Any) -> bool:
    """Return whether a text's numbers follow the others of its batch: LLM.int8() looks
    for outliers in all rows."""
    modules = model.modules()
    of_int8 = [module for module in modules if type(module).__name__ == "Linear8bitLt"]
    return any(module.state.threshold > 0 for module in of_int8)


class Features:
    """The base model's last hidden states where one linear layer makes logits of them,
    else the logits.

    `device` is where a model spread over `gpus` takes its inputs; what it gives lies on
    the last of them. `stretches`: lengths of a text beyond which every position is read
    otherwise. `mixes_texts`: every text is read alone and whole.
    """

    def __init__(self, model: Any, attention: str | None = None) -> None:
        """`attention` of texts after a prefix that they share; None chooses it, and
        `sharing_of` verifies it.

        Models that have no sdpa are eager.
        """
        with torch.inference_mode():
            self._head = output_layer(model)
        self.model = model
        self._module = model if self._head is None else base_of(model)
        devices = [weight.device for weight in model.parameters()]
        self.device = devices[0]
        self.dtype = model.dtype
        # on a CPU torch's kernel is as fast in float32
        reads_copies = self.device.type == "cpu" and self.dtype != torch.bfloat16
        self.attention = attention or ("sdpa" if reads_copies else SHARED_PREFIX)
        self.gpus = len({device for device in devices if device.type == "cuda"})
        if self.device.type == "cpu":
            # transformers reads it at each attention with a mask, as texts after a
            # shared prompt prefix have: on a CPU grouped heads need not be repeated,
            # which takes a seventh of such a pass
            os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")
        self.vocabulary = model.config.get_text_config().vocab_size
        self.stretches = _stretches(model.config)
        self.mixes_texts = _mixes_texts(model)

    @property
    def has_separate_head(self) -> bool:
        return self._head is not None

    def __call__(self, inputs: Tensor, **cache: Any) -> Tensor:
        """Return features [texts, tokens, width] of `inputs` [texts, tokens]; `cache`
        goes to the model."""
        return self._of(self._module(input_ids=inputs, **cache))

    @property
    def reads_apart(self) -> bool:
        """Return whether attention reads a shared prefix that is not copied: within
        `after_prefix`, where that works."""
        return self._module.config._attn_implementation == SHARED_PREFIX

    @contextmanager
    def after_prefix(self) -> Iterator[None]:
        """Within, attention is computed as is faster where all texts of a batch have
        the same past."""
        before = self._module.config._attn_implementation
        if before != "sdpa" or self.attention == before:
            yield
            return
        self._module.set_attn_implementation(self.attention)
        try:
            yield
        finally:
            self._module.set_attn_implementation(before)

    def with_state(self, inputs: Tensor) -> tuple[Tensor, str, Any]:
        """Return the features, and the cache that the model makes by itself, with the
        name by which it takes it."""
        output = self._module(input_ids=inputs, use_cache=True)
        name = "cache_params" if "cache_params" in output else "past_key_values"
        return self._of(output), name, output[name]

    def _of(self, output: Any) -> Tensor:
        return output.logits if self._head is None else output.last_hidden_state

    def alike(self, lengths: Sequence[int]) -> int:
        """Return how many of these texts, the longest first, may share a batch: no
        stretch begins between them."""
        if self.mixes_texts:
            return 1
        passed = [bisect_left(self.stretches, length) for length in lengths]
        return passed.count(passed[0])

    def texts_at_once(self, tokens: int) -> int | None:
        """Return how many texts of this many tokens fit into memory; None if only the
        budget of batches limits them."""
        if self.has_separate_head:
            return None
        alive = _LOGITS_ALIVE
        if self.device.type == "cuda":
            memory = torch.cuda.get_device_properties(self.device).total_memory
            on_gpu = int(_LOGITS_SHARE * memory / (4 * self.vocabulary))
            alive = max(alive, on_gpu)
        return max(1, alive // max(tokens, 1))

    def statistics(self, rows: Tensor, targets: Tensor, statistics: str) -> Tensor:
        """Return float32 [numbers, n] of `rows` [n, width] and `targets` [n], as in
        `requests.TOKEN_STATISTICS`."""
        if self._head is not None:
            return self._head.statistics(rows, targets, statistics)
        numbers = len(TOKEN_STATISTICS[statistics])
        out = torch.empty(numbers, len(targets), device=rows.device)
        Reduction(rows.shape[-1], rows.device)(rows, targets, out)
        return out

    def logits(self, rows: Tensor, ids: Tensor) -> Tensor:
        """Return float32 [n, m] of `rows` [n, width]: the logits of these `ids` [m] of
        the vocabulary alone."""
        if self._head is not None:
            return self._head.logits(rows, ids)
        return rows[:, ids].float()
