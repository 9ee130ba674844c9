"""Seeded mutations of study files and registries: each is refused with its place, or
planned with all that it names.

A traceback, a hang, a message longer than a screen and a method that is missing without
a word fail the test.
"""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_up_studies import CONFIG, ROOT, checkpoint
from spoiling import damaged, limited, refuses, spoiled, tiers

from pretrace.methods import METHODS
from pretrace.runtime.schema import read_yaml
from pretrace.studies import Plan, Study, load_study

VALUES: tuple[Any, ...] = (
    "nope", "MIN_K", "Loss", "smollm2-135m", "sotu_split", "docstrings", "original",
    "{x}", "a\nb", "embedded", "*", "",
    "x" * 300, "x" * 1_000_000, "\0", "../..", "=1", "true", 0, -1, 1e308, 10**30,
    float("nan"), float("inf"), True,
    None, [], {}, [[]], [None], {"x": 1}, {None: 1}, {5: 1}, ["loss", "min_k"],
    ["nope"], [1000000], [32, 32],
)  # fmt: skip


def mine() -> dict[str, Any]:
    """A small study with most keys."""
    run = {"model": "smollm2-135m", "benchmark": "sotu_split"}
    return {
        "study": "mine",
        "title": "Mine",
        "first": ["results_auc"],
        "models": {
            "tiny": {
                "source": "local",
                "path": "tiny",
                "dtype": "float32",
                "resources": {"gpu": 0},
            }
        },
        "benchmarks": {
            "own": {
                "source": "local",
                "path": "texts.jsonl",
                "language": "en",
                "prefix": {"pool": 10, "draws": 2},
            }
        },
        "corpora": {
            "web": {
                "source": "local",
                "path": "texts.jsonl",
                "field": "text",
                "shards": 2,
            }
        },
        "runs": [
            run
            | {
                "id": "all",
                "lengths": [32, 64],
                "references": ["tiny"],
                "corpora": ["docstrings", "web"],
                "methods": [
                    "loss",
                    "ref",
                    {"dc_pdd": {"a": [0.01]}},
                    {"recall": {"shots": [3]}},
                    "min_k",
                ],
            },
            run
            | {
                "views": ["original", "delete-10"],
                "methods": ["loss", {"min_k": {"k": [0.1, 0.2], "window": [1, 2]}}],
            },
            {
                "model": ["tiny", "smollm2-135m"],
                "benchmark": "own",
                "start_token": "none",
                "draws": [0, 1],
            },
            {
                "model": "smollm2-135m",
                "benchmark": "sotu",
                "extraction": {"stride": 2},
                "calibrate_on": "own",
                "methods": ["loss"],
            },
            {
                "model": "smollm2-135m",
                "benchmark": "own",
                "extraction": {"stride": 2},
                "methods": ["loss"],
            },
        ],
        "artifacts": {
            "results_auc": ["all"],
            "results_tpr": {
                "panels": [run | {"length": [32, 64], "references": ["web"]}],
                "methods": ["loss", "ref"],
            },
            "surp_figure4": {
                "panels": [run | {"length": 64}],
                "options": {"x": "k", "y": "window", "method": "min_k"},
            },
        },
    }


