"""A checkpoint's tokenizer, without its weights, and the start token of a run."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.models.checkpoint import (
    CHAT_TEMPLATES,
    IN_ADAPTER,
    Checkpoint,
    read_checkpoint,
)
from pretrace.models.sentencepiece_files import (
    encoder_by_sentencepiece,
    have_same_ids,
    read_sentencepiece,
    refuse_tiktoken,
    sentencepiece_file,
)
from pretrace.models.tokenizer_files import (
    check_ids,
    has_own_code,
    has_own_tokenizer_json,
    read_settings,
    read_tokenizer_json,
    without_chance,
)
from pretrace.runtime.errors import InputError, explain_failure, nearest, shorten
from pretrace.runtime.files import read_json
from pretrace.runtime.logs import log

Encoded = Sequence[Sequence[int]]


def load_tokenizer(
    checkpoint: Checkpoint | Path,
    special_tokens: str = "as_spelled",
    tokenizer_from: str | None = None,
) -> Any:
    """Load the tokenizer of a checkpoint (or of the checkpoint.json at a path), its
    files verified.

    tokenizer.json is read as it is, because transformers rebuilds the tokenizers of
    many classes and drops parts of the file; so is a SentencePiece file without it.
    `tokenizer_from` class, checkpoints with other files and those with code of their
    own are left to transformers. `special_tokens` as in a model's entry. Whoever
    encodes texts has the same ids: see `load_encoder`. Raises `InputError` for files
    that make no tokenizer.
    """
    import transformers

    if not isinstance(checkpoint, Checkpoint):
        checkpoint = read_checkpoint(checkpoint)
    checkpoint.verify(checkpoint.settings)
    refused = f"transformers cannot load the tokenizer in {checkpoint.path}"
    with explain_failure(refused + _remark_on_files(checkpoint)):
        if tokenizer_from == "class" or not has_own_tokenizer_json(checkpoint):
            tokenizer = _of_class(checkpoint, tokenizer_from)
        else:
            encoder = read_tokenizer_json(checkpoint)
            tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(
                checkpoint.path, tokenizer_object=encoder, local_files_only=True
            )
            # transformers has changed its copy
            tokenizer._tokenizer = encoder
        template = _template_of_adapter(checkpoint)
        if template:
            tokenizer.chat_template = template
        _warn_of_mistral(tokenizer, checkpoint)
        # set here, so that it is saved nowhere
        tokenizer.split_special_tokens = special_tokens == "as_spelled"
        tokenizer("a", add_special_tokens=False)
    return tokenizer


def _remark_on_files(checkpoint: Checkpoint) -> str:
    """Say what to do with a checkpoint's tokenizer if transformers does not find how to
    read it; "" if its files do not tell."""
    from pretrace.models.architecture import code_remark

    settings = read_settings(checkpoint)
    if not checkpoint.remote_code and settings.get("auto_map"):
        return code_remark(settings)
    file = sentencepiece_file(checkpoint)
    if file is not None and file.name == "spiece.model":
        return " (rename spiece.model to tokenizer.model if it looks for that name)"
    return ""


def _warn_of_mistral(tokenizer: Any, checkpoint: Checkpoint) -> None:
    """Warn of a tokenizer.json of Mistral that older conversions saved with another
    pattern than the model was trained with, which transformers only suspects."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    is_suspect = getattr(tokenizer, "fix_mistral_regex", None) is False
    cutter = backend.pre_tokenizer if is_suspect and backend else None
    if cutter is not None and b'"Split"' in cutter.__getstate__():
        log.warning(
            "%s: tokenizer.json is read as it is. Older conversions of Mistral's "
            "tokenizers cut words otherwise than in training. If this is one, load it "
            "by AutoTokenizer.from_pretrained(..., fix_mistral_regex=True), save it "
            "there, and run again.",
            checkpoint.path,
        )


def _template_of_adapter(checkpoint: Checkpoint) -> Any:
    """Return the chat template that lies beside a checkpoint's adapter; None without
    one."""
    for name in CHAT_TEMPLATES:
        if checkpoint.adapter is None or IN_ADAPTER + name not in checkpoint.files:
            continue
        file = checkpoint.adapter / name
        if file.suffix == ".jinja":
            return file.read_text(encoding="utf-8")
        return read_json(file).get("chat_template")
    return None


