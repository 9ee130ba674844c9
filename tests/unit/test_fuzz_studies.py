"""Seeded mutations of study files: each is refused with file and place, or planned with every method that it names.

A traceback, a hang, a message longer than a screen and a method that is missing without a word fail the test.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up_studies import CONFIG, ROOT, checkpoint
from spoiling import damaged, refuses, spoiled
from test_bad_input import planned
from test_fuzz_inputs import limited

from pretrace.methods import METHODS
from pretrace.studies import Study, load_study

tiers = pytest.mark.parametrize(
    "seeds", [range(10), pytest.param(range(10, 150), marks=pytest.mark.full)], ids=["few", "many"]
)

VALUES: tuple[Any, ...] = (
    "nope", "MIN_K", "Loss", "smollm2-135m", "sotu_split", "docstrings", "original", "{x}", "a\nb", "embedded", "*", "",
    "x" * 300, "x" * 1_000_000, "\0", "../..", "=1", "true", 0, -1, 1e308, 10**30, float("nan"), float("inf"), True,
    None, [], {}, [[]], [None], {"x": 1}, {None: 1}, {5: 1}, ["loss", "min_k"], ["nope"], [1000000], [32, 32],
)  # fmt: skip


def mine() -> dict[str, Any]:
    """A small study with most keys."""
    run = {"model": "smollm2-135m", "benchmark": "sotu_split"}
    return {
        "study": "mine",
        "title": "Mine",
        "first": ["results_auc"],
        "models": {"tiny": {"source": "local", "path": "tiny", "dtype": "float32", "resources": {"gpu": 0}}},
        "benchmarks": {
            "own": {"source": "local", "path": "texts.jsonl", "language": "en", "prefix": {"pool": 10, "draws": 2}}
        },
        "corpora": {"web": {"source": "local", "path": "texts.jsonl", "field": "text", "shards": 2}},
        "runs": [
            run | {"id": "all", "lengths": [32, 64], "references": ["tiny"], "corpora": ["docstrings", "web"],
                   "methods": ["loss", "ref", {"dc_pdd": {"a": [0.01]}}, {"recall": {"shots": [3]}}, "min_k"]},
            run | {"views": ["original", "delete-10"],
                   "methods": ["loss", {"min_k": {"k": [0.1, 0.2], "window": [1, 2]}}]},
            {"model": ["tiny", "smollm2-135m"], "benchmark": "own", "start_token": "none", "draws": [0, 1]},
            {"model": "smollm2-135m", "benchmark": "sotu", "extraction": {"prefix": 50}, "calibrate_on": "own",
             "methods": ["loss"]},
            {"model": "smollm2-135m", "benchmark": "own", "extraction": {"prefix": 50}, "methods": ["loss"]},
        ],
        "artifacts": {
            "results_auc": ["all"],
            "results_tpr": {"panels": [run | {"length": [32, 64], "references": ["web"]}], "methods": ["loss", "ref"]},
            "surp_figure4": {"panels": [run | {"length": 64}], "options": {"x": "k", "y": "window", "method": "min_k"}},
        },
    }  # fmt: skip


BASES = {"mine": mine()} | {
    name: yaml.safe_load((ROOT / "config" / "studies" / f"{name}.yaml").read_text()) | {"study": "mine"}
    for name in ("embedded", "frontier", "paper")
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    checkpoint(folder / "tiny")
    rows = [{"text": f"text number {n}", "label": n % 2, "document": f"d{n}"} for n in range(8)]
    (folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def mutated(study: Any, draw: random.Random) -> Any:
    """A copy with one or two mistakes."""
    for _ in range(draw.randint(1, 2)):
        if isinstance(study, dict) and study:
            study = spoiled(study, draw, VALUES)
    return study


def written_runs(study: Study, text: str) -> list[dict[str, Any]]:
    """The runs of a file that was read, each of one model and benchmark, as they are written."""
    runs = []
    for run in yaml.safe_load(text)["runs"]:
        models, benchmarks = (
            run[key] if isinstance(run[key], list) else [run[key]] for key in ("model", "benchmark")
        )
        runs += [
            run | {"model": model, "benchmark": benchmark} for model in models for benchmark in benchmarks
        ]
    return [run for run in runs if (run["model"], run["benchmark"]) in study.runs_by_pair]


def check_that_no_method_is_lost(study: Study, text: str) -> None:
    """Every method that a run names, or could have by default, is computed or left out with a reason.

    A panel names nothing that does not exist: a misspelled reference would leave its methods out without a word.
    """
    every = {id for id, method in METHODS.items() if not method.on_request}
    for written in written_runs(study, text):
        runs = study.runs_by_pair[written["model"], written["benchmark"]]
        named = {item if isinstance(item, str) else next(iter(item)) for item in written.get("methods") or ()}
        named |= every if "methods" not in written and "extraction" not in written else set()
        computed = {item.method for run in runs for item in run.methods + run.questions}
        reasons = {id for run in runs for id in run.left_out}
        assert named <= computed | reasons | {"prefix_similarity"}, written
    known = {*study.models.entries, *study.corpora.entries}
    for artifact in study.artifacts.values():
        for panel in artifact.panels if artifact.unavailable is None else ():
            unknown = {name for name in panel.references or () if name not in known}
            views = {
                view for run in study.runs for view in (*run.neighbours, *run.continuations, run.paraphraser)
            }
            assert unknown <= views, (artifact.artifact, panel)


def load(folder: Path, content: bytes) -> str:
    """Read a file; what refuses it, or "" if it loses no method."""
    path = folder / "study.yaml"
    path.write_bytes(content)
    studies: list[Study] = []
    refused = refuses(lambda: studies.append(load_study(CONFIG | {"study": str(path)}, ROOT / "config")))
    if not refused:
        refused = refuses(lambda: planned(studies[0]))
        assert not refused, f"what was read cannot be planned: {refused}"
        check_that_no_method_is_lost(studies[0], content.decode())
        return ""
    assert "study.yaml" in refused or "config" in refused, refused
    assert len(refused) < 6000, refused
    assert max(map(len, refused.split())) < 400, "nothing long is repeated"
    return refused


def text_of(study: Any) -> bytes:
    return yaml.safe_dump(study, sort_keys=False).encode()


@pytest.mark.parametrize("name", BASES)
def test_a_study_is_read_before_it_is_mutated(folder, name):
    assert load(folder, text_of(BASES[name])) == ""


@tiers
@pytest.mark.parametrize("name", BASES)
def test_a_mutated_study_is_refused_or_loses_no_method(folder, name, seeds):
    for seed in seeds:
        with limited(seed) as draw:
            load(folder, text_of(mutated(BASES[name], draw)))


@tiers
def test_a_damaged_file_is_refused_or_loses_no_method(folder, seeds):
    for seed in seeds:
        with limited(seed) as draw:
            load(folder, damaged(text_of(BASES["mine"]), draw))
