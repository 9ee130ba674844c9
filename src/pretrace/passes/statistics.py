"""Per-token statistics from hidden states, without full-vocabulary rows that outlive a
chunk.

For logits z over the vocabulary, p = softmax(z) and the token y that came: the
log-probability ln p(y) in nats, the entropy -sum p ln p in nats, the variance of ln p
under p in nats squared (Min-K%++: its square root is sigma), the highest ln p of any
token, the rank of y (how many tokens are likelier, 0 for the likeliest), and ln of the
summed p of the 40 likeliest tokens (all that tie with the 40th count). Logits and
reductions are float32, whatever the weights' dtype.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from pretrace.passes.memory import is_out_of_memory
from pretrace.passes.requests import TOKEN_STATISTICS, TOP

_CHUNK = 256  # scored positions that go through the head at a time on a CPU
_GPU_CHUNK = 1024  # the same on a GPU, whose calls take long for small models
# of such a chunk, at most, but for `_CHUNK` rows: 268 MB in each of three buffers
_GPU_LOGITS = 1 << 26
# logits reduced at a time on a CPU, at least 4 rows: in cache, and in few calls
_BLOCK = 1 << 17
_SLICE = 2048  # columns of the vocabulary in one product of narrow numbers on a CPU
_SLICED_ROWS = 64  # rows of a slice that are reduced at a time: in cache
_SLICED_AT_ONCE = 2048  # rows that one product of a slice serves
_KEPT_ROWS = 512  # the same where their logits are kept for all slices
# of logits' norm, in float32 or narrower: two ways to the same
_ALIKE = {True: 1e-4, False: 0.03}
# columns whose highest logit is compared first, in search of the 40 likeliest
_GROUP = 64
# the last rows of a token's numbers: all kinds but the smallest have the first, and
# `top40` has both
_RANKS = 4
_TOP_MASS = 5


class OutputHead:
    """A linear output layer with the buffers of its reductions, allocated once.

    `finish` makes the model's logits where the model does more with hidden states than
    this layer.
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        finish: "_Finish | None" = None,
    ) -> None:
        self._finish = finish
        self._on_gpu = weight.device.type == "cuda"
        self._narrow = weight.dtype if weight.dtype != torch.float32 else None
        # a CPU has no product of narrow numbers that is not rounded to them
        kept = weight if self._on_gpu else weight.float()
        self._weight = kept.t()
        self._bias = None if bias is None else bias.float()
        is_plain = finish is None and not self._on_gpu
        self._in_slices = is_plain and self._narrow == torch.bfloat16

    @cached_property
    def _chunk(self) -> int:
        return chunk_rows(self._weight.shape[1], self._weight.device)

    @cached_property
    def _logits(self) -> Tensor:
        rows = _KEPT_ROWS if self._in_slices else self._chunk
        return self._weight.new_empty(rows, self._weight.shape[1], dtype=torch.float32)

    @cached_property
    def _slice(self) -> Tensor:
        return self._weight.new_empty(_SLICED_AT_ONCE * _SLICE)

    @cached_property
    def _reduce(self) -> "Reduction":
        return Reduction(self._weight.shape[1], self._weight.device)

    def statistics(self, hidden: Tensor, targets: Tensor, statistics: str) -> Tensor:
        """Return float32 [numbers, n] of `hidden` [n, width] and `targets` [n], rows as
        in `TOKEN_STATISTICS`."""
        hidden = hidden.to(self._weight.device, self._narrow)
        targets = targets.to(self._weight.device)
        numbers = len(TOKEN_STATISTICS[statistics])
        out = torch.empty(numbers, len(targets), device=hidden.device)
        fill = self._whole
        size = self._chunk
        if self._in_slices:
            fill = self._by_slices
            # the 40 likeliest are found in whole rows
            size = _KEPT_ROWS if numbers > _TOP_MASS else _SLICED_AT_ONCE
        for chunk in spans(len(targets), size):
            fill(hidden[chunk], targets[chunk], out[:, chunk])
        return out

    def _whole(self, hidden: Tensor, targets: Tensor, out: Tensor) -> None:
        self._reduce(self._whole_logits(hidden), targets, out)

    def _whole_logits(self, hidden: Tensor) -> Tensor:
        """Return float32 [n, vocabulary] of `hidden` [n, width], in a buffer that the
        next call fills again."""
        if self._finish is None:
            return self.layer(hidden)
        return self._finish(hidden, self.layer)

    def layer(self, inputs: Tensor) -> Tensor:
        """Return float32 [..., vocabulary] of `inputs` [..., width], in that buffer:
        what the layer makes of them."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        logits = self._logits[: len(rows)]
        self._product(rows, slice(None), logits)
        return logits.view(*inputs.shape[:-1], logits.shape[1])

    def _by_slices(self, hidden: Tensor, targets: Tensor, out: Tensor) -> None:
        """Fill `out` slice by slice of the vocabulary, because whole rows of logits do
        not stay in cache."""
        hidden = hidden.float()
        rows = len(targets)
        own = self._own(hidden, targets)
        in_slice = hidden.new_empty(rows)
        merged = _Merged(own, len(out))
        keeps_rows = len(out) > _TOP_MASS
        for span in spans(self._weight.shape[1], _SLICE):
            if keeps_rows:
                logits = self._logits[:rows, span]
            else:
                width = span.stop - span.start
                logits = self._slice[: rows * width].view(rows, width)
            self._product(hidden, span, logits)
            is_inside = (targets >= span.start) & (targets < span.stop)
            inside = is_inside.nonzero()[:, 0]
            in_slice[inside] = logits[inside, targets[inside] - span.start]
            merged.add(logits)
        highest, total = merged.fill(out)
        again = in_slice != own  # rounded otherwise
        if keeps_rows:
            likeliest = _likeliest(self._logits[:rows], TOP + 1)
            likeliest.sub_(highest[:, None])
            mass = likeliest[:, :TOP].exp().sum(-1)
            torch.log(mass / total, out=out[_TOP_MASS])
            again |= _tie(likeliest)
        for few in again.nonzero()[:, 0].split(_CHUNK):
            values = out.new_empty(len(out), len(few))
            self._whole(hidden[few], targets[few], values)
            out[:, few] = values

    def _own(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return the logits of the targets alone, in small products that round as the
        slices' do."""
        own = hidden.new_empty(len(targets))
        for block in spans(len(targets), _SLICED_ROWS):
            rows = block.stop - block.start
            product = hidden.new_empty(rows, rows)
            self._product(hidden[block], targets[block], product)
            own[block] = product.diagonal()
        return own

    def _product(self, hidden: Tensor, columns: slice | Tensor, out: Tensor) -> None:
        """Multiply `hidden` [n, width] by these columns of the weights and add the
        bias, summed and kept in float32."""
        weight = self._weight[:, columns]
        keeps_inputs = self._finish is None or self._finish.keeps_inputs
        narrow = self._narrow if keeps_inputs else None
        if narrow and self._on_gpu:
            torch.mm(hidden.to(narrow), weight, out_dtype=torch.float32, out=out)
        else:
            with products_in_bfloat16(narrow == torch.bfloat16):
                torch.mm(hidden.float(), weight.float(), out=out)
        if self._bias is not None:
            out += self._bias[columns]

    def logits(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """Return float32 [n, m], logits of `ids` [m] after `hidden` [n, width], summed
        in float32."""
        hidden = hidden.to(self._weight.device, self._narrow)
        ids = ids.to(self._weight.device)
        if self._finish is not None:
            parts = []
            for rows in hidden.split(_CHUNK):
                parts.append(self._whole_logits(rows)[:, ids])
            return torch.cat(parts)
        logits = hidden.float() @ self._weight[:, ids].float()
        return logits if self._bias is None else logits + self._bias[ids]


@contextmanager
def products_in_bfloat16(allowed: bool) -> Iterator[None]:
    """Within, a CPU may multiply float32 numbers as bfloat16: nothing is rounded where
    each of them is one.

    Their sums are float32. Processors without such products have faster ones of float32
    then, too.
    """
    mkldnn: Any = torch.backends.mkldnn
    before = mkldnn.matmul.fp32_precision
    mkldnn.matmul.fp32_precision = "bf16" if allowed else before
    try:
        yield
    finally:
        mkldnn.matmul.fp32_precision = before


class Reduction:
    """Logits in any float dtype -> the statistics of their targets, in float32, block
    by block."""

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        chunk = chunk_rows(vocabulary, device)
        in_cache = max(4, _BLOCK // vocabulary)
        self._rows = min(in_cache, chunk) if device.type == "cpu" else chunk
        self._shifted = torch.empty(self._rows, vocabulary, device=device)
        self._weighted = torch.empty_like(self._shifted)

    def __call__(self, logits: Tensor, targets: Tensor, out: Tensor) -> None:
        """Fill `out` [numbers, n], rows as in `TOKEN_STATISTICS`, from `logits`
        [n, vocabulary] and `targets` [n]."""
        for block in spans(len(targets), self._rows):
            self._block(logits[block].float(), targets[block], out[:, block])

    def _block(self, logits: Tensor, targets: Tensor, out: Tensor) -> None:
        z = self._shifted[: len(targets)]
        p = self._weighted[: len(targets)]
        torch.sub(logits, logits.amax(-1, keepdim=True), out=z)
        own = z.gather(1, targets[:, None])
        if len(out) > _RANKS:
            likelier = torch.gt(z, own, out=p)
            torch.sum(likelier, -1, out=out[_RANKS])
        _exp(z, p)
        total = p.sum(-1)
        if len(out) > _TOP_MASS:
            torch.log(_top_mass(z, p) / total, out=out[_TOP_MASS])
        weighted = []
        if len(out) > 1:
            weighted.append(p.mul_(z).sum(-1))  # of z e^z
            weighted.append(p.mul_(z).sum(-1))  # of z^2 e^z
        _fill(out, own.squeeze(1), total, *weighted)


class _Merged:
    """Sums of rows whose logits come slice by slice: each slice's maximum, and its sums
    below that maximum."""

    def __init__(self, own: Tensor, numbers: int) -> None:
        """`own` [n], the logits of the targets; `numbers`: how many statistics are
        wanted."""
        self._own = own
        self._numbers = numbers
        self._ranks = torch.zeros_like(own)
        self._sums: list[Tensor] = []
        self._shifted = own.new_empty(_SLICED_ROWS * _SLICE)
        self._weighted = torch.empty_like(self._shifted)

    def add(self, logits: Tensor) -> None:
        """Add a slice's `logits` [n, columns]."""
        sums = logits.new_empty(2 if self._numbers == 1 else 4, len(logits))
        for rows in spans(len(logits), _SLICED_ROWS):
            self._block(logits[rows], rows, sums[:, rows])
        self._sums.append(sums)

    def _block(self, logits: Tensor, rows: slice, sums: Tensor) -> None:
        size = logits.numel()
        z = self._shifted[:size].view(logits.shape)
        p = self._weighted[:size].view(logits.shape)
        if self._numbers > _RANKS:
            likelier = torch.gt(logits, self._own[rows, None], out=p)
            self._ranks[rows] += likelier.sum(-1)
        highest = logits.amax(-1, keepdim=True)
        sums[0] = highest[:, 0]
        torch.sub(logits, highest, out=z)
        _exp(z, p)
        torch.sum(p, -1, out=sums[1])
        for weighted in sums[2:]:
            torch.sum(p.mul_(z), -1, out=weighted)

    def fill(self, out: Tensor) -> tuple[Tensor, Tensor]:
        """Fill `out` [numbers, n] up to the ranks; return each highest logit and sum of
        e^z below it, [n]."""
        highest, *sums = torch.stack(self._sums, dim=1)  # each [slices, n]
        most = highest.amax(0)
        shift = highest - most
        if len(sums) > 1:  # z and z^2 below the maximum of all, not of the slice
            total, mean, square = sums
            square = square + 2 * shift * mean + shift.square() * total
            sums = [total, mean + shift * total, square]
        scale = shift.exp()
        total, *weighted = [part.mul(scale).sum(0) for part in sums]
        _fill(out, self._own - most, total, *weighted)
        if len(out) > _RANKS:
            out[_RANKS] = self._ranks
        return most, total


def _fill(out: Tensor, own: Tensor, total: Tensor, *weighted: Tensor) -> None:
    """Fill ln p, entropy, variance and highest ln p, given the targets' z and the sums
    of e^z, z e^z, z^2 e^z [n].

    z are logits less the highest one; without the last two sums only ln p is filled.
    """
    highest = -total.log()
    torch.add(own, highest, out=out[0])
    if not weighted:
        return
    mean = weighted[0] / total
    square = weighted[1] / total
    torch.add(mean, highest, out=out[1]).neg_()
    # rounding can leave a one-point distribution just below 0, and a NaN in its square
    # root
    variance = square.addcmul_(mean, mean, value=-1)
    torch.clamp(variance, min=0, out=out[2])
    out[3] = highest


def _exp(z: Tensor, out: Tensor) -> None:
    """Fill `out` with e^z: by powers of two, because torch's exp calls MKL, which is
    slow on processors of AMD."""
    torch.exp2(torch.mul(z, math.log2(math.e), out=out), out=out)


def _top_mass(z: Tensor, p: Tensor) -> Tensor:
    """Sum the `p` [n, vocabulary] at or above the 40th of the logits `z`."""
    if z.device.type == "cpu":
        likeliest = _likeliest(z, TOP + 1)
        if not _tie(likeliest).any():
            return likeliest[:, :TOP].exp().sum(-1)
    count = min(TOP, z.shape[1])
    highest = z.topk(count, sorted=False).values
    last = highest.amin(-1, keepdim=True)
    return p.masked_fill(z < last, 0).sum(-1)


def _likeliest(z: Tensor, count: int) -> Tensor:
    """Return the `count` highest of each row [n, vocabulary], sorted; all of fewer."""
    vocabulary = z.shape[1]
    if vocabulary < count * _GROUP:
        return z.topk(min(count, vocabulary)).values
    # they lie in the `count` groups of columns whose maxima are the highest
    whole = vocabulary - vocabulary % _GROUP
    groups = z[:, :whole].unflatten(1, (-1, _GROUP))
    best = groups.amax(-1).topk(count, sorted=False).indices
    columns = best[:, :, None].expand(-1, -1, _GROUP)
    inside = groups.gather(1, columns).flatten(1)
    candidates = torch.cat([inside, z[:, whole:]], dim=1)
    return candidates.topk(count).values


def _tie(likeliest: Tensor) -> Tensor:
    """Return whether in each row [n, 41], sorted, the last ties with the 40th, as more
    tokens may."""
    if likeliest.shape[1] <= TOP:
        return torch.zeros(len(likeliest), dtype=torch.bool)
    return likeliest[:, TOP] == likeliest[:, TOP - 1]


def chunk_rows(vocabulary: int, device: torch.device) -> int:
    """Return how many scored positions go through the head at a time."""
    if device.type == "cpu":
        return _CHUNK
    return max(_CHUNK, min(_GPU_CHUNK, _GPU_LOGITS // vocabulary))


def spans(total: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


_Layer = Callable[[Tensor], Tensor]


class _Finish:
    """What a model's own code makes of its last hidden states: it may scale or cap
    logits, or transform the states.

    `keeps_inputs`: whether the output layer reads the hidden states as they are.
    """

    def __init__(self, model: Any, read: Any, dtype: torch.dtype) -> None:
        """`read`: what the base model returned of some tokens; `dtype`: how its hidden
        states are taken."""
        self._model = model
        self._read = read
        self._dtype = dtype
        self.keeps_inputs = False

    def __call__(self, hidden: Tensor, layer: _Layer) -> Tensor:
        """Return float32 [n, vocabulary] of `hidden` [n, width], with `layer` in the
        place of the output layer."""
        self._read["last_hidden_state"] = hidden.to(self._dtype)[None]
        ids = torch.zeros(1, len(hidden), dtype=torch.long, device=hidden.device)
        base = base_of(self._model)
        own_layer = self._model.get_output_embeddings()
        with (
            _replaced(base, lambda *args, **kwargs: self._read),
            _replaced(own_layer, layer),
        ):
            output = self._model(input_ids=ids, use_cache=False)
        logits = output.logits[0]
        return logits.to(hidden.device).float()


@contextmanager
def _replaced(module: torch.nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Within, `forward` is what the module computes; accelerate's hooks may have
    replaced its own already."""
    before = vars(module).get("forward")
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before


def base_of(model: Any) -> Any:
    """Return the part of a model that makes its last hidden states; the model itself if
    no part is named."""
    if model.base_model is not model:
        return model.base_model
    if hasattr(model, "get_decoder"):  # of a multimodal wrapper
        return model.get_decoder().base_model
    return model


def output_layer(model: Any) -> OutputHead | None:
    """Return what makes logits of the base model's last hidden states, in float32; None
    if nothing does.

    It is one linear layer, or the model's own code around this layer. Which of them
    shows when the layer is replaced by one that returns marks: numbers so large that
    any cap or scale changes them.
    """
    layer = model.get_output_embeddings()
    base = base_of(model)
    if not isinstance(layer, torch.nn.Linear) or base is model:
        return None
    vocabulary, width = layer.weight.shape
    probe = torch.arange(8, device=model.device).remainder(vocabulary)[None]
    # whole numbers up to 64, which every type has
    numbers = torch.arange(8 * vocabulary, device=layer.weight.device)
    marks = numbers.remainder(129).sub(64.0).view(8, -1)
    inputs = []
    reads = []

    def marked(hidden: Tensor) -> Tensor:
        inputs.append(hidden)
        return marks.view(*hidden.shape[:-1], -1)

    hook = base.register_forward_hook(
        lambda module, arguments, output: reads.append(output)
    )
    try:
        with _replaced(layer, marked):
            finished = model(input_ids=probe, use_cache=False).logits[0]
        if not reads:  # some models call a part of their base model
            base(input_ids=probe, use_cache=False)
    finally:
        hook.remove()
    hidden = getattr(reads[0], "last_hidden_state", None)
    if hidden is None or hidden.shape[-1] != width or len(inputs) != 1:
        return None
    [read] = inputs
    # Mamba's hidden states are float32 whatever the weights' type
    states = hidden.to(read.device, read.dtype)
    is_unchanged = torch.allclose(read.float(), states.float(), equal_nan=True)
    if is_unchanged and torch.equal(finished.to(marks.device).float(), marks):
        return OutputHead(layer.weight, layer.bias)
    return _finished_head(model, layer, probe, reads[0])


def _finished_head(
    model: Any, layer: torch.nn.Linear, probe: Tensor, read: Any
) -> OutputHead | None:
    """Return the layer in the model's own code, if that gives the model's logits; else
    None."""
    hidden = read.last_hidden_state[0].to(layer.weight.device)
    logits = model(input_ids=probe, use_cache=False).logits[0]
    expected = logits.to(hidden.device).float().log_softmax(-1).clamp(min=-100)
    tolerance = _ALIKE[model.dtype == torch.float32]
    for dtype in (torch.float32, model.dtype):
        finish = _Finish(model, read, dtype)
        head = OutputHead(layer.weight, layer.bias, finish)

        def watched(
            inputs: Tensor, finish: _Finish = finish, head: OutputHead = head
        ) -> Tensor:
            read_states = inputs.reshape(hidden.shape).float()
            finish.keeps_inputs = torch.equal(read_states, hidden.float())
            return head.layer(inputs)

        try:
            finished = finish(hidden, watched).log_softmax(-1).clamp(min=-100)
        # layers in between have narrow weights, or need other inputs
        except Exception as error:
            if is_out_of_memory(error):
                raise
            continue
        if (finished - expected).norm() <= tolerance * expected.norm():
            return head
    return None
