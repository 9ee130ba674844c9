"""What the files of a checkpoint's tokenizer say, read without transformers."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pretrace.models.checkpoint import Checkpoint
from pretrace.runtime.errors import InputError, explain_failure, shorten
from pretrace.runtime.files import JsonObject, read_json
from pretrace.runtime.logs import log

if TYPE_CHECKING:
    import tokenizers

SETTINGS = "tokenizer_config.json"
# more than any model has; a table up to a higher number would fill the memory
_MOST_TOKENS = 10_000_000


def read_settings(checkpoint: Checkpoint) -> dict[str, Any]:
    """Read tokenizer_config.json; {} without one. Raises `InputError` for what no
    tokenizer can be set to."""
    settings = _read_object(checkpoint, SETTINGS)
    file = checkpoint.path / SETTINGS
    longest = settings.get("model_max_length")
    is_number = isinstance(longest, int | float) and not isinstance(longest, bool)
    if longest is not None and not is_number:
        raise InputError(
            f"{file}: model_max_length is '{shorten(longest)}', and a number is "
            "needed: correct or remove it."
        )
    return settings


def _read_object(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    """Read a file of a checkpoint as a JSON object; {} without the file."""
    if name not in checkpoint.files:
        return {}
    file = checkpoint.path / name
    content = read_json(file)
    if not isinstance(content, dict):
        raise InputError(f"{file} is not a JSON object: save the tokenizer again.")
    return content


def has_own_tokenizer_json(checkpoint: Checkpoint) -> bool:
    """Return whether a checkpoint's tokenizer is its tokenizer.json, and not code of
    its own that may run."""
    return "tokenizer.json" in checkpoint.files and not has_own_code(checkpoint)


def has_own_code(checkpoint: Checkpoint) -> bool:
    """Return whether a checkpoint has code for its tokenizer that may run."""
    if not checkpoint.remote_code:
        return False
    return "AutoTokenizer" in (read_settings(checkpoint).get("auto_map") or ())


def read_tokenizer_json(checkpoint: Checkpoint) -> "tokenizers.Tokenizer":
    """Read tokenizer.json, with the tokens that files beside it name, as those of a
    chat template."""
    import tokenizers

    encoder = tokenizers.Tokenizer.from_file(str(checkpoint.path / "tokenizer.json"))
    check_ids(encoder.get_vocab(with_added_tokens=False), checkpoint)
    _add_named_tokens(encoder, checkpoint)
    return without_chance(encoder, checkpoint)


def check_ids(
    vocabulary: Mapping[str, int], checkpoint: Checkpoint, rows: int | None = None
) -> None:
    """Raise `InputError` if a token's id is beyond the model's `rows` embeddings, by
    default those of config.json."""
    rows = rows or _rows(checkpoint) or _MOST_TOKENS
    highest = max(vocabulary.values(), default=-1)
    if highest >= rows:
        raise InputError(
            f"{checkpoint.path}: the tokenizer has tokens up to number {highest}, and "
            f"the model's vocabulary has {rows}: they are not of one model. Put the "
            "tokenizer there that the model was trained with."
        )


def _rows(checkpoint: Checkpoint) -> int | None:
    """Read the number of the model's embeddings from config.json; None if only
    transformers knows it."""
    file = checkpoint.path / "config.json"
    with explain_failure(f"{file} cannot be read as a configuration"):
        config = read_json(file)
        rows = config.get("vocab_size", config.get("text_config", {}).get("vocab_size"))
        return None if rows is None else int(rows)


def _add_named_tokens(encoder: "tokenizers.Tokenizer", checkpoint: Checkpoint) -> None:
    """Add the tokens of the files beside tokenizer.json that it does not have as
    such, as transformers does."""
    rows = _rows(checkpoint)
    added = {token.content for token in encoder.get_added_tokens_decoder().values()}
    lost = []
    for token, id in _named_tokens(_named_beside(checkpoint)):
        if token.content in added or not token.content:
            continue
        present = encoder.token_to_id(token.content)
        place = encoder.get_vocab_size() if present is None else present
        has_embedding = rows is None or place < rows
        if id is not None and id != place:
            lost.append(token.content)
        elif has_embedding:
            added.add(token.content)
            if token.special:
                encoder.add_special_tokens([token])
            else:
                encoder.add_tokens([token])
    if lost:
        log.warning(
            "%s: tokenizer.json has no place for %s, which a file beside it names with "
            "another number; a chat template that writes it is read as spelled",
            checkpoint.path,
            ", ".join(lost[:5]),
        )


def _named_beside(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the settings of tokenizer_config.json with those of older versions' files,
    which transformers reads where the former lists no added tokens."""
    settings = read_settings(checkpoint)
    if "added_tokens_decoder" in settings:
        return settings
    settings = settings | _read_object(checkpoint, "special_tokens_map.json")
    special = {token.content for token, _ in _named_tokens(settings)}
    added = {}
    for token, id in _read_object(checkpoint, "added_tokens.json").items():
        added[str(id)] = {
            "content": token,
            "special": token in special,
            "normalized": token not in special,
        }
    return settings | {"added_tokens_decoder": added}