BASES = {"mine": mine()} | {
    name: read_yaml(ROOT / "config" / "studies" / f"{name}.yaml") | {"study": "mine"}
    for name in ("embedded", "frontier", "paper")
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    checkpoint(folder / "tiny")
    rows = []
    for n in range(8):
        rows.append({"text": f"text number {n}", "label": n % 2, "document": f"d{n}"})
    (folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = [
        " ".join(f"word{n * place % 97}" for place in range(60)) for n in range(24)
    ]
    works = [{"text": text, "document": f"w{n}"} for n, text in enumerate(words)]
    (folder / "works.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in works)
    )
    known = [f"{text} known,k{n}" for n, text in enumerate(words)]
    (folder / "known.csv").write_text("\n".join(["text,document", *known]))
    return folder


def mutated(study: Any, draw: random.Random) -> Any:
    """A copy with one or two mistakes."""
    for _ in range(draw.randint(1, 2)):
        if isinstance(study, dict) and study:
            study = spoiled(study, draw, VALUES)
    return study


def written_runs(study: Study, text: str) -> list[dict[str, Any]]:
    """The runs of a file that was read, each of one model and benchmark, as they are
    written."""
    runs = []
    for run in yaml.safe_load(text)["runs"]:
        models = run["model"] if isinstance(run["model"], list) else [run["model"]]
        benchmarks = (
            run["benchmark"]
            if isinstance(run["benchmark"], list)
            else [run["benchmark"]]
        )
        for model in models:
            for benchmark in benchmarks:
                runs.append(run | {"model": model, "benchmark": benchmark})
    return [
        run for run in runs if (run["model"], run["benchmark"]) in study.runs_by_pair
    ]


def check_that_no_method_is_lost(study: Study, text: str) -> None:
    """Every method that a run names, or could have by default, is computed or left out
    with a reason.

    A panel names nothing that does not exist: a misspelled reference would leave its
    methods out without a word.
    """
    every = {id for id, method in METHODS.items() if not method.on_request}
    for written in written_runs(study, text):
        runs = study.runs_by_pair[written["model"], written["benchmark"]]
        named = set()
        for item in written.get("methods") or ():
            named.add(item if isinstance(item, str) else next(iter(item)))
        named |= (
            every if "methods" not in written and "extraction" not in written else set()
        )
        computed = set()
        for run in runs:
            for item in run.methods + run.questions:
                computed.add(item.method)
        reasons = set()
        for run in runs:
            reasons.update(run.left_out)
        assert named <= computed | reasons | {"prefix_similarity"}, written
    known = {*study.models.entries, *study.corpora.entries}
    for artifact in study.artifacts.values():
        for panel in artifact.panels if not artifact.unavailable else ():
            unknown = {name for name in panel.references or () if name not in known}
            views = set()
            for run in study.runs:
                views.update((*run.neighbours, run.paraphraser))
            assert unknown <= views, (artifact.slug, panel)


def planned(study: Study) -> None:
    """What the Snakefile asks of a study while it plans."""
    plan = Plan(study)
    for run in study.runs:
        pair = plan.pair(run.model, run.benchmark)
        for parameters in (
            pair.pass_requests,
            pair.answer_requests,
            pair.method_input_files,
        ):
            assert isinstance(parameters, list)
    for artifact in study.artifacts:
        assert isinstance(plan.rendering(artifact).reads, list)
    assert isinstance(plan.records_of_hub, list)


def load(folder: Path, content: bytes) -> str:
    """Read a file; what refuses it, or "" if it loses no method."""
    path = folder / "study.yaml"
    path.write_bytes(content)
    studies: list[Study] = []
    refused = refuses(
        lambda: studies.append(
            load_study(CONFIG | {"study": str(path)}, ROOT / "config")
        )
    )
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


@tiers(10, 150)
@pytest.mark.parametrize("name", BASES)
def test_a_mutated_study_is_refused_or_loses_no_method(folder, name, seeds):
    for seed in seeds:
        with limited(seed) as draw:
            load(folder, text_of(mutated(BASES[name], draw)))


@tiers(10, 150)
def test_a_damaged_file_is_refused_or_loses_no_method(folder, seeds):
    for seed in seeds:
        with limited(seed) as draw:
            load(folder, damaged(text_of(BASES["mine"]), draw))


@tiers(5, 100)
@pytest.mark.parametrize(
    "kind", ["models", "benchmarks", "corpora", "artifacts", "downloads"]
)
def test_a_spoiled_registry_is_refused_or_read(folder, kind, seeds):
    config = folder / "config"
    shutil.copytree(ROOT / "config", config, dirs_exist_ok=True)
    path = config / f"{kind}.yaml"
    good = path.read_bytes()
    written = yaml.safe_load(good)
    study = folder / "study.yaml"
    study.write_bytes(text_of(BASES["embedded"]))
    for seed in seeds:
        with limited(seed) as draw:
            is_cut = draw.randrange(10) == 0
            path.write_bytes(
                damaged(good, draw) if is_cut else text_of(mutated(written, draw))
            )
            before = sorted(folder.rglob("*"))
            read_whole({"study": str(study)}, config)
            assert sorted(folder.rglob("*")) == before, "reading a study writes nothing"
    path.write_bytes(good)


def settings_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Run-wide settings with most keys, of a study and of an audit."""
    server = {"base_url": "http://node7:8000/v1", "endpoint": "completions"}
    of_study = {
        "study": str(folder / "study.yaml"),
        "paths": {"sotu_split": "texts.jsonl"},
        "servers": {"llama-7b": server | {"model": "x", "concurrency": 4}},
        "available": ["smollm2-135m"],
        "only": ["results_auc"],
        "max_parameters": 7e9,
        "max_runtime": 60,
    }
    of_audit = {
        "study": "audit",
        "texts": "works.jsonl",
        "known": "known.csv",
        "model": "tiny",
        "language": "en",
        "unreadable": "stop",
        "whole_works": False,
    }
    return {"study": CONFIG | of_study, "audit": CONFIG | of_audit}


def read_whole(settings: Any, config: Path = ROOT / "config") -> str:
    """Read and plan a study by run-wide settings; what refuses it, or ""."""
    refused = refuses(lambda: planned(load_study(CONFIG | settings, config)))
    assert len(refused) < 6000, refused
    assert max(map(len, refused.split()), default=0) < 400, "nothing long is repeated"
    return refused


@pytest.mark.parametrize("kind", ["study", "audit"])
def test_settings_are_read_before_they_are_mutated(folder, monkeypatch, kind):
    monkeypatch.chdir(folder)
    (folder / "study.yaml").write_bytes(text_of(BASES["mine"]))
    assert read_whole(settings_of(folder)[kind]) == ""


@tiers(15, 150)
@pytest.mark.parametrize("kind", ["study", "audit"])
def test_mutated_settings_are_refused_or_read(folder, monkeypatch, kind, seeds):
    monkeypatch.chdir(folder)
    (folder / "study.yaml").write_bytes(text_of(BASES["mine"]))
    good = settings_of(folder)[kind]
    for seed in seeds:
        with limited(seed) as draw:
            settings = mutated(good, draw)
            if draw.randrange(3) == 0:
                settings[draw.choice([*good])] = draw.choice(VALUES)
            read_whole(settings)


GOOD_STUDY = text_of(BASES["embedded"])


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0", b"- a\n- b\n", b"just words", b"{", b"a: [1,", b"a: &a [*a]",
        b"\xff\xfe", b"study: \x00\n",
        b"study: !!python/object/apply:os.system ['true']", b"%YAML 9.9\n---\nstudy: a",
        b"study: a\nstudy: b\n",
        b"? {a: b}\n: c\n", b"study: a\n\tbad: tab\n", b"[" * 5000,
        b"study: mine\nruns: 5\n", b"study: mine\n",
        b"a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n", b"study: 2026-11-22\nruns: []\n",
        b"--- a\n--- b\n",
        "study: mine".encode("utf-16"), "study: é".encode("latin-1"),
        GOOD_STUDY[: len(GOOD_STUDY) // 2] + b"\n {",
        "study: mine".encode("utf-32"), b"study: .nan\nruns: []\n", b"<<: 5\n",
        b"study: " + b"x" * 1_000_000,
    ],
)  # fmt: skip
def test_what_is_no_study_file_is_refused(folder, content):
    assert load(folder, content)
