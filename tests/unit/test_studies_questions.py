"""Runs that ask questions: who can answer, what calibrates, and which artifacts they get."""

from contextlib import suppress
from pathlib import Path

import pytest
from made_up_studies import checkpoint, load_written, study

from pretrace.runtime.left import share_left, work_left
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
    assert asked(run) == ["de_cop", "completion", "name_cloze", "longest_option", "odd_one_out"]
    assert run.methods == []
    assert run.paraphraser is None
    assert [pair.slugs for pair in Plan(loaded).reading_pairs] == []
    assert [pair.slugs for pair in Plan(loaded).asking_pairs] == [("chatgpt", "books")]
    assert Plan(loaded).pair("chatgpt", "books").paraphrasers == []


def test_controls_stand_beside_de_cop_alone(load):
    assert asked(load(runs=[RUN | {"methods": ["de_cop"]}]).runs[0])[1:] == ["longest_option", "odd_one_out"]
    assert asked(load(runs=[RUN | {"methods": ["completion"]}]).runs[0]) == ["completion"]


def test_an_unavailable_artifact_is_no_target(load):
    loaded = load(
        artifacts={"de_cop_table1": {}, "de_cop_figure4": {"unavailable": "one size"}, "de_cop_figure7": {}}
    )
    assert Plan(loaded).artifacts_of("figure") == []
    assert Plan(loaded).artifacts_of("table") == ["de_cop_table1"]
    assert loaded.artifacts["de_cop_figure4"].unavailable == "one size"


def test_given_deltas_and_another_benchmark_reach_the_plan(load):
    runs = [RUN | {"calibration": DELTAS, "calibrate_on": "others"}, RUN | {"benchmark": "others"}]
    loaded = load(runs=runs)
    assert Plan(loaded).pair("chatgpt", "books").deltas == DELTAS
    assert Plan(loaded).pair("chatgpt", "books").held.benchmark_slug == "others"
    assert Plan(loaded).pair("chatgpt", "others").deltas is None


@pytest.mark.parametrize("stage", ["passes", "answers"])
@pytest.mark.parametrize(
    ("runtime", "jobs", "left", "share", "minutes"),
    [
        (600, 1, None, "", [600, 1200, 1440]),
        (600, 1, 0.5, "", [300, 600, 900]),
        (600, 1, 0.01, "", [30, 60, 90]),  # a model has to be loaded
        (2760, 1, None, "", [1440, 1440, 1440]),
        (2760, 1, 0.25, "", [690, 1380, 1440]),
        (10, 1, 0.1, "", [10, 20, 30]),
        (600, 4, None, "2of4", [600, 1200, 1440]),
        (600, 4, 0.5, "2of4", [300, 600, 900]),
        (600, 4, None, "", [30, 60, 90]),  # everything is stored
    ],
)
def test_a_job_asks_for_the_time_that_is_left_and_for_no_more_than_the_limit(
    tmp_path, monkeypatch, stage, runtime, jobs, left, share, minutes
):
    run = {"model": "mine", "benchmark": "sotu_questions", "paraphraser": "substitution_by_smollm2-135m-10"}
    model = {"source": "local", "path": checkpoint(tmp_path / "model")}
    model["resources"] = {"runtime": runtime, "jobs": jobs}
    loaded = load_written(tmp_path, study(runs=[run], models={"mine": model}))
    monkeypatch.chdir(tmp_path)
    pair = Plan(loaded).pair("mine", "sotu_questions")
    shares = {"passes": pair.shares, "answers": pair.answer_shares}[stage]
    assert len(shares) == (jobs if jobs > 1 else 0)
    whole = {"passes": pair.passes, "answers": pair.answers}[stage]
    output = Path(shares[int(share[0]) - 1] if share else whole)
    if left is not None:
        with suppress(KeyboardInterrupt), work_left(output) as note_left:
            note_left(left)
            raise KeyboardInterrupt
    assert [pair.minutes(stage, share, attempt) for attempt in (1, 2, 3)] == minutes
    with work_left(output) as note_left:  # a job that ends well leaves nothing to do
        note_left(0.7)
    assert share_left(output) == 1
