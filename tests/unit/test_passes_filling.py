"""A job that fills the store for several benchmarks of a model, and the jobs of its
pairs, which then find everything there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_jobs import TEXTS, benchmark_of, request

from pretrace.models.target import Target, load_checkpoint
from pretrace.passes import job
from pretrace.passes.drafts import finish_filled
from pretrace.passes.filling import fill_pairs, pass_requests, read_inputs
from pretrace.passes.store import Store
from pretrace.runtime.files import read_json, write_json, write_parquet
from pretrace.runtime.identity import (
    Identities,
    Job,
    identity_now,
    identity_to_be,
    mark_outputs,
)

STORE = Path("results/passes/store")
MANIFEST = "results/passes/tiny/{}/study.json"
SETTINGS = {"device": "cpu"}
LOADING = {"device": "cpu", "dtype": "float32"}
NAMES = {"study": "study", "model": "tiny"}


def plan(code, inputs, output):
    """The identity file of a job, as planning writes it; what it makes is `output`."""
    Identities().plan(Job(code, SETTINGS, inputs, [output]))
    return f"results/identity/{output.removeprefix('results/').rpartition('.')[0]}.json"


def made(output):
    """A benchmark's table that its job has marked."""
    file = plan("built", [], output)
    mark_outputs(identity_now(file, SETTINGS), [output])
    return output


@pytest.fixture
def pairs(tiny_checkpoint, tmp_path, monkeypatch):
    """Three benchmarks of a model, planned and built, and what a job takes of them."""
    monkeypatch.chdir(tmp_path)
    pairs = []
    for name, texts in (("a", TEXTS), ("b", TEXTS[:3]), ("c", TEXTS[3:])):
        table = f"results/benchmarks/{name}.parquet"
        write_parquet(table, benchmark_of(texts))
        manifest = MANIFEST.format(name)
        plan("read", [made(table)], manifest)
        inputs = {"benchmark": table, "prefixes": [], "completions": [], "views": []}
        pair = {"benchmark": name, "manifest": manifest, "note": manifest}
        requests = [request(statistics="full").to_json()]
        pairs.append(pair | {"read": [table], "requests": requests, "inputs": inputs})
    return pairs


@pytest.fixture
def loaded(monkeypatch):
    """How often weights were loaded."""
    calls = []
    load = Target.load
    monkeypatch.setattr(
        Target, "load", lambda target: calls.append(target) or load(target)
    )
    return calls


@pytest.fixture
def fill(tiny_checkpoint, pairs):
    def run(**changes):
        options = {"store": STORE, "batch_tokens": 64, "threads": 1} | changes
        return fill_pairs(
            pairs,
            checkpoint=tiny_checkpoint("llama"),
            loading=LOADING,
            names=NAMES,
            **options,
        )

    return run


def refuse(pair):
    """A request that the texts cannot answer."""
    pair["requests"] = [request(view="synonym_by_smollm2-135m-10").to_json()]


def lack(pair):
    Path(pair["inputs"]["benchmark"]).unlink()


def plan_anew(pair):
    """The table is going to be built again."""
    plan("built otherwise", [], pair["inputs"]["benchmark"])


def plan_no_passes(pair):
    for file in Path("results/identity/passes").rglob(f"{pair['benchmark']}/*.json"):
        file.unlink()


def test_a_model_is_loaded_once_and_each_pair_has_the_bytes_of_a_job_of_its_own(
    fill, pairs, loaded, tiny_checkpoint
):
    assert set(fill().values()) == {"filled"}
    assert len(loaded) == 1
    filled = {path.name: path.read_bytes() for path in STORE.glob("*.parquet")}
    for pair in pairs:
        manifest = pair["manifest"]
        assert finish_filled(manifest, SETTINGS, STORE)
        alone = job.run(
            pass_requests(pair["requests"]),
            **read_inputs(**pair["inputs"]),
            names=NAMES | {"benchmark": pair["benchmark"]},
            target=load_checkpoint(tiny_checkpoint("llama"), **LOADING),
            store=Path("alone"),
            manifest=Path("alone.json"),
            batch_tokens=64,
            threads=1,
        )
        kept = read_json(manifest)
        assert kept.keys() == alone.keys()
        files = [file for view in kept["views"] for file in view["files"]]
        assert files == [file for view in alone["views"] for file in view["files"]]
    for path in Path("alone").glob("*.parquet"):
        assert filled.pop(path.name) == path.read_bytes()
    assert not filled
    assert not [*Path("results").rglob("*.draft.json")]


