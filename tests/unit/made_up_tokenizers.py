"""Tokenizers of every kind we know, trained on a few odd texts, and texts on which simple ways of counting fail."""

import json
from functools import partial

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

PROSE = [
    "Fellow citizens of the Senate, the state of the Union is strong: 1,234 laws in 2024.\n\nWe don't rest. ",
    "Ünïcode naïve café déjà vu, Größe über alles; Καλημέρα κόσμε! привет мир 你好世界 今天天气很好 🙂👍🏽",
]
CODE = [
    "def f(x, y):\n    if x == y:\n        return {'a': 1,  'b': [2, 3]}\n\t\tpass  # note\n"
    "    return None\n",
    "for i in range(100):\n        total += i ** 2\n        if i  %  2 == 0 :\n"
    "                print( i , end = ' ' )\n",
    "x = 1 ; y = 2 ; z = x + y\n\n\n    \n\n  a   b    c     d\r\n\r\n  e\t\tf  \t g",
]
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXTS = [
    *PROSE,
    *CODE,
    *("", " ", "   ", "a", " a", "  a ", "a  "),
    "a b  c   d    e \n f",
    "\n\n a",
    "a\n b\t c\r d\x0b e\x0c f",
    "a\x85 b\x1c c\x1d d\x1e e\x1f f",
    "a\u00a0 b\u2003 c\u3000 d\u2028 e\u1680 f\u200b g",
    "e\u0301 \u0301x  \u0308y A\u030a B\u212b \u1e9b\u0323",
    "你好 世界  再见。世界。没有空格的长句子",
    "🙂 👍🏽  👩‍👩‍👧 🇩🇪",
    "▁a ▁ b▁ c ▁▁d  ▁e a▁b",
    "x<|sep|>y <|sep|> z  <|sep|>  w<|sep|>",
    "see <mask> here<mask>there  <mask>  end <mask>",
    "New York is New  York and New York City in  NewYork",
    "stop the world. stopping  stop",
    "K\u212aelvin and \u212a elvin K elvin ang\u00e9 ange\u0301",
    "12 345  6789   0,1 2.3",
    *("a city", "a, city", "un cafe\u0301", "deux th\u00e9s"),
    "un cafe\u0301 et un caf\u00e9s, deux the\u0301s ou deux th\u00e9s",
    "in the end of the day  in the end",
    "def f(x):  return    x  ;  y",
]
ADDED = [
    AddedToken("<|sep|>", special=True, normalized=False),
    AddedToken("    ", normalized=False),
    AddedToken("  ", normalized=True),
    AddedToken("\n  ", normalized=False),
    AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("New York", normalized=False),
    AddedToken("stop", single_word=True, normalized=True),
    AddedToken("ang\u00e9", normalized=True),
    AddedToken("Kelvin", normalized=True),
    AddedToken(" city", single_word=True, normalized=False),
    AddedToken("un caf\u00e9", normalized=True),
    AddedToken("deux the\u0301s", normalized=True),
    AddedToken(" end", normalized=False),
]


def trained(model, trainer, texts, *, normalizer=None, pre_tokenizer=None, added=()):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator([text for text in texts if text], trainer)
    return with_added(tokenizer, added)


def with_added(tokenizer, added):
    tokenizer.add_tokens([token for token in added if not token.special])
    tokenizer.add_special_tokens([token for token in added if token.special])
    return tokenizer


