"""Token counts are those of encoding one document after the other."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_tokenizers import TEXTS, TOKENIZERS

from pretrace.corpora.counts import count_tokens, log_frequencies, reduce_counts
from pretrace.runtime.errors import InputError


def counted(folder, texts, tokenizer, **options):
    """Token id -> count, of a file of documents in several row groups."""
    documents, out = folder / "documents.parquet", folder / "counts.parquet"
    pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), documents, row_group_size=7)
    count_tokens(documents, tokenizer, out, **options)
    return read(out)


def read(path):
    table = pq.read_table(path)
    assert table.column_names == ["token_id", "count"]
    ids = table["token_id"].to_pylist()
    assert ids == sorted(set(ids))
    return dict(zip(ids, table["count"].to_pylist(), strict=True))


@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_counts_equal_encoding_one_document_after_the_other(name, most, tmp_path, monkeypatch):
    monkeypatch.setattr("pretrace.corpora.counts._BATCH", 20)
    tokenizer = TOKENIZERS[name]()
    special = {id for id, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    each = (tokenizer.encode(text, add_special_tokens=False).ids[:most] for text in TEXTS * 2)
    expected = Counter(id for ids in each for id in ids if id not in special)
    assert counted(tmp_path, TEXTS * 2, tokenizer, max_tokens=most) == expected


def test_shards_add_up_to_the_whole(tmp_path):
    tokenizer = TOKENIZERS["llama, added"]()
    whole = counted(tmp_path, TEXTS, tokenizer)
    for shard in range(3):
        (tmp_path / str(shard)).mkdir()
        counted(tmp_path / str(shard), TEXTS[shard::3], tokenizer)
    reduce_counts([tmp_path / str(shard) / "counts.parquet" for shard in range(3)], tmp_path / "sum.parquet")
    assert read(tmp_path / "sum.parquet") == whole


def test_a_shard_without_documents_has_no_counts(tmp_path):
    assert counted(tmp_path, [], TOKENIZERS["byte-level"]()) == {}


def test_a_tokenizer_without_rust_backend_counts_too(tmp_path):
    class Characters:
        all_special_ids = (0,)

        def get_vocab(self):
            return {"<s>": 0, "a": 1, " ": 2, "b": 3}

        def __call__(self, text, add_special_tokens):
            assert add_special_tokens is False
            return {"input_ids": [self.get_vocab().get(character, 0) for character in text]}

    assert counted(tmp_path, ["a b", "bb"], Characters()) == {1: 1, 2: 1, 3: 3}


def written(path, ids, counts):
    pq.write_table(
        pa.table({"token_id": pa.array(ids, pa.int64()), "count": pa.array(counts, pa.int64())}), path
    )
    return path


def test_log_frequencies_follow_the_formula_and_sum_to_one(tmp_path):
    values = log_frequencies(written(tmp_path / "counts.parquet", [1, 3], [5, 2]), 6)
    assert values == pytest.approx([np.log((n + 1) / (7 + 6)) for n in (0, 5, 0, 2, 0, 0)])
    assert np.exp(values).sum() == pytest.approx(1)


def test_counts_of_another_tokenizer_and_of_no_token_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"token 9 .* 6 outputs"):
        log_frequencies(written(tmp_path / "counts.parquet", [9], [5]), 6)
    with pytest.raises(InputError, match="no token"):
        reduce_counts([written(tmp_path / "counts.parquet", [], [])], tmp_path / "out.parquet")