@pytest.mark.parametrize("spoil", [refuse, lack, plan_anew, plan_no_passes])
def test_a_benchmark_that_cannot_be_read_keeps_no_other_from_its_passes(
    fill, pairs, spoil
):
    spoil(pairs[1])
    outcomes = fill()
    assert outcomes["a"] == outcomes["c"] == "filled"
    assert "left to its own job" in outcomes["b"]
    assert not finish_filled(pairs[1]["manifest"], SETTINGS, STORE)


def test_a_benchmark_that_becomes_ready_meanwhile_is_read(fill, pairs, monkeypatch):
    table = pairs[0]["inputs"]["benchmark"]
    away = Path("away.parquet")
    Path(table).rename(away)
    compute = job._compute

    def compute_and_build(*arguments):
        if away.exists():
            away.rename(table)
        return compute(*arguments)

    monkeypatch.setattr(job, "_compute", compute_and_build)
    assert set(fill().values()) == {"filled"}


def change_texts(pair):
    write_parquet(pair["inputs"]["benchmark"], benchmark_of(["other texts"]))


def lose_a_chunk(pair):
    for row in read_json(pair["manifest"].replace(".json", ".draft.json"))["draft"][
        "views"
    ]:
        Store(STORE).file(row["chunks"][0]).unlink()


def plan_other_requests(pair):
    plan("read otherwise", [pair["inputs"]["benchmark"]], pair["manifest"])


@pytest.mark.parametrize("change", [change_texts, lose_a_chunk, plan_other_requests])
def test_a_pair_reads_itself_what_was_not_filled_for_exactly_it(fill, pairs, change):
    fill()
    change(pairs[0])
    assert not finish_filled(pairs[0]["manifest"], SETTINGS, STORE)
    assert not finish_filled(pairs[1]["manifest"], {"device": "cuda"}, STORE)
    assert finish_filled(pairs[2]["manifest"], SETTINGS, STORE)


def test_what_was_read_is_not_read_again_and_needs_no_torch(fill, pairs, loaded):
    fill()
    loaded.clear()
    assert set(fill().values()) == {"read before"}
    first = pairs[0]["manifest"]
    finish_filled(first, SETTINGS, STORE)
    identity = identity_to_be(first)
    plan("read", [pairs[0]["inputs"]["benchmark"]], first)
    mark_outputs(identity, [first])
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from pretrace.passes.drafts import finish_filled\n"
        "from pretrace.passes.filling import fill_pairs\n"
        "pairs, names, manifest = json.loads(sys.argv[1])\n"
        "store = Path('results/passes/store')\n"
        "print(fill_pairs(pairs, checkpoint=Path('none'), loading={}, names=names,\n"
        "      store=store, batch_tokens=64, threads=1))\n"
        "print(finish_filled(manifest, {'device': 'cpu'}, store))\n"
        "print({'torch', 'transformers', 'pandas'} & {*sys.modules})\n"
    )
    given = json.dumps([pairs, NAMES, pairs[1]["manifest"]])
    printed = subprocess.run(
        [sys.executable, "-c", code, given], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert printed[0].count("read before") == 3
    assert printed[1:] == ["True", "set()"]
    assert not loaded


def test_a_note_of_a_damaged_draft_is_no_draft(fill, pairs):
    fill()
    write_json(pairs[0]["manifest"].replace(".json", ".draft.json"), {"of": 1})
    assert not finish_filled(pairs[0]["manifest"], SETTINGS, STORE)