def byte_level(texts, stages, normalizer=None, added=()):
    trainer = trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer = trained(
        models.BPE(), trainer, texts, normalizer=normalizer, pre_tokenizer=stages, added=added
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def metaspace(scheme, added=(), unigram=False, split=True):
    stages = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    if unigram:
        trainer = trainers.UnigramTrainer(vocab_size=300, show_progress=False, unk_token="<unk>",
                                          special_tokens=["<unk>"])  # fmt: skip
        return trained(models.Unigram(), trainer, PROSE * 20, pre_tokenizer=stages, added=added)
    trainer = trainers.BpeTrainer(vocab_size=600, show_progress=False, special_tokens=["<unk>"])
    return trained(models.BPE(unk_token="<unk>", fuse_unk=True), trainer, CODE + PROSE, pre_tokenizer=stages,
                   added=added)  # fmt: skip


def llama(added=(), prepend=True, joins=False):
    """A vocabulary with runs of U+2581, without a pre-tokenizer; `joins`: tokens reach over words."""
    stages = None if joins else pre_tokenizers.Split(Regex("▁+[^▁]*"), "isolated")
    trainer = trainers.BpeTrainer(vocab_size=600, show_progress=False, special_tokens=["<unk>"])
    texts = [text.replace(" ", "▁") for text in (CODE + PROSE) * 3]
    tokenizer = trained(models.BPE(unk_token="<unk>", fuse_unk=True), trainer, texts, pre_tokenizer=stages)
    parts = json.loads(tokenizer.to_str()) | {"pre_tokenizer": None}
    tokenizer = Tokenizer.from_str(json.dumps(parts))
    replace = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace]) if prepend else replace
    tokenizer.decoder = decoders.Replace("▁", " ")
    return with_added(tokenizer, added)


def gemma(added=()):
    tokenizer = llama(added, prepend=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    return tokenizer


def tiktoken(added=()):
    stages = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    return byte_level(PROSE + CODE, stages, normalizers.NFC(), added)


def digits(prefix=False, added=()):
    stages = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=prefix),
    ])  # fmt: skip
    return byte_level(PROSE + CODE, stages, added=added)


SEGMENTED = {
    "byte-level": lambda: byte_level(PROSE, pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "byte-level of code, prefix space": lambda: byte_level(CODE, pre_tokenizers.ByteLevel()),
    "byte-level of code": lambda: byte_level(CODE * 3, pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "byte-level, added": lambda: byte_level(
        CODE, pre_tokenizers.ByteLevel(add_prefix_space=False), added=ADDED
    ),
    "byte-level, prefix, added": lambda: byte_level(CODE, pre_tokenizers.ByteLevel(), added=ADDED),
    "digits": digits,
    "digits, prefix, added": lambda: digits(True, ADDED),
    "tiktoken NFC": tiktoken,
    "tiktoken NFC, added": lambda: tiktoken(ADDED),
    **{
        f"metaspace {kind} {scheme}{', added' if added else ''}": partial(
            metaspace, scheme, added, unigram=kind == "unigram"
        )
        for scheme in ("always", "first", "never")
        for kind in ("bpe", "unigram")
        for added in ((), ADDED)
    },
    "metaspace unsplit": lambda: unsplit("always"),
    "metaspace unsplit first, added": lambda: unsplit("first", ADDED),
    "llama": llama,
    "llama, added": lambda: llama(ADDED),
    "llama without prepend": lambda: llama(prepend=False),
    "gemma": gemma,
    "gemma, added": lambda: gemma(ADDED),
}
WHOLE = {
    "tokens over words": lambda: llama(joins=True),
    "unsplit unigram": lambda: metaspace("always", unigram=True, split=False),
    "unknown split": lambda: byte_level(
        CODE, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"\S+ \S+"), "isolated"),
                                       pre_tokenizers.ByteLevel(use_regex=False)])),
    "lower-casing": lambda: byte_level(CODE, pre_tokenizers.ByteLevel(), normalizers.Lowercase()),
    "a space as added token": lambda: byte_level(CODE, pre_tokenizers.ByteLevel(),
                                                 added=[AddedToken(" ", rstrip=True)]),
}  # fmt: skip


def unsplit(scheme, added=()):
    """Metaspace that leaves the text whole, over a vocabulary without tokens that reach over words."""
    tokenizer = llama(added, prepend=False)
    tokenizer.normalizer = normalizers.Sequence([])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    return tokenizer
