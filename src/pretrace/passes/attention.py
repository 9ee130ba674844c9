"""Attention to a prompt prefix that all texts of a batch share, which is copied for
none of them.

torch's kernels want the prefix's keys before the own keys of each text. Here the
queries of all texts read the one prefix together, and each text reads its own tokens.
The two parts are merged by the sums of their softmaxes.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from pretrace.passes.memory import is_out_of_memory
from pretrace.passes.statistics import products_in_bfloat16, spans

SHARED_PREFIX = "pretrace_shared_prefix"
"""The name by which transformers finds this attention."""

_AHEAD = "pretrace_ahead"
"""The attribute of a layer's own keys, or values, that has those of the prefix."""

# what some models add to scores, or cut them to
_ALTERING = ("position_bias", "softcap", "s_aux")
# scores of queries at the prefix's tokens that exist at a time on a CPU: 2 MB
_BLOCK = 1 << 19
# of the norm, in float32 or narrower: two kernels of a GPU
_ALIKE = {True: 1e-3, False: 0.02}


def put_ahead(shared: Tensor, own: Tensor) -> Tensor:
    """Return the `own` keys or values of a batch with the prefix's `shared` [1, ...]
    noted, for `SHARED_PREFIX`."""
    setattr(own, _AHEAD, shared)
    return own


def copied_ahead(shared: Tensor, own: Tensor) -> Tensor:
    """Return [texts, heads, past and own tokens, width]: the `own` tokens after a copy
    of the `shared` ones."""
    return torch.cat([shared.expand(len(own), *shared.shape[1:]), own], dim=-2)


def whole_row(states: Tensor, row: int) -> Tensor:
    """Return the keys or values [1, heads, tokens, width] of one text, those of a noted
    prefix before its own."""
    own = states[row : row + 1]
    shared = getattr(states, _AHEAD, None)
    return own if shared is None else copied_ahead(shared, own)


class _Part(NamedTuple):
    """What queries [texts, heads, tokens, width] read of some keys, and ln of the
    softmax's sums, one for each."""

    read: Tensor
    log_sums: Tensor


