"""Per-token statistics from hidden states, without full-vocabulary rows that outlive a chunk.

For logits z over the vocabulary, p = softmax(z) and the token y that came: the log-probability ln p(y) in
nats, the entropy -sum p ln p in nats, and the variance of ln p under p in nats squared (Min-K%++: its square
root is sigma). All reductions are float32, whatever the weights' dtype.
"""

from typing import Any

import torch

ROWS = {True: ("logprobs", "entropies", "variances"), False: ("logprobs",)}
_CHUNK = 512  # scored positions that go through the head at a time
_BLOCK = 1 << 18  # logits reduced at a time on a CPU, at least 8 rows: in cache, and in few calls


class Head:
    """A linear output layer with the buffers of its reductions, allocated once."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight, self._bias = weight.t(), bias
        self._logits = torch.empty(_CHUNK, weight.shape[0], dtype=weight.dtype, device=weight.device)
        self._reduce = Reduction(weight.shape[0], weight.device)

    def statistics(self, hidden: torch.Tensor, targets: torch.Tensor, *, full: bool) -> torch.Tensor:
        """`hidden` [n, width] and `targets` [n] -> float32 [3 or 1, n], rows as in ROWS."""
        hidden, targets = hidden.to(self._weight.device), targets.to(self._weight.device)
        out = torch.empty(len(ROWS[full]), len(targets), device=hidden.device)
        for chunk in _spans(len(targets), _CHUNK):
            logits = self._logits[: chunk.stop - chunk.start]
            if self._bias is None:
                torch.mm(hidden[chunk], self._weight, out=logits)
            else:
                torch.addmm(self._bias, hidden[chunk], self._weight, out=logits)
            self._reduce(logits, targets[chunk], out[:, chunk])
        return out

    def logits(self, hidden: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """`hidden` [n, width] and `ids` [m] -> float32 [n, m], summed in float32 whatever the weights' dtype."""
        hidden, ids = hidden.to(self._weight.device), ids.to(self._weight.device)
        found = hidden.float() @ self._weight[:, ids].float()
        return found if self._bias is None else found + self._bias[ids].float()


class Reduction:
    """Logits in any float dtype -> the statistics of their targets, in float32, block by block."""

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        self._rows = min(max(8, _BLOCK // vocabulary), _CHUNK) if device.type == "cpu" else _CHUNK
        self._shifted = torch.empty(self._rows, vocabulary, device=device)
        self._weighted = torch.empty_like(self._shifted)

    def __call__(self, logits: torch.Tensor, targets: torch.Tensor, out: torch.Tensor) -> None:
        """`logits` [n, vocabulary], `targets` [n]; fills `out` [3 or 1, n]."""
        for block in _spans(len(targets), self._rows):
            self._block(logits[block], targets[block], out[:, block])

    def _block(self, logits: torch.Tensor, targets: torch.Tensor, out: torch.Tensor) -> None:
        z, e = self._shifted[: len(targets)], self._weighted[: len(targets)]
        z.copy_(logits)
        z.sub_(z.amax(-1, keepdim=True))
        torch.exp(z, out=e)
        total = e.sum(-1)
        log_total = total.log()
        torch.sub(z.gather(1, targets[:, None]).squeeze(1), log_total, out=out[0])
        if len(out) == 1:
            return
        mean = e.mul_(z).sum(-1).div_(total)
        torch.sub(log_total, mean, out=out[1])
        square = e.mul_(z).sum(-1).div_(total)
        # rounding can leave a one-point distribution just below 0, and a NaN in its square root
        torch.clamp(square.addcmul_(mean, mean, value=-1), min=0, out=out[2])


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
        layer(hidden).float().to(logits.device), logits, rtol=1e-3, atol=1e-5, equal_nan=True
    )
    return Head(layer.weight, layer.bias) if close else None
