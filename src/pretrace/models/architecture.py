"""What config.json says about a checkpoint's architecture, and whether the loaded model is one that can be scored."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import transformers

from pretrace.models.checkpoint import Checkpoint
from pretrace.runtime.errors import InputError, explain_failure

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
"""The settings of config.json that say how a model is run, not what it computes: as the engine needs them."""

_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
_PROBE = 8  # tokens
_TOLERANCE, _NARROW_TOLERANCE = 1e-4, 1e-2
"""Of the logits' norm. Of a causal model the earlier logits are the same to the bit, or nearly where a changed token
goes to another expert; in a bidirectional one they change by about a tenth."""


def read_config(path: Path, *, remote_code: bool = False) -> Any:
    """Read the configuration in a checkpoint's folder, with the flags that the engine needs.

    Raises `InputError` if transformers cannot read it, and for an encoder-decoder model.
    """
    with explain_failure(f"transformers cannot read {path / 'config.json'}"):
        config = transformers.AutoConfig.from_pretrained(
            path, local_files_only=True, trust_remote_code=remote_code, **_FLAGS
        )
        text = config.get_text_config()
        for flag, value in _FLAGS.items():
            if value is not None and hasattr(text, flag):
                setattr(text, flag, value)
    if config.is_encoder_decoder:
        raise InputError(f"{path} is an encoder-decoder model ({config.model_type}); a causal one is needed")
    return config


def loader_of(config: Any, path: Path) -> Any:
    """Return the class of transformers that loads a causal model, or a multimodal one that reads text.

    Raises `InputError` if transformers has none for the model in the folder `path`.
    """
    if "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {}):
        return transformers.AutoModelForCausalLM
    loaders = [transformers.AutoModelForCausalLM, transformers.AutoModelForMultimodalLM]
    if config.get_text_config() is not config:  # of some, the causal class leaves out the weights of pictures
        loaders.reverse()
    for loader in loaders:
        if type(config) in loader._model_mapping:
            return loader
    raise InputError(
        f"{path} is a model of type {config.model_type}, and transformers {transformers.__version__} has no causal "
        "language model of that type. Name a causal language model."
    )


def context_of(config: Any, loader: Any) -> int | None:
    """Return how many tokens have a place in the model; None if config.json names no positive number."""
    text = config.get_text_config()
    named = (getattr(text, key, None) for key in _CONTEXT_KEYS)
    limits = [value for value in named if isinstance(value, int) and value > 0]
    return limits[0] - _places_before(config, loader) if limits else None


def _places_before(config: Any, loader: Any) -> int:
    """Count the places before the first token's: RoBERTa and its relatives begin after the padding token's id."""
    # only relatives of BERT have the key; no other model's module is imported before its weights are loaded
    if not hasattr(config, "type_vocab_size") or type(config) not in loader._model_mapping:
        return 0
    module = sys.modules[loader._model_mapping[type(config)].__module__]
    begins_later = any(
        name.endswith("Embeddings") and hasattr(kind, "create_position_ids_from_input_ids")
        for name, kind in vars(module).items()
    )
    return config.pad_token_id + 1 if begins_later else 0


def check_weights(model: Any, loading: dict[str, Any], checkpoint: Checkpoint) -> None:
    """Raise `InputError` if the architecture lacks weights, or leaves out some of the checkpoint's.

    `loading`: what transformers tells of the loading, without the keys that it knows to be harmless.
    """
    if unset := [*loading["missing_keys"], *map(str, loading["mismatched_keys"])]:
        raise InputError(
            f"{checkpoint.path} lacks weights of its architecture ({_few(unset)}): they would be random. Save the "
            "whole causal language model there."
        )
    if unused := [*loading["unexpected_keys"] - _no_weights(model, checkpoint)]:
        raise InputError(
            f"{checkpoint.path} has weights that {type(model).__name__} does not use as config.json describes it "
            f"({_few(unused)}): a part of the model would be left out. Put the config.json there that belongs to "
            "these weights, or save the causal language model alone."
        )


def _no_weights(model: Any, checkpoint: Checkpoint) -> set[str]:
    """Return the names of buffers, and of the causal masks and their value that old checkpoints hold."""
    masks = {
        tensor.name
        for tensor in checkpoint.tensors()
        if not tensor.shape or (tensor.dtype in ("BOOL", "U8") and len(tensor.shape) > 2)
    }
    return masks | {name for name, _ in model.named_buffers()}


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more


def check_causal(model: Any, path: Path) -> None:
    """Raise `InputError` if a token changes an earlier token's prediction, or if the model needs more than tokens.

    No list of flags would do: masked models, prefix models and bidirectional settings have many names.
    """
    import torch

    text = model.config.get_text_config()
    # from where a vocabulary has tokens that texts have; no padding, which some models do not attend to
    common = range(text.vocab_size // 3, text.vocab_size)[: _PROBE + 2]
    tokens = [id for id in common if id != getattr(text, "pad_token_id", None)][: _PROBE + 1]
    if len(tokens) < 2:
        return
    ids = torch.tensor([tokens[:-1], tokens[:-2] + tokens[-1:]])
    with (
        explain_failure(f"{path}: {type(model).__name__} does not read a text's tokens alone"),
        torch.inference_mode(),
    ):
        logits = model(input_ids=ids.to(model.device), use_cache=False).logits.float()
    first, second = logits[:, :-1]
    off = float((first - second).norm() / first.norm())
    # not finite: the text says so that first gives such a number
    if off > (_TOLERANCE if model.dtype == torch.float32 else _NARROW_TOLERANCE):
        raise InputError(
            f"{path}: {type(model).__name__} as config.json sets it up is not causal: a token changes the "
            f"predictions before it (by {off:.2g} of their norm). Name a causal language model, or set is_decoder: "
            "true in config.json if it was trained as one."
        )
