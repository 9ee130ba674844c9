"""A pass is stored chunk by chunk: a kill loses one, several jobs share them, and texts are found again."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_jobs import TEXTS, benchmark_of, rows
from made_up_jobs import full_request as request

from pretrace.passes import job as job_module
from pretrace.passes import store
from pretrace.passes.engine import Engine
from pretrace.passes.index import PassIndex
from pretrace.passes.job import Share
from pretrace.runtime.files import sha256_file

MANY = [f"{text} It is number {number}." for number in range(12) for text in TEXTS]
CHUNK = 200  # tokens


@pytest.fixture
def cut(job):
    """Runs a job over many texts in chunks of about `CHUNK` tokens; keywords as for `job`."""
    return lambda requests=None, **changes: job(requests, **{"texts": MANY, "chunk_tokens": CHUNK} | changes)


@pytest.fixture
def ran(monkeypatch):
    """The chunks that the engine computed, as lists of text ids; `ran.stop` = n: the n-th is interrupted."""

    class Ran(list):
        stop = None

    chunks, statistics = Ran(), Engine.statistics

    def watched(self, chunk, *arguments, **keywords):
        if len(chunks) == chunks.stop:
            raise KeyboardInterrupt
        chunks.append([request.text_id for request in chunk])
        return statistics(self, chunk, *arguments, **keywords)

    monkeypatch.setattr(Engine, "statistics", watched)
    return chunks


def files_of(manifest):
    return [stored["file"] for row in manifest["views"] for stored in row["files"]]


def test_chunks_change_no_number(job, cut):
    manifest = cut()
    assert len(files_of(manifest)) > 5
    whole = job(texts=MANY)
    assert len(files_of(whole)) == 1
    for row, expected in zip(rows(job, manifest), rows(job, whole), strict=True):
        for column, value in expected.items():
            in_nats = column in ("logprobs", "entropies", "variances", "highest")
            assert row[column] == (pytest.approx(value, abs=1e-5) if in_nats else value)
    for key in ("texts", "tokens", "skipped", "truncated"):
        assert manifest["views"][0][key] == whole["views"][0][key]


@pytest.mark.parametrize(("dtype", "stop"), [("float32", 0), ("bfloat16", 1), ("float32", 4)])
def test_a_killed_job_goes_on_with_the_next_chunk_and_stores_the_same_bytes(
    job, cut, ran, tmp_path, dtype, stop
):
    undisturbed = cut(dtype=dtype, store=tmp_path / "undisturbed", manifest=tmp_path / "undisturbed.json")
    count = len(ran)
    ran.clear()
    ran.stop = stop
    with pytest.raises(KeyboardInterrupt):
        cut(dtype=dtype)
    assert not job.manifest.exists()
    assert len(list(job.store.glob("*.parquet"))) == stop
    ran.stop = None
    again = cut(dtype=dtype)
    assert len(ran) == count  # none twice
    assert [row["files"] for row in again["views"]] == [row["files"] for row in undisturbed["views"]]


@pytest.mark.parametrize("count", [2, 20])
def test_jobs_that_share_a_pair_leave_nothing_for_the_last_and_read_nothing_twice(
    job, cut, ran, tmp_path, count
):
    requests = [request(), request(start_token="none"), request(altered="lowercase")]
    expected = cut(requests, store=tmp_path / "alone")
    alone = sorted(ran)
    ran.clear()
    sizes = []
    for number in range(1, count + 1):
        before = len(ran)
        shared = cut(requests, share=Share(number, count), manifest=tmp_path / f"{number}.json")
        assert shared["views"] == []
        sizes.append(sum(map(len, ran[before:])))
    assert sorted(ran) == alone
    manifest = cut(requests)
    assert sorted(ran) == alone
    assert [row["files"] for row in manifest["views"]] == [row["files"] for row in expected["views"]]
    if count == 2:
        assert min(sizes) > 0.6 * max(sizes)


def test_a_lost_and_a_damaged_chunk_are_read_again_and_no_other(job, cut, ran):
    first = cut()
    lost, damaged = (job.store / file for file in (files_of(first)[1], files_of(first)[3]))
    lost.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-20])
    ran.clear()
    assert files_of(cut()) == files_of(first)
    assert len(ran) == 2
    assert all(sha256_file(job.store / each["file"]) == each["sha256"] for each in first["views"][0]["files"])


def test_texts_of_another_benchmark_are_found_again(job, cut, ran):
    benchmark = benchmark_of(MANY)
    cut(benchmark=benchmark)
    total = len(ran)
    ran.clear()
    cut(benchmark=benchmark.sample(frac=1, random_state=0))  # another order
    assert not ran
    without = benchmark.drop(index=[40, 41])
    cut(benchmark=without)
    assert 1 <= len(ran) <= 2 < total
    ran.clear()
    added = benchmark.iloc[[0]].assign(text_id="t0505", text="A new text, between the others.")
    manifest = cut(benchmark=pd.concat([benchmark, added]))
    assert 1 <= len(ran) <= 2
    assert [row["text_id"] for row in rows(job, manifest)] == sorted([*benchmark["text_id"], "t0505"])


def by_text(job, manifest, benchmark):
    """The stored rows without the texts' ids, by text; equal texts have equal rows."""
    text_of = dict(zip(benchmark["text_id"], benchmark["text"], strict=True))
    stored = rows(job, manifest)
    assert [row["text_id"] for row in stored] == sorted(benchmark["text_id"])
    return {text_of[row.pop("text_id")]: row for row in stored}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_texts_under_other_ids_are_found_again_and_have_the_numbers_of_a_run_of_their_own(
    job, cut, ran, tmp_path, monkeypatch, dtype
):
    texts = [*MANY, MANY[0], MANY[5]]  # two of them twice
    benchmark = benchmark_of(texts)
    first = cut(benchmark=benchmark, dtype=dtype)
    expected = by_text(job, first, benchmark)
    order = np.random.default_rng(0).permutation(len(texts))
    renamed = benchmark.assign(text_id=[f"other-{number:03d}" for number in order])
    count = len(ran)

    afresh = cut(benchmark=renamed, dtype=dtype, store=tmp_path / "afresh", manifest=tmp_path / "afresh.json")
    assert len(ran) == 2 * count > 10
    monkeypatch.setattr(job_module, "_reader", None)  # no weights are loaded
    again = cut(benchmark=renamed, dtype=dtype)
    assert by_text(job, again, renamed) == expected
    assert again["views"][0]["files"] == afresh["views"][0]["files"]


