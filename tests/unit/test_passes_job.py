"""A job of passes: what is sent, what is stored, what is not computed twice, and what ends it."""

import made_up_jobs
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from made_up_jobs import NAMES, benchmark_of

import tiny_models
from pretrace import models, passes
from pretrace.passes.engine import Engine
from pretrace.passes.requests import Request
from pretrace.runtime.errors import InputError

TEXTS = [
    "The state of the union is strong.",
    "In 1934 the Congress received this message; 120 members were there.",
    "def mean(values):\n    return sum(values) / len(values)\n",
    "多语言 and 🙂 emoji",
    "A",
    "the people of the United States",
]


def request(**changes):
    return made_up_jobs.request(**{"statistics": "full"} | changes)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    for kind in tiny_models.KINDS:
        models.register_local(tiny_models.tiny_model(kind, root / kind), root / f"{kind}.json")
    return {kind: root / f"{kind}.json" for kind in tiny_models.KINDS}


@pytest.fixture
def job(checkpoints, tmp_path):
    """Runs a job in a store of its own; returns the manifest. Keywords replace the job's usual arguments."""

    def run(requests=None, *, kind="llama", texts=TEXTS, dtype="float32", target=None, **changes):
        arguments = {
            "benchmark": benchmark_of(texts),
            "names": NAMES,
            "target": target or models.load_checkpoint(checkpoints[kind], dtype=dtype, device="cpu"),
            "store": tmp_path / "passes" / "store",
            "manifest": tmp_path / "passes" / "tiny" / "texts" / "study.json",
            "batch_tokens": 64,
            "threads": 1,
        }
        return passes.run(requests or [request()], **(arguments | changes))

    run.store = tmp_path / "passes" / "store"
    run.manifest = tmp_path / "passes" / "tiny" / "texts" / "study.json"
    return run


def rows(job, manifest, start_token="tokenizer", **at):
    table = passes.read(
        manifest,
        job.store,
        start_token=start_token,
        **({"view": "original", "subset": "", "length": None} | at),
    )
    return table.to_pylist()


@pytest.fixture
def loaded(monkeypatch):
    """The number of times that weights were loaded, in a list of one."""
    count = [0]
    load = models.Target.load

    def counted(self):
        count[0] += 1
        return load(self)

    monkeypatch.setattr(models.Target, "load", counted)
    return count


