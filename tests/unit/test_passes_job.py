"""A job of passes: what is sent, what is stored, how much memory it takes, and which requests it refuses."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from made_up_jobs import TEXTS, benchmark_of, expected_statistics, rows
from made_up_jobs import full_request as request

import tiny_models
from pretrace.models.tokens import load_tokenizer, start_token_ids
from pretrace.passes.engine import Engine
from pretrace.passes.requests import STATISTICS, Request
from pretrace.passes.store import Store
from pretrace.runtime.errors import InputError


@pytest.mark.parametrize("kind", tiny_models.KINDS)
@pytest.mark.parametrize("start_token", ["none", "<|endoftext|>", "tokenizer"])
def test_stored_statistics_are_those_of_one_text_at_a_time(
    job, tiny_checkpoint, tiny_model, kind, start_token
):
    tokenizer = load_tokenizer(tiny_checkpoint(kind))
    start = list(start_token_ids(tokenizer, start_token))
    stored = rows(job, job([request(start_token=start_token)], kind=kind), start_token)
    assert [row["text_id"] for row in stored] == [f"t{number:03d}" for number in range(len(TEXTS))]
    for text, row in zip(TEXTS, stored, strict=True):
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert row["n_tokens"] == len(tokens)
        assert row["token_ids"] == (tokens if start else tokens[1:])
        expected = expected_statistics(tiny_model(kind), start, tokens)[:5]
        np.testing.assert_allclose([row[name] for name in STATISTICS["full"]], expected, atol=1e-4)


def test_texts_beyond_the_context_are_cut_and_marked(job):
    long = "the people of the union " * 60
    for start_token, room in (("none", tiny_models.CONTEXT), ("<s>", tiny_models.CONTEXT - 1)):
        manifest = job([request(start_token=start_token)], texts=[long, "short"])
        entry = manifest["views"][0]
        first, second = rows(job, manifest, start_token)
        assert first["truncated"]
        assert first["n_tokens"] > room
        assert len(first["token_ids"]) == room - (start_token == "none")
        assert not second["truncated"]
        assert (entry["truncated"], entry["texts"]) == (1, 2)


def test_texts_with_nothing_to_score_are_kept_with_the_reason(job):
    manifest = job([request(start_token="none")], texts=["", "A", "A b"])
    empty, single, scored = rows(job, manifest, "none")
    assert (empty["skipped"], empty["logprobs"], empty["n_tokens"]) == ("no tokens", [], 0)
    assert (single["skipped"], single["token_ids"]) == ("one token and no start token", [])
    assert scored["skipped"] is None
    assert manifest["views"][0]["skipped"] == 2
    assert rows(job, job(texts=["A"]))[0]["skipped"] is None


def test_views_of_log_probabilities_have_null_columns_for_the_rest(job):
    manifest = job([request(altered="lowercase", statistics="logprobs")])
    lower = rows(job, manifest, altered="lowercase")
    others = set(STATISTICS["top40"]) - {"logprobs"}
    assert {row[name] for row in lower for name in others} == {None}
    assert lower[0]["logprobs"] == pytest.approx(
        rows(job, job(texts=[text.lower() for text in TEXTS]))[0]["logprobs"], abs=1e-5
    )


def test_each_subset_and_length_is_a_cell_of_its_own(job):
    benchmark = pd.concat([benchmark_of(TEXTS[:2], 32, "b"), benchmark_of(TEXTS[2:4], 64, "a")])
    benchmark["text_id"] = list("dcba")
    manifest = job([request(lengths=[64]), request(subsets=["b"])], benchmark=benchmark)
    assert [(entry["subset"], entry["length"]) for entry in manifest["views"]] == [("a", 64), ("b", 32)]
    assert [row["text_id"] for row in rows(job, manifest, subset="b", length=32)] == ["c", "d"]
    with pytest.raises(InputError, match="no length '128'"):
        job([request(lengths=[128])], benchmark=benchmark)


def test_a_request_for_less_is_answered_by_one_for_more(job):
    manifest = job([request(), request(statistics="logprobs"), request()])
    assert [entry["statistics"] for entry in manifest["views"]] == ["full"]
    assert {row["top40"] for row in rows(job, manifest)} == {None}


def test_a_pass_that_lacks_a_number_is_read_again_and_no_other_is(job):
    lower = request(altered="lowercase", statistics="logprobs")
    first = {entry["altered"]: entry["files"][0]["file"] for entry in job([request(), lower])["views"]}
    again = job([request(), request(statistics="top40"), lower])
    files = {entry["altered"]: entry["files"][0]["file"] for entry in again["views"]}
    assert files["lowercase"] == first["lowercase"]
    assert files[""] != first[""]
    for row in rows(job, again):
        assert len(row["top40"]) == len(row["ranks"]) == len(row["highest"]) == len(row["logprobs"])
        for own, highest, rank, top in zip(
            row["logprobs"], row["highest"], row["ranks"], row["top40"], strict=True
        ):
            assert own <= highest <= top <= 1e-6
            assert (rank == 0) == (own == pytest.approx(highest, abs=1e-6))


def test_a_pass_that_another_job_stores_meanwhile_is_not_run(job, monkeypatch):
    """Two benchmarks with the same texts start at once: neither finds the pass, then one of them stores it."""
    first = rows(job, job())
    record, keys = Store.record, []

    def late(self, key):
        keys.append(key)
        return record(self, key) if len(keys) > 1 else None

    monkeypatch.setattr(Store, "record", late)
    monkeypatch.setattr(Engine, "_run", None)
    assert rows(job, job()) == first


def test_equal_texts_run_once_and_are_stored_each(job, monkeypatch):
    ran = []
    run = Engine._run
    monkeypatch.setattr(
        Engine, "_run", lambda self, batch, *rest: ran.extend(batch) or run(self, batch, *rest)
    )
    stored = rows(job, job(texts=["one text", "another", "one text", "one text"]))
    assert len(ran) == 2
    assert stored[0]["logprobs"] == stored[2]["logprobs"] == stored[3]["logprobs"] != stored[1]["logprobs"]


def test_a_text_that_alone_does_not_fit_is_an_error_that_names_it(job, monkeypatch):
    def no_memory(self, *rest):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")

    monkeypatch.setattr(Engine, "_run", no_memory)
    with pytest.raises(InputError, match=r"tiny/texts: text 't001' .* max_length"):
        job()


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        ({"altered": "lowercas"}, "did you mean 'lowercase'"),
        ({"start_token": "<s"}, "did you mean '<s>'"),
        ({"subsets": ["B"]}, "no subset 'B'"),
        ({"prefix": "member", "draw": 0, "shots": 1}, "'member', draw 0, and the shots are not among"),
        ({"view": "paraphrase"}, "'paraphrase' is a stored table"),
    ],
)
def test_requests_that_cannot_be_answered_say_why(job, requests, says):
    with pytest.raises(InputError, match=says):
        job([request(**requests)])


def test_no_more_than_two_chunks_of_requests_are_alive(job, monkeypatch):
    alive, most = 0, 0
    make = Request.__init__

    def made(self, *arguments):
        nonlocal alive, most
        make(self, *arguments)
        alive += 1
        most = max(most, alive)

    def gone(self):
        nonlocal alive
        alive -= 1

    monkeypatch.setattr(Request, "__init__", made)
    monkeypatch.setattr(Request, "__del__", gone, raising=False)
    manifest = job(texts=[f"text number {number}" for number in range(200)], chunk_tokens=60)
    files = [job.store / stored["file"] for stored in manifest["views"][0]["files"]]
    sizes = [pq.read_metadata(file).num_rows for file in files]
    assert len(files) > 10
    assert (sum(sizes), alive) == (200, 0)
    assert most <= 2 * max(sizes) + 1