def _of_class(checkpoint: Checkpoint, tokenizer_from: str | None) -> Any:
    """Have transformers build the tokenizer; a SentencePiece file counts for more than
    the class that it guesses."""
    import transformers

    file = sentencepiece_file(checkpoint)
    if tokenizer_from != "class" and not has_own_code(checkpoint):
        refuse_tiktoken(checkpoint)
    if "vocab.json" in checkpoint.files:
        ids = read_json(checkpoint.path / "vocab.json")
        if isinstance(ids, dict):
            check_ids(ids, checkpoint)
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        checkpoint.path, local_files_only=True, trust_remote_code=checkpoint.remote_code
    )
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return tokenizer
    if file is not None and tokenizer_from != "class":
        encoder = read_sentencepiece(file)
        encoder.post_processor = backend.post_processor
        added = backend.get_added_tokens_decoder()
        lacking = []
        for id in sorted(added):
            if encoder.token_to_id(added[id].content) is None:
                lacking.append(added[id])
        encoder.add_tokens(lacking)
        if have_same_ids(encoder, backend):
            backend = encoder
    tokenizer._tokenizer = without_chance(backend, checkpoint)
    return tokenizer


class Witness(NamedTuple):
    """Another reader of a tokenizer's files, whose tokens should be the same.

    `encode`: texts -> ids without special tokens. `pieces`: ids -> tokens. `remedy`:
    what to do where they differ.
    """

    name: str
    encode: Callable[[list[str]], Encoded]
    pieces: Callable[[Sequence[int]], list[str]]
    remedy: str


def witness_of(
    checkpoint: Checkpoint, tokenizer: Any, tokenizer_from: str | None
) -> tuple[Witness | None, str]:
    """Return the witness of what `load_tokenizer` gave, and a remark if there is none
    that could be built.

    It is the class that a checkpoint names beside its tokenizer.json, unless the entry
    says which of the two is meant; and sentencepiece for a SentencePiece file. None
    where nothing else reads the files, or both have the same parts.
    """
    if tokenizer_from == "class":
        return None, ""
    if has_own_tokenizer_json(checkpoint):
        if tokenizer_from == "file":
            return None, ""
        return _declared(checkpoint, tokenizer)
    file = sentencepiece_file(checkpoint)
    if file is None or checkpoint.remote_code:
        return None, ""
    remedy = "Save the model with a tokenizer.json that gives its tokens, and use that."
    encode = encoder_by_sentencepiece(file, tokenizer)
    return Witness("sentencepiece", encode, tokenizer.convert_ids_to_tokens, remedy), ""


def _declared(checkpoint: Checkpoint, tokenizer: Any) -> tuple[Witness | None, str]:
    """Build the class that a checkpoint names; nothing is wrong with tokenizer.json if
    that cannot be built here."""
    spelled = "as_spelled" if tokenizer.split_special_tokens else "as_control"
    try:
        declared = load_tokenizer(checkpoint, spelled, "class")
    except InputError as error:
        name = read_settings(checkpoint).get("tokenizer_class") or "the model's class"
        _, _, reason = str(error).partition(f"{checkpoint.path}: ")
        return None, (
            "tokenizer.json is read as it is; it could not be compared with what "
            f"{name} of transformers builds ({shorten(reason)})"
        )
    backend = getattr(declared, "backend_tokenizer", None)
    if backend and backend.to_str() == tokenizer.backend_tokenizer.to_str():
        return None, ""

    def encode(texts: list[str]) -> Encoded:
        encoded = declared(texts, add_special_tokens=False, verbose=False)
        return encoded["input_ids"]

    name = f"{type(declared).__name__}, which transformers builds for this checkpoint"
    remedy = (
        "Choose in the model's entry: tokenizer_from: file if the model was trained "
        "with tokenizer.json, which is usual, or tokenizer_from: class."
    )
    return Witness(name, encode, declared.convert_ids_to_tokens, remedy), ""


def load_config(checkpoint: Checkpoint, tokenizer: Any) -> Any:
    """Load the configuration of a checkpoint's text model.

    Raises `InputError` for an encoder-decoder model, and if the tokenizer has tokens
    that the model does not know. Tokens added to a tokenizer, as a [PAD], may lack an
    embedding: texts are read without them (`load_tokenizer`).
    """
    from pretrace.models.architecture import read_config

    config = read_config(checkpoint.path, remote_code=checkpoint.remote_code)
    text = config.get_text_config()
    own = dict(tokenizer.get_vocab())
    for token in tokenizer.get_added_vocab():
        own.pop(token, None)
    check_ids(own, checkpoint, text.vocab_size)
    return text


