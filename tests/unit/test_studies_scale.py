"""What a study of many pairs asks of each stage, against a plain walk over all of its runs."""

from pathlib import Path

import pytest
import yaml

from pretrace.methods import METHODS
from pretrace.studies import load_study, plan

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
MODELS, BENCHMARKS = range(40), range(25)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """1,000 pairs of two runs each; every third model is read as a reference on the even benchmarks."""
    folder = tmp_path_factory.mktemp("many")
    for model in MODELS:
        (folder / f"m{model}").mkdir()
    for benchmark in BENCHMARKS:
        (folder / f"b{benchmark}.jsonl").write_text('{"input": "a", "label": 1}\n', encoding="utf-8")
    runs = []
    for model in MODELS:
        for benchmark in BENCHMARKS:
            pair = {"model": f"m{model}", "benchmark": f"b{benchmark}", "start_token": "none"}
            referred = {"references": ["null"], "methods": ["ref"]} if benchmark % 2 == 0 else {}
            runs += [pair | {"methods": ["loss"]} | referred, pair | {"lengths": [8], "methods": ["min_k"]}]
    study = {
        "study": "many",
        "models": {f"m{model}": {"source": "local", "path": f"m{model}"} for model in MODELS}
        | {"null": {"source": "local", "path": "m0"}},
        "benchmarks": {
            f"b{at}": {"source": "local", "path": f"b{at}.jsonl", "lengths": [8]} for at in BENCHMARKS
        },
        "runs": runs,
        "artifacts": ["results_auc", "selection_gap"],
    }
    path = folder / "many.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    return load_study(CONFIG | {"study": str(path)}, ROOT / "config")


def test_every_pair_has_its_own_runs_and_no_other(many):
    assert len(plan.pairs(many)) == 1000
    for model, benchmark in plan.pairs(many)[::17]:
        plain = [run for run in many.runs if run.model == model and run.benchmark == benchmark]
        assert plan.runs_of(many, model, benchmark) == plain
        assert len(plain) == 2
    assert plan.runs_of(many, "null", "b0") == []


def test_passes_are_asked_of_whoever_reads_a_benchmark(many):
    readers = {
        (model, run.benchmark)
        for run in many.runs
        if any(METHODS[item["method"]].scope == "text" for item in run.methods)
        for model in (run.model, *run.references)
    }
    assert plan.pass_pairs(many) == sorted(readers)
    assert ("null", "b1") not in readers
    assert [one["statistics"] for one in plan.pass_requests(many, "null", "b2")] == ["logprobs"]
    assert [(one["statistics"], one["lengths"]) for one in plan.pass_requests(many, "m7", "b2")] == [
        ("full", None),
        ("full", [8]),
    ]


def test_panels_stand_once_in_the_order_of_the_runs(many):
    plain = []
    for run in many.runs:
        cells = [{"length": length} for length in run.lengths] if run.lengths else [{}]
        plain += [{"model": run.model, "benchmark": run.benchmark} | cell for cell in cells]
    shown = many.artifacts["results_auc"]["panels"]
    kept = [{key: panel[key] for key in panel if key not in ("start_token", "references")} for panel in shown]
    assert kept == plain
    assert {tuple(panel["references"]) for panel in shown} == {("null",), ()}
    assert plan.cells_shown(many, "m3", "b3") == [[None, 8], [None, None]]


def test_two_studies_keep_their_look_ups_apart(many, tmp_path):
    path = tmp_path / "other.yaml"
    path.write_text(
        yaml.safe_dump({"study": "other", "runs": [{"model": "smollm2-135m", "benchmark": "sotu"}]}),
        encoding="utf-8",
    )
    other = load_study(CONFIG | {"study": str(path)}, ROOT / "config")
    assert plan.pairs(other) == [("smollm2-135m", "sotu")]
    assert len(plan.pairs(many)) == 1000
