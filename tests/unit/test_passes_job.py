"""A job of passes: what is sent and stored, how much memory it takes, what is not
computed twice, what is refused."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from made_up_jobs import TEXTS, benchmark_of, expected_statistics, rows, target_of
from made_up_jobs import full_request as request

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.models.target import Target
from pretrace.models.tokens import load_tokenizer, start_token_ids
from pretrace.passes.cost import gpu_name
from pretrace.passes.engine import Engine
from pretrace.passes.requests import TOKEN_STATISTICS, Request
from pretrace.passes.store import Store
from pretrace.runtime import provenance
from pretrace.runtime.errors import InputError


def stored_file(manifest, altered=""):
    """The name and digest of the one file that a pass left."""
    (view,) = (entry for entry in manifest["views"] if entry["altered"] == altered)
    (file,) = view["files"]
    return file


@pytest.mark.parametrize("kind", tiny_models.KINDS)
@pytest.mark.parametrize("start_token", ["none", "<|endoftext|>", "tokenizer"])
def test_stored_statistics_are_those_of_one_text_at_a_time(
    job, tiny_checkpoint, tiny_model, kind, start_token
):
    tokenizer = load_tokenizer(tiny_checkpoint(kind))
    start = list(start_token_ids(tokenizer, start_token))
    manifest = job([request(start_token=start_token)], kind=kind)
    stored = rows(job, manifest, start_token)
    for number, (text, row) in enumerate(zip(TEXTS, stored, strict=True)):
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert row["text_id"] == f"t{number:03d}"
        assert row["n_tokens"] == len(tokens)
        assert row["token_ids"] == (tokens if start else tokens[1:])
        statistics = [row[name] for name in TOKEN_STATISTICS["full"]]
        expected = expected_statistics(tiny_model(kind), start, tokens)[:5]
        np.testing.assert_allclose(statistics, expected, atol=1e-4)


def test_texts_beyond_the_context_are_cut_and_marked(job):
    long = "the people of the union " * 60
    # Without a start token the first token has no log-probability; with one, it takes
    # a place of the context.
    scored = tiny_models.CONTEXT - 1
    for start_token in ("none", "<s>"):
        manifest = job([request(start_token=start_token)], texts=[long, "short"])
        entry = manifest["views"][0]
        first, second = rows(job, manifest, start_token)
        assert first["truncated"]
        assert first["n_tokens"] > tiny_models.CONTEXT
        assert len(first["token_ids"]) == scored
        assert not second["truncated"]
        assert entry["truncated"] == 1
        assert entry["texts"] == 2


def test_texts_with_nothing_to_score_are_kept_with_the_reason(job):
    manifest = job([request(start_token="none")], texts=["", "A", "A b"])
    empty, single, scored = rows(job, manifest, "none")
    assert empty["skipped"] == "no tokens"
    assert empty["logprobs"] == []
    assert empty["n_tokens"] == 0
    assert single["skipped"] == "one token and no start token"
    assert single["token_ids"] == []
    assert scored["skipped"] is None
    assert manifest["views"][0]["skipped"] == 2
    assert rows(job, job(texts=["A"]))[0]["skipped"] is None


def test_views_of_log_probabilities_have_null_columns_for_the_rest(job):
    manifest = job([request(altered="lowercase", statistics="logprobs")])
    lower = rows(job, manifest, altered="lowercase")
    for name in set(TOKEN_STATISTICS["top40"]) - {"logprobs"}:
        assert {row[name] for row in lower} == {None}
    full = rows(job, job(texts=[text.lower() for text in TEXTS]))
    assert lower[0]["logprobs"] == pytest.approx(full[0]["logprobs"], abs=1e-5)


def test_each_subset_and_length_is_a_cell_of_its_own(job):
    short = benchmark_of(TEXTS[:2], 32, "b")
    long = benchmark_of(TEXTS[2:4], 64, "a")
    benchmark = pd.concat([short, long])
    benchmark["text_id"] = list("dcba")
    manifest = job([request(lengths=[64]), request(subsets=["b"])], benchmark=benchmark)
    cells = [(entry["subset"], entry["length"]) for entry in manifest["views"]]
    assert cells == [("a", 64), ("b", 32)]
    of_b = rows(job, manifest, subset="b", length=32)
    assert [row["text_id"] for row in of_b] == ["c", "d"]
    with pytest.raises(InputError, match="no length '128'"):
        job([request(lengths=[128])], benchmark=benchmark)


def test_a_request_for_less_is_answered_by_one_for_more(job):
    manifest = job([request(), request(statistics="logprobs"), request()])
    assert [entry["statistics"] for entry in manifest["views"]] == ["full"]
    assert {row["top40"] for row in rows(job, manifest)} == {None}


def test_a_pass_that_lacks_a_number_is_read_again_and_no_other_is(job):
    lower = request(altered="lowercase", statistics="logprobs")
    first = job([request(), lower])
    again = job([request(), request(statistics="top40"), lower])
    assert stored_file(again, "lowercase") == stored_file(first, "lowercase")
    assert stored_file(again) != stored_file(first)
    for row in rows(job, again):
        for own, highest, rank, top in zip(
            row["logprobs"], row["highest"], row["ranks"], row["top40"], strict=True
        ):
            assert own <= highest <= top <= 1e-6
            assert (rank == 0) == (own == pytest.approx(highest, abs=1e-6))


def test_a_pass_that_another_job_stores_meanwhile_is_not_run(job, monkeypatch):
    """Two benchmarks with the same texts start at once: neither finds the pass, then
    one of them stores it."""
    first = rows(job, job())
    record = Store.record
    keys = []

    def late(self, key):
        keys.append(key)
        return record(self, key) if len(keys) > 1 else None

    monkeypatch.setattr(Store, "record", late)
    monkeypatch.setattr(Engine, "_run", None)
    assert rows(job, job()) == first


def test_equal_texts_run_once_and_are_stored_each(job, monkeypatch):
    ran = []
    run = Engine._run

    def watched(self, batch, *rest):
        ran.extend(batch)
        return run(self, batch, *rest)

    monkeypatch.setattr(Engine, "_run", watched)
    stored = rows(job, job(texts=["one text", "another", "one text", "one text"]))
    assert len(ran) == 2
    first, another, third, fourth = (row["logprobs"] for row in stored)
    assert first == third == fourth
    assert first != another


def test_a_text_that_alone_does_not_fit_is_an_error_that_names_it(job, monkeypatch):
    message = (
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
    )

    def no_memory(self, *rest):
        raise RuntimeError(message)

    monkeypatch.setattr(Engine, "_run", no_memory)
    with pytest.raises(InputError, match=r"tiny/texts: text 't001' .* max_length"):
        job()


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        ({"altered": "lowercas"}, "did you mean 'lowercase'"),
        ({"start_token": "<s"}, "did you mean '<s>'"),
        ({"subsets": ["B"]}, "no subset 'B'"),
        (
            {"prefix": "member", "draw": 0, "shots": 1},
            "'member', draw 0, and the shots are not among",
        ),
        ({"view": "paraphrase"}, "'paraphrase' is a stored table"),
    ],
)
def test_requests_that_cannot_be_answered_say_why(job, requests, says):
    with pytest.raises(InputError, match=says):
        job([request(**requests)])


def test_no_more_than_two_chunks_of_requests_are_alive(job, monkeypatch):
    alive = 0
    most = 0
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
    texts = [f"text number {number}" for number in range(200)]
    manifest = job(texts=texts, chunk_tokens=60)
    sizes = []
    for stored in manifest["views"][0]["files"]:
        sizes.append(pq.read_metadata(job.store / stored["file"]).num_rows)
    assert len(sizes) > 10
    assert sum(sizes) == 200
    assert alive == 0
    assert most <= 2 * max(sizes) + 1


@pytest.fixture
def loaded(monkeypatch):
    """The number of times that weights were loaded, in a list of one."""
    count = [0]
    load = Target.load

    def counted(self):
        count[0] += 1
        return load(self)

    monkeypatch.setattr(Target, "load", counted)
    return count


def test_the_store_is_asked_by_everything_that_the_numbers_depend_on(job, tmp_path):
    def key(*arguments, **changes):
        return stored_file(job(*arguments, **changes))["file"]

    usual = key()
    assert key() == usual
    assert key(batch_tokens=32, threads=2) == usual
    reseeded = tiny_models.tiny_model("llama", tmp_path / "reseeded", seed=1)
    register_local(reseeded, tmp_path / "reseeded.json")
    *first, fifth, sixth = TEXTS
    renamed = benchmark_of(TEXTS).assign(text_id=list("abcdef"))
    others = [
        key(texts=[*first, fifth, sixth + "."]),
        key(texts=[*first, sixth, fifth]),
        key(benchmark=renamed),
        key([request(start_token="none")]),
        key([request(start_token="</s>")]),
        key([request(statistics="logprobs")]),
        key(max_length=10),
        key(target=target_of(tmp_path / "reseeded.json")),
        key(dtype="bfloat16"),
        key(dtype="bfloat16", batch_tokens=32),
        key(dtype="bfloat16", threads=2),
    ]
    assert len({usual, *others}) == 1 + len(others)
    assert key([request(start_token="<s>")]) == usual  # the same tokens by another name


def test_weights_are_not_loaded_when_all_is_stored(job, loaded):
    first = job()
    assert loaded == [1]
    assert job() == first
    assert loaded == [1]
    job([request(), request(altered="lowercase", statistics="logprobs")])
    assert loaded == [2]


def test_a_damaged_stored_pass_or_one_without_a_record_is_computed_again(job, loaded):
    first = job()
    file = job.store / stored_file(first)["file"]
    whole = file.read_bytes()
    with_another_byte = whole[:50] + bytes([whole[50] ^ 1]) + whole[51:]
    for damaged in (whole[:-10], with_another_byte, b"", None):
        file.unlink()
        if damaged is not None:
            file.write_bytes(damaged)
        assert stored_file(job()) == stored_file(first)
        assert file.read_bytes() == whole
    file.with_suffix(".json").unlink()
    job()
    assert loaded == [6]


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_reader_of_a_damaged_pass_makes_the_same_command_repair_it(job, damage):
    manifest = job()
    file = job.store / stored_file(manifest)["file"]
    whole = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(whole[:-1])
    says = rf"{file.name} is (damaged|missing).*same command"
    with pytest.raises(InputError, match=says):
        rows(job, manifest)
    assert not file.exists()
    assert not job.manifest.exists()
    job()
    assert file.read_bytes() == whole
    assert job.manifest.exists()


def test_a_pass_that_the_manifest_lacks_is_an_error(job):
    with pytest.raises(InputError, match="tiny on texts"):
        rows(job, job(), "none")


@pytest.fixture
def manifest(job):
    """Of a pass over one text that ran on the CPU."""
    return job(texts=["one two"])


def listed_passes(manifest, changes):
    """What is told of passes that are the manifest's but for each of the changes."""
    (view,) = manifest["views"]
    views = [view | changed for changed in changes]
    (listed,) = provenance.passes([manifest | {"views": views}])
    return listed


