"""What a GGUF file's metadata say of the model, against the configuration that
transformers makes of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import transformers

from pretrace.runtime.errors import InputError, shorten

REMEDY = "Name the checkpoint that the GGUF file was made of."

_SETTINGS = {
    "context_length": ("max_position_embeddings", "n_positions"),
    "embedding_length": ("hidden_size",),
    "feed_forward_length": ("intermediate_size", "n_inner", "ffn_hidden_size"),
    "attention.head_count": ("num_attention_heads",),
    "attention.head_count_kv": ("num_key_value_heads",),
    "attention.layer_norm_rms_epsilon": (
        "rms_norm_eps", "norm_eps", "layer_norm_epsilon",
    ),
    "attention.layer_norm_epsilon": (
        "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps",
    ),
    "attention.key_length": ("global_head_dim", "head_dim"),
    "attention.key_length_swa": ("head_dim",),
    "attention.sliding_window": ("sliding_window",),
    "attn_logit_softcapping": ("attn_logit_softcapping",),
    "final_logit_softcapping": ("final_logit_softcapping",),
    "expert_count": ("num_experts", "num_local_experts"),
    "expert_used_count": ("num_experts_per_tok",),
    "expert_feed_forward_length": ("moe_intermediate_size", "intermediate_size"),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",),
    "expert_weights_norm": ("norm_topk_prob",),
    "expert_weights_scale": ("routed_scaling_factor",),
    "use_parallel_residual": ("use_parallel_residual",),
    "vocab_size": ("vocab_size",),
    "ssm.conv_kernel": ("conv_kernel", "linear_conv_kernel_dim"),
    "ssm.state_size": ("state_size", "linear_key_head_dim"),
    "ssm.time_step_rank": ("time_step_rank", "linear_num_value_heads"),
    "ssm.group_count": ("linear_num_key_heads",),
    "shortconv.l_cache": ("conv_L_cache",),
    "full_attention_interval": ("full_attention_interval",),
}  # fmt: skip
"""The keys after the architecture's name, and what transformers calls them."""
_TRAINED = "rope.scaling.original_context_length"
_BY_TRANSFORMERS = {
    "block_count", "nextn_predict_layers", "ssm.inner_size", "rope.dimension_sections",
    "expert_gating_func",
}  # fmt: skip
_WITHOUT_EFFECT = {
    "tensor_data_layout", "pooling_type", "embedding_length_out",
    "rope.scaling.finetuned", "attention.value_length", "attention.value_length_swa",
}  # fmt: skip
"""Keys that change no number, or that the shapes of the weights repeat."""
_IN_SHAPES = {
    "context_length", "embedding_length", "feed_forward_length", "vocab_size",
    "attention.head_count_kv",
}  # fmt: skip
"""Keys whose lack in a configuration shows in the number of weights, or not at all."""


def apply_facts(
    config: Any, facts: Mapping[str, Any], factors: Sequence[float]
) -> None:
    """Set in a configuration of transformers what a GGUF file's metadata `facts` say.

    `factors`: the divisors of its rotary frequencies.

    Raises:
        InputError: names a key that the model of transformers has no place for.
    """
    prefix = f"{facts['general.architecture']}."
    own = {}
    for name, value in facts.items():
        if name.startswith(prefix):
            own[name.removeprefix(prefix)] = value
    text = config.get_text_config()
    for key, value in own.items():
        is_set = key in _WITHOUT_EFFECT or key in _BY_TRANSFORMERS
        if is_set or key.startswith("rope.") or not _matters(key, value, own):
            continue
        names = [name for name in _SETTINGS.get(key, ()) if hasattr(text, name)]
        scalar = _scalar(value)
        if not names and key in _IN_SHAPES:
            continue
        if not names or scalar is None:
            raise _unusable(prefix + key, value, type(config).__name__)
        setattr(text, names[0], scalar)
    # of Gemma transformers knows that of most sizes, and no key says that of the others
    scale = getattr(text, "query_pre_attn_scalar", None)
    if scale is not None and scale != text.head_dim:
        key = "attention.key_length"
        raise _unusable(prefix + key, own.get(key), type(config).__name__)
    _apply_rotary(text, own, prefix, factors)


