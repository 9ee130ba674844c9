"""What a study file says, resolved: defaults, passes, shots, calibration;
test_studies_refused.py has mistakes."""

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_up_studies import CONFIG, ROOT, RUN, load_written, study
from made_up_studies import checkpoint as made_up_checkpoint

from pretrace.methods import METHODS
from pretrace.runtime.names import SHARED_FOLDERS
from pretrace.studies import Plan, load_study, workflow

SHOTS = RUN | {"benchmark": "sotu_shots"}


@pytest.fixture
def load(tmp_path):
    return lambda given, **config: load_written(tmp_path, given, **config)


@pytest.fixture
def checkpoint(tmp_path):
    return made_up_checkpoint(tmp_path / "tiny")


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (ROOT / "config" / "studies").glob("*.yaml"))
)
def test_what_is_asked_of_each_pair_is_what_a_plain_walk_over_the_runs_finds(
    name, tmp_path
):
    (tmp_path / "texts.jsonl").write_text(
        '{"text": "one", "label": null}\n{"text": "two", "label": 0}\n'
    )
    audited = (
        {"texts": str(tmp_path / "texts.jsonl"), "model": "smollm2-135m"}
        if name == "audit"
        else {}
    )
    loaded = load_study(CONFIG | {"study": name} | audited, ROOT / "config")
    assert loaded.artifacts
    expected = sorted({(run.model, run.benchmark) for run in loaded.runs})
    assert [pair.slugs for pair in Plan(loaded).pairs] == expected
    for model, benchmark in [pair.slugs for pair in Plan(loaded).pairs]:
        own = []
        for run in loaded.runs:
            if (run.model, run.benchmark) == (model, benchmark):
                own.append(run)
        assert Plan(loaded).pair(model, benchmark).runs == own
    reading = []
    for run in loaded.runs:
        if any(METHODS[item.method].scope == "text" for item in run.methods):
            reading.append(run)
    readers = set()
    for run in reading:
        for model in (run.model, *run.references):
            readers.add((model, run.benchmark))
    readers |= {(run.model, run.benchmark) for run in loaded.runs if run.extraction}
    assert [pair.slugs for pair in Plan(loaded).reading_pairs] == sorted(readers)


def test_defaults_of_a_run_are_filled_in(load):
    (run,) = load(study(runs=[SHOTS])).runs
    assert run.start_token == "tokenizer"
    assert run.views == ["original"]
    assert run.lengths is None
    assert run.draws == [0, *range(3, 7)]
    methods = {item.method for item in run.methods}
    assert {"loss", "zlib", "lowercase", "min_k", "blind"} <= methods
    assert not methods & {"dc_pdd", "ref"}, (
        "without a corpus or a reference model these have no row"
    )


def test_inline_entries_are_named_apart_in_the_shared_stages(load, checkpoint):
    own = {"tiny": {"source": "local", "path": checkpoint}}
    loaded = load(study(models=own, runs=[RUN | {"model": "tiny"}]))
    assert loaded.models.shared["tiny"] == "mine~tiny"
    assert loaded.models.shared["smollm2-135m"] == "smollm2-135m"
    assert Path(loaded.models.entries["tiny"].path).is_dir(), (
        "paths are relative to the study file"
    )


def test_altered_views_are_read_only_where_a_method_needs_them(load):
    runs = [
        RUN | {"methods": ["loss"]},
        RUN | {"methods": ["lowercase"], "lengths": [32]},
    ]
    loaded = load(study(runs=runs))
    assert [item.method for item in loaded.runs[0].methods] == ["loss", "blind"], (
        "a control always stands beside"
    )
    requests = Plan(loaded).pair("smollm2-135m", "sotu").requests
    assert [
        request.statistics for request in requests if not request.reading.altered
    ] == ["full", "full"]
    lowered = [
        request for request in requests if request.reading.altered == "lowercase"
    ]
    assert [request.lengths for request in lowered] == [(32,)]
    assert {request.statistics for request in lowered} == {"logprobs"}


def test_a_reference_model_reads_the_benchmark_of_its_run(load, checkpoint):
    models = {"tiny": {"source": "local", "path": checkpoint}}
    loaded = load(
        study(models=models, runs=[RUN | {"references": ["tiny"], "methods": ["ref"]}])
    )
    assert [pair.slugs for pair in Plan(loaded).reading_pairs] == [
        ("smollm2-135m", "sotu"),
        ("tiny", "sotu"),
    ]
    (request,) = Plan(loaded).pair("tiny", "sotu").requests
    assert request.statistics == "logprobs"


