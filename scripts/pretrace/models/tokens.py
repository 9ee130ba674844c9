"""A checkpoint's tokenizer, without its weights, and the start token of a run."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pretrace.models.checkpoint import Checkpoint, read_checkpoint
from pretrace.runtime.errors import InputError, explain_failure, nearest
from pretrace.runtime.files import read_json
from pretrace.runtime.logs import log

SERVER_START = -1
"""Stands for a start token that a server puts before a text by itself."""

_NAMED = {"bos_token", "eos_token", "unk_token", "pad_token"}
_HARMLESS = {"tokenizer_class", "backend", "is_local", "local_files_only", "model_max_length"} | _NAMED
"""Settings of tokenizer_config.json that change no ids of a text's own tokens."""


def load_tokenizer(checkpoint: Checkpoint | Path) -> Any:
    """Load the tokenizer of a checkpoint (or of the checkpoint.json at a path), its files verified."""
    import transformers

    if not isinstance(checkpoint, Checkpoint):
        checkpoint = read_checkpoint(checkpoint)
    checkpoint.verify(checkpoint.settings)
    with explain_failure(f"transformers cannot load the tokenizer in {checkpoint.path}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            checkpoint.path, local_files_only=True, trust_remote_code=checkpoint.remote_code
        )
        return _without(_unplaced(tokenizer.get_added_vocab(), checkpoint), tokenizer)


def _unplaced(added: dict[str, int], checkpoint: Checkpoint) -> set[str]:
    """Return the tokens, of those added to a tokenizer, for which the model has no embedding."""
    with explain_failure(f"{checkpoint.path / 'config.json'} cannot be read as a configuration"):
        config = read_json(checkpoint.path / "config.json")
        rows = config.get("vocab_size", config.get("text_config", {}).get("vocab_size"))
        return {token for token, id in added.items() if rows is not None and id >= rows}


def _without(unplaced: set[str], tokenizer: Any) -> Any:
    """Return the tokenizer as it reads texts without these added tokens: as any other text that is spelled so."""
    if unplaced and tokenizer.is_fast:
        log.warning(
            "%s: the model has no embedding of %s; texts that hold them are read as spelled",
            tokenizer.name_or_path, ", ".join(sorted(unplaced)[:5]),
        )  # fmt: skip
        backend = tokenizer.backend_tokenizer
        parts = json.loads(backend.to_str())
        parts["added_tokens"] = [token for token in parts["added_tokens"] if token["content"] not in unplaced]
        tokenizer._tokenizer = type(backend).from_str(json.dumps(parts))
    return tokenizer


def load_config(checkpoint: Checkpoint, tokenizer: Any) -> Any:
    """Load the configuration of a checkpoint's text model.

    Raises `InputError` for an encoder-decoder model, and if the tokenizer has tokens that the model does not know.
    Tokens added to a tokenizer, as a [PAD], may lack an embedding: texts are read without them (`load_tokenizer`).
    """
    from pretrace.models.architecture import read_config

    path = checkpoint.path
    config = read_config(path, remote_code=checkpoint.remote_code).get_text_config()
    added = tokenizer.get_added_vocab()
    highest = max((id for token, id in tokenizer.get_vocab().items() if token not in added), default=-1)
    if highest >= config.vocab_size:
        raise InputError(
            f"{path}: the tokenizer has tokens up to number {highest}, and the model's vocabulary has "
            f"{config.vocab_size}: they are not of one model. Put the tokenizer there that the model was trained with."
        )
    return config


def load_encoder(checkpoint_json: Path) -> Any:
    """Load a fast tokenizer without importing transformers, which takes seconds.

    A `tokenizers.Tokenizer` if both are known to give the same ids; else transformers' tokenizer.
    """
    checkpoint = read_checkpoint(checkpoint_json)
    if not _is_read_as_it_is(checkpoint):
        return load_tokenizer(checkpoint)
    import tokenizers

    checkpoint.verify(checkpoint.settings)
    with explain_failure(f"transformers cannot load the tokenizer in {checkpoint.path}"):
        return tokenizers.Tokenizer.from_file(str(checkpoint.path / "tokenizer.json"))


def load_decoder(checkpoint_json: Path) -> Callable[[Sequence[Sequence[int]]], list[str]]:
    """Load a function from lists of token ids to texts, as `load_encoder` loads its tokenizer."""
    encoder = load_encoder(checkpoint_json)
    if hasattr(encoder, "decode_batch"):
        return lambda ids: list(encoder.decode_batch(ids, skip_special_tokens=False))
    return lambda ids: list(encoder.batch_decode(ids, clean_up_tokenization_spaces=False))


def _is_read_as_it_is(checkpoint: Checkpoint) -> bool:
    """Tell whether transformers reads tokenizer.json unchanged: saved by its own class, no other settings or tokens."""
    if not {"tokenizer.json", "tokenizer_config.json"} <= checkpoint.files.keys():
        return False
    settings = read_json(checkpoint.path / "tokenizer_config.json")
    if settings.get("tokenizer_class") != "TokenizersBackend" or not settings.keys() <= _HARMLESS:
        return False
    parts = read_json(checkpoint.path / "tokenizer.json")
    special = {token["content"] for token in parts["added_tokens"] if token["special"]}
    named = {settings[key] for key in _NAMED & settings.keys()}
    if _unplaced({token["content"]: token["id"] for token in parts["added_tokens"]}, checkpoint):
        return False
    return named <= special and not {"added_tokens.json", "special_tokens_map.json"} & checkpoint.files.keys()


def start_token_ids(tokenizer: Any, start_token: str) -> tuple[int, ...]:
    """Return the ids that are put before a text and never scored.

    `none`: no token. `tokenizer`: the tokens that the tokenizer puts before a text (Llama and OPT: one; Pythia, Qwen,
    GPT-2: none). Anything else is a token of the vocabulary. Raises `InputError` if the vocabulary lacks it.
    """
    if start_token == "none":
        return ()
    if start_token == "tokenizer":
        return _prepended(tokenizer)
    vocabulary = tokenizer.get_vocab()
    if start_token not in vocabulary:
        named = {"none", "tokenizer", *tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
        raise InputError(
            f"start_token '{start_token}' is not in the vocabulary of {tokenizer.name_or_path}: "
            f"{nearest(start_token, named)}"
        )
    return (vocabulary[start_token],)


def _prepended(tokenizer: Any) -> tuple[int, ...]:
    text = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    whole = list(tokenizer("a")["input_ids"])
    for start in range(len(whole) - len(text) + 1):
        if whole[start : start + len(text)] == text:
            return tuple(whole[:start])
    raise InputError(
        f"the tokenizer of {tokenizer.name_or_path} has no clear start token: name it in start_token of the run"
    )