def _matters(key: str, value: Any, own: Mapping[str, Any]) -> bool:
    """Return whether a value differs from what a model without the key computes."""
    if key == "attention.causal":
        return not value
    if key == "attention.sliding_window":
        return 0 < value < own.get("context_length", math.inf)
    if key == "expert_weights_scale":
        return value not in (0, 1)
    return value not in (0, None) or key == "expert_weights_norm"


def _scalar(value: Any) -> Any:
    """Return the one value of a list that says it for each layer, or None; 0 says that a
    layer has no such part."""
    if not isinstance(value, list):
        return value
    values = set(value) - {0}
    return values.pop() if len(values) == 1 else None


def _unusable(key: str, value: Any, kind: str) -> InputError:
    return InputError(
        f"the file says {key} = {shorten(repr(value))}, and a {kind} of transformers "
        f"{transformers.__version__} as it is made of a GGUF file does not follow it. "
        f"{REMEDY}"
    )


def _apply_rotary(
    text: Any, own: Mapping[str, Any], prefix: str, factors: Sequence[float]
) -> None:
    """Set the rotary embeddings that the keys rope.* and the tensor rope_freqs say."""
    kind = type(text).__name__
    rotary = getattr(text, "rope_parameters", None)
    keys = {key for key in own if key.startswith("rope.")} - _BY_TRANSFORMERS
    if rotary is None:
        unused = sorted(keys - {"rope.dimension_count"})
        if unused or factors:
            name = unused[0] if unused else "rope_freqs.weight"
            raise _unusable(prefix + name, own.get(name), kind)
        return
    # a model of two kinds of layers stretches those with full attention
    whole = rotary.get("full_attention", rotary)
    if "rope.freq_base" in own:
        whole["rope_theta"] = own["rope.freq_base"]
    if "rope.freq_base_swa" in own and "sliding_attention" in rotary:
        rotary["sliding_attention"]["rope_theta"] = own["rope.freq_base_swa"]
    used = {"rope.freq_base", "rope.freq_base_swa"} & keys
    used |= _apply_width(text, own, whole)
    stretched, applied = _stretching(text, own, factors)
    whole.update(stretched)
    for key in sorted(keys - used - applied - _WITHOUT_EFFECT):
        raise _unusable(prefix + key, own[key], kind)


def _apply_width(text: Any, own: Mapping[str, Any], whole: dict[str, Any]) -> set[str]:
    """Set how many numbers of a head are rotated, and return the keys that say it."""
    width = own.get("rope.dimension_count")
    heads = text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // heads
    share = whole.get("partial_rotary_factor", 1.0)
    if width is None or width == int(head * share):
        return {"rope.dimension_count"}
    if "partial_rotary_factor" not in whole:
        return set()
    whole["partial_rotary_factor"] = width / head
    return {"rope.dimension_count"}


def _stretching(
    text: Any, own: Mapping[str, Any], factors: Sequence[float]
) -> tuple[dict[str, Any], set[str]]:
    """Return the parameters of stretched rotary embeddings, and the keys that say
    them."""
    kind = own.get("rope.scaling.type", "linear")
    factor = own.get("rope.scaling.factor", own.get("rope.scale_linear", 0.0))
    keys = {"rope.scaling.type", "rope.scaling.factor", "rope.scale_linear"}
    if own.get("rope.scaling.attn_factor") == 1.0:
        keys.add("rope.scaling.attn_factor")
    longest = own.get("context_length", text.max_position_embeddings)
    if factors:
        # by transformers' name for frequencies with a divisor each; the same divisors
        # for texts of every length
        same = [float(value) for value in factors]
        is_alone = factor in (0.0, 1.0)
        stretched = {
            "rope_type": "longrope",
            "factor": 1.0,
            "short_factor": same,
            "long_factor": same,
            "original_max_position_embeddings": longest,
        }
        return stretched, keys if is_alone else set()
    if kind == "none" or (factor in (0.0, 1.0) and kind in ("linear", "yarn")):
        has_one_length = longest == own.get(_TRAINED, longest)
        return {}, keys | {_TRAINED} if has_one_length else keys
    if kind == "linear":
        return {"rope_type": "linear", "factor": factor}, keys
    if kind == "yarn":
        original = own.get(_TRAINED, longest)
        stretched = {
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": original,
        }
        return stretched, keys | {_TRAINED}
    return {}, set()
