"""The tokenizer that a GGUF file's metadata describe.

It is built from the file alone: its tokens by their numbers, and the rule by which
`tokenizer.ggml.pre` says that a text is cut. transformers 5.23 takes GPT-2's rule for
every name that it does not know.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pretrace.models.sentencepiece_files import mark_tokens
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject

if TYPE_CHECKING:
    import tokenizers

_PREFIX = "tokenizer.ggml."

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS: Mapping[Any, Sequence[str]] = {
    "gpt-2": [_GPT2],
    "smollm": [r"\p{N}", _GPT2],
    "qwen2": [_QWEN2],
}
"""How the tokenizers were released that llama.cpp knows by these names: a text is cut
by each pattern in turn, and each part is merged alone."""


def tokenizer_of_gguf(facts: JsonObject) -> Any:
    """Build the tokenizer of transformers that a file's metadata `facts` describe.

    Raises:
        InputError: names the key that is missing, or whose value is not known here.
    """
    import transformers

    kind = facts.get(_PREFIX + "model")
    if kind != "gpt2":
        raise InputError(
            f"{_PREFIX}model is {kind!r}, and only the tokenizer gpt2 (BPE of bytes) is "
            "read from GGUF files. Name the checkpoint with its tokenizer.json."
        )
    encoder = _byte_level(facts)
    names = _special_tokens(facts)
    encoder.post_processor = _template(facts, names, encoder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=encoder,
        chat_template=facts.get("tokenizer.chat_template"),
        **names,
    )
    _check_ids(tokenizer, facts)
    return tokenizer


def _byte_level(facts: JsonObject) -> "tokenizers.Tokenizer":
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    name = facts.get(_PREFIX + "pre")
    if name not in PATTERNS:
        raise InputError(
            f"{_PREFIX}pre is {name!r}, and it is not known here how such a tokenizer "
            "cuts a text before it merges bytes. Name the checkpoint with its "
            f"tokenizer.json. Known are: {', '.join(sorted(PATTERNS))}."
        )
    tokens = _required(facts, "tokens")
    merges = [tuple(merge.split(" ", 1)) for merge in _required(facts, "merges")]
    encoder = tokenizers.Tokenizer(models.BPE(_ids(facts), merges))
    steps: list[Any] = []
    for pattern in PATTERNS[name]:
        steps.append(pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"))
    # add_space_prefix is of SentencePiece alone, in llama.cpp too
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    encoder.pre_tokenizer = pre_tokenizers.Sequence(steps)
    encoder.decoder = decoders.ByteLevel()
    # without types all are pieces of texts
    types = facts.get(_PREFIX + "token_type") or [1] * len(tokens)
    mark_tokens(encoder, zip(tokens, types, strict=True))
    return encoder


def _ids(facts: JsonObject) -> dict[str, int]:
    return {token: id for id, token in enumerate(_required(facts, "tokens"))}


def _required(facts: JsonObject, key: str) -> Sequence[Any]:
    if not facts.get(_PREFIX + key):
        raise InputError(
            f"the file has no {_PREFIX}{key}: convert the model to GGUF again."
        )
    return facts[_PREFIX + key]


def _special_tokens(facts: JsonObject) -> dict[str, str]:
    """Return the tokens by transformers' names of what they are for."""
    tokens = _required(facts, "tokens")
    keys = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    names = {}
    for name, key in keys.items():
        id = facts.get(f"{_PREFIX}{key}_token_id")
        if id is None:
            continue
        if id >= len(tokens):
            raise InputError(
                f"{_PREFIX}{key}_token_id is {id}, and the file has {len(tokens)} "
                "tokens."
            )
        names[f"{name}_token"] = tokens[id]
    return names


def _template(
    facts: JsonObject, names: Mapping[str, str], encoder: "tokenizers.Tokenizer"
) -> Any:
    """Return what puts the file's BOS and EOS tokens around a text."""
    from tokenizers import processors

    around = {}
    for name in ("bos_token", "eos_token"):
        is_added = facts.get(f"{_PREFIX}add_{name}", False)
        if is_added and name not in names:
            raise InputError(
                f"{_PREFIX}add_{name} is true, and the file has no {_PREFIX}{name}_id."
            )
        around[name] = [names[name]] if is_added else []
    first, last = around.values()
    return processors.TemplateProcessing(
        single=[*first, "$A", *last],
        pair=[*first, "$A", *last, "$B:1"],
        special_tokens=[(token, encoder.token_to_id(token)) for token in first + last],
    )


def _check_ids(tokenizer: Any, facts: JsonObject) -> None:
    """Raise `InputError` unless the tokenizer that was made has the file's tokens, each
    by its number, and no others."""
    ids = _ids(facts)
    vocabulary = tokenizer.get_vocab()
    if vocabulary != ids:
        different = sorted({*vocabulary.items()} ^ {*ids.items()})
        raise InputError(
            f"the file has {len(ids)} tokens, and the tokenizer made of it has "
            f"{len(vocabulary)}; {different[0]} is in one of the two alone. Convert "
            "the model to GGUF again."
        )
