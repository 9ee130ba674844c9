"""What one job draws for others: whose inputs are there, once, and taken only by the job
that would draw the same."""

import os
from pathlib import Path

import pytest

from pretrace.runtime.ahead import Ahead, DrawingJob
from pretrace.runtime.identity import Identity
from pretrace.runtime.logs import job_log, log

STUDY = Path("results/study")
SAME = Identity("job", {"metrics.parquet": "held"}, {})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(name: str, inputs: list[str], made_in_run: list[str]) -> DrawingJob:
    outputs = [f"results/study/rendered/{name}.json", f"results/study/tables/{name}.md"]
    return DrawingJob({}, outputs, f"{name}.identity", inputs, made_in_run)


def draw(ahead: Ahead, identity: Identity, drawn: DrawingJob) -> None:
    with ahead.keeping(identity) as folder:
        for output in drawn.outputs:
            path = folder / Path(output).relative_to(STUDY)
            path.parent.mkdir(parents=True)
            path.write_text(drawn.identity)
        log.warning("a panel is not shown")


def names(jobs) -> list[str]:
    return [Path(other.outputs[0]).stem for other in jobs]


def test_a_job_draws_once_for_others_whose_inputs_are_there_and_of_this_run():
    Path("old").touch()
    os.utime("old", (1, 1))
    ahead = Ahead(STUDY)
    ready = job("ready", ["old", "new"], ["new"])
    jobs = [
        job("own", ["old"], []),
        ready,
        job("of_an_earlier_run", ["old"], ["old"]),
        job("missing", ["none"], []),
        job("begun", ["old"], []),
    ]
    ahead.start(jobs)
    Path("new").touch()
    assert ahead.claim(jobs[4].outputs[0])
    own = jobs[0].outputs[0]
    assert ahead.claim(own)
    first = job("first", ["old"], [])
    assert names(ahead.waiting(first.outputs[0])) == [], "it is looked at meanwhile"
    assert names(ahead.waiting(own)) == ["ready"]
    assert names(ahead.waiting(own)) == []
    ahead.end()
    assert not (STUDY / "drawn").exists()


def test_a_job_alone_draws_for_nobody():
    Path("old").touch()
    ahead = Ahead(STUDY)
    alone = job("alone", ["old"], [])
    ahead.start([alone])
    assert not ahead.claim(alone.outputs[0])
    assert names(ahead.waiting(alone.outputs[0])) == []
    assert not STUDY.exists()


@pytest.mark.parametrize(
    ("identity", "is_taken"),
    [
        (SAME, True),
        (SAME._replace(job="edited"), False),
        (SAME._replace(made_from={"metrics.parquet": "other"}), False),
    ],
)
def test_a_job_takes_what_was_drawn_from_what_it_is_made_from_with_the_log(
    identity, is_taken
):
    ahead = Ahead(STUDY)
    own = job("own", [], [])
    draw(ahead, SAME, own)
    for output in own.outputs:
        Path(output).parent.mkdir()
    with job_log("own.log"):
        assert ahead.take(identity, own.outputs) == is_taken
        assert not ahead.take(identity, own.outputs), "it is moved"
    lines = Path("own.log").read_text()
    assert ("WARNING a panel is not shown" in lines) == is_taken
    if is_taken:
        assert {Path(path).read_text() for path in own.outputs} == {"own.identity"}


def test_what_failed_is_left_to_its_own_job():
    ahead = Ahead(STUDY)
    before = log.handlers
    own = job("own", [], [])
    own.outputs.append(own.outputs[0])  # a folder that is there already
    with pytest.raises(FileExistsError):
        draw(ahead, SAME, own)
    assert not ahead.take(SAME, [])
    assert [*(STUDY / "drawn").iterdir()] == []
    assert log.handlers == before
