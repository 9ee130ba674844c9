"""Per-token statistics from hidden states, without full-vocabulary rows that outlive a chunk.

For logits z over the vocabulary, p = softmax(z) and the token y that came: the log-probability ln p(y) in nats, the
entropy -sum p ln p in nats, the variance of ln p under p in nats squared (Min-K%++: its square root is sigma), the
highest ln p of any token, the rank of y (how many tokens are likelier, 0 for the likeliest), and ln of the summed p of
the 40 likeliest tokens (all that tie with the 40th count). Logits and reductions are float32, whatever the weights'
dtype.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from pretrace.passes.requests import STATISTICS, TOP

_CHUNK = 256  # scored positions that go through the head at a time
_BLOCK = 1 << 18  # logits reduced at a time on a CPU, at least 8 rows: in cache, and in few calls


class Head:
    """A linear output layer with the buffers of its reductions, allocated once."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._on_gpu = weight.device.type == "cuda"
        self._narrow = weight.dtype if weight.dtype != torch.float32 else None
        # a CPU has no product of narrow numbers that is not rounded to them
        self._weight = (weight if self._on_gpu else weight.float()).t()
        self._bias = None if bias is None else bias.float()
        self._logits = torch.empty(_CHUNK, weight.shape[0], device=weight.device)
        self._reduce = Reduction(weight.shape[0], weight.device)

    def statistics(self, hidden: torch.Tensor, targets: torch.Tensor, statistics: str) -> torch.Tensor:
        """`hidden` [n, width] and `targets` [n] -> float32 [numbers, n], rows as in `STATISTICS`."""
        hidden, targets = hidden.to(self._weight.device, self._narrow), targets.to(self._weight.device)
        out = torch.empty(len(STATISTICS[statistics]), len(targets), device=hidden.device)
        for chunk in _spans(len(targets), _CHUNK):
            logits = self._logits[: chunk.stop - chunk.start]
            self._product(hidden[chunk], logits)
            if self._bias is not None:
                logits += self._bias
            self._reduce(logits, targets[chunk], out[:, chunk])
        return out

    def _product(self, hidden: torch.Tensor, out: torch.Tensor) -> None:
        """`hidden` [n, width] by the weights, summed and kept in float32."""
        if self._narrow and self._on_gpu:
            torch.mm(hidden, self._weight, out_dtype=torch.float32, out=out)
            return
        with _exact_in_bfloat16(self._narrow == torch.bfloat16):
            torch.mm(hidden.float(), self._weight, out=out)

    def logits(self, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """`hidden` [n, width] and `ids` [m] -> float32 [n, m], summed in float32 whatever the weights' dtype."""
        hidden, ids = hidden.to(self._weight.device, self._narrow), ids.to(self._weight.device)
        found = hidden.float() @ self._weight[:, ids].float()
        return found if self._bias is None else found + self._bias[ids]


@contextmanager
def _exact_in_bfloat16(exact: bool) -> Iterator[None]:
    """Within, a CPU may multiply float32 numbers as bfloat16 where each of them is one: nothing is rounded."""
    mkldnn: Any = torch.backends.mkldnn
    before = mkldnn.matmul.fp32_precision
    mkldnn.matmul.fp32_precision = "bf16" if exact else before
    try:
        yield
    finally:
        mkldnn.matmul.fp32_precision = before


class Reduction:
    """Logits in any float dtype -> the statistics of their targets, in float32, block by block."""

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        self._rows = min(max(8, _BLOCK // vocabulary), _CHUNK) if device.type == "cpu" else _CHUNK
        self._shifted = torch.empty(self._rows, vocabulary, device=device)
        self._weighted = torch.empty_like(self._shifted)

    def __call__(self, logits: torch.Tensor, targets: torch.Tensor, out: torch.Tensor) -> None:
        """`logits` [n, vocabulary], `targets` [n]; fills `out` [numbers, n], rows as in `STATISTICS`."""
        for block in _spans(len(targets), self._rows):
            self._block(logits[block].float(), targets[block], out[:, block])

    def _block(self, logits: torch.Tensor, targets: torch.Tensor, out: torch.Tensor) -> None:
        z, p = self._shifted[: len(targets)], self._weighted[: len(targets)]
        torch.sub(logits, logits.amax(-1, keepdim=True), out=z)
        own = z.gather(1, targets[:, None])
        if len(out) > 4:
            torch.sum(torch.gt(z, own, out=p), -1, out=out[4])
        torch.softmax(z, -1, out=p)
        total = p.sum(-1)  # softmax adds up one after the other: 1 to five digits alone
        highest = (p.amax(-1) / total).log_()  # where z is 0
        torch.add(own.squeeze(1), highest, out=out[0])
        if len(out) == 1:
            return
        out[3] = highest
        if len(out) > 5:
            torch.log(_top_mass(z, p) / total, out=out[5])
        mean = p.mul_(z).sum(-1).div_(total)
        torch.add(mean, highest, out=out[1]).neg_()
        square = p.mul_(z).sum(-1).div_(total)
        # rounding can leave a one-point distribution just below 0, and a NaN in its square root
        torch.clamp(square.addcmul_(mean, mean, value=-1), min=0, out=out[2])


def _top_mass(z: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """The sum of the probabilities `p` [n, vocabulary] at or above the 40th of the logits `z`."""
    last = z.topk(min(TOP, z.shape[1]), sorted=False).values.amin(-1, keepdim=True)
    return p.masked_fill(z < last, 0).sum(-1)


def _spans(total: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


def output_layer(model: Any) -> Head | None:
    """The model's head, where base model and one linear layer give exactly its logits; else None.

    Models that cap or scale their logits, or transform the last hidden state before the head, are told apart
    by comparing both ways on a few tokens.
    """
    layer, base = model.get_output_embeddings(), model.base_model
    if not isinstance(layer, torch.nn.Linear) or base is model:
        return None
    probe = torch.arange(8, device=layer.weight.device).remainder(layer.weight.shape[0])[None]
    logits = model(input_ids=probe, use_cache=False).logits.float()
    hidden = getattr(base(input_ids=probe, use_cache=False), "last_hidden_state", None)
    if hidden is None or hidden.shape[-1] != layer.weight.shape[1]:
        return None
    close = torch.allclose(
        # Mamba's hidden states are float32 whatever the weights' type
        layer(hidden.to(layer.weight.dtype)).float().to(logits.device),
        logits,
        rtol=1e-3,
        atol=1e-5,
        equal_nan=True,
    )
    return Head(layer.weight, layer.bias) if close else None
