"""A checkpoint whose tokenizer is a SentencePiece file alone: read by `tokenizers`,
with sentencepiece as its witness.

transformers drops what such a file says of white space (the blank before the first
word, doubled blanks), or takes it from the class that it guesses.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.models.checkpoint import VOCABULARIES, Checkpoint
from pretrace.runtime.errors import InputError, explain_failure

if TYPE_CHECKING:
    import tokenizers

SENTENCEPIECE_FILES = ("tokenizer.model", "spiece.model")
_PACKAGES = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}
_OF_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")
_BLANK = "\u2581"
_UNIGRAM, _BPE = 1, 2
UNKNOWN, _CONTROL, _OF_USER, _BYTE = 2, 3, 4, 6
_UNSPELLED = (UNKNOWN, _CONTROL, _BYTE)


def lacking_package(files: Collection[str]) -> str | None:
    """Return which tokenizer a checkpoint's files have that needs packages which are
    not installed; None if none."""
    vocabulary = next((name for name in VOCABULARIES if name in files), "")
    lacking = _lacking_packages()
    if vocabulary not in SENTENCEPIECE_FILES or not lacking:
        return None
    return (
        f"{vocabulary} alone, which needs the package{'s' * (len(lacking) > 1)} "
        f"{' and '.join(lacking)}: pip install {' '.join(lacking)}, or save the model "
        "with a tokenizer.json and name the folder under `paths` of config.yaml."
    )


def _lacking_packages() -> list[str]:
    lacking = []
    for package, module in _PACKAGES.items():
        # of a module in a package that is missing, find_spec raises
        outer = module.partition(".")[0]
        if find_spec(outer) is None or find_spec(module) is None:
            lacking.append(package)
    return lacking


def sentencepiece_file(checkpoint: Checkpoint) -> Path | None:
    """Return the SentencePiece file that is a checkpoint's tokenizer; None if it has
    another.

    Raises `InputError` if a package is missing that reads it.
    """
    file = _file_of(checkpoint)
    if file is None or _is_of_tiktoken(file):
        return None
    reason = lacking_package(checkpoint.files)
    if reason:
        raise InputError(f"{checkpoint.path} has its tokenizer as {reason}")
    return file


def refuse_tiktoken(checkpoint: Checkpoint) -> None:
    """Raise `InputError` if a file of tiktoken is all that a checkpoint has of its
    tokenizer.

    transformers cuts every text as Llama 3's, whichever model the file is of.
    """
    file = _file_of(checkpoint)
    is_alone = len(checkpoint.files.keys() & {*VOCABULARIES}) == 1
    if file is not None and is_alone and _is_of_tiktoken(file):
        raise InputError(
            f"{file} is a file of tiktoken: it has the ranks of tokens, and not how a "
            "text is cut before. Save the model with a tokenizer.json; or, if it cuts "
            "texts as Llama 3 does, set tokenizer_from: class in its entry."
        )


def _file_of(checkpoint: Checkpoint) -> Path | None:
    if "tokenizer.json" in checkpoint.files:
        return None
    for name in SENTENCEPIECE_FILES:
        if name in checkpoint.files:
            return checkpoint.path / name
    return None


def _is_of_tiktoken(file: Path) -> bool:
    with file.open("rb") as content:
        return _OF_TIKTOKEN.fullmatch(content.readline(1000)) is not None


def read_sentencepiece(file: Path) -> "tokenizers.Tokenizer":
    """Build the tokenizer that a SentencePiece file describes: its pieces, which have
    U+2581 for a blank, and how it normalises a text."""
    import tokenizers
    from tokenizers import Regex, decoders, models, normalizers
    from transformers.convert_slow_tokenizer import generate_merges, import_protobuf

    with explain_failure(f"{file} is not a SentencePiece model"):
        content = import_protobuf().ModelProto.FromString(file.read_bytes())
    training = content.trainer_spec
    settings = content.normalizer_spec
    pieces = content.pieces
    scores = {piece.piece: piece.score for piece in pieces}
    if training.model_type == _UNIGRAM:
        model: Any = models.Unigram(
            list(scores.items()),
            unk_id=training.unk_id,
            byte_fallback=training.byte_fallback,
        )
    elif training.model_type == _BPE:
        ids = {piece.piece: id for id, piece in enumerate(pieces)}
        # no merge spells <s> or <0x0A>: sentencepiece never makes such pieces of a
        # text's characters
        unspelled = {piece.piece for piece in pieces if piece.type in _UNSPELLED}
        model = models.BPE(
            ids,
            generate_merges(ids, scores, unspelled),
            unk_token=training.unk_piece,
            fuse_unk=True,
            byte_fallback=training.byte_fallback,
        )
    else:
        raise InputError(
            f"{file} is neither a unigram nor a BPE model: save the model with a "
            "tokenizer.json."
        )
    spelling: list[Any] = []
    if settings.precompiled_charsmap:
        spelling.append(normalizers.Precompiled(settings.precompiled_charsmap))
    if settings.remove_extra_whitespaces:
        spelling.append(normalizers.Replace(Regex("^ +| +$"), ""))
        spelling.append(normalizers.Replace(Regex(" {2,}"), " "))
    steps = [decoders.Replace(_BLANK, " "), decoders.ByteFallback(), decoders.Fuse()]
    if settings.add_dummy_prefix:
        spelling.append(normalizers.Prepend(_BLANK))
        steps.append(decoders.Strip(content=" ", left=1))
    spelling.append(normalizers.Replace(" ", _BLANK))
    encoder = tokenizers.Tokenizer(model)
    encoder.normalizer = normalizers.Sequence(spelling)
    encoder.decoder = decoders.Sequence(steps)
    mark_tokens(encoder, [(piece.piece, piece.type) for piece in pieces])
    return encoder


def mark_tokens(
    encoder: "tokenizers.Tokenizer", typed: Iterable[tuple[str, int]]
) -> None:
    """Have a tokenizer find those of its tokens whole that are no part of a text's
    pieces. `typed`: tokens and their types."""
    import tokenizers

    marked = []
    for token, kind in typed:
        if kind in (UNKNOWN, _CONTROL, _OF_USER):
            is_special = kind != _OF_USER
            marked.append(
                tokenizers.AddedToken(token, special=is_special, normalized=False)
            )
    encoder.add_tokens(marked)


def have_same_ids(
    encoder: "tokenizers.Tokenizer", other: "tokenizers.Tokenizer"
) -> bool:
    """Return whether another tokenizer gives each piece the id that it has in the
    file."""
    ids = other.get_vocab()
    return all(ids.get(piece) == id for piece, id in encoder.get_vocab().items())


def encoder_by_sentencepiece(
    file: Path, tokenizer: Any
) -> Callable[[Sequence[str]], list[list[int]]]:
    """Return what encodes texts by sentencepiece itself, in the ids that a tokenizer
    gives the pieces.

    A text that spells a token which was added to those of the file has the tokenizer's
    ids: sentencepiece does not know it.
    """
    import sentencepiece

    with explain_failure(f"{file} is not a SentencePiece model"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    pieces = [processor.id_to_piece(id) for id in range(processor.get_piece_size())]
    ids = tokenizer.convert_tokens_to_ids(pieces)
    added = _added_tokens(processor, tokenizer)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        encoded = []
        for text in texts:
            if any(token in text for token in added):
                own = tokenizer(text, add_special_tokens=False, verbose=False)
                encoded.append(list(own["input_ids"]))
            else:
                encoded.append([ids[piece] for piece in processor.encode(text)])
        return encoded

    return encode


def _added_tokens(processor: Any, tokenizer: Any) -> list[str]:
    """List the tokens that the tokenizer finds in a text and the file does not:
    sentencepiece spells control tokens."""
    tokens = []
    for token in tokenizer.added_tokens_decoder.values():
        if token.special:
            is_known = tokenizer.split_special_tokens
        else:
            is_known = processor.piece_to_id(token.content) != processor.unk_id()
        if not is_known:
            tokens.append(token.content)
    return tokens
