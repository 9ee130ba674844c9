"""A forward pass that is done is never done again: after a change, an edit, a failure
or a kill.

Each test counts passes by the store's files: a file that stays as it was had no second
pass.
"""

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pandas as pd
import pytest
from projects import Project

SCORES = "results/smoke/scores/target/texts.parquet"
HELD = Path("results/passes/store/.held")
pytestmark = pytest.mark.full


@pytest.fixture
def project(smoke) -> Project:
    return smoke


def files_of_length(project: Project, length: int) -> set[str]:
    """The store files of both models' passes over texts of one length."""
    views = [
        view
        for model in ("target", "reference")
        for view in project.manifest(model)["views"]
    ]
    return {view["files"][0]["file"] for view in views if view["length"] == length}


def unchanged(before: dict[str, int], after: dict[str, int]) -> bool:
    return all(after.get(name) == written for name, written in before.items())


def other_parameters(study: dict) -> None:
    study["runs"][1]["methods"][2]["con_recall"]["gamma"] = [0.3, 0.5]
    methods = study["runs"][0]["methods"]
    methods[methods.index("dc_pdd")] = {"dc_pdd": {"a": [0.01, 0.37]}}


def other_passes(study: dict) -> None:
    """More shots, another rate of deletion, another view and another start token."""
    study["runs"][1]["methods"][1]["recall"]["shots"] = [1, 2, 3]
    study["runs"][2]["views"] = ["delete-25", "delete-50"]
    another_view(study)
    study["runs"].append(
        study["runs"][2] | {"start_token": "none", "views": ["original"]}
    )


def another_view(study: dict) -> None:
    study["runs"][0]["methods"].append("lowercase")


TEXT = ("original", "", "", None, None)
SHOTS = ("original", "", "nonmember", 3)
LOWERCASE = ("original", "lowercase", *TEXT[2:])
PASSES = [
    ("delete-25", *TEXT[1:]),
    TEXT,
    (*SHOTS, 0),
    (*SHOTS, 1),
    LOWERCASE,
    LOWERCASE,
]


@pytest.mark.parametrize(
    ("change", "new", "not_run", "shown"),
    [
        (other_parameters, [], ("run_passes", "count_tokens"),
         [("setting", "gamma=0.3"), ("setting", "a=0.37")]),
        (other_passes, PASSES, ("count_tokens", "draw_prefixes"),
         [("setting", "shots=3"), ("view", "delete-25"), ("method", "lowercase"),
          ("start_token", "none")]),
    ],
)  # fmt: skip
def test_a_change_of_the_study_runs_its_own_passes_alone(
    project, change, new, not_run, shown
):
    before, study = project.stored(), project.study()
    change(study)
    project.write_study(study)
    printed = project.smoke(SCORES).stdout
    after = project.stored()
    assert unchanged(before, after)
    ran = [
        view
        for view in project.manifest()["views"]
        if Path(view["files"][0]["file"]).name in after.keys() - before.keys()
    ]
    assert len(ran) == len(after) - len(before)
    keys = [
        (
            view["view"],
            view["altered"],
            view["prefix"].split(";")[0],
            view["shots"],
            view["draw"],
        )
        for view in ran
    ]
    assert sorted(keys, key=str) == sorted(new, key=str)
    assert "rule score_methods" in printed
    assert not [rule for rule in not_run if f"rule {rule}" in printed]
    scores = pd.read_parquet(project.path / SCORES)
    for column, value in shown:
        assert scores[column].str.contains(value, regex=False).any()


def test_an_edited_text_is_never_answered_by_an_old_pass(project):
    old = pd.read_parquet(project.path / SCORES)
    before = project.stored()
    of_edited, of_other = files_of_length(project, 8), files_of_length(project, 32)
    texts = project.path / "smoke" / "texts.jsonl"
    rows = [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()]
    rows[0]["input"] += " edited"
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    project.smoke(SCORES)
    after = project.stored()
    assert unchanged(before, after)
    assert len(of_edited) > 2, (
        "the texts, their neighbours and views, and the texts after prefixes"
    )
    assert files_of_length(project, 8).isdisjoint(of_edited)
    assert files_of_length(project, 32) == of_other
    assert len(after) - len(before) == len(of_edited)
    new = pd.read_parquet(project.path / SCORES)
    shown = [
        frame[(frame.method == "loss") & (frame["view"] == "original")]
        for frame in (old, new)
    ]
    loss = [frame.set_index("id").score for frame in shown]
    assert loss[0]["8-00"] != loss[1]["8-00"]
    assert loss[0]["32-00"] == loss[1]["32-00"]


def hold(project: Project):
    """Start the study with one view more and wait until its job hangs in the second of
    the two new passes."""
    stored = len(project.stored())
    study = project.study()
    another_view(study)
    project.write_study(study)
    running = project.start(
        "--cores", "2", SCORES, "--config", "study=smoke/smoke.yaml", "resamples=200",
        PLANTED_AFTER=str(stored + 1),
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while not (project.path / HELD).exists():
        assert running.poll() is None, (project.path / "started.log").read_text()
        assert time.monotonic() < deadline, "the job never reached the planted hang"
        time.sleep(0.2)
    time.sleep(0.2)
    return running, int((project.path / HELD).read_text())


def test_a_job_killed_with_kill_9_is_finished_by_the_same_command(project):
    before = project.stored()
    running, job = hold(project)
    midway = project.stored()
    assert len(midway) - len(before) == 1
    os.kill(job, signal.SIGKILL)
    assert running.wait(timeout=120) != 0
    project.smoke(SCORES)
    assert unchanged(midway, project.stored())
    assert len(project.stored()) - len(before) == 2
    assert (pd.read_parquet(project.path / SCORES).method == "lowercase").sum() == 120


def test_a_damaged_pass_is_named_and_the_same_command_recomputes_it(project):
    (name, *_) = project.stored()
    file = project.path / "results" / "passes" / "store" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    (project.path / SCORES).unlink()
    failed = project.smoke(SCORES, check=False)
    assert failed.returncode != 0
    assert name in failed.stdout
    assert "run the same command again" in failed.stdout
    assert "Traceback" not in failed.stdout
    project.smoke(SCORES)
    assert file.read_bytes() == whole


def test_jobs_that_share_a_pair_give_the_same_bytes(project):
    study, alone = project.study(), (project.path / SCORES).read_bytes()
    study["models"]["target"]["resources"]["jobs"] = 3
    project.write_study(study)
    shutil.rmtree(project.path / "results" / "passes")
    printed = project.smoke(SCORES).stdout
    assert printed.count("rule run_share:") == 3
    assert (project.path / SCORES).read_bytes() == alone
    log = project.path / "results/logs/run_passes/smoke~target/smoke~texts/smoke.log"
    assert re.search(
        r"(\d+) passes in (\d+) chunks, \2 of them stored",
        log.read_text(encoding="utf-8"),
    )
