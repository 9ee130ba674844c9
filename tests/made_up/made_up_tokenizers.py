"""Two small tokenizers, trained on a few odd texts, and texts with their added
tokens."""

import json

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

PROSE = [
    "Fellow citizens of the Senate, the state of the Union is strong: 1,234 laws in "
    "2024.\n\nWe don't rest. ",
    "Ünïcode naïve café déjà vu, Größe über alles; Καλημέρα κόσμε! привет мир 你好世界 "
    "今天天气很好 🙂👍🏽",
]
CODE = [
    "def f(x, y):\n    if x == y:\n        return {'a': 1,  'b': [2, 3]}\n\t\tpass  # "
    "note\n    return None\n",
    "x = 1 ; y = 2 ; z = x + y\n\n\n    \n\n  a   b    c     d\r\n\r\n  e\t\tf  \t g",
]
TEXTS = [
    *(*PROSE, *CODE, "", " ", "   ", "a", " a", "a  "),
    "a\x85 b\x1c c\u00a0 d\u2003 e\u3000 f\u200b g ▁a ▁ b▁ c ▁▁d",
    "x<|sep|>y <|sep|> z  <|sep|>  w<|sep|> see <mask> here<mask>there  end <mask>",
    "New York is New  York and New York City in  NewYork stop the world. stopping  "
    "stop",
]
ADDED = [
    AddedToken("<|sep|>", special=True, normalized=False),
    AddedToken("  ", normalized=True),
    AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("New York", normalized=False),
    AddedToken("stop", single_word=True, normalized=True),
]


def with_added(tokenizer, added):
    tokenizer.add_tokens([token for token in added if not token.special])
    tokenizer.add_special_tokens([token for token in added if token.special])
    return tokenizer


def byte_level(texts, stages, added=()):
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = stages
    tokenizer.train_from_iterator([text for text in texts if text], trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return with_added(tokenizer, added)


def llama(added=()):
    """A vocabulary with runs of U+2581, without a pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("▁+[^▁]*"), "isolated")
    trainer = trainers.BpeTrainer(
        vocab_size=600, show_progress=False, special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(
        [text.replace(" ", "▁") for text in (CODE + PROSE) * 3], trainer
    )
    tokenizer = Tokenizer.from_str(
        json.dumps(json.loads(tokenizer.to_str()) | {"pre_tokenizer": None})
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Replace("▁", " ")
    return with_added(tokenizer, added)


TOKENIZERS = {
    "byte-level": lambda: byte_level(
        CODE, pre_tokenizers.ByteLevel(add_prefix_space=False)
    ),
    "byte-level, added": lambda: byte_level(CODE, pre_tokenizers.ByteLevel(), ADDED),
    "llama, added": lambda: llama(ADDED),
}
