"""Jobs with prefixes: what stands before a text, what is dropped, what is stored and what is not run again."""

import os
import time

import made_up_jobs
import numpy as np
import pytest
import torch
from made_up_jobs import NAMES, benchmark_of

import tiny_models
from pretrace import models, passes
from pretrace.passes.engine import Engine
from pretrace.passes.sharing import SharedCache
from pretrace.runtime.errors import InputError

TEXTS = [
    "The state of the union is strong.",
    "In 1934 the Congress",
    "the people of the United States",
    "",
    "A",
]
PROBE = (0, 1, 2, 3, 4)  # the first piece that the comparison with concatenation encodes
POOL = ["A number of texts.", "what the model has seen", "120 members were there", "the union is strong"]


def shots(at):
    """The pool of each kind and draw, whatever the subset and length."""
    texts = POOL[at["draw"] :] + POOL[: at["draw"]]
    return texts if at["prefix"].startswith("nonmember") else [text.upper() for text in texts]


def request(**changes):
    return made_up_jobs.request(**{"prefix": "nonmember", "draw": 0, "shots": 2} | changes)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoint")
    models.register_local(tiny_models.tiny_model("llama", root / "llama"), root / "llama.json")
    return root / "llama.json"


@pytest.fixture
def job(checkpoint, tmp_path):
    """Runs a job in a store of its own; returns the manifest. Keywords replace the job's usual arguments."""

    def run(requests, *, texts=TEXTS, dtype="float32", max_length=None, **changes):
        target = models.load_checkpoint(checkpoint, dtype=dtype, device="cpu", max_length=max_length)
        arguments = {
            "benchmark": benchmark_of(texts),
            "names": NAMES,
            "target": target,
            "store": run.store,
            "manifest": tmp_path / "study.json",
            "batch_tokens": 64,
            "threads": 1,
            "shots": shots,
        }
        return passes.run(requests, **(arguments | changes))

    run.store = tmp_path / "store"
    return run


@pytest.fixture
def tokenizer(checkpoint):
    return models.load_tokenizer(checkpoint)


@pytest.fixture
def encoded(monkeypatch):
    """The leads that were encoded, in order, that of the comparison with concatenation left out."""
    parts_of, make = [], SharedCache.__init__

    def made(self, features, parts):
        if parts[0] != PROBE:
            parts_of.append(parts)
        make(self, features, parts)

    monkeypatch.setattr(SharedCache, "__init__", made)
    return parts_of


def rows(job, manifest, **at):
    usual = {"view": "original", "prefix": "nonmember", "draw": 0, "shots": 2, "start_token": "tokenizer"}
    table = passes.read(manifest, job.store, **(usual | {"subset": "", "length": None} | at))
    return table.to_pylist()


def log_probabilities(checkpoint, before, after):
    """ln p of each token of `after`, where the model reads it behind `before`."""
    model = models.load_checkpoint(checkpoint, dtype="float32", device="cpu").load()
    ids = torch.tensor([[*before, *after]])
    with torch.no_grad():
        logp = model(input_ids=ids).logits[0].double().log_softmax(-1)
    return logp[len(before) - 1 : -1].gather(1, ids[0, len(before) :, None])[:, 0].numpy()


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def test_every_token_of_a_text_is_scored_after_start_token_and_shots(job, checkpoint, tokenizer):
    stored = rows(job, job([request()]))
    before = [1, *ids_of(tokenizer, POOL[0]), *ids_of(tokenizer, POOL[1])]
    for text, row in zip(TEXTS, stored, strict=True):
        own = ids_of(tokenizer, text)
        assert row["token_ids"] == own
        assert (row["n_tokens"], row["shots_used"], row["truncated"]) == (len(own), 2, False)
        np.testing.assert_allclose(row["logprobs"], log_probabilities(checkpoint, before, own), atol=1e-4)
    assert [row["skipped"] for row in stored] == [None, None, None, "no tokens", None]


def test_without_a_start_token_the_first_token_is_scored_all_the_same(job, checkpoint, tokenizer):
    stored = rows(job, job([request(start_token="none")]), start_token="none")
    before = [*ids_of(tokenizer, POOL[0]), *ids_of(tokenizer, POOL[1])]
    for text, row in zip(TEXTS, stored, strict=True):
        expected = log_probabilities(checkpoint, before, ids_of(tokenizer, text))
        np.testing.assert_allclose(row["logprobs"], expected, atol=1e-4)


