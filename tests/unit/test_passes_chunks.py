"""A pass is stored chunk by chunk: a kill loses one, several jobs share them, and texts are found again."""

import pandas as pd
import pytest
from made_up_jobs import TEXTS, benchmark_of, rows
from made_up_jobs import full_request as request

from pretrace.passes.engine import Engine
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
