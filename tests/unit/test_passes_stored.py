"""What a job of passes finds in the store: nothing is computed twice, and nothing that is damaged is believed."""

import pytest
from made_up_jobs import TEXTS, benchmark_of, rows, target_of
from made_up_jobs import full_request as request

import tiny_models
from pretrace.models.checkpoint import register_local
from pretrace.models.target import Target
from pretrace.runtime.errors import InputError


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
        return job(*arguments, **changes)["views"][0]["files"][0]["file"]

    usual = key()
    assert key() == key(batch_tokens=32, threads=2) == usual
    reseeded = tiny_models.tiny_model("llama", tmp_path / "reseeded", seed=1)
    register_local(reseeded, tmp_path / "reseeded.json")
    others = [
        key(texts=[*TEXTS[:-1], TEXTS[-1] + "."]),
        key(texts=[*TEXTS[:-2], TEXTS[-1], TEXTS[-2]]),
        key(benchmark=benchmark_of(TEXTS).assign(text_id=list("abcdef"))),
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
    file = job.store / first["views"][0]["files"][0]["file"]
    whole = file.read_bytes()
    for damaged in (whole[:-10], whole[:50] + bytes([whole[50] ^ 1]) + whole[51:], b"", None):
        if damaged is None:
            file.unlink()
        else:
            file.write_bytes(damaged)
        assert job()["views"][0]["files"][0]["sha256"] == first["views"][0]["files"][0]["sha256"]
        assert file.read_bytes() == whole
    file.with_suffix(".json").unlink()
    job()
    assert loaded == [6]


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_reader_of_a_damaged_pass_makes_the_same_command_repair_it(job, damage):
    manifest = job()
    file = job.store / manifest["views"][0]["files"][0]["file"]
    whole = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(whole[:-1])
    with pytest.raises(InputError, match=rf"{file.name} is (damaged|missing).*same command"):
        rows(job, manifest)
    assert not file.exists()
    assert not job.manifest.exists()
    job()
    assert file.read_bytes() == whole
    assert job.manifest.exists()


def test_a_pass_that_the_manifest_lacks_is_an_error(job):
    with pytest.raises(InputError, match="tiny on texts"):
        rows(job, job(), "none")
