"""Token counts from segments equal those of encoding every document, on tokenizers of every kind we know."""

import json
import os
import re
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from pretrace.corpora import count_segments, count_tokens, log_frequencies, reduce_counts
from pretrace.corpora.cutting import cutting_of
from pretrace.runtime.errors import InputError

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
    "",
    " ",
    "   ",
    "a",
    " a",
    "  a ",
    "a  ",
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
    "a city",
    "a, city",
    "un cafe\u0301 et un caf\u00e9s, deux the\u0301s ou deux th\u00e9s",
    "un cafe\u0301",
    "deux th\u00e9s",
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
    tokenizer.add_tokens([token for token in added if not token.special])
    tokenizer.add_special_tokens([token for token in added if token.special])
    return tokenizer


def byte_level(texts, stages, normalizer=None, added=()):
    trainer = trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    return trained(models.BPE(), trainer, texts, normalizer=normalizer, pre_tokenizer=stages, added=added)


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
    tokenizer.add_tokens([token for token in added if not token.special])
    tokenizer.add_special_tokens([token for token in added if token.special])
    return tokenizer


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
    "byte-level of code, prefix space": lambda: byte_level(
        CODE, pre_tokenizers.ByteLevel(add_prefix_space=True)
    ),
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


@pytest.fixture(scope="module")
def tokenizers():
    made = {}

    def get(name):
        if name not in made:
            made[name] = {**SEGMENTED, **WHOLE}[name]()
        return made[name]

    return get


def special_ids(tokenizer):
    return {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}


def counts_of(tokenizer, texts):
    """Oracle: encode one document after the other."""
    counts = Counter()
    for text in texts:
        counts.update(tokenizer.encode(text, add_special_tokens=False).ids)
    return {i: n for i, n in counts.items() if i not in special_ids(tokenizer)}


def counts_by_pieces(tokenizer, texts, rule):
    """What cutting documents by a rule and encoding the pieces gives."""
    return counts_of(tokenizer, [piece for text in texts for piece in re.split(rule, text) if piece])


def pipeline(folder: Path, texts, tokenizer, **options):
    documents, segments, out = (
        folder / name for name in ("documents.parquet", "segments.parquet", "counts.parquet")
    )
    pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), documents, row_group_size=7)
    count_segments(documents, segments)
    count_tokens(segments, documents, tokenizer, out, **options)
    return read(out)


def read(path):
    table = pq.read_table(path)
    assert table.column_names == ["token_id", "count"]
    ids = table["token_id"].to_pylist()
    assert ids == sorted(set(ids))
    return dict(zip(ids, table["count"].to_pylist(), strict=True))


@pytest.mark.parametrize("name", SEGMENTED)
def test_counts_equal_encoding_every_document(name, tokenizers, tmp_path):
    tokenizer = tokenizers(name)
    assert cutting_of(json.loads(tokenizer.to_str())) is not None, (
        "this kind is meant to be counted by segments"
    )
    assert pipeline(tmp_path, TEXTS * 2, tokenizer) == counts_of(tokenizer, TEXTS * 2)


@pytest.mark.parametrize("name", WHOLE)
def test_tokenizers_without_the_property_encode_whole_documents(name, tokenizers, tmp_path):
    tokenizer = tokenizers(name)
    assert cutting_of(json.loads(tokenizer.to_str())) is None
    assert pipeline(tmp_path, TEXTS, tokenizer) == counts_of(tokenizer, TEXTS)


PARTS = st.sampled_from([
    *(" ", " ", "  ", "    ", "\n", "\t", "\r\n", "\x85", "\x1c", "\x1f", "\u00a0", "\u3000", "▁", "▁▁"),
    *("a", "b", "the", "end", "def", "return", "x", "=", "(", ")", "1", "23", "4", ".", ",", "'s", "'re"),
    *("é", "e\u0301", "\u0301", "\u212a", "elvin", "ange\u0301"),
    *("你好", "世", "🙂", "👍🏽", "\x00", "\ufeff"),
    *("<|sep|>", "<mask>", "New", "York", "New York", "stop", " city", "un cafe\u0301", "deux th\u00e9s"),
])  # fmt: skip
DOCUMENTS = st.lists(st.lists(PARTS | st.text(max_size=3), max_size=14).map("".join), min_size=1, max_size=6)


@pytest.mark.parametrize("name", SEGMENTED)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=DOCUMENTS)
def test_counts_equal_encoding_every_document_on_odd_texts(name, tokenizers, tmp_path, texts):
    tokenizer = tokenizers(name)
    assert pipeline(tmp_path, texts, tokenizer) == counts_of(tokenizer, texts)


RULES = {
    "every space": r"(?= )",
    "every run of spaces": r"(?<! )(?= )",
    "words and white space": r"(?<=\S)(?=\s)|(?<=\s)(?=\S)",
    "paragraphs": r"(?<=\n)(?=[^\n])",
}
EXACT = r"(?<=[^\s▁\x1c-\x1f\x85])(?= +[^ ])"


@pytest.mark.parametrize("rule", RULES)
def test_simpler_cutting_rules_are_caught_by_these_tokenizers(rule, tokenizers):
    texts = CODE + PROSE
    names = ["byte-level of code", "tiktoken NFC", "metaspace bpe never", "llama without prepend"]
    wrong = [name for name in names if counts_by_pieces(tokenizers(name), texts, RULES[rule])
             != counts_of(tokenizers(name), texts)]  # fmt: skip
    assert wrong
    assert all(
        counts_by_pieces(tokenizers(name), texts, EXACT) == counts_of(tokenizers(name), texts)
        for name in names
    )


