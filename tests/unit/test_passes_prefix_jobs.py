"""Jobs with prefixes: what stands before a text, what is dropped, what is stored and
what is not run again."""

import os
import time

import made_up_jobs
import numpy as np
import pytest
from made_up_jobs import expected_statistics, rows

from pretrace.benchmarks.subsets_and_lengths import Slice
from pretrace.models.tokens import load_tokenizer
from pretrace.passes.index import PassIndex
from pretrace.passes.prompt_prefix import NO_SHOT
from pretrace.passes.sharing import SharedCache
from pretrace.runtime.errors import InputError
from pretrace.views.readings import PassKey

TEXTS = [
    "The state of the union is strong.",
    "In 1934 the Congress",
    "the people of the United States",
    "",
    "A",
]
# the first piece that the comparison with concatenation encodes
PROBE = (0, 1, 2, 3, 4)
POOL = [
    "A number of texts.",
    "what the model has seen",
    "120 members were there",
    "the union is strong",
]
NO_PREFIX = {"prefix": "", "draw": None, "shots": None}


def shots(key):
    """The pool of each kind and draw, whatever the subset and length."""
    shots = key.reading.shots
    texts = POOL[shots.draw :] + POOL[: shots.draw]
    return (
        texts if shots.prefix.kind == "nonmember" else [text.upper() for text in texts]
    )


def request(**changes):
    return made_up_jobs.request(
        **{"prefix": "nonmember", "draw": 0, "shots": 2} | changes
    )


@pytest.fixture
def job(job):
    """Runs a job whose prefixes are made of the pool's texts."""

    def run(requests, **changes):
        return job(requests, **({"texts": TEXTS, "shots": shots} | changes))

    run.store = job.store
    return run


def stored(job, *, max_length=None, **changes):
    prefixed = request(**changes)
    manifest = job([prefixed], max_length=max_length)
    return (
        PassIndex(manifest, job.store)
        .read(PassKey(prefixed.reading, Slice("", None)))
        .to_pylist()
    )


@pytest.fixture
def ids_of(tiny_checkpoint):
    """Gives the token ids of pieces of text, each tokenised apart."""
    tokenizer = load_tokenizer(tiny_checkpoint("llama"))
    return lambda *pieces: [
        id
        for text in pieces
        for id in tokenizer(
            text, add_special_tokens=False, split_special_tokens=text != "<s>"
        )["input_ids"]
    ]


@pytest.fixture
def encoded(monkeypatch):
    """The leads that were encoded, in order, that of the comparison with concatenation
    left out."""
    parts_of = []
    make = SharedCache.__init__

    def made(self, features, parts):
        if parts[0] != PROBE:
            parts_of.append(parts)
        make(self, features, parts)

    monkeypatch.setattr(SharedCache, "__init__", made)
    return parts_of


@pytest.mark.parametrize(
    ("changes", "before", "inner"),
    [
        ({"shots": 1}, ["<s>", POOL[0]], ""),
        ({"statistics": "full"}, ["<s>", *POOL[:2]], ""),
        ({"start_token": "none"}, POOL[:2], ""),
        ({"inner_start": True}, ["<s>", *POOL[:2]], "<s>"),
        (
            {"prefix": "nonmember;separator=newline"},
            ["<s>", POOL[0], "\n" + POOL[1]],
            "",
        ),
        (
            {"prefix": "nonmember;separator=start_token"},
            ["<s>", POOL[0], "<s>", POOL[1], "<s>"],
            "",
        ),
    ],
)
def test_every_token_of_a_text_is_scored_after_what_stands_before_it(
    job, tiny_model, ids_of, changes, before, inner
):
    for text, row in zip(TEXTS, stored(job, **changes), strict=True):
        own = ids_of(inner, text) if text else []
        assert row["token_ids"] == own
        assert (row["n_tokens"], row["truncated"]) == (len(ids_of(text)), False)
        assert row["skipped"] == (None if text else "no tokens")
        assert row["entropies"] is None
        assert row["shots_used"] == changes.get("shots", 2)
        expected = expected_statistics(tiny_model("llama"), ids_of(*before), own)[0]
        np.testing.assert_allclose(row["logprobs"], expected, atol=1e-4)


