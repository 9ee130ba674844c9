"""The tokenizer that a GGUF file's metadata describe.

It is built from the file alone: its tokens by their numbers, and the rule by which
`tokenizer.ggml.pre` says that a text is cut. transformers 5.23 takes GPT-2's rule for
every name that it does not know.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pretrace.models.sentencepiece_files import (
    UNKNOWN,
    Piece,
    bpe_of_pieces,
    mark_tokens,
    tokenizer_of_pieces,
)
from pretrace.runtime.errors import InputError

if TYPE_CHECKING:
    import tokenizers

_PREFIX = "tokenizer.ggml."

# How the tokenizers were released that llama.cpp knows by these names: a text is cut
# by each pattern in turn, and each part is merged alone.
_SHORT_FORMS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACE
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_QWEN2 = rf"{_SHORT_FORMS}|{_WORD}|\p{{N}}|{_SIGNS}"
_LLAMA3 = rf"{_SHORT_FORMS}|{_WORD}|\p{{N}}{{1,3}}|{_SIGNS}"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CAPITALISED = rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+"
_CAPITALS = rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*"
_SIGNS_WITH_SLASHES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACE
_CHINESE_JAPANESE = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_CHINESE_KOREAN = r"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_ASCII_WORD = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
_MARKED_WORD = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
_NO_BLANK = r" ?[^(\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_THREE_DIGITS = "[0-9][0-9][0-9]"
_LLAMA3_WITH_BOS = (
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano"
)
_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code "
        "roberta-bpe gigachat a.x-4.0 mellum modern-bert mpt olmo jais trillion "
        "granite-docling exaone4",
        (_GPT2,),
    ),
    (
        "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2",
        (r"\p{N}", _GPT2),
    ),
    (
        f"{_LLAMA3_WITH_BOS} dbrx smaug-bpe glm4 glm5 chatglm-bpe",
        (_LLAMA3,),
    ),
    (
        "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open "
        "grok-2",
        (_QWEN2,),
    ),
    (
        "qwen35",
        (
            rf"{_SHORT_FORMS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
            rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_SPACE}",
        ),
    ),
    (
        "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m",
        (
            rf"{_CAPITALISED}{_SHORT_FORMS}?|{_CAPITALS}{_SHORT_FORMS}?"
            rf"|\p{{N}}{{1,3}}|{_SIGNS_WITH_SLASHES}",
        ),
    ),
    ("tekken", (rf"{_CAPITALISED}|{_CAPITALS}|\p{{N}}|{_SIGNS_WITH_SLASHES}",)),
    (
        "minicpm5",
        (r"\p{N}{1,3}", rf"{_SHORT_FORMS}|{_WORD}|\p{{N}}+|{_SIGNS}"),
    ),
    (
        "jais-2",
        (
            rf"{_SHORT_FORMS}|{_WORD}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
            r"|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)"
            r"|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s",
        ),
    ),
    (
        "bailingmoe bailingmoe2 llada-moe",
        (
            rf"'(?i:[sdmt]|ll|ve|re)|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
            r"|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
    ),
    (
        "seed-coder",
        (rf"{_SHORT_FORMS}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_SPACE}",),
    ),
    ("ufakzeka", (rf"{_WORD}|\p{{N}}|{_SIGNS}",)),
    ("laguna", (r"[^\n]+|\n+", _QWEN2)),
    (
        "exaone-moe",
        (
            rf"{_SHORT_FORMS}"
            r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
    ),
    (
        "k2-horizon",
        (
            rf"{_SHORT_FORMS}"
            r"|[^\r\n\p{L}\p{N}]?(?:\p{L}|\p{M}|\x{200C}|\x{200D})+"
            rf"|\p{{N}}{{1,3}}|{_SIGNS}",
        ),
    ),
    (
        "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
        (
            r"\p{N}{1,3}",
            _CHINESE_JAPANESE,
            rf"{_ASCII_WORD}|{_MARKED_WORD}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACE}",
        ),
    ),
    (
        "spark2_5",
        (
            r"\p{N}{1,3}",
            _CHINESE_JAPANESE,
            rf"{_ASCII_WORD}|{_MARKED_WORD}"
            r"| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+",
            r"\p{N}",
        ),
    ),
    (
        "deepseek-coder",
        (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CHINESE_KOREAN, r"\p{N}"),
    ),
    (
        "deepseek-llm",
        (
            r"[\r\n]",
            r"\s?[\p{Lu}\p{Ll}\p{Lt}]+",
            r"\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
            r"\s+$",
            _CHINESE_KOREAN,
            r"\p{N}+",
        ),
    ),
    ("falcon", (r"[\p{P}$+<=>^~|`]+", _GPT2, _THREE_DIGITS)),
    ("default", (r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", _THREE_DIGITS)),
    ("bloom poro-chat gpt3-finnish", (_NO_BLANK,)),
    ("viking", (_NO_BLANK, r"\p{N}")),
    # three by three from the last digit on
    ("superbpe", (r"\p{N}+", r"\d{1,3}(?=(?:\d{3})*(?!\d))")),
    (
        "chameleon",
        (
            "<sentinel:[0-9]+>",
            "IMGIMG[A-I]{1,4}Z",
            r"[\t\n]|    |  ",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            _GPT2,
        ),
    ),
)
PATTERNS: dict[str, tuple[str, ...]] = {}
"""By the names of `tokenizer.ggml.pre`. Not among them: what is no text's bytes (gemma4,
whitespace, ...), and rules by which llama.cpp itself cuts digits otherwise than the
released tokenizers (afmoe, kimi-k2, tiny_aya, youtu)."""
for _names, _rule in _RULES:
    PATTERNS |= dict.fromkeys(_names.split(), _rule)
_BOS_UNLESS_SAID = {*_LLAMA3_WITH_BOS.split(), "tekken", "chameleon"}
"""Files with these rules mean a BOS token if they do not say so."""
_WHOLE_WORDS = (_BOS_UNLESS_SAID - {"chameleon"}) | {
    "minicpm5", "granite-embed-multi-97m",
}  # fmt: skip
"""The vocabularies whose words need not be made by merges."""


def tokenizer_of_gguf(facts: Mapping[str, Any]) -> Any:
    """Build the tokenizer of transformers that a file's metadata `facts` describe.

    Raises:
        InputError: names the key that is missing, or whose value is not known here.
    """
    import transformers

    kind = facts.get(_PREFIX + "model")
    if kind == "gpt2":
        encoder = _byte_level(facts)
    elif kind == "llama":
        encoder = _sentencepiece(facts)
    elif kind == "gemma4":
        encoder = _pieces_with_merges(facts)
    else:
        raise InputError(
            f"{_PREFIX}model is {kind!r}, and the tokenizers gpt2 (BPE of bytes), "
            "llama (SentencePiece) and gemma4 are read from GGUF files. Name the "
            "checkpoint with its tokenizer.json."
        )
    names = _special_tokens(facts)
    encoder.post_processor = _template(facts, names, encoder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=encoder,
        chat_template=facts.get("tokenizer.chat_template"),
        **names,
    )
    _check_ids(tokenizer, facts)
    return tokenizer


def _byte_level(facts: Mapping[str, Any]) -> "tokenizers.Tokenizer":
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
    model = models.BPE(_ids(facts), _merges(facts), ignore_merges=name in _WHOLE_WORDS)
    encoder = tokenizers.Tokenizer(model)
    steps: list[Any] = []
    for pattern in PATTERNS[name]:
        steps.append(pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"))
    # add_space_prefix is of SentencePiece alone, in llama.cpp too
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    encoder.pre_tokenizer = pre_tokenizers.Sequence(steps)
    encoder.decoder = decoders.ByteLevel()
    mark_tokens(encoder, zip(tokens, _types(facts), strict=True))
    return encoder


def _sentencepiece(facts: Mapping[str, Any]) -> "tokenizers.Tokenizer":
    columns = _required(facts, "tokens"), _required(facts, "scores"), _types(facts)
    pieces = [Piece(*row) for row in zip(*columns, strict=True)]
    model = bpe_of_pieces(pieces, _unknown(pieces), has_bytes=True)
    starts_with_blank = bool(facts.get(_PREFIX + "add_space_prefix", True))
    return tokenizer_of_pieces(model, pieces, starts_with_blank)


def _pieces_with_merges(facts: Mapping[str, Any]) -> "tokenizers.Tokenizer":
    from tokenizers import Regex, models, pre_tokenizers

    typed = zip(_required(facts, "tokens"), _types(facts), strict=True)
    pieces = [Piece(token, 0.0, kind) for token, kind in typed]
    model = models.BPE(
        _ids(facts),
        _merges(facts),
        unk_token=_unknown(pieces),
        fuse_unk=True,
        byte_fallback=True,
    )
    encoder = tokenizer_of_pieces(model, pieces, starts_with_blank=False)
    lines = Regex(r"[^\n]+|\n+")
    encoder.pre_tokenizer = pre_tokenizers.Split(lines, "isolated")
    return encoder


def _unknown(pieces: Sequence[Piece]) -> str | None:
    return next((piece.piece for piece in pieces if piece.type == UNKNOWN), None)


def _types(facts: Mapping[str, Any]) -> Sequence[int]:
    """Return the type of each token; without types all are pieces of texts."""
    return facts.get(_PREFIX + "token_type") or [1] * len(_required(facts, "tokens"))


def _ids(facts: Mapping[str, Any]) -> dict[str, int]:
    return {token: id for id, token in enumerate(_required(facts, "tokens"))}


def _merges(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    merges = []
    for merge in _required(facts, "merges"):
        left, _, right = merge.partition(" ")
        merges.append((left, right))
    return merges


def _required(facts: Mapping[str, Any], key: str) -> Sequence[Any]:
    if not facts.get(_PREFIX + key):
        raise InputError(
            f"the file has no {_PREFIX}{key}: convert the model to GGUF again."
        )
    return facts[_PREFIX + key]


def _special_tokens(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the tokens by transformers' names of what they are for."""
    tokens = _required(facts, "tokens")
    is_sentencepiece = facts[_PREFIX + "model"] == "llama"
    # where a SentencePiece vocabulary has them, if the file does not say it
    usual = {"unk": 0, "bos": 1, "eos": 2} if is_sentencepiece else {}
    keys = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    names = {}
    for name, key in keys.items():
        id = facts.get(f"{_PREFIX}{key}_token_id", usual.get(name))
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
    facts: Mapping[str, Any], names: Mapping[str, str], encoder: "tokenizers.Tokenizer"
) -> Any:
    """Return what puts the file's BOS and EOS tokens around a text."""
    from tokenizers import processors

    has_bos = facts[_PREFIX + "model"] == "llama"
    has_bos = has_bos or facts.get(_PREFIX + "pre") in _BOS_UNLESS_SAID
    is_added = {
        "bos_token": facts.get(_PREFIX + "add_bos_token", has_bos),
        "eos_token": facts.get(_PREFIX + "add_eos_token", False),
    }
    ids = {}
    for name in is_added:
        if is_added[name] and name not in names:
            raise InputError(
                f"{_PREFIX}add_{name} is true, and the file has no {_PREFIX}{name}_id."
            )
        if is_added[name]:
            ids[names[name]] = encoder.token_to_id(names[name])
    first = [names["bos_token"]] if is_added["bos_token"] else []
    last = [names["eos_token"]] if is_added["eos_token"] else []
    return processors.TemplateProcessing(
        single=[*first, "$A", *last],
        pair=[*first, "$A", *last, "$B:1"],
        special_tokens=list(ids.items()),
    )


def _check_ids(tokenizer: Any, facts: Mapping[str, Any]) -> None:
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
