"""The minutes that jobs of passes and answers ask a scheduler for: those of what is
left to do."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from made_up_studies import checkpoint, load_written, study

from pretrace.runtime.files import content_of, write_json
from pretrace.runtime.work_left import work_left
from pretrace.studies import Plan
from pretrace.studies.job_minutes import minutes_of, share_left, whole_minutes

BENCHMARK = "results/benchmarks/sotu_questions.parquet"
CHECKPOINT = "results/models/mine/checkpoint.json"
RUN = {
    "model": "mine",
    "benchmark": "sotu_questions",
    "paraphraser": "substitution_by_smollm2-135m-10",
}
DE_COP_20 = 24 * (64 * 20 * 1.35 + 120)
DE_COP_100 = 24 * (64 * 100 * 1.35 + 120)
"""Tokens of the questions about the 24 passages of each length."""


@pytest.fixture
def pair_of(tmp_path, monkeypatch):
    """Return the function that gives the model on the benchmark, of runs with these
    keys."""
    monkeypatch.chdir(tmp_path)
    content_of.cache_clear()  # files of the same names, in other folders
    path = checkpoint(tmp_path / "model")
    for file in (BENCHMARK, CHECKPOINT):
        write_json(file, {})

    def pair(*runs, parameters=None, settings=None, **resources):
        model = {"source": "local", "path": path, "resources": resources}
        if parameters:
            model["parameters"] = parameters
        written = study(runs=[RUN | run for run in runs], models={"mine": model})
        loaded = load_written(tmp_path, written, **(settings or {}))
        return Plan(loaded).pair("mine", "sotu_questions")

    return pair


def work(pair, stage, left, share=""):
    """A job of a stage, killed when this share of its work is left, or at its end if
    nothing is."""
    requests = pair.pass_requests if stage == "passes" else pair.answer_requests
    output = pair.output(stage, share)
    with (
        suppress(KeyboardInterrupt),
        work_left(output, requests, [BENCHMARK, CHECKPOINT]) as note,
    ):
        note(left)
        if left:
            raise KeyboardInterrupt


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
    pair_of, stage, runtime, jobs, left, share, minutes
):
    pair = pair_of({}, runtime=runtime, jobs=jobs)
    assert len(pair.shares_of(stage)) == (jobs if jobs > 1 else 0)
    if left is not None:
        work(pair, stage, left, share)
    for attempt, expected in enumerate(minutes, start=1):
        assert minutes_of(pair, stage, share, attempt) == expected


@pytest.mark.parametrize(
    ("parameters", "resources", "settings", "minutes"),
    [
        (7e12, {"gpu": 2}, {}, 154),
        (7e12, {"gpu": 2, "jobs": 3}, {}, 72),
        (7e12, {"gpu": 2, "runtime": 500}, {}, 500),
        (7e12, {}, {}, 240),
        (7e12, {"gpu": 2}, {"device": "cpu"}, 240),
        (None, {"gpu": 2}, {}, 240),
    ],
)
def test_a_model_on_gpus_asks_for_twice_the_estimate(
    pair_of, parameters, resources, settings, minutes
):
    # 4 passages of each length, 42,432 tokens: 61.9 minutes at 160e12 operations a second
    pair = pair_of(
        {"methods": ["de_cop"]}, parameters=parameters, settings=settings, **resources
    )
    assert whole_minutes(pair, "answers") == minutes


LENGTH_20 = {"lengths": [20]}
LENGTH_100 = {"lengths": [100]}
ADDED = [
    ("answers", LENGTH_20 | {"methods": ["de_cop"]}, {"methods": ["de_cop"]},
     DE_COP_100 / (DE_COP_20 + DE_COP_100)),
    ("answers", {"methods": ["de_cop"]}, LENGTH_20 | {"methods": ["de_cop"]}, 0),
    # 24 questions of 2 x 32 tokens and their wording beside 24 of DE-COP
    ("answers", LENGTH_100 | {"methods": ["de_cop"]},
     LENGTH_100 | {"methods": ["de_cop", {"completion": {"k": [32]}}]},
     24 * 184 / (DE_COP_100 + 24 * 184)),
    # the text in lower case is as long as the text, and 100 words are five times 20
    ("passes", {"methods": ["loss"]}, {"methods": ["loss", "lowercase"]}, 1 / 2),
    ("passes", LENGTH_20 | {"methods": ["loss"]}, {"methods": ["loss"]}, 5 / 6),
    ("passes", {"methods": ["loss"]}, {"methods": ["zlib"]}, 0),
]  # fmt: skip
"""A stage, what a finished run of it was asked, what is asked now, and the share of
this that is left."""


@pytest.mark.parametrize(("stage", "before", "now", "new"), ADDED)
@pytest.mark.parametrize(("jobs", "share"), [(1, ""), (3, "2of3")])
@pytest.mark.parametrize("left", [0, 0.25])
def test_what_is_added_to_a_study_is_left_to_do(
    pair_of, stage, before, now, new, jobs, share, left
):
    work(pair_of(before, jobs=jobs), stage, left, share)
    measured = share_left(pair_of(now, jobs=jobs), stage, share)
    assert measured == pytest.approx(new + (1 - new) * left, abs=1e-3)


def change_texts():
    write_json(BENCHMARK, {"another": "text"})


def change_weights():
    write_json(CHECKPOINT, {"another": "checkpoint"})


def write_notes(content):
    for note in Path("results").rglob("*.left"):
        note.write_text(content, encoding="utf-8")


NOTES = [
    '{"left": 0.5',
    '{"left": 0.5, "requests": [], "read": []}',
    '{"left": 0.5, "requests": [{"of": "another version"}], "read": {}}',
    '{"left": 0.5}',
]
CHANGES = [
    change_texts,
    change_weights,
    *(partial(write_notes, note) for note in NOTES),
]


@pytest.mark.parametrize("stage", ["passes", "answers"])
@pytest.mark.parametrize("change", CHANGES)
def test_all_is_left_where_no_note_tells_of_these_texts_and_weights(
    pair_of, stage, change
):
    pair = pair_of({"methods": ["loss", "de_cop"]})
    work(pair, stage, 0)
    assert share_left(pair, stage, "") == 0
    change()
    content_of.cache_clear()  # the next run is another process
    assert share_left(pair, stage, "") == 1
