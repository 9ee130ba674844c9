"""A pass is stored chunk by chunk: a kill loses one, several jobs share them, and what
did not change is kept."""

import pandas as pd
import pytest
from made_up_jobs import TEXTS, benchmark_of, rows
from made_up_jobs import full_request as request

from pretrace.passes.engine import Engine
from pretrace.passes.index import PassIndex
from pretrace.passes.shares import JobShare
from pretrace.runtime.files import sha256_file

MANY = [f"{text} It is number {number}." for number in range(12) for text in TEXTS]
CHUNK = 200  # tokens


@pytest.fixture
def cut(job):
    """Runs a job over many texts in chunks of about `CHUNK` tokens; keywords as for
    `job`."""
    return lambda requests=None, **changes: job(
        requests, **{"texts": MANY, "chunk_tokens": CHUNK} | changes
    )


@pytest.fixture
def ran(monkeypatch):
    """The chunks that the engine computed, as lists of text ids; `ran.stop` = n: the
    n-th is interrupted."""

    class Ran(list):
        stop = None

    chunks = Ran()
    statistics = Engine.statistics

    def watched(self, chunk, *arguments, **keywords):
        if len(chunks) == chunks.stop:
            raise KeyboardInterrupt
        chunks.append([request.text_id for request in chunk])
        return statistics(self, chunk, *arguments, **keywords)

    monkeypatch.setattr(Engine, "statistics", watched)
    return chunks


def files_of(manifest):
    files = []
    for row in manifest["views"]:
        for stored in row["files"]:
            files.append(stored["file"])
    return files


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


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_job_killed_in_every_chunk_goes_on_with_it_and_stores_the_same_bytes(
    job, cut, ran, tmp_path, dtype
):
    undisturbed = cut(
        dtype=dtype,
        store=tmp_path / "undisturbed",
        manifest=tmp_path / "undisturbed.json",
    )
    whole = ran.copy()
    ran.clear()
    for finished in range(len(whole)):
        ran.stop = finished
        with pytest.raises(KeyboardInterrupt):
            cut(dtype=dtype)
        assert not job.manifest.exists()
        assert len(list(job.store.glob("*.parquet"))) == finished
    ran.stop = None
    again = cut(dtype=dtype)
    assert ran == whole  # none twice
    assert again["views"][0]["files"] == undisturbed["views"][0]["files"]


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
        cut(requests, share=JobShare(number, count))
        sizes.append(sum(map(len, ran[before:])))
    assert sorted(ran) == alone
    manifest = cut(requests)
    assert sorted(ran) == alone
    assert [row["files"] for row in manifest["views"]] == [
        row["files"] for row in expected["views"]
    ]
    if count == 2:
        assert min(sizes) > 0.6 * max(sizes)


def test_a_lost_and_a_damaged_chunk_are_read_again_and_no_other(job, cut, ran):
    first = cut()
    lost = job.store / files_of(first)[1]
    damaged = job.store / files_of(first)[3]
    lost.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-20])
    ran.clear()
    assert files_of(cut()) == files_of(first)
    assert len(ran) == 2
    for each in first["views"][0]["files"]:
        assert sha256_file(job.store / each["file"]) == each["sha256"]


BENCHMARK = benchmark_of(MANY)
ADDED = BENCHMARK.iloc[[0]].assign(text="A text that was not there.")


@pytest.mark.parametrize(
    ("texts_table", "first"),
    [
        pytest.param(
            BENCHMARK.sample(frac=1, random_state=0), None, id="rows in another order"
        ),
        pytest.param(
            pd.concat([BENCHMARK, ADDED.assign(text_id="t999")]),
            "t071",
            id="added at the end",
        ),
        pytest.param(
            pd.concat([BENCHMARK, ADDED.assign(text_id="t0405")]),
            "t041",
            id="added between",
        ),
        pytest.param(BENCHMARK.drop(index=40), "t040", id="removed"),
        pytest.param(
            BENCHMARK.replace(MANY[40], "An edited text."), "t040", id="edited"
        ),
        pytest.param(
            BENCHMARK.replace({MANY[40]: MANY[41], MANY[41]: MANY[40]}),
            "t040",
            id="swapped",
        ),
        pytest.param(
            BENCHMARK.assign(text_id=BENCHMARK["text_id"].radd("x")),
            "t000",
            id="other ids",
        ),
    ],
)
def test_a_change_keeps_the_chunks_before_it_and_every_row_is_its_texts(
    job, cut, ran, tmp_path, texts_table, first
):
    before = files_of(cut(benchmark=BENCHMARK))
    unchanged = [chunk for chunk in ran if first is None or chunk[-1] < first]
    ran.clear()
    manifest = cut(benchmark=texts_table)
    files = files_of(manifest)
    assert files[: len(unchanged)] == before[: len(unchanged)]
    assert len(ran) == len(set(files) - set(before))
    assert (not ran) == (first is None)
    whole = job(
        benchmark=texts_table,
        store=tmp_path / "whole",
        manifest=tmp_path / "whole.json",
    )
    expected = (
        PassIndex(whole, tmp_path / "whole")
        .read(*PassIndex(whole, tmp_path).rows)
        .to_pylist()
    )
    stored = rows(job, manifest)
    assert [row["text_id"] for row in stored] == sorted(texts_table["text_id"])
    for row, of_whole in zip(stored, expected, strict=True):
        assert row["text_id"] == of_whole["text_id"]
        assert row["token_ids"] == of_whole["token_ids"]
        assert row["logprobs"] == pytest.approx(of_whole["logprobs"], abs=1e-5)


def test_the_stretches_of_a_long_text_are_spread_over_jobs_and_read_in_order(
    job, cut, ran
):
    texts = [" ".join(MANY), "a text that is shorter", " ".join(MANY[::-1])]
    stretches = request(past_context=True, start_token="none")
    keys = {"start_token": "none", "past_context": True}
    whole = rows(job, job([stretches], texts=texts, max_length=16), **keys)
    ran.clear()
    for number in range(1, 7):
        before = len(ran)
        cut([stretches], texts=texts, max_length=16, share=JobShare(number, 6))
        assert len(ran) > before
    manifest = cut([stretches], texts=texts, max_length=16)
    assert len(ran) == len(files_of(manifest)) > 6
    stored = rows(job, manifest, **keys)
    places = [(row["text_id"], row["variant"]) for row in stored]
    assert (
        places == sorted(places) == [(row["text_id"], row["variant"]) for row in whole]
    )
    for row, expected in zip(stored, whole, strict=True):
        assert row["token_ids"] == expected["token_ids"]
        assert row["logprobs"] == pytest.approx(expected["logprobs"], abs=1e-5)