def load_encoder(
    checkpoint_json: Path,
    special_tokens: str = "as_spelled",
    tokenizer_from: str | None = None,
) -> Any:
    """Load what gives the ids of `load_tokenizer`: a `tokenizers.Tokenizer`, or a slow
    tokenizer of transformers.

    Importing transformers takes seconds, and is done only where it is needed.
    """
    checkpoint = read_checkpoint(checkpoint_json)
    if tokenizer_from == "class" or not has_own_tokenizer_json(checkpoint):
        tokenizer = load_tokenizer(checkpoint, special_tokens, tokenizer_from)
        encoder = getattr(tokenizer, "backend_tokenizer", None)
        if encoder is None:
            return tokenizer
    else:
        checkpoint.verify(checkpoint.settings)
        with explain_failure(f"the tokenizer in {checkpoint.path} cannot be loaded"):
            encoder = read_tokenizer_json(checkpoint)
    encoder.encode_special_tokens = special_tokens == "as_spelled"
    return encoder


def decoder_of(tokenizer: Any) -> Callable[[Encoded], list[str]]:
    """Return a function from lists of token ids to texts, special tokens written; of
    either loader's tokenizer."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "decode_batch"):
        return lambda ids: list(backend.decode_batch(ids, skip_special_tokens=False))
    return lambda ids: list(
        tokenizer.batch_decode(ids, clean_up_tokenization_spaces=False)
    )


def special_tokens_in(tokenizer: Any) -> Callable[[str], list[str]]:
    """Return a function that lists the special tokens that a text spells out."""
    added = tokenizer.added_tokens_decoder.values()
    names = {token.content for token in added if token.special}
    names |= set(tokenizer.all_special_tokens) - {""}
    if not names:
        return lambda text: []
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))).findall


def start_token_ids(tokenizer: Any, start_token: str) -> tuple[int, ...]:
    """Return the ids that are put before a text and never scored.

    `none`: no token. `tokenizer`: the tokens that the tokenizer puts before a text
    (Llama and OPT: one; Pythia, Qwen, GPT-2: none). Anything else is a token of the
    vocabulary. Raises `InputError` if the vocabulary lacks it.
    """
    if start_token == "none":
        return ()
    if start_token == "tokenizer":
        return _prepended(tokenizer)
    vocabulary = tokenizer.get_vocab()
    if start_token not in vocabulary:
        named = {
            "none",
            "tokenizer",
            *tokenizer.all_special_tokens,
            *tokenizer.get_added_vocab(),
        }
        raise InputError(
            f"start_token '{start_token}' is not in the vocabulary of "
            f"{tokenizer.name_or_path}: {nearest(start_token, named)}"
        )
    return (vocabulary[start_token],)


def _prepended(tokenizer: Any) -> tuple[int, ...]:
    text = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    whole = list(tokenizer("a", add_special_tokens=True)["input_ids"])
    for start in range(len(whole) - len(text) + 1):
        if whole[start : start + len(text)] == text:
            return tuple(whole[:start])
    raise InputError(
        f"the tokenizer of {tokenizer.name_or_path} has no clear start token: name it "
        "in start_token of the run"
    )


def start_in_words(tokenizer: Any, start_token: str) -> str:
    """Say which token is put before every text, for a run's `start_token`."""
    if start_token not in ("none", "tokenizer"):
        return f"starts with {start_token}"
    ids = start_token_ids(tokenizer, start_token)
    return f"starts with {_written(tokenizer, ids)}" if ids else "no start token"


def bos_contradiction(tokenizer: Any) -> str:
    """Say how add_bos_token of tokenizer_config.json contradicts what the tokenizer
    puts first; "" if it does not.

    transformers 4 followed the key. transformers 5 follows tokenizer.json alone.
    """
    settings = Path(tokenizer.name_or_path) / "tokenizer_config.json"
    declared = read_json(settings).get("add_bos_token") if settings.is_file() else None
    start = _prepended(tokenizer)
    if declared is None or bool(declared) == bool(start):
        return ""
    instead = "none" if start else f"'{tokenizer.bos_token or '<s>'}'"
    first = _written(tokenizer, start) or "no token"
    return (
        f"tokenizer_config.json says add_bos_token: {str(declared).lower()}, but the "
        f"tokenizer itself puts {first} first, and its texts are read so. If the model "
        f"was trained otherwise, set start_token: {instead} in the run"
    )


def _written(tokenizer: Any, ids: Sequence[int]) -> str:
    return " ".join(map(str, tokenizer.convert_ids_to_tokens(list(ids))))
