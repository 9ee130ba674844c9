"""Attention on a CPU to a prompt prefix that all texts of a batch share, as plain products with its keys and values.

torch's kernel reads the prefix's keys once for each text, a few queries at a time. Here the queries of all texts are
the rows of one product.
"""

import math
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from pretrace.passes.statistics import products_in_bfloat16, spans

SHARED_PREFIX = "pretrace_shared_prefix"
"""The name by which transformers finds this attention."""

_ALTERING = ("position_bias", "softcap", "s_aux")  # what some models add to scores, or cut them to
_BLOCK = 1 << 19  # scores of queries at the prefix's tokens that exist at a time: 2 MB


def attention_to_shared_prefix(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Return what `query` [texts, heads, tokens, width] reads, [texts, tokens, heads, width].

    In `key` and `value` [texts, key heads, past and own tokens, width] the past is the same for every text. Where a
    query does not see all of it (sliding windows), or scores are altered, torch's kernel computes.
    """
    texts, heads, tokens, width = query.shape
    past = key.shape[2] - tokens
    altered = any(kwargs.get(name) is not None for name in _ALTERING)
    if altered or value.shape[-1] != width or not _all_seen(attention_mask, past):
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    scaling = width**-0.5 if scaling is None else scaling
    own, log_sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key[:, :, past:], value[:, :, past:], is_causal=True, scale=scaling
    )
    read = query.new_empty(texts, tokens, heads, width)
    group = heads // key.shape[1]
    for number in range(key.shape[1]):
        head = slice(number * group, (number + 1) * group)
        with products_in_bfloat16(query.dtype == torch.bfloat16):
            of_prefix, prefix_log_sums = _read(
                query[:, head].reshape(-1, width), key[0, number, :past], value[0, number, :past], scaling
            )
        # each part counts by its share of the softmax's sum
        share = torch.sigmoid(log_sums[:, head].reshape(-1, 1) - prefix_log_sums)
        both = torch.lerp(of_prefix, own[:, head].reshape(-1, width).float(), share)
        read[:, :, head] = both.view(texts, group, tokens, width).transpose(1, 2)
    return read, None


def _all_seen(mask: torch.Tensor | None, past: int) -> bool:
    """Return whether every query may see all of a past."""
    if mask is None or mask.dtype != torch.bool or past == 0:
        return False
    return bool(mask[..., :past].all())


def _read(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scaling: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float32 [queries, width], what they read of these keys, and ln of their softmax's sums [queries, 1]."""
    queries, keys, values = queries.float(), keys.float().t(), values.float()
    size = max(1, _BLOCK // keys.shape[1])
    scores = queries.new_empty(min(size, len(queries)), keys.shape[1])
    read, log_sums = torch.empty_like(queries), queries.new_empty(len(queries), 1)
    for rows in spans(len(queries), size):
        p = torch.mm(queries[rows], keys, out=scores[: rows.stop - rows.start])
        highest = p.amax(-1, keepdim=True)
        p.sub_(highest).mul_(scaling * math.log2(math.e)).exp2_()
        total = p.sum(-1, keepdim=True)
        torch.div(p @ values, total, out=read[rows])
        torch.add(total.log(), highest, alpha=scaling, out=log_sums[rows])
    return read, log_sums


AttentionInterface.register(SHARED_PREFIX, attention_to_shared_prefix)
AttentionMaskInterface.register(SHARED_PREFIX, sdpa_mask)