def test_special_tokens_that_a_text_spells_are_not_counted(tokenizers, tmp_path):
    tokenizer = tokenizers("byte-level, added")
    special = tokenizer.token_to_id("<|sep|>")
    assert special in tokenizer.encode("x<|sep|>y").ids
    assert special not in pipeline(tmp_path, ["x<|sep|>y", "a b"], tokenizer)


def test_tokens_are_counted_not_documents(tokenizers, tmp_path):
    tokenizer = tokenizers("byte-level")
    (token,) = set(tokenizer.encode("a").ids)
    assert pipeline(tmp_path, ["a", "aa"] * 10, tokenizer)[token] >= 10
    assert sum(pipeline(tmp_path, ["x1 x1 x1"], tokenizer).values()) == len(tokenizer.encode("x1 x1 x1").ids)


def test_shards_add_up_to_the_whole(tokenizers, tmp_path):
    tokenizer = tokenizers("llama, added")
    whole = pipeline(tmp_path, TEXTS, tokenizer)
    for shard in range(3):
        (tmp_path / str(shard)).mkdir()
        pipeline(tmp_path / str(shard), TEXTS[shard::3], tokenizer)
    reduce_counts([tmp_path / str(shard) / "counts.parquet" for shard in range(3)], tmp_path / "sum.parquet")
    assert read(tmp_path / "sum.parquet") == whole


def test_truncation_and_padding_of_the_tokenizer_file_do_not_reach_the_counts(tokenizers, tmp_path):
    tokenizer = Tokenizer.from_str(tokenizers("byte-level").to_str())
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=64)
    assert pipeline(tmp_path, TEXTS, tokenizer) == counts_of(tokenizers("byte-level"), TEXTS)
    assert tokenizer.truncation["max_length"] == 3, "the caller's tokenizer stays as it was"


def test_max_tokens_cuts_each_document(tokenizers, tmp_path):
    tokenizer = tokenizers("byte-level")
    cut = Counter(i for text in TEXTS for i in tokenizer.encode(text, add_special_tokens=False).ids[:5])
    assert pipeline(tmp_path, TEXTS, tokenizer, max_tokens=5) == cut


def test_a_tokenizer_without_rust_backend_encodes_whole_documents(tmp_path):
    class Characters:
        all_special_ids = (0,)

        def get_vocab(self):
            return {"<s>": 0, "a": 1, " ": 2, "b": 3}

        def __call__(self, text, add_special_tokens):
            assert add_special_tokens is False
            return {"input_ids": [self.get_vocab().get(character, 0) for character in text]}

    assert pipeline(tmp_path, ["a b", "bb"], Characters()) == {1: 1, 2: 1, 3: 3}


def test_spilled_segments_give_the_same_counts(tokenizers, tmp_path, monkeypatch):
    tokenizer = tokenizers("byte-level of code")
    whole = pipeline(tmp_path, TEXTS * 3, tokenizer)
    monkeypatch.setattr("pretrace.corpora.segments._BYTES", 2)
    assert pipeline(tmp_path, TEXTS * 3, tokenizer) == whole
    assert pq.ParquetFile(tmp_path / "segments.parquet").num_row_groups > 1


def test_log_frequencies_follow_the_formula_and_sum_to_one(tmp_path):
    path = tmp_path / "counts.parquet"
    pq.write_table(pa.table({"token_id": [1, 3], "count": [5, 2]}), path)
    found = log_frequencies(path, 6)
    assert found == pytest.approx([np.log((n + 1) / (7 + 6)) for n in (0, 5, 0, 2, 0, 0)])
    assert np.exp(found).sum() == pytest.approx(1)


def test_counts_of_another_tokenizer_are_refused(tmp_path):
    path = tmp_path / "counts.parquet"
    pq.write_table(pa.table({"token_id": [9], "count": [5]}), path)
    with pytest.raises(InputError, match=r"token 9 .* 6 outputs"):
        log_frequencies(path, 6)


def test_a_corpus_without_tokens_is_an_error(tmp_path):
    path = tmp_path / "counts.parquet"
    pq.write_table(pa.table({"token_id": pa.array([], pa.int64()), "count": pa.array([], pa.int64())}), path)
    with pytest.raises(InputError, match="no token"):
        reduce_counts([path], tmp_path / "out.parquet")


def smollm2():
    """The real tokenizer: PRETRACE_CHECKPOINT, or what the embedded study built."""
    record = Path(os.environ.get("PRETRACE_CHECKPOINT", "results/models/smollm2-135m/checkpoint.json"))
    if not record.exists():
        pytest.skip(
            f"{record} is not there: run the embedded study, or set PRETRACE_CHECKPOINT to a checkpoint.json"
        )
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(
        json.loads(record.read_text())["path"], local_files_only=True
    )


def test_counts_of_the_smollm2_tokenizer_equal_encoding_every_document(tmp_path):
    tokenizer = smollm2()
    assert cutting_of(json.loads(tokenizer.backend_tokenizer.to_str())) is not None
    texts = [*TEXTS, "a<|endoftext|> b <|im_start|>user\nhello<|im_end|> ", *map(str, range(50))]
    assert pipeline(tmp_path, texts, tokenizer) == counts_of(tokenizer.backend_tokenizer, texts)
