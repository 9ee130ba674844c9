"""A change to one ablation's grid runs no other view's forward pass, and scoring alone where no view is new.

Passes are counted by the store's files: a file that stays as it was had no second pass.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from projects import Project

SCORES = "results/smoke/scores/target/texts.parquet"


@pytest.fixture
def project(smoke: Project) -> Project:
    return smoke


def settings_of(project: Project, method: str) -> set[str]:
    scores = pd.read_parquet(project.path / SCORES)
    return set(scores.loc[scores["method"] == method, "setting"])


def rerun(project: Project, change: Callable[[dict], None]) -> tuple[list[dict], str]:
    """The manifest's entries whose pass is new after the change, and what the run printed."""
    before = project.stored()
    study = project.study()
    change(study)
    project.write_study(study)
    done = project.smoke(SCORES)
    after = project.stored()
    assert {name: after.get(name) for name in before} == before, "no pass ran again"
    new = after.keys() - before.keys()
    entries = [entry for entry in project.manifest()["views"] if Path(entry["file"]).name in new]
    assert {Path(entry["file"]).name for entry in entries} == new
    return entries, done.stdout


def test_another_gamma_is_scored_and_nothing_else(project: Project) -> None:
    def change(study: dict) -> None:
        study["runs"][1]["methods"][2]["con_recall"]["gamma"] = [0.3, 0.5]

    new, printed = rerun(project, change)
    assert new == []
    assert "rule run_passes" not in printed
    assert "rule score_methods" in printed
    assert len(settings_of(project, "con_recall")) == 2


@pytest.mark.full
def test_another_upper_bound_is_scored_and_nothing_else(project: Project) -> None:
    def change(study: dict) -> None:
        methods = study["runs"][0]["methods"]
        methods[methods.index("dc_pdd")] = {"dc_pdd": {"a": [0.01, 0.37]}}

    new, printed = rerun(project, change)
    assert new == []
    assert "rule run_passes" not in printed
    assert "rule count_tokens" not in printed
    assert any("a=0.37" in setting for setting in settings_of(project, "dc_pdd"))


@pytest.mark.full
def test_more_shots_run_their_own_prefix_passes_alone(project: Project) -> None:
    def change(study: dict) -> None:
        study["runs"][1]["methods"][1]["recall"]["shots"] = [1, 2, 3]

    new, _ = rerun(project, change)
    ran = {(entry["view"], entry["prefix"].split(";")[0], entry["shots"], entry["draw"]) for entry in new}
    assert ran == {("original", "nonmember", 3, 0), ("original", "nonmember", 3, 1)}
    assert len(new) == 2
    assert settings_of(project, "recall") == {"shots=1", "shots=2", "shots=3"}


@pytest.mark.full
def test_another_rate_of_deletion_runs_the_pass_of_its_view_alone(project: Project) -> None:
    def change(study: dict) -> None:
        study["runs"][2]["views"] = ["delete-25", "delete-50"]

    new, printed = rerun(project, change)
    assert [(entry["view"], entry["companion"], entry["prefix"], entry["length"]) for entry in new] == [
        ("delete-25", "", "", 8)
    ]
    assert "rule draw_prefixes" not in printed
    scores = pd.read_parquet(project.path / SCORES)
    assert {"original", "delete-25", "delete-50"} == set(scores["view"])