def test_two_texts_that_change_places_are_not_mistaken_for_each_other(job, cut, ran):
    benchmark = benchmark_of(MANY)
    expected = by_text(job, cut(benchmark=benchmark), benchmark)
    swapped = benchmark.assign(text=[MANY[1], MANY[0], *MANY[2:]])
    ran.clear()
    assert by_text(job, cut(benchmark=swapped), swapped) == expected
    assert not ran


def test_a_part_of_the_texts_finds_the_chunks_that_lie_in_it_whole(job, cut, ran):
    benchmark = benchmark_of(MANY)
    cut(benchmark=benchmark)
    kept = [id for chunk in ran[:-2] for id in chunk]
    count = len(ran)
    ran.clear()
    part = benchmark[benchmark["text_id"].isin(kept)]
    cut(benchmark=part)
    assert len(ran) <= 1 < count


def test_a_stored_chunk_that_is_damaged_serves_no_other_ids(job, cut, ran):
    benchmark = benchmark_of(MANY)
    first = cut(benchmark=benchmark)
    (job.store / files_of(first)[0]).write_bytes(b"damaged")
    ran.clear()
    renamed = benchmark.assign(text_id=[f"other-{id}" for id in benchmark["text_id"]])
    manifest = cut(benchmark=renamed)
    assert len(ran) == 1
    assert len(files_of(manifest)) == len(files_of(first))


def test_the_windows_of_a_long_text_are_spread_over_chunks_and_read_in_order(job, cut, ran):
    texts = [" ".join(MANY), "a text that is shorter", " ".join(MANY[::-1])]
    windows = request(windows=[6, 4, 3], start_token="none")
    keys = {"start_token": "none", "windows": [6, 4, 3]}
    whole = rows(job, job([windows], texts=texts), **keys)
    ran.clear()
    manifest = cut([windows], texts=texts)
    assert len(ran) == len(files_of(manifest)) > 5
    stored = rows(job, manifest, **keys)
    places = [(row["text_id"], row["variant"]) for row in stored]
    assert places == sorted(places) == [(row["text_id"], row["variant"]) for row in whole]
    for row, expected in zip(stored, whole, strict=True):
        assert row["token_ids"] == expected["token_ids"]
        assert row["logprobs"] == pytest.approx(expected["logprobs"], abs=1e-5)


@pytest.mark.parametrize("most", [1, 7, 5_000])
@pytest.mark.parametrize("group", [1, 3, 64])
def test_a_pass_of_many_chunks_is_read_in_batches_in_the_order_of_its_texts(
    job, cut, monkeypatch, most, group
):
    monkeypatch.setattr(store, "_ROW_GROUP", group)
    altered = request(altered="transpositions-3", statistics="logprobs", start_token="tokenizer")
    manifest = cut([altered])
    files = files_of(manifest)
    index = PassIndex(manifest, job.store)
    [key] = index.rows
    batches = list(index.batches(key, most))
    assert max(map(len, batches)) <= most
    joined = pa.Table.from_batches(batches)
    assert joined.equals(index.read(key).combine_chunks())
    places = list(zip(joined["text_id"].to_pylist(), joined["variant"].to_pylist(), strict=True))
    assert places == sorted(places)
    assert len(places) == sum(pq.read_metadata(job.store / file).num_rows for file in files) > len(MANY)