def test_an_inner_start_token_stands_before_the_text_and_is_scored(job, checkpoint, tokenizer):
    stored = rows(job, job([request(inner_start=True)]), inner_start=True)
    before = [1, *ids_of(tokenizer, POOL[0]), *ids_of(tokenizer, POOL[1])]
    own = [1, *ids_of(tokenizer, TEXTS[0])]
    assert stored[0]["token_ids"] == own
    assert stored[0]["n_tokens"] == len(own) - 1
    np.testing.assert_allclose(stored[0]["logprobs"], log_probabilities(checkpoint, before, own), atol=1e-4)
    assert (stored[3]["skipped"], stored[3]["token_ids"]) == ("no tokens", [])


def test_a_separator_stands_between_shots_alone(job, checkpoint, tokenizer):
    prefix = "nonmember;separator=newline"
    stored = rows(job, job([request(prefix=prefix, shots=3)]), prefix=prefix, shots=3)
    before = [
        1,
        *ids_of(tokenizer, POOL[0]),
        *ids_of(tokenizer, "\n" + POOL[1]),
        *ids_of(tokenizer, "\n" + POOL[2]),
    ]
    expected = log_probabilities(checkpoint, before, ids_of(tokenizer, TEXTS[0]))
    np.testing.assert_allclose(stored[0]["logprobs"], expected, atol=1e-4)


def test_a_start_token_ends_each_shot_and_is_not_scored(job, checkpoint, tokenizer):
    prefix = "nonmember;separator=start_token"
    stored = rows(job, job([request(prefix=prefix, shots=2)]), prefix=prefix, shots=2)
    before = [1, *ids_of(tokenizer, POOL[0]), 1, *ids_of(tokenizer, POOL[1]), 1]
    expected = log_probabilities(checkpoint, before, ids_of(tokenizer, TEXTS[0]))
    np.testing.assert_allclose(stored[0]["logprobs"], expected, atol=1e-4)
    with pytest.raises(InputError, match="the run has none whose id is known here: set start_token"):
        job([request(prefix=prefix, start_token="none")])


def test_log_probabilities_alone_are_stored(job):
    manifest = job([request(statistics="full")])
    assert manifest["views"][0]["statistics"] == "logprobs"
    assert {row["entropies"] for row in rows(job, manifest)} == {None}


def test_fewer_shots_are_the_first_ones_and_the_prefix_is_encoded_once(job, encoded, checkpoint, tokenizer):
    requests = [
        request(prefix=prefix, draw=draw, shots=count)
        for count in (1, 2, 3, 4)
        for prefix in ("member", "nonmember")
        for draw in (0, 1)
    ]
    manifest = job([*requests, request(prefix="", draw=None, shots=None)])
    assert sorted(len(parts) for parts in encoded) == [5, 5, 5, 5]
    assert len(manifest["views"]) == 17
    for count in (1, 4):
        before = [1, *(token for text in POOL[:count] for token in ids_of(tokenizer, text))]
        expected = log_probabilities(checkpoint, before, ids_of(tokenizer, TEXTS[0]))
        np.testing.assert_allclose(rows(job, manifest, shots=count)[0]["logprobs"], expected, atol=1e-4)


def test_a_prefix_too_long_for_the_context_loses_its_first_shots(job, checkpoint, tokenizer, caplog):
    longest = max(len(ids_of(tokenizer, text)) for text in TEXTS)
    last_two = [token for text in POOL[2:] for token in ids_of(tokenizer, text)]
    fits = 1 + len(last_two) + longest
    stored = rows(job, job([request(shots=4)], max_length=fits), shots=4)
    assert {row["shots_used"] for row in stored} == {2}
    assert "2 of 4 shots fit" in caplog.text
    expected = log_probabilities(checkpoint, [1, *last_two], ids_of(tokenizer, TEXTS[0]))
    np.testing.assert_allclose(stored[0]["logprobs"], expected, atol=1e-4)
    assert {
        row["shots_used"] for row in rows(job, job([request(shots=4)], max_length=fits - 1), shots=4)
    } == {1}
    # the start token before the text takes its place too
    inner = rows(job, job([request(shots=4, inner_start=True)], max_length=fits), shots=4, inner_start=True)
    assert {row["shots_used"] for row in inner} == {1}