@pytest.mark.parametrize("kind", tiny_models.KINDS)
def test_stored_statistics_are_those_of_one_text_at_a_time(job, checkpoints, kind):
    target = models.load_checkpoint(checkpoints[kind], dtype="float32", device="cpu")
    stored = rows(job, job(kind=kind))
    model = target.load()
    assert [row["text_id"] for row in stored] == [f"t{number:03d}" for number in range(len(TEXTS))]
    for text, row in zip(TEXTS, stored, strict=True):
        ids = target.tokenizer(text)["input_ids"]  # with what this tokenizer prepends by itself
        assert row["token_ids"] == ids[1:]
        logp = model(torch.tensor([ids])).logits[0].float().log_softmax(-1)[:-1]
        expected = logp[torch.arange(len(ids) - 1), ids[1:]].detach().numpy()
        np.testing.assert_allclose(row["logprobs"], expected, atol=1e-4)
        np.testing.assert_allclose(row["entropies"], -(logp.exp() * logp).sum(-1).detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("kind", tiny_models.KINDS)
@pytest.mark.parametrize("start_token", ["none", "<|endoftext|>", "tokenizer"])
def test_a_start_token_gives_the_first_token_a_value_and_has_none_itself(job, kind, start_token):
    stored = rows(job, job([request(start_token=start_token)], kind=kind, texts=TEXTS[:2]), start_token)
    without = start_token == "none" or (start_token == "tokenizer" and not tiny_models.STARTS[kind])
    for row in stored:
        scored = row["n_tokens"] - 1 if without else row["n_tokens"]
        assert len(row["token_ids"]) == len(row["logprobs"]) == len(row["variances"]) == scored


def test_texts_beyond_the_context_are_cut_and_marked(job):
    long, entry = "the people of the union " * 60, None
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
    manifest = job([request(companion="lowercase", statistics="logprobs")])
    lower = rows(job, manifest, companion="lowercase")
    assert {row["entropies"] for row in lower} == {row["variances"] for row in lower} == {None}
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
    with pytest.raises(InputError, match="no subset 'B'"):
        job([request(subsets=["B"])], benchmark=benchmark)


def test_a_request_for_less_is_answered_by_one_for_more(job):
    manifest = job([request(), request(statistics="logprobs"), request()])
    assert [entry["statistics"] for entry in manifest["views"]] == ["full"]


def test_equal_texts_run_once_and_are_stored_each(job, monkeypatch):
    ran = []
    attempt = Engine._attempt
    monkeypatch.setattr(
        Engine, "_attempt", lambda self, batch, *rest: ran.extend(batch) or attempt(self, batch, *rest)
    )
    stored = rows(job, job(texts=["one text", "another", "one text", "one text"]))
    assert len(ran) == 2
    assert stored[0]["logprobs"] == stored[2]["logprobs"] == stored[3]["logprobs"] != stored[1]["logprobs"]


def test_out_of_memory_halves_the_budget_and_goes_on(job, monkeypatch):
    usual = rows(job, job())
    run = Engine._run

    def short_of_memory(self, batch, *rest):
        if sum(len(one.tokens) for one in batch) > 40:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run(self, batch, *rest)

    monkeypatch.setattr(Engine, "_run", short_of_memory)
    manifest = job(batch_tokens=10_000, store=job.store / "other")
    table = passes.read(
        manifest, job.store / "other", view="original", start_token="tokenizer", subset="", length=None
    )
    assert 1 < manifest["views"][0]["batch_tokens"] < 150
    for one, other in zip(usual, table.to_pylist(), strict=True):
        np.testing.assert_allclose(one["logprobs"], other["logprobs"], atol=1e-4)


def test_a_text_that_alone_does_not_fit_is_an_error_that_names_it(job, monkeypatch):
    def no_memory(self, *rest):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")

    monkeypatch.setattr(Engine, "_run", no_memory)
    with pytest.raises(InputError, match=r"tiny/texts: text 't001' .* max_length"):
        job()


def test_no_more_than_a_window_of_requests_is_alive(job, monkeypatch):
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
    manifest = job(texts=[f"text number {number}" for number in range(23)], window=5)
    assert (most, alive) == (5, 0)
    file = pq.ParquetFile(job.store / manifest["views"][0]["file"])
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [5, 5, 5, 5, 3]
    assert len({row["text_id"] for row in rows(job, manifest)}) == 23


def test_the_store_is_asked_by_everything_that_the_numbers_depend_on(job, checkpoints, tmp_path):
    def key(*arguments, **changes):
        return job(*arguments, **changes)["views"][0]["file"]

    usual = key()
    assert key() == key(batch_tokens=32, threads=2) == usual
    reseeded = tiny_models.tiny_model("llama", tmp_path / "reseeded", seed=1)
    models.register_local(reseeded, tmp_path / "reseeded.json")
    others = [
        key(texts=[*TEXTS[:-1], TEXTS[-1] + "."]),
        key(texts=[*TEXTS[:-2], TEXTS[-1], TEXTS[-2]]),
        key([request(start_token="none")]),
        key([request(start_token="</s>")]),
        key([request(statistics="logprobs")]),
        key(
            target=models.load_checkpoint(checkpoints["llama"], dtype="float32", device="cpu", max_length=10)
        ),
        key(target=models.load_checkpoint(tmp_path / "reseeded.json", dtype="float32", device="cpu")),
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
    job([request(), request(companion="lowercase", statistics="logprobs")])
    assert loaded == [2]


def test_equal_jobs_give_equal_bytes(job, tmp_path):
    file = job.store / job()["views"][0]["file"]
    other = tmp_path / "elsewhere"
    assert (other / job(store=other)["views"][0]["file"]).read_bytes() == file.read_bytes()


def test_a_job_that_failed_midway_goes_on_where_it_stopped(job, monkeypatch):
    requests = [request(companion="lowercase", statistics="logprobs"), request(), request(start_token="none")]
    statistics, cells = Engine.statistics, []

    def failing(self, window, start, **rest):
        cells.append(start)
        if len(cells) == 3:
            raise KeyboardInterrupt
        return statistics(self, window, start, **rest)

    monkeypatch.setattr(Engine, "statistics", failing)
    with pytest.raises(KeyboardInterrupt):
        job(requests)
    assert not job.manifest.exists()
    assert len(list(job.store.glob("*.parquet"))) == 2
    assert not list(job.store.glob(".*"))
    manifest = job(requests)
    assert len(cells) == 4
    assert len({entry["file"] for entry in manifest["views"]}) == 3


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_that_give_no_number_end_the_job_and_store_nothing(job, tmp_path, dtype):
    path = tiny_models.tiny_model("llama", tmp_path / "broken")
    target = models.load_checkpoint(_with_nan(path, tmp_path), dtype=dtype, device="cpu")
    with pytest.raises(
        InputError, match=r"tiny/texts gives .* not a number for text 't00\d'.*dtype: float32"
    ):
        job(target=target)
    assert not job.manifest.exists()
    assert not list(job.store.glob("*"))


def _with_nan(path, tmp_path):
    from safetensors.torch import load_file, save_file

    weights = load_file(path / "model.safetensors")
    weights["model.layers.1.mlp.down_proj.weight"][0, 0] = float("nan")
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    models.register_local(path, tmp_path / "broken.json")
    return tmp_path / "broken.json"


def test_a_damaged_stored_pass_is_computed_again(job, loaded):
    first = job()
    file = job.store / first["views"][0]["file"]
    whole = file.read_bytes()
    for damaged in (whole[:-10], whole[:50] + bytes([whole[50] ^ 1]) + whole[51:], b"", None):
        if damaged is None:
            file.unlink()
        else:
            file.write_bytes(damaged)
        assert job()["views"][0]["sha256"] == first["views"][0]["sha256"]
        assert file.read_bytes() == whole
    assert loaded == [5]


def test_a_file_whose_record_was_never_written_is_not_trusted(job, loaded):
    file = job.store / job()["views"][0]["file"]
    file.with_suffix(".json").unlink()
    job()
    assert loaded == [2]


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_reader_of_a_damaged_pass_makes_the_same_command_repair_it(job, damage):
    manifest = job()
    file = job.store / manifest["views"][0]["file"]
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


def test_requests_that_cannot_be_answered_name_the_nearest(job):
    with pytest.raises(InputError, match="did you mean 'lowercase'"):
        job([request(companion="lowercas")])
    with pytest.raises(InputError, match="did you mean '<s>'"):
        job([request(start_token="<s")])
    with pytest.raises(InputError, match="prefix 'member', draw 0, and the shots are not among"):
        job([request(prefix="member", draw=0, shots=1)])