def test_no_study_is_called_as_a_folder_that_studies_share():
    files = [*(ROOT / "workflow").rglob("*.smk"), *(ROOT / "src").rglob("*.py")]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    shared = set(re.findall(r"""results/([a-z]+)[/"']""", code))
    assert sorted(shared) == list(SHARED_FOLDERS)


def test_yaml_merge_keys_work(load):
    text = (
        "study: mine\nruns:\n  - &first {model: smollm2-135m, benchmark: sotu}\n  - "
        "{<<: *first, lengths: [32]}\n"
    )
    assert [run.lengths for run in load(text).runs] == [None, [32]]


def test_openings_are_completed_at_the_lengths_of_the_texts(load, tmp_path):
    (tmp_path / "texts.jsonl").write_text(
        '{"input": "a b", "label": 1}\n', encoding="utf-8"
    )
    own = {
        "mine": {
            "source": "local",
            "path": "texts.jsonl",
            "lengths": [2],
            "prefix": {"pool": 7},
        }
    }
    run = {
        "model": "smollm2-135m",
        "benchmark": "mine",
        "methods": [{"con_recall": {"access": "zero"}}],
    }
    loaded = load(study(benchmarks=own, runs=[run]))
    assert Plan(loaded).pair("smollm2-135m", "mine").completed_lengths == [2]


def test_prefix_passes_are_asked_for_by_kind_and_shots(load):
    runs = [SHOTS | {"lengths": [32], "methods": [{"con_recall": {"shots": [3, 7]}}]}]
    loaded = load(study(runs=runs))
    requests = Plan(loaded).pair("smollm2-135m", "sotu_shots").requests
    shots = [request.reading.shots for request in requests if request.reading.shots]
    prefixed = {(each.prefix.name, each.count, each.draw) for each in shots}
    # the first draw, and the four of the placebos behind three draws in all
    draws = (0, *range(3, 7))
    assert prefixed == set(product(("member", "nonmember"), (3, 7), draws))
    controls = [
        item for item in loaded.runs[0].methods if item.method == "prefix_similarity"
    ]
    assert [item.parameters for item in controls] == [{"shots": 7}]


def test_unlabelled_texts_are_calibrated_on_a_benchmark_that_the_same_model_reads(load):
    run = RUN | {"calibrate_on": "sotu_temporal", "methods": ["loss"]}
    loaded = load(
        study(runs=[run, run | {"benchmark": "sotu_temporal"}], artifacts=["audit"])
    )
    assert (
        Plan(loaded).pair("smollm2-135m", "sotu").held.benchmark_slug == "sotu_temporal"
    )
    assert not Plan(loaded).needs_classes("sotu"), "an audit needs no members"


def test_a_configuration_with_a_study_alone_has_the_values_that_are_shipped(
    tmp_path, capsys
):
    """As a workflow that uses this one as a module may have it; rules ask for every key
    by its name."""
    given = {"study": CONFIG["study"]}
    assert (
        load_study(given, ROOT / "config").settings
        == load_study(CONFIG, ROOT / "config").settings
    )
    workflow.fill_defaults(given)
    assert (
        given.items()
        >= {
            key: value for key, value in CONFIG.items() if value not in ({}, [])
        }.items()
    )


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (3, 3), (4, 3)])
def test_a_run_ends_with_its_first_warnings_and_says_where_more_are(
    tmp_path, monkeypatch, capsys, count, shown
):
    monkeypatch.chdir(tmp_path)
    log = Path("results/mine/logs/a.log")
    headline = Path("results/mine/headline.txt")
    log.parent.mkdir(parents=True)
    lines = []
    for number in (*range(count), 0):
        lines.append(f"2026-01-01 00:00:00,000 WARNING text {number} was cut")
    log.write_text("\n".join(lines))
    headline.write_text("found\n")
    workflow.print_conclusion(SimpleNamespace(study=SimpleNamespace(name="mine")))
    said = capsys.readouterr().out
    assert [f"warning: text {number} was cut" in said for number in range(count)] == [
        number < shown for number in range(count)
    ]
    assert ("different warnings" in said) == (count > 3)
