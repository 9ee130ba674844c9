"""What config.json says about a checkpoint's architecture, and whether the loaded model
is one that can be scored."""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import transformers

from pretrace.models.checkpoint import Checkpoint
from pretrace.runtime.errors import InputError, explain_failure
from pretrace.runtime.files import read_json

if TYPE_CHECKING:
    import torch

_FLAGS = {
    "return_dict": True,
    "use_cache": True,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_router_logits": False,
    "transformers_weights": None,  # another file than the one that is hashed
    # transformers chooses what this machine has
    "attn_implementation": None,
    "_attn_implementation": None,
    "experts_implementation": None,
    "_experts_implementation": None,
}
"""The settings of config.json that say how a model is run, not what it computes: as the
engine needs them."""

_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
_PROBE = 8  # tokens
_TOLERANCE, _NARROW_TOLERANCE = 1e-4, 1e-2
"""Of the logits' norm. Of a causal model the earlier logits are the same to the bit, or
nearly where a changed token goes to another expert; in a bidirectional one they change
by about a tenth."""


def read_config(path: Path, *, remote_code: bool) -> Any:
    """Read the configuration in a checkpoint's folder, with the flags that the engine
    needs.

    Raises `InputError` if transformers cannot read it, and for an encoder-decoder
    model.
    """
    with explain_failure(f"transformers cannot read {path / 'config.json'}"):
        settings = read_json(path / "config.json")
        remark = code_remark(settings)
        kind = settings["model_type"] if remark else ""
        if remark and not remote_code and kind not in transformers.CONFIG_MAPPING:
            raise InputError(
                f"{path / 'config.json'}: transformers {transformers.__version__} has "
                f"no model of type {kind}{remark}."
            )
        config = transformers.AutoConfig.from_pretrained(
            path, local_files_only=True, trust_remote_code=remote_code, **_FLAGS
        )
        text = config.get_text_config()
        if not isinstance(text, transformers.PreTrainedConfig):
            raise InputError(
                f"a {config.model_type} has no text_config: remove that key"
            )
        for flag, value in _FLAGS.items():
            if value is not None and hasattr(text, flag):
                setattr(text, flag, value)
    if config.is_encoder_decoder:
        raise InputError(
            f"{path} is an encoder-decoder model ({config.model_type}); a causal one "
            "is needed"
        )
    return config


def code_remark(settings: Any) -> str:
    """Say what lets the code of a checkpoint run that its `settings` name; "" without
    code."""
    if not isinstance(settings, dict) or not settings.get("auto_map"):
        return ""
    return (
        " (it has code of its own, which runs with remote_code: true in the model's "
        "entry and trust_remote_code: true in config.yaml; read it first)"
    )


def loader_of(config: Any, path: Path) -> Any:
    """Return the class of transformers that loads a causal model, or a multimodal one
    that reads text.

    Raises `InputError` if transformers has none for the model in the folder `path`.
    """
    if "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {}):
        return transformers.AutoModelForCausalLM
    loaders = [transformers.AutoModelForCausalLM, transformers.AutoModelForMultimodalLM]
    # of some, the causal class leaves out the weights of pictures
    if config.get_text_config() is not config:
        loaders.reverse()
    for loader in loaders:
        if type(config) in loader._model_mapping:
            return loader
    raise InputError(
        f"{path} is a model of type {config.model_type}, and transformers "
        f"{transformers.__version__} has no causal language model of that type. Name a "
        "causal language model."
    )


def context_of(config: Any, loader: Any) -> int | None:
    """Return how many tokens have a place in the model; None if config.json names no
    positive number."""
    text = config.get_text_config()
    for key in _CONTEXT_KEYS:
        limit = getattr(text, key, None)
        if isinstance(limit, int) and limit > 0:
            return limit - _places_before(config, loader)
    return None


def _places_before(config: Any, loader: Any) -> int:
    """Count the places before the first token's: RoBERTa and its relatives begin after
    the padding token's id."""
    # only relatives of BERT have the key; no other model's module is imported before
    # its weights are loaded
    if not hasattr(config, "type_vocab_size"):
        return 0
    if type(config) not in loader._model_mapping:
        return 0
    module = sys.modules[loader._model_mapping[type(config)].__module__]
    for name, kind in vars(module).items():
        begins_later = hasattr(kind, "create_position_ids_from_input_ids")
        if begins_later and name.endswith("Embeddings"):
            return config.pad_token_id + 1
    return 0


_NO_WEIGHT = re.compile(
    r"(.*[._])?((attn|attention)\.(bias|masked_bias|causal_mask)|rotary_emb\.inv_freq|position_ids"
    r"|(input|activation|output|prob_output|[qkv]|kv)_scale)"
)
"""Names of causal masks and positions in old checkpoints, and of the scales of
activations in quantised ones."""
_SCALE = re.compile(r"[._](scales?|scale_inv|zero_points?|_?amax|quant_state\S*)$")
_QUANTISED = re.compile(r"(F[468](_\w+)?|[IU][48]) .*|([IU]\d+|BOOL) .*(weight|_proj)")
"""A type as safetensors writes it, and a name. Wider integers are also tables, as of
the experts of each token."""