def _named_tokens(
    settings: JsonObject,
) -> Iterator[tuple["tokenizers.AddedToken", int | None]]:
    """Yield each token that settings name, with its id where they give one."""
    by_id = settings.get("added_tokens_decoder")
    numbered = by_id if isinstance(by_id, dict) else {}
    numbers = [number for number in numbered if str(number).isdecimal()]
    for number in sorted(numbers, key=int):
        token = _named_token(numbered[number])
        if token is not None:
            yield token, int(number)
    for key, value in settings.items():
        if key in ("additional_special_tokens", "extra_special_tokens"):
            listed = [*value.values()] if isinstance(value, dict) else value
            values = listed if isinstance(listed, list) else []
        else:
            values = [value] if key.endswith("_token") else []
        for each in values:
            token = _named_token(each)
            if token is not None:
                token.special = True
                yield token, None


def _named_token(written: Any) -> "tokenizers.AddedToken | None":
    """Make a token of its text or of its keys; None for a flag such as
    add_bos_token."""
    import tokenizers

    if isinstance(written, str):
        return tokenizers.AddedToken(written, special=True, normalized=False)
    if not isinstance(written, dict) or not isinstance(written.get("content"), str):
        return None
    flags = {}
    for key in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        if key in written:
            flags[key] = bool(written[key])
    return tokenizers.AddedToken(written["content"], **flags)


def without_chance(
    encoder: "tokenizers.Tokenizer", checkpoint: Checkpoint
) -> "tokenizers.Tokenizer":
    """Return a tokenizer that neither cuts, fills nor draws (BPE's dropout, the
    sampling of a unigram model).

    Added tokens without an embedding are read as any other text that is spelled so.
    Without a decoder it gets the one that fits its tokens.
    """
    rows = _rows(checkpoint)
    unplaced = set()
    for id, token in encoder.get_added_tokens_decoder().items():
        if rows is not None and id >= rows:
            unplaced.add(token.content)
    if unplaced:
        log.warning(
            "%s: the model has no embedding of %s; texts that hold them are read as "
            "spelled",
            checkpoint.path,
            ", ".join(sorted(unplaced)[:5]),
        )
        parts = json.loads(encoder.to_str())
        parts["added_tokens"] = [
            token for token in parts["added_tokens"] if token["content"] not in unplaced
        ]
        encoder = type(encoder).from_str(json.dumps(parts))
    encoder.no_truncation()
    encoder.no_padding()
    for setting in ("dropout", "alpha", "nbest_size"):
        if getattr(encoder.model, setting, None) is not None:
            setattr(encoder.model, setting, None)
    if encoder.decoder is None:
        encoder.decoder = _decoder_for(encoder)
    return encoder


def _decoder_for(encoder: "tokenizers.Tokenizer") -> Any:
    """Return the decoder of a tokenizer that was saved without one; None where words
    are joined by blanks."""
    from tokenizers import decoders

    parts = ""
    for part in (encoder.normalizer, encoder.pre_tokenizer):
        if part:
            parts += part.__getstate__().decode()
    kind = type(encoder.model).__name__
    if '"ByteLevel"' in parts:
        return decoders.ByteLevel()
    if kind == "WordPiece":
        return decoders.WordPiece(prefix=encoder.model.continuing_subword_prefix)
    if kind == "WordLevel":
        return None
    suffix = getattr(encoder.model, "end_of_word_suffix", None)
    if suffix:
        return decoders.BPEDecoder(suffix=suffix)
    steps = [decoders.ByteFallback(), decoders.Fuse()]
    if "\u2581" in parts:
        steps.insert(0, decoders.Replace("\u2581", " "))
    return decoders.Sequence(steps)
