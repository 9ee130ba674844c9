"""Token counts from segments equal those of encoding every document, on tokenizers of every kind we know."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_tokenizers import SEGMENTED, TEXTS, WHOLE
from tokenizers import Tokenizer

from pretrace.corpora.counts import count_tokens, log_frequencies, reduce_counts
from pretrace.corpora.cutting import cutting_of
from pretrace.corpora.segments import count_segments
from pretrace.runtime.errors import InputError


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


def pipeline(folder: Path, texts, tokenizer, **options):
    documents, segments, out = (folder / f"{name}.parquet" for name in ("documents", "segments", "counts"))
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


@pytest.mark.parametrize("name", [*SEGMENTED, *WHOLE])
def test_counts_equal_encoding_every_document(name, tokenizers, tmp_path):
    """By segments where the tokenizer has the property, else of whole documents."""
    tokenizer = tokenizers(name)
    assert (cutting_of(json.loads(tokenizer.to_str())) is not None) == (name in SEGMENTED)
    assert pipeline(tmp_path, TEXTS * 2, tokenizer) == counts_of(tokenizer, TEXTS * 2)


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


def test_shards_add_up_to_the_whole(tokenizers, tmp_path):
    tokenizer = tokenizers("llama, added")
    whole = pipeline(tmp_path, TEXTS, tokenizer)
    for shard in range(3):
        (tmp_path / str(shard)).mkdir()
        pipeline(tmp_path / str(shard), TEXTS[shard::3], tokenizer)
    reduce_counts([tmp_path / str(shard) / "counts.parquet" for shard in range(3)], tmp_path / "sum.parquet")
    assert read(tmp_path / "sum.parquet") == whole


def test_a_shard_without_documents_has_no_counts(tokenizers, tmp_path):
    assert pipeline(tmp_path, [], tokenizers("byte-level")) == {}


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


def written(path, ids, counts):
    pq.write_table(
        pa.table({"token_id": pa.array(ids, pa.int64()), "count": pa.array(counts, pa.int64())}), path
    )
    return path


def test_log_frequencies_follow_the_formula_and_sum_to_one(tmp_path):
    found = log_frequencies(written(tmp_path / "counts.parquet", [1, 3], [5, 2]), 6)
    assert found == pytest.approx([np.log((n + 1) / (7 + 6)) for n in (0, 5, 0, 2, 0, 0)])
    assert np.exp(found).sum() == pytest.approx(1)


def test_counts_of_another_tokenizer_and_of_no_token_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"token 9 .* 6 outputs"):
        log_frequencies(written(tmp_path / "counts.parquet", [9], [5]), 6)
    with pytest.raises(InputError, match="no token"):
        reduce_counts([written(tmp_path / "counts.parquet", [], [])], tmp_path / "out.parquet")


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
