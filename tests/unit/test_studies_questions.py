"""Runs that ask questions: who can answer, what calibrates, and which artifacts they
get."""

import pytest
from made_up_studies import load_written, study

from pretrace.studies import Plan

RUN = {"model": "chatgpt", "benchmark": "books"}
DELTAS = {"A": 0.1, "B": -0.1, "C": 0.0, "D": 0.0}


@pytest.fixture
def load(tmp_path):
    (tmp_path / "answers.csv").write_text("document,label\n")
    own = {
        "models": {"chatgpt": {"source": "answers", "path": "answers.csv"}},
        "benchmarks": {"books": {"source": "answers"}, "others": {"source": "answers"}},
        "runs": [RUN],
    }
    return lambda **keys: load_written(tmp_path, study(**own | keys))


def asked(run):
    return [item.method for item in run.questions]


def test_answers_are_asked_everything_and_scored_by_no_method_of_texts(load):
    loaded = load()
    (run,) = loaded.runs
    assert asked(run) == [
        "de_cop",
        "completion",
        "name_cloze",
        "longest_option",
        "odd_one_out",
    ]
    assert run.methods == []
    assert run.paraphraser is None
    assert [pair.slugs for pair in Plan(loaded).reading_pairs] == []
    assert [pair.slugs for pair in Plan(loaded).asking_pairs] == [("chatgpt", "books")]
    assert Plan(loaded).pair("chatgpt", "books").paraphrasers == []


def test_controls_stand_beside_de_cop_alone(load):
    run = load(runs=[RUN | {"methods": ["de_cop"]}]).runs[0]
    assert asked(run)[1:] == ["longest_option", "odd_one_out"]
    assert asked(load(runs=[RUN | {"methods": ["completion"]}]).runs[0]) == [
        "completion"
    ]


def test_an_unavailable_artifact_is_no_target(load):
    loaded = load(
        artifacts={
            "de_cop_table1": {},
            "de_cop_figure4": {"unavailable": "one size"},
            "de_cop_figure7": {},
        }
    )
    assert Plan(loaded).artifacts_of("figure") == []
    assert Plan(loaded).artifacts_of("table") == ["de_cop_table1"]
    assert loaded.artifacts["de_cop_figure4"].unavailable == "one size"


def test_given_deltas_and_another_benchmark_reach_the_plan(load):
    runs = [
        RUN | {"calibration": DELTAS, "calibrate_on": "others"},
        RUN | {"benchmark": "others"},
    ]
    loaded = load(runs=runs)
    assert Plan(loaded).pair("chatgpt", "books").deltas == DELTAS
    assert Plan(loaded).pair("chatgpt", "books").held.benchmark_slug == "others"
    assert Plan(loaded).pair("chatgpt", "others").deltas is None
