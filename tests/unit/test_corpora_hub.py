"""Corpora of the hub, a shard at a time, against a hub on loopback."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

import hub_datasets as made
from pretrace.corpora.readers import shards as corpora_shards
from pretrace.corpora.readers.shards import GIGABYTE, stream_shard
from pretrace.runtime.errors import InputError

ENTRIES = yaml.safe_load(
    (Path(__file__).parents[2] / "config" / "corpora.yaml").read_text(encoding="utf-8")
)


@pytest.fixture
def hub(hub, monkeypatch):
    monkeypatch.setattr(corpora_shards.time, "sleep", lambda seconds: None)
    hub.add("datasets", "allenai/c4", made.c4(3))
    hub.add("datasets", "CASIA-LM/ChineseWebText", made.chinesewebtext(2))
    hub.add("datasets", "HFforLegal/case-law", made.case_law(3))
    return hub


def streamed(entry, shard, out, **changes):
    entry = ENTRIES[entry] | changes
    stream_shard(entry, shard, entry["shards"], out, attempts=3)
    return pq.read_table(out)["text"].to_pylist()


@pytest.mark.parametrize(
    ("entry", "shard", "field"), [("c4", 2, "text"), ("case-law-1gb", 1, "document")]
)
def test_a_shard_is_the_documents_of_its_file_in_order_and_the_file_is_deleted(
    hub, tmp_path, entry, shard, field
):
    texts = streamed(entry, shard, tmp_path / "corpus" / "0.parquet")
    assert texts == [row[field] for row in made.corpus_shard(20, shard, field)]
    assert [path.name for path in (tmp_path / "corpus").iterdir()] == ["0.parquet"]
    assert len(streamed("chinesewebtext", 1, tmp_path / "1.parquet")) == 20, (
        "plain JSON lines"
    )


def test_the_shards_share_the_size_that_is_asked_for_and_a_smaller_one_lies_inside(
    hub, tmp_path
):
    every = streamed("c4", 0, tmp_path / "all.parquet")
    total = sum(len(text.encode()) for text in every)
    some = streamed(
        "c4", 0, tmp_path / "some.parquet", shards=2, gigabytes=total / GIGABYTE
    )
    few = streamed(
        "c4", 0, tmp_path / "few.parquet", shards=2, gigabytes=total / 2 / GIGABYTE
    )
    assert 0 < len(few) < len(some) < len(every)
    assert some == every[: len(some)]
    assert few == some[: len(few)]
    taken = sum(len(text.encode()) for text in some)
    assert taken <= total / 2 < taken + len(every[len(some)].encode())


def test_a_broken_shard_is_fetched_again_and_never_half_counted(hub, tmp_path):
    name = "c4-train.00001-of-01024.json.gz"
    hub.corrupted[name] = 2
    assert streamed("c4", 1, tmp_path / "1.parquet") == [
        row["text"] for row in made.corpus_shard(20, 1)
    ]
    hub.corrupted[name] = 9
    with pytest.raises(InputError, match=rf"shard 1 of 20 \(en/{name}\).*sha256"):
        streamed("c4", 1, tmp_path / "corpus" / "1.parquet")
    assert not list((tmp_path / "corpus").iterdir())


@pytest.mark.parametrize("share", [{}, {"gigabytes": 100 / GIGABYTE}])
def test_a_file_that_is_cut_at_the_source_is_not_counted_even_beyond_its_share(
    hub, tmp_path, share
):
    whole = made.c4(1)["en/c4-train.00000-of-01024.json.gz"]
    hub.add(
        "datasets", "allenai/c4", {"en/c4-train.00000-of-01024.json.gz": whole[:-20]}
    )
    with pytest.raises(InputError, match="the file is cut off"):
        streamed("c4", 0, tmp_path / "corpus" / "0.parquet", shards=1, **share)
    assert not list((tmp_path / "corpus").iterdir())


def test_files_that_the_hub_has_no_more_of_leave_empty_shards_and_the_others_share_the_size(
    hub, tmp_path, warnings
):
    """As when it has three files where the registry expects 19."""
    total = sum(
        len(row["document"].encode()) for row in made.corpus_shard(20, 0, "document")
    )
    entry = {"gigabytes": 3 * 0.9 * total / GIGABYTE}
    texts = []
    for shard in (0, 3, 18):
        texts.append(streamed("case-law-10gb", shard, tmp_path / "0.parquet", **entry))
    assert texts[1:] == [[], []]
    assert 0.5 * total < sum(len(text.encode()) for text in texts[0]) <= 0.9 * total
    assert not warnings()
    streamed("case-law-10gb", 0, tmp_path / "0.parquet")
    assert not warnings(), "the registry reads the files whole"
    streamed("case-law-10gb", 0, tmp_path / "0.parquet", gigabytes=10)
    assert "us-00000-of-00003.parquet holds" in warnings()


def test_a_missing_column_is_named(hub, tmp_path):
    with pytest.raises(InputError, match="no key 'text'"):
        streamed("case-law-1gb", 0, tmp_path / "0.parquet", field="text")


def test_a_folder_of_ones_own_stands_for_the_hub(hub, tmp_path):
    (tmp_path / "c4").mkdir()
    (tmp_path / "c4" / "c4-train.00000-of-01024.json.gz").write_bytes(
        made.c4(1)["en/c4-train.00000-of-01024.json.gz"]
    )
    texts = streamed("c4", 0, tmp_path / "0.parquet", path=str(tmp_path / "c4"))
    assert len(texts) == 20
    assert not hub.asked
