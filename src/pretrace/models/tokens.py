"""A checkpoint's tokenizer, without its weights, and the start token of a run."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pretrace.models.checkpoint import Checkpoint, read_checkpoint
from pretrace.runtime.errors import InputError, explain_failure, nearest
from pretrace.runtime.files import read_json
from pretrace.runtime.logs import log

Encoded = Sequence[Sequence[int]]


def load_tokenizer(
    checkpoint: Checkpoint | Path, special_tokens: str = "as_spelled", tokenizer_from: str | None = None
) -> Any:
    """Load the tokenizer of a checkpoint (or of the checkpoint.json at a path), its files verified.

    tokenizer.json is read as it is, because transformers rebuilds the tokenizers of many classes and drops parts of the
    file. `tokenizer_from` class, checkpoints without that file and those with code of their own are left to
    transformers. `special_tokens` as in a model's entry. Whoever encodes texts has the same ids: see `load_encoder`.
    """
    import transformers

    if not isinstance(checkpoint, Checkpoint):
        checkpoint = read_checkpoint(checkpoint)
    checkpoint.verify(checkpoint.settings)
    with explain_failure(f"transformers cannot load the tokenizer in {checkpoint.path}"):
        if tokenizer_from == "class" or not _is_file(checkpoint):
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                checkpoint.path, local_files_only=True, trust_remote_code=checkpoint.remote_code
            )
            if backend := getattr(tokenizer, "backend_tokenizer", None):
                tokenizer._tokenizer = _without_chance(backend, checkpoint)
        else:
            encoder = _from_file(checkpoint)
            tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(
                checkpoint.path, tokenizer_object=encoder, local_files_only=True
            )
            # transformers adds tokens and a template that tokenizer_config.json names and tokenizer.json lacks
            tokenizer._tokenizer = encoder
    tokenizer.split_special_tokens = special_tokens == "as_spelled"  # set here, so that it is saved nowhere
    return tokenizer


def load_declared(checkpoint: Checkpoint, tokenizer: Any, tokenizer_from: str | None) -> Any:
    """Load the tokenizer of the class that a checkpoint names, to be compared with `tokenizer`, which reads the file.

    None if an entry says which of the two is meant, or if both have the same parts.
    """
    if tokenizer_from or not _is_file(checkpoint):
        return None
    spelled = "as_spelled" if tokenizer.split_special_tokens else "as_control"
    declared = load_tokenizer(checkpoint, spelled, "class")
    alike = getattr(declared, "backend_tokenizer", None)
    return None if alike and alike.to_str() == tokenizer.backend_tokenizer.to_str() else declared


def _tokens_without_embedding(added: dict[int, Any], checkpoint: Checkpoint) -> set[str]:
    """Return the tokens, of those added to a tokenizer, for which the model has no embedding."""
    with explain_failure(f"{checkpoint.path / 'config.json'} cannot be read as a configuration"):
        config = read_json(checkpoint.path / "config.json")
        rows = config.get("vocab_size", config.get("text_config", {}).get("vocab_size"))
        return {token.content for id, token in added.items() if rows is not None and id >= rows}


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


def load_encoder(
    checkpoint_json: Path, special_tokens: str = "as_spelled", tokenizer_from: str | None = None
) -> Any:
    """Load what gives the ids of `load_tokenizer`: a `tokenizers.Tokenizer`, or a slow tokenizer of transformers.

    Importing transformers takes seconds, and is done only where it is needed.
    """
    checkpoint = read_checkpoint(checkpoint_json)
    if tokenizer_from == "class" or not _is_file(checkpoint):
        tokenizer = load_tokenizer(checkpoint, special_tokens, tokenizer_from)
        encoder = getattr(tokenizer, "backend_tokenizer", None)
        if encoder is None:
            return tokenizer
    else:
        checkpoint.verify(checkpoint.settings)
        with explain_failure(f"the tokenizer in {checkpoint.path} cannot be loaded"):
            encoder = _from_file(checkpoint)
    encoder.encode_special_tokens = special_tokens == "as_spelled"
    return encoder


def decoder_of(tokenizer: Any) -> Callable[[Encoded], list[str]]:
    """Return a function from lists of token ids to texts, special tokens written; of either loader's tokenizer."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "decode_batch"):
        return lambda ids: list(backend.decode_batch(ids, skip_special_tokens=False))
    return lambda ids: list(tokenizer.batch_decode(ids, clean_up_tokenization_spaces=False))