def test_fewer_shots_are_the_first_ones_and_the_prefix_is_encoded_once(
    job, encoded, tiny_model, ids_of
):
    requests = []
    for count in (1, 2, 3, 4):
        for prefix in ("member", "nonmember"):
            for draw in (0, 1):
                requests.append(request(prefix=prefix, draw=draw, shots=count))
    manifest = job([*requests, request(**NO_PREFIX)])
    assert sorted(len(parts) for parts in encoded) == [5, 5, 5, 5]
    assert len(manifest["views"]) == 17
    assert [entry["prefix_way"] for entry in manifest["views"]] == [None] + [
        "keys and values"
    ] * 16
    for count in (1, 4):
        expected = expected_statistics(
            tiny_model("llama"), ids_of("<s>", *POOL[:count]), ids_of(TEXTS[0])
        )[0]
        first, *_ = rows(job, manifest, prefix="nonmember", draw=0, shots=count)
        np.testing.assert_allclose(first["logprobs"], expected, atol=1e-4)


def test_a_prefix_too_long_for_the_context_loses_its_first_shots(
    job, tiny_model, ids_of, caplog
):
    last_two = ids_of("<s>", *POOL[2:])
    fits = len(last_two) + max(len(ids_of(text)) for text in TEXTS)
    rows = stored(job, shots=4, max_length=fits)
    assert {row["shots_used"] for row in rows} == {2}
    assert "2 of 4 shots fit" in caplog.text
    expected = expected_statistics(tiny_model("llama"), last_two, ids_of(TEXTS[0]))[0]
    np.testing.assert_allclose(rows[0]["logprobs"], expected, atol=1e-4)
    assert {row["shots_used"] for row in stored(job, shots=4, max_length=fits - 1)} == {
        1
    }
    # the start token before the text takes its place too
    inner = stored(job, shots=4, inner_start=True, max_length=fits)
    assert {row["shots_used"] for row in inner} == {1}


def test_texts_that_leave_no_room_for_a_shot_are_not_read_and_counted_as_skipped(job):
    manifest = job([request(), request(**NO_PREFIX)], max_length=8)
    counts = {
        row["prefix"]: (row["shots_used"], row["skipped"]) for row in manifest["views"]
    }
    assert counts == {"nonmember": (0, len(TEXTS)), "": (None, 1)}
    read = rows(job, manifest, prefix="nonmember", draw=0, shots=2)
    assert [row["skipped"] for row in read] == [
        NO_SHOT,
        NO_SHOT,
        NO_SHOT,
        "no tokens",
        NO_SHOT,
    ]
    for row in read:
        assert not row["token_ids"]


def test_the_store_is_asked_by_the_exact_prefix(job):
    """What else a key depends on is tested in test_passes_keys.py."""

    def key(drawn):
        return job([request()], shots=lambda _: drawn)["views"][0]["files"][0]["file"]

    usual = key(POOL)
    assert key([*POOL[:2], "another third"]) == usual
    assert key(["another first", POOL[1]]) != usual
    # the same tokens, cut elsewhere, are encoded in other pieces: below float32 the
    # numbers differ
    assert key(["%&", "$"]) != key(["%", "&$"])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_cell_has_equal_bytes_whichever_cells_run_with_it(job, tmp_path, dtype):
    alone = job([request()], dtype=dtype)["views"][0]
    beside = job(
        [request(shots=count) for count in (4, 2, 1)],
        dtype=dtype,
        store=tmp_path / "other",
    )
    assert (
        next(
            entry["files"][0]["sha256"]
            for entry in beside["views"]
            if entry["shots"] == 2
        )
        == alone["files"][0]["sha256"]
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"prefix": "nonmembers"}, "no prefix 'nonmembers'.*did you mean 'nonmember'"),
        (
            {"prefix": "nonmember;separator=start_token", "start_token": "none"},
            "the run has none: set start_token",
        ),
    ],
)
def test_shots_that_are_not_there_are_an_error_that_says_so(job, changes, says):
    with pytest.raises(InputError, match=says):
        job([request(**changes)])


def test_what_a_killed_job_left_is_removed_after_a_day(job):
    job.store.mkdir(parents=True)
    old = job.store / ".a.parquet.x.part"
    new = job.store / ".b.parquet.y.part"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 25 * 3600,) * 2)
    job([request()])
    assert not old.exists()
    assert new.exists()