def test_a_pass_on_the_cpu_names_no_gpu(manifest):
    (view,) = manifest["views"]
    assert view["gpu"] is None
    (listed,) = provenance.passes([manifest])
    assert listed["device"] == "cpu"
    assert listed["gpu"] == ""
    assert listed["texts"] == 1


def test_a_pass_names_the_gpu_that_computed_it(monkeypatch):
    monkeypatch.setattr(
        torch.cuda, "get_device_name", lambda device: f"the GPU of {device}"
    )
    assert gpu_name("cuda:1") == "the GPU of cuda:1"
    assert gpu_name("cpu") is None
    assert gpu_name("api") is None


def test_shots_that_do_not_fit_are_said_by_length_and_number(manifest):
    changes = []
    for words, shots, fit in (
        (64, 7, 1),
        (64, 7, 3),
        (32, 7, 7),
        (128, 1, 0),
        (32, None, None),
    ):
        changes.append({"length": words, "shots": shots, "shots_used": fit})
    assert listed_passes(manifest, changes)["remarks"] == [
        "128 words: 0 of 1 shots fit into the model's context, so methods with 1 shots "
        "have a dash",
        "64 words: 1 of 7 shots fit into the model's context, so methods with 7 shots "
        "are marked",
    ]


def test_a_text_that_is_read_past_the_context_is_one_text_and_not_truncated(job):
    texts = ["the people of the union " * 60, "short", "of the people " * 70]
    cut = request(start_token="none")
    stretches = request(past_context=True, start_token="none")
    after_token = request(start_token="<s>")
    cases = {
        "cut": [cut],
        "read on": [cut, stretches],
        "read on without the start token alone": [cut, stretches, after_token],
    }
    counts = {}
    for name, requests in cases.items():
        (listed,) = provenance.passes([job(requests, texts=texts)])
        counts[name] = listed["texts"], listed["truncated"]
    assert counts == {
        "cut": (3, 2),
        "read on": (3, 0),
        "read on without the start token alone": (6, 2),
    }


def test_every_gpu_of_a_model_is_listed_once(manifest):
    gpus = [{"gpu": gpu} for gpu in ("H200", "H100", None, "H100")]
    assert listed_passes(manifest, gpus)["gpu"] == "H100, H200"
    del manifest["views"][0]["gpu"]  # a record of an older version
    assert listed_passes(manifest, [{}])["gpu"] == ""