_LAYER = re.compile(r"(?:language_)?(?:model\.)*layers\.(\d+)\.")
_MTP = re.compile(r"(?:language_)?(?:model\.)*mtp(?:_\w+)?\.")
_MTP_COUNTS = ("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers")


def check_weights(model: Any, loading: dict[str, Any], checkpoint: Checkpoint) -> None:
    """Raise `InputError` if the architecture lacks weights, or leaves out or misreads
    some of the checkpoint's.

    `loading`: what transformers tells of the loading, without the keys that it knows to
    be harmless.
    """
    check_filled(model, loading, checkpoint)
    # a causal mask has the name of a bias, which would have one dimension
    biases = set()
    for tensor in checkpoint.tensors():
        if len(tensor.shape) == 1 and tensor.name.endswith(".bias"):
            biases.add(tensor.name)
    buffers = {name for name, _ in model.named_buffers()}
    text = model.config.get_text_config()
    unused = []
    for name in loading["unexpected_keys"] - buffers:
        is_harmless = _NO_WEIGHT.fullmatch(name) and name not in biases
        if not is_harmless and not _predicts_later_tokens(name, text):
            unused.append(name)
    if unused and all(_SCALE.search(name) for name in unused):
        raise InputError(
            f"{checkpoint.path} has scales of quantised numbers that "
            f"transformers {transformers.__version__} does not read as config.json "
            f"describes it ({_few(unused)}). Save the model in 16 bits, dequantised by "
            "the program that quantised it, or put its quantization_config into "
            "config.json."
        )
    if unused:
        raise InputError(
            f"{checkpoint.path} has weights that {type(model).__name__} does not use "
            f"as config.json describes it ({_few(unused)}): a part of the model would "
            "be left out. Put the config.json there that belongs to these weights, or "
            "save the causal language model alone."
        )


def _predicts_later_tokens(name: str, text: Any) -> bool:
    """Return whether a weight is of the layers for predicting several tokens (MTP),
    which no language model of transformers uses."""
    layer = _LAYER.match(name)
    if layer is None:
        return _MTP.match(name) is not None
    first = getattr(text, "num_hidden_layers", 0)
    count = max(getattr(text, key, None) or 0 for key in _MTP_COUNTS)
    return first <= int(layer[1]) < first + count


def check_filled(model: Any, loading: dict[str, Any], checkpoint: Checkpoint) -> None:
    """Raise `InputError` if weights of the architecture would be random, or numbers
    that lack their scales."""
    unset = [*loading["missing_keys"], *map(str, loading["mismatched_keys"])]
    if unset:
        raise InputError(
            f"{checkpoint.path} lacks weights of its architecture ({_few(unset)}): "
            "they would be random. Save the whole causal language model there."
        )
    # transformers sets it where it has read the scales too (false: and dequantised),
    # and names those left over
    if hasattr(model, "is_quantized"):
        return
    whole = {name for name, _ in model.named_buffers()}
    for name, value in model.named_parameters():
        if not value.is_floating_point():
            whole.add(name)
    for tensor in checkpoint.tensors():
        is_weight = tensor.name not in whole and not _NO_WEIGHT.fullmatch(tensor.name)
        if is_weight and _QUANTISED.fullmatch(f"{tensor.dtype} {tensor.name}"):
            raise InputError(
                f"{checkpoint.path / tensor.file} has {tensor.name} as {tensor.dtype}, "
                "and config.json has no quantization_config by which transformers "
                f"{transformers.__version__} reads the scales of such weights: save "
                "the model in a type of floating point of at least 16 bits."
            )


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more


def check_rotary(model: Any, path: Path) -> None:
    """Raise `InputError` if rotary embeddings have another base than config.json names.

    transformers 5.23.0 reads the `rope_theta` of an OLMo 3 for the layers with full
    attention alone.
    """
    config = model.config.get_text_config()
    named = set(_rotary_bases(read_json(path / "config.json")))
    if not named:
        return
    default = getattr(config, "default_theta", None)
    # where a class has a base for each kind of layer, config.json may leave out the one
    # that is usual
    usual = map(float, default.values()) if isinstance(default, dict) else ()
    known = named.union(usual)
    for place, base in _computed_bases(model, type(config)):
        if not any(math.isclose(base, other, rel_tol=0.01) for other in known):
            in_words = ", ".join(f"{theta:g}" for theta in sorted(named))
            raise InputError(
                f"{path}: config.json names rope_theta {in_words}, and transformers "
                f"{transformers.__version__} computes {place} of "
                f"{type(model).__name__} with {base:g}. Name rope_theta for each kind "
                "of layer under rope_parameters in config.json, as transformers 5 "
                "saves it."
            )