def attention_to_shared_prefix(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Return what `query` [texts, heads, tokens, width] reads, [texts, tokens, heads,
    width].

    `key` and `value` [texts, key heads, tokens, width] are the texts' own, with a
    prefix noted by `put_ahead`. Where a query does not see all of it (sliding windows
    have a mask), or scores are altered, torch's kernel reads a copy.
    """
    past: Any = getattr(key, _AHEAD, None)
    past_value: Any = getattr(value, _AHEAD, None)
    has_prefix = past is not None and past_value is not None
    width = query.shape[-1]
    is_altered = any(kwargs.get(name) is not None for name in _ALTERING)
    is_plain = attention_mask is None and not is_altered and value.shape[-1] == width
    if not has_prefix or not is_plain:
        if has_prefix:
            key = copied_ahead(past, key)
            value = copied_ahead(past_value, value)
            if attention_mask is None:
                attention_mask = _all_seen(query.shape[-2], key.shape[-2], query.device)
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )
    scaling = width**-0.5 if scaling is None else scaling
    own = _kernel(query, key, value, scaling, is_causal=True)
    on_cpu = query.device.type == "cpu"
    read_shared = _read_in_products if on_cpu else _read_as_one_text
    shared = read_shared(query, past, past_value, scaling)
    # each part counts by its share of the softmax's sum
    share = torch.sigmoid(own.log_sums - shared.log_sums)[..., None]
    both = torch.lerp(shared.read.float(), own.read.float(), share)
    return both.to(query.dtype).transpose(1, 2).contiguous(), None


def mask_after_shared_prefix(**asked: Any) -> Tensor | None:
    """Return transformers' mask; None where it would let every query see the prefix and
    its own text up to itself."""
    window = asked.get("local_size")
    is_causal = (
        asked.get("allow_is_causal_skip", True) and asked.get("attention_mask") is None
    )
    if is_causal and (window is None or asked["kv_length"] < window):
        return None
    return sdpa_mask(**asked)


def _all_seen(tokens: int, seen: int, device: torch.device) -> Tensor:
    """Return the mask [1, 1, tokens, seen] of queries that see the past, and their own
    text up to themselves."""
    mask = torch.ones(tokens, seen, dtype=torch.bool, device=device)
    return mask.tril(seen - tokens)[None, None]


def _read_as_one_text(
    query: Tensor, key: Tensor, value: Tensor, scaling: float
) -> _Part:
    """Read the prefix [1, key heads, past, width] as if all queries were of one text,
    which a GPU does at once."""
    texts, heads, tokens, width = query.shape
    rows = query.transpose(0, 1).reshape(1, heads, texts * tokens, width)
    part = _kernel(rows, key, value, scaling, is_causal=False)
    read = part.read.reshape(heads, texts, tokens, width)
    log_sums = part.log_sums.reshape(heads, texts, tokens)
    return _Part(read.transpose(0, 1), log_sums.transpose(0, 1))


def _kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scaling: float,
    *,
    is_causal: bool,
) -> _Part:
    """Have the device's kernel read `key` and `value`, which may have fewer heads; with
    `is_causal` a text's own tokens, up to the one that asks."""
    aten = torch.ops.aten
    options = {}
    if query.device.type == "cpu":
        kernel = aten._scaled_dot_product_flash_attention_for_cpu
    elif query.dtype != torch.float32:
        kernel = aten._scaled_dot_product_flash_attention
    else:  # flash attention is of narrow numbers, and this kernel of as many heads
        groups = query.shape[1] // key.shape[1]
        key = repeat_kv(key, groups)
        value = repeat_kv(value, groups)
        kernel = aten._scaled_dot_product_efficient_attention
        options = {"attn_bias": None, "compute_log_sumexp": True}
    read, log_sums, *_ = kernel(
        query, key, value, is_causal=is_causal, scale=scaling, **options
    )
    # some kernels fill up their sums to a multiple of 32
    return _Part(read, log_sums[..., : query.shape[-2]])


def _read_in_products(
    query: Tensor, key: Tensor, value: Tensor, scaling: float
) -> _Part:
    """Read the prefix [1, key heads, past, width] by products of matrices, head by
    head.

    torch's kernel on a CPU would read its keys once for each text, a few queries at a
    time.
    """
    texts, heads, tokens, width = query.shape
    read = query.new_empty(texts, heads, tokens, width, dtype=torch.float32)
    log_sums = read.new_empty(texts, heads, tokens)
    key_heads = key.shape[1]
    group = heads // key_heads
    for number in range(key_heads):
        first = number * group
        head = slice(first, first + group)
        rows = query[:, head].reshape(-1, width)
        with products_in_bfloat16(query.dtype == torch.bfloat16):
            values, sums = _read(rows, key[0, number], value[0, number], scaling)
        read[:, head] = values.view(texts, group, tokens, width)
        log_sums[:, head] = sums.view(texts, group, tokens)
    return _Part(read, log_sums)


def _read(
    queries: Tensor, keys: Tensor, values: Tensor, scaling: float
) -> tuple[Tensor, Tensor]:
    """Return float32 [queries, width], what they read of these keys, and ln of their
    softmax's sums [queries, 1]."""
    queries = queries.float()
    keys = keys.float().t()
    values = values.float()
    count = len(queries)
    past = keys.shape[1]
    size = max(1, _BLOCK // past)
    buffer = queries.new_empty(min(size, count), past)
    read = torch.empty_like(queries)
    log_sums = queries.new_empty(count, 1)
    for rows in spans(count, size):
        scores = buffer[: rows.stop - rows.start]
        p = torch.mm(queries[rows], keys, out=scores)
        highest = p.amax(-1, keepdim=True)
        p.sub_(highest).mul_(scaling * math.log2(math.e)).exp2_()
        total = p.sum(-1, keepdim=True)
        torch.div(p @ values, total, out=read[rows])
        torch.add(total.log(), highest, alpha=scaling, out=log_sums[rows])
    return read, log_sums


class Heads(NamedTuple):
    """How many heads of queries and of keys a layer has, and the width of each."""

    of_queries: int
    of_keys: int
    width: int


def heads_of(config: Any) -> Heads | None:
    """Return the heads that a configuration states; None if it states none."""
    queries = getattr(config, "num_attention_heads", None)
    if not isinstance(queries, int):
        return None
    keys = getattr(config, "num_key_value_heads", None) or queries
    width = getattr(config, "head_dim", None) or config.hidden_size // queries
    return Heads(queries, keys, width)


def gpu_reads_apart(config: Any, device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether this GPU has the kernels for a model's heads, and they give what
    its usual attention gives.

    Their support differs with the card, the type, the width of a head and the version
    of torch.
    """
    heads = heads_of(config)
    if heads is None:
        return False
    width = heads.width
    drawn = torch.Generator().manual_seed(0)

    def states(texts: int, heads: int, tokens: int) -> Tensor:
        numbers = torch.randn(texts, heads, tokens, width, generator=drawn)
        return numbers.to(device, dtype)

    module: Any = torch.nn.Module()
    module.num_key_value_groups = heads.of_queries // heads.of_keys
    query = states(2, heads.of_queries, 5)
    key = states(2, heads.of_keys, 5)
    value = states(2, heads.of_keys, 5)
    past_key = states(1, heads.of_keys, 11)
    past_value = states(1, heads.of_keys, 11)
    whole_key = copied_ahead(past_key, key)
    whole_value = copied_ahead(past_value, value)
    put_ahead(past_key, key)
    put_ahead(past_value, value)
    mask = _all_seen(5, 16, device)
    try:
        expected = sdpa_attention_forward(module, query, whole_key, whole_value, mask)
        read = attention_to_shared_prefix(module, query, key, value, None)
    except Exception as error:  # of a width or a card that the kernel does not know
        if is_out_of_memory(error):
            raise
        return False
    norm = expected[0].float().norm()
    off = (read[0].float() - expected[0].float()).norm() / norm
    return float(off) <= _ALIKE[dtype == torch.float32]


AttentionInterface.register(SHARED_PREFIX, attention_to_shared_prefix)
AttentionMaskInterface.register(SHARED_PREFIX, mask_after_shared_prefix)
