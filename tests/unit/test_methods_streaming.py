"""Scores are made of some texts at a time: what that leaves in memory, and that it
changes no number."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from made_up_stores import Store, a_run, counts_file, made_up_benchmark

from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.methods import Inputs, inputs, score, scoring
from pretrace.methods.inputs import PassReader
from pretrace.passes.requests import TOKEN_STATISTICS
from pretrace.runtime.files import sha256_file, write_parquet
from pretrace.views.prefixes import draw_prefixes
from pretrace.views.readings import PassKey, Reading


@pytest.fixture
def everything(tmp_path):
    """What the scores of all kinds of methods are made of: altered texts, references,
    neighbours, prefixes, counts."""
    benchmark = made_up_benchmark(23, lengths=(32, 64))
    skipped = {"32-07": {"skipped": "no tokens", "token_ids": [], "logprobs": []}}
    store = Store(tmp_path, "tiny", benchmark).add(
        changes=skipped | {"64-03": {"absent": True}}
    )
    store.add(altered="lowercase", changes={"32-11": {"absent": True}})
    store.add(altered="transpositions-3", variants=3)
    for draw, kind, shots in itertools.product((0, 1), ("nonmember", "member"), (1, 2)):
        store.add(prefix=kind, draw=draw, shots=shots)
    small = Store(tmp_path, "small", benchmark).add()
    methods = "loss zlib lowercase ref min_k min_k_pp surp dc_pdd neighbor blind"
    one_or_two = {"shots": [1, 2]}
    run = a_run(
        *methods.split(),
        {"method": "recall", "parameters": one_or_two},
        {"method": "con_recall", "parameters": one_or_two},
        references=["small"],
        corpora=["web"],
        neighbours=["transpositions-3"],
        draws=[0, 1],
    )
    counts = counts_file(tmp_path / "counts.parquet", {1: 3, 7: 90})
    references = {"small": small.manifest_file()}
    files = {"reference": references, "frequencies": {"web": counts}}
    prefixes = draw_prefixes(benchmark, pool=2, draws=2, seed=0)

    def scored():
        given = Inputs(
            store.passes, benchmark, language="en", files=files, prefixes=prefixes
        )
        return list(score([run], given))

    return scored


def test_no_number_depends_on_how_many_texts_are_read_at_a_time(
    everything, monkeypatch
):
    whole = pd.concat(everything(), ignore_index=True)
    rows = whole["method"].value_counts()
    assert rows["blind"] == 46
    assert rows["loss"] == 44
    assert rows["lowercase"] == 43
    assert rows["recall"] == 4 * 44
    assert set(whole["draw"].dropna()) == {0, 1}
    monkeypatch.setattr(inputs, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(scoring, "_ROWS", 60)
    parts = everything()
    assert len(parts) > 10
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)


def test_a_pass_that_is_not_ordered_is_no_pass(tmp_path):
    store = Store(tmp_path, "tiny", made_up_benchmark(9)[::-1]).add()
    table = store.passes.read(PassKey(Reading("original", "none"), Slice("", 32)))
    with pytest.raises(ValueError, match="not ordered by text id"):
        PassReader(iter(table.to_batches(max_chunksize=5))).step("32-00")


def test_the_tokens_of_a_pass_are_never_in_memory_as_a_whole(tmp_path, monkeypatch):
    texts = 1500
    tokens = 400
    text_ids = [f"{i:05d}" for i in range(texts)]
    benchmark = made_up_benchmark(texts).assign(text_id=text_ids)
    store = Store(tmp_path, "tiny", benchmark[:1]).add()
    rng = np.random.default_rng(0)
    values = -rng.exponential(3, (texts, tokens)).astype("float32")
    lists = pa.array(list(values), pa.list_(pa.float32()))
    columns = {}
    columns["text_id"] = text_ids
    columns["variant"] = pa.array([0] * texts, pa.int32())
    columns["token_ids"] = pa.array([[7] * tokens] * texts, pa.list_(pa.int32()))
    for name in TOKEN_STATISTICS["top40"]:
        columns[name] = lists
    columns["shots_used"] = pa.nulls(texts, pa.int32())
    columns["skipped"] = pa.nulls(texts, pa.string())
    entry = store.manifest["views"][0]["files"][0]
    write_parquet(tmp_path / entry["file"], pa.table(columns))
    entry["sha256"] = sha256_file(tmp_path / entry["file"])
    monkeypatch.setattr(inputs, "ROWS_AT_ONCE", 50)
    tracemalloc.start()
    parts = score([a_run("loss", "min_k")], Inputs(store.passes, benchmark))
    assert sum(len(part) for part in parts) == 11 * texts
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < texts * tokens * 8, "one statistic of all tokens alone takes more"
