"""What runs again after a change, without Snakemake's memory and by times alone:
content decides, and nothing else."""

import json
import os
import shutil
from collections.abc import Callable

import pytest
from projects import NOTHING, Project, jobs_of

pytestmark = pytest.mark.full

ALL = ("study=smoke/smoke.yaml", "resamples=200")
PAGE = {"record_provenance", "render_report", "check_artifacts", "all"}
RENDERED = {"render_table", "render_figure"} | PAGE
EVALUATED = {"evaluate_methods", "compute_statistic"} | RENDERED
SCORED = {"score_methods"} | EVALUATED
READ = {"run_passes"} | SCORED
BUILT = {"build_benchmark", "draw_prefixes"} | READ


def planned(
    project: Project, *arguments: str, config: tuple[str, ...] = ()
) -> set[str]:
    shown = project.run(
        "--cores", "2", "--dry-run", *arguments, "--config", *ALL, *config
    ).stdout
    return set() if NOTHING in shown else {*jobs_of(shown)} - {"total"}


def edited_study(project: Project, change: Callable[[dict], None]) -> None:
    study = project.study()
    change(study)
    project.write_study(study)


def flip_labels(project: Project) -> None:
    path = project.path / "smoke" / "texts.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    flipped = [row | {"label": 1 - row["label"]} for row in rows]
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in flipped), encoding="utf-8"
    )
    os.utime(path, (1, 1))


def older_checkpoint(project: Project) -> None:
    path = project.path / "smoke" / "reference" / "config.json"
    path.write_bytes(path.read_bytes() + b"\n")
    os.utime(path, (1, 1))


def halve(project: Project) -> None:
    edited_study(
        project, lambda study: study["models"]["target"].update(dtype="bfloat16")
    )


def other_grid(project: Project) -> None:
    edited_study(
        project,
        lambda study: study["runs"][0]["methods"].__setitem__(
            3, {"min_k": {"k": [0.4]}}
        ),
    )


def foreign_scores(project: Project) -> None:
    """A table of another job in the place of the scores, as of another run."""
    results = project.path / "results" / "smoke"
    shutil.copy(
        results / "tests" / "target" / "texts.parquet",
        results / "scores" / "target" / "texts.parquet",
    )


def foreign_table(project: Project) -> None:
    tables = project.path / "results" / "smoke" / "tables"
    shutil.copy(next(tables.glob("*.csv")), next(tables.glob("*.html")))


def touch_everything(project: Project) -> None:
    for number, path in enumerate(sorted(project.path.rglob("*.*"), reverse=True)):
        if (
            path.is_file()
            and ".snakemake" not in path.parts
            and "identity" not in path.parts
        ):
            os.utime(path, (10**9 + number, 10**9 + number))


@pytest.mark.parametrize(
    ("change", "config", "runs"),
    [
        (touch_everything, (), set()),
        (flip_labels, (), BUILT),
        (lambda project: None, ("resamples=300",), EVALUATED),
    ],
)
def test_content_alone_says_what_runs_again(change, config, runs, smoke):
    change(smoke)
    assert planned(smoke, "--rerun-triggers", "mtime", config=config) == runs, (
        "by times alone"
    )
    shutil.rmtree(smoke.path / ".snakemake")
    assert planned(smoke, config=config) == runs, "without Snakemake's memory"
    if config:
        assert planned(smoke) == set(), "a plan with other settings costs nothing"


@pytest.mark.parametrize(
    ("change", "config", "runs"),
    [
        (lambda project: None, ("seed=5",), BUILT),
        (older_checkpoint, (), {"register_checkpoint"} | READ),
        (halve, (), READ),
        (other_grid, (), SCORED),
        (foreign_scores, (), SCORED),
        (foreign_table, (), {"render_table"} | PAGE),
    ],
)
def test_a_change_runs_its_own_stage_again(change, config, runs, smoke):
    change(smoke)
    shutil.rmtree(smoke.path / ".snakemake")
    times_alone = ("--rerun-triggers", "mtime")
    assert planned(smoke, *times_alone, config=config) == runs


def test_results_copied_without_times_into_another_clone_are_not_made_again(
    smoke, tmp_path
):
    clone = Project(
        shutil.copytree(smoke.path, tmp_path / "clone", copy_function=shutil.copy)
    )
    shutil.rmtree(clone.path / ".snakemake")
    assert planned(clone) == set()


def test_flipped_labels_of_an_older_time_give_the_other_metrics_without_the_memory(
    smoke,
):
    metrics = smoke.path / "results" / "smoke" / "tables" / "results_auc.csv"
    before = metrics.read_bytes()
    flip_labels(smoke)
    shutil.rmtree(smoke.path / ".snakemake")
    smoke.smoke()
    assert metrics.read_bytes() != before
    assert NOTHING in smoke.smoke().stdout
    flip_labels(smoke)
    smoke.smoke("--rerun-triggers", "mtime")
    assert metrics.read_bytes() == before