def check_saved_frequencies(model: Any, checkpoint: Checkpoint) -> None:
    """Raise `InputError` if rotary frequencies that the checkpoint holds are not those
    that the model computes.

    Old checkpoints hold them. They hold stretched ones (rope_type linear, yarn, ...) as
    they were before, so that these are not compared.
    """
    computed = []
    for module in model.modules():
        types = getattr(module, "rope_type", "default")
        of_layers = types.values() if isinstance(types, dict) else [types]
        is_plain = set(of_layers) == {"default"}
        for name, frequencies in module.named_buffers(recurse=False):
            if not name.endswith("inv_freq"):
                continue
            if not is_plain or frequencies.is_meta:
                return
            computed.append(frequencies.double().cpu())
    for tensor in checkpoint.tensors():
        if not (computed and tensor.name.endswith("rotary_emb.inv_freq")):
            continue
        saved = checkpoint.values(tensor).double()
        if not any(_are_equal_in_16_bits(saved, own) for own in computed):
            raise InputError(
                f"{checkpoint.path / tensor.file} has {tensor.name} with other "
                f"frequencies than {type(model).__name__} computes from config.json: "
                "name the rope_theta and the rotary width in config.json that the "
                "model was trained with."
            )


def _are_equal_in_16_bits(saved: "torch.Tensor", computed: "torch.Tensor") -> bool:
    # such numbers have a precision of 1/256, and in float16 steps of 6e-8
    is_as_long = saved.shape == computed.shape
    return is_as_long and saved.allclose(computed, rtol=0.01, atol=1e-7)


_ROTARY_BASE = re.compile(r"theta|(rope|rotary).*base")


def _rotary_bases(content: Any, is_named: bool = False) -> Iterator[float]:
    """Yield the numbers of a configuration that keys as rope_theta, rotary_emb_base or
    rope_local_base_freq have."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _rotary_bases(value, _ROTARY_BASE.search(str(key)) is not None)
    elif isinstance(content, list):
        for value in content:
            yield from _rotary_bases(value, is_named)
    elif is_named and isinstance(content, int | float):
        yield float(content)


def _computed_bases(model: Any, kind: type) -> Iterator[tuple[str, float]]:
    """Yield the base of each plain rotary embedding of the text's model, whose
    configuration is of this kind."""
    for module in model.modules():
        types = getattr(module, "rope_type", None)
        if not types or type(getattr(module, "config", None)) is not kind:
            continue
        for name, frequencies in module.named_buffers(recurse=False):
            layer = name.partition("inv_freq")[0].strip("_")
            rope_type = types.get(layer) if isinstance(types, dict) else types
            # place i of n is base ** (-i / n); others are stretched
            is_exact = len(frequencies) > 1 and frequencies.element_size() >= 4
            if name.endswith("inv_freq") and rope_type == "default" and is_exact:
                step = float(frequencies[1].double() / frequencies[0].double())
                yield name, step ** -len(frequencies)


def check_causal(model: Any, path: Path) -> None:
    """Raise `InputError` if later tokens, or their number, change an earlier
    prediction, or if tokens do not suffice.

    No list of flags would do: masked models, prefix models and bidirectional settings
    have many names.
    """
    import torch

    text = model.config.get_text_config()
    # from where a vocabulary has tokens that texts have; no padding, which some models
    # do not attend to
    common = range(text.vocab_size // 3, text.vocab_size)[: _PROBE + 2]
    padding = getattr(text, "pad_token_id", None)
    tokens = [id for id in common if id != padding][: _PROBE + 1]
    if len(tokens) < 2:
        return
    kind = type(model).__name__
    texts = [tokens[:-1], tokens[:-2] + tokens[-1:]]
    with explain_failure(f"{path}: {kind} does not read a text's tokens alone"):
        logits, other = _logits(model, texts)
        [beginning] = _logits(model, [tokens[: len(logits) // 2 + 1]])
    # the last position has read the token that differs
    by_token = _distance(other[:-1], logits[:-1])
    by_number = _distance(beginning, logits[: len(beginning)])
    changed = {
        "a token changes": by_token,
        "the number of tokens behind changes": by_number,
    }
    is_quantised = getattr(model, "is_quantized", False)
    is_exact = model.dtype == torch.float32 and not is_quantised
    tolerance = _TOLERANCE if is_exact else _NARROW_TOLERANCE
    for cause, off in changed.items():
        # not finite: the text says so that first gives such a number
        if off > tolerance:
            raise InputError(
                f"{path}: {kind} as config.json sets it up is not causal: {cause} the "
                f"predictions before it (by {off:.2g} of their norm). Name a causal "
                "language model, or set is_decoder: true in config.json if it was "
                "trained as one."
            )


def _logits(model: Any, texts: Sequence[Sequence[int]]) -> "torch.Tensor":
    """Compute float32 [texts, tokens, vocabulary] of texts of equally many tokens."""
    import torch

    ids = torch.tensor(texts, device=model.device)
    with torch.inference_mode():
        return model(input_ids=ids, use_cache=False).logits.float()


def _distance(logits: "torch.Tensor", expected: "torch.Tensor") -> float:
    """Return the Euclidean distance relative to the norm of what is expected."""
    return float((logits - expected).norm() / expected.norm())