def _is_file(checkpoint: Checkpoint) -> bool:
    """Return whether a checkpoint's tokenizer is its tokenizer.json, and not code of its own that may run."""
    if "tokenizer.json" not in checkpoint.files:
        return False
    if not checkpoint.remote_code or "tokenizer_config.json" not in checkpoint.files:
        return True
    own = read_json(checkpoint.path / "tokenizer_config.json").get("auto_map", {})
    return isinstance(own, dict) and "AutoTokenizer" not in own


def _from_file(checkpoint: Checkpoint) -> Any:
    import tokenizers

    return _without_chance(
        tokenizers.Tokenizer.from_file(str(checkpoint.path / "tokenizer.json")), checkpoint
    )


def _without_chance(encoder: Any, checkpoint: Checkpoint) -> Any:
    """Return a tokenizer that neither cuts, fills nor draws (BPE's dropout, the sampling of a unigram model).

    Added tokens without an embedding are read as any other text that is spelled so.
    """
    if unplaced := _tokens_without_embedding(encoder.get_added_tokens_decoder(), checkpoint):
        log.warning(
            "%s: the model has no embedding of %s; texts that hold them are read as spelled",
            checkpoint.path, ", ".join(sorted(unplaced)[:5]),
        )  # fmt: skip
        parts = json.loads(encoder.to_str())
        parts["added_tokens"] = [token for token in parts["added_tokens"] if token["content"] not in unplaced]
        encoder = type(encoder).from_str(json.dumps(parts))
    encoder.no_truncation()
    encoder.no_padding()
    for setting in ("dropout", "alpha", "nbest_size"):
        if getattr(encoder.model, setting, None) is not None:
            setattr(encoder.model, setting, None)
    return encoder


def special_tokens_in(tokenizer: Any) -> Callable[[str], list[str]]:
    """Return a function that lists the special tokens that a text spells out."""
    names = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    names |= set(tokenizer.all_special_tokens) - {""}
    if not names:
        return lambda text: []
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True)))).findall


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
    text, whole = (list(tokenizer("a", add_special_tokens=added)["input_ids"]) for added in (False, True))
    for start in range(len(whole) - len(text) + 1):
        if whole[start : start + len(text)] == text:
            return tuple(whole[:start])
    raise InputError(
        f"the tokenizer of {tokenizer.name_or_path} has no clear start token: name it in start_token of the run"
    )


def start_in_words(tokenizer: Any, start_token: str) -> str:
    """Say which token is put before every text, for a run's `start_token`."""
    if start_token not in ("none", "tokenizer"):
        return f"starts with {start_token}"
    ids = start_token_ids(tokenizer, start_token)
    return f"starts with {_written(tokenizer, ids)}" if ids else "no start token"


def bos_contradiction(tokenizer: Any) -> str:
    """Say how add_bos_token of tokenizer_config.json contradicts what the tokenizer puts first; "" if it does not.

    transformers 4 followed the key. transformers 5 follows tokenizer.json alone.
    """
    settings = Path(tokenizer.name_or_path) / "tokenizer_config.json"
    declared = read_json(settings).get("add_bos_token") if settings.is_file() else None
    start = _prepended(tokenizer)
    if declared is None or bool(declared) == bool(start):
        return ""
    instead = "none" if start else f"'{tokenizer.bos_token or '<s>'}'"
    return (
        f"tokenizer_config.json says add_bos_token: {str(declared).lower()}, but the tokenizer itself puts "
        f"{_written(tokenizer, start) or 'no token'} first, and its texts are read so. If the model was trained "
        f"otherwise, set start_token: {instead} in the run"
    )


def _written(tokenizer: Any, ids: Sequence[int]) -> str:
    return " ".join(map(str, tokenizer.convert_ids_to_tokens(list(ids))))