def test_no_shot_is_left_where_a_text_fills_the_context(job, checkpoint, tokenizer):
    stored = rows(job, job([request(inner_start=True)], max_length=8), inner_start=True)
    assert {row["shots_used"] for row in stored} == {0}
    own = ids_of(tokenizer, TEXTS[0])
    assert (stored[0]["truncated"], stored[0]["token_ids"], stored[0]["n_tokens"]) == (
        True,
        own[:7],
        len(own),
    )
    plain = job([request(prefix="", draw=None, shots=None)], max_length=8)
    alone = rows(job, plain, prefix="", draw=None, shots=None)
    assert stored[0]["logprobs"] == alone[0]["logprobs"]
    assert {row["shots_used"] for row in alone} == {None}


def test_the_store_is_asked_by_the_exact_prefix(job):
    def key(dtype="float32", **changes):
        return job([request(**changes)], dtype=dtype)["views"][0]["file"]

    usual = key()
    others = [
        key(shots=1),
        key(shots=3),
        key(draw=1),
        key(prefix="member"),
        key(prefix="nonmember;separator=space"),
        key(inner_start=True),
        key(start_token="none"),
        key(start_token="</s>"),
        key(prefix="", draw=None, shots=None),
        key(dtype="bfloat16"),
    ]
    assert len({usual, *others}) == 1 + len(others)
    assert job([request()], shots=lambda at: [*shots(at)[:2], "another third"])["views"][0]["file"] == usual
    assert job([request()], shots=lambda at: ["another first", POOL[1]])["views"][0]["file"] != usual
    # the same tokens, cut elsewhere, are encoded in other pieces: below float32 the numbers differ
    cut = [
        job([request()], shots=lambda at, of=of: of)["views"][0]["file"] for of in (["%&", "$"], ["%", "&$"])
    ]
    assert cut[0] != cut[1]


def test_more_shots_run_the_new_cells_alone(job, monkeypatch):
    first = job([request(shots=count) for count in (1, 3)])
    statistics, ran = Engine.statistics, []

    def counted(self, window, lead, **rest):
        ran.append(lead.shots_used)
        return statistics(self, window, lead, **rest)

    monkeypatch.setattr(Engine, "statistics", counted)
    second = job([request(shots=count) for count in (1, 2, 3, 4)])
    assert sorted(ran) == [2, 4]
    kept = {entry["shots"]: entry["sha256"] for entry in second["views"]}
    assert {entry["shots"]: entry["sha256"] for entry in first["views"]} == {
        count: kept[count] for count in (1, 3)
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_cell_has_equal_bytes_whichever_cells_run_with_it(job, tmp_path, dtype):
    alone = job([request()], dtype=dtype)["views"][0]
    beside = job([request(shots=count) for count in (4, 2, 1)], dtype=dtype, store=tmp_path / "other")
    assert next(entry["sha256"] for entry in beside["views"] if entry["shots"] == 2) == alone["sha256"]


def test_shots_that_are_not_there_are_an_error_that_says_so(job):
    with pytest.raises(InputError, match="'nonmember', draw 0, and the shots are not among"):
        job([request()], shots=None)
    with pytest.raises(InputError, match="'nonmember', draw 0 has 4 shots, and a pass asks for 5"):
        job([request(shots=5)])
    with pytest.raises(InputError, match="with None shots"):
        job([request(shots=None)])
    with pytest.raises(InputError, match=r"no prefix 'nonmembers'.*did you mean 'nonmember'"):
        job([request(prefix="nonmembers")])


def test_stored_views_are_what_a_cell_sends(job):
    views = {"paraphrase": {"t000": ["the union is strong"], "t002": ["the people"]}}
    plain = request(prefix="", draw=None, shots=None, view="paraphrase")
    stored = rows(job, job([plain], views=views), view="paraphrase", prefix="", draw=None, shots=None)
    assert [row["text_id"] for row in stored] == ["t000", "t002"]
    with pytest.raises(InputError, match="'paraphrase' is a stored table"):
        job([plain])


def test_what_a_killed_job_left_is_removed_after_a_day(job):
    job.store.mkdir(parents=True)
    old, new = job.store / ".a.parquet.x.part", job.store / ".b.parquet.y.part"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 25 * 3600,) * 2)
    job([request()])
    assert not old.exists()
    assert new.exists()
