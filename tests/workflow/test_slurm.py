"""The `slurm` profile on a real Slurm of one node: to the end through every fault of a
cluster, to the same bytes."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from projects import Project, copy_project
from small_study import results, small

from slurm_cluster import NotStartedError, cluster, lacking, told

pytestmark = pytest.mark.full

STUDY = ("--config", "study=smoke/smoke.yaml", "resamples=100")
SLURM = (
    "all", "--workflow-profile", "profiles/slurm",
    "--slurm-partition-config", "profiles/slurm/partitions.yaml",
    "--slurm-init-seconds-before-status-checks", "4", "--latency-wait", "5", *STUDY,
)  # fmt: skip
PLANTED = """
import os as _os
import signal as _signal
import time as _time
from pathlib import Path as _Path

for _fault in sorted(_Path("faults").glob(f"{_Path(snakemake.log[0]).as_posix().replace('/', '+')}.*")):
    _fault.unlink()
    if _fault.name.split(".")[-2] == "kill":
        _os.kill(_os.getpid(), _signal.SIGKILL)
    _Path("hanging").write_text(_os.environ["SLURM_JOB_ID"], encoding="utf-8")
    _time.sleep(600)
"""
LOGS = {
    "build_benchmark": "results/logs/build_benchmark/smoke~texts.log",
    "target": "results/logs/run_passes/smoke~target/smoke~texts/smoke.log",
    "reference": "results/logs/run_passes/smoke~reference/smoke~texts/smoke.log",
    "share": "results/logs/run_passes/smoke~reference/smoke~texts/smoke.2of2.log",
}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory) -> Iterator[None]:
    with ExitStack() as running:
        why = lacking()
        if not why:
            try:
                running.enter_context(
                    cluster(tmp_path_factory.mktemp("cluster") / "slurm")
                )
            except NotStartedError as error:
                why = str(error)
        if why:
            pytest.skip(f"!!! SLURM IS NOT TESTED HERE: {why} !!!")
        yield


def prepared(folder: Path) -> Project:
    """A smoke study of few jobs, whose target asks for a GPU and a minute, and which
    break off where it is planted."""
    project = small(copy_project(folder))
    study = project.study()
    study["models"]["target"]["resources"] = {
        "gpu": 1,
        "mem_mb": 3000,
        "runtime": 1,
        "threads": 1,
        "jobs": 2,
    }
    study["models"]["reference"]["resources"] = {
        "mem_mb": 2500,
        "threads": 1,
        "jobs": 2,
    }
    study["runs"][0].pop("corpora")
    study["runs"][0]["methods"] = ["loss", "ref"]
    study["artifacts"].pop("selection_gap")
    project.write_study(study)
    config = project.path / "config" / "config.yaml"  # the cluster's GPU is a name
    config.write_text(
        config.read_text(encoding="utf-8").replace("device: auto", "device: cpu"),
        encoding="utf-8",
    )
    (project.path / "faults").mkdir()
    for rule in ("build_benchmark", "run_passes", "fill_store"):
        script = project.path / "scripts" / f"{rule}.py"
        imports, work = re.split(
            r"^(?=with )", script.read_text(encoding="utf-8"), maxsplit=1, flags=re.M
        )
        script.write_text(f"{imports}{PLANTED}\n{work}", encoding="utf-8")
    return project


def plant(project: Project, job: str, *faults: str) -> None:
    for number, fault in enumerate(faults):
        name = LOGS[job].replace("/", "+")
        (project.path / "faults" / f"{name}.{fault}.{number}").touch()


def wait_for(
    what: Callable[[], bool],
    running: subprocess.Popen[str],
    project: Project,
    seconds: float = 240,
) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        going_on = running.poll() is None and time.monotonic() < deadline
        assert going_on, (project.path / "started.log").read_text(encoding="utf-8")
        time.sleep(0.2)


def jobs(rule: str) -> list[dict[str, str]]:
    """What Slurm tells of the jobs of a rule, in the order of their submission."""
    records = told("scontrol", "show", "job", "--oneliner").splitlines()
    fields = [dict(re.findall(r"(\S+?)=(\S*)", record)) for record in records]
    return [
        job
        for job in sorted(fields, key=lambda job: int(job["JobId"]))
        if rule in job.get("Comment", "")
    ]


def test_every_fault_of_a_cluster_is_recovered_by_the_documented_command(
    slurm, tmp_path
):
    undisturbed = prepared(tmp_path / "undisturbed")
    undisturbed.run("all", "--cores", "2", *STUDY)
    project = prepared(tmp_path / "project")
    hanging = project.path / "hanging"

    plant(project, "build_benchmark", "hang")
    controller = project.start(*SLURM)
    wait_for(hanging.exists, controller, project)
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait()
    told("scancel", "--user=root")
    hanging.unlink()

    project.run("--unlock", *STUDY)
    plant(project, "build_benchmark", "hang")
    plant(project, "target", "hang")
    plant(project, "reference", "kill")
    plant(project, "share", "kill")
    again = project.start(*SLURM)
    wait_for(hanging.exists, again, project)
    told("scancel", hanging.read_text(encoding="utf-8"))
    # the plugin asks less and less often, up to every 180 s, and a slow machine has few
    # of 13 steps done by then
    assert again.wait(1200) == 0, (project.path / "started.log").read_text()

    assert results(project) == results(undisturbed)
    assert [job["JobState"] for job in jobs("build_benchmark")][-2:] == [
        "CANCELLED",
        "COMPLETED",
    ]
    of_target, of_reference = (
        jobs(f"run_passes_wildcards_smoke~{model}_")
        for model in ("target", "reference")
    )
    shares = sorted(
        (
            re.search(r"smoke~(\w+?)_smoke.*_(\dof\d)", job["Comment"]).groups(),
            job["JobState"],
            job["MinMemoryNode"],
            "gpu:1" in str(job),
        )
        for job in jobs("run_share")
    )
    assert shares == [
        (("reference", "1of2"), "COMPLETED", "2500M", False),
        (("reference", "2of2"), "COMPLETED", "5000M", False),
        (("reference", "2of2"), "FAILED", "2500M", False),
        (("target", "1of2"), "COMPLETED", "3000M", True),
        (("target", "2of2"), "COMPLETED", "3000M", True),
    ]
    assert [job["JobState"] for job in of_target] == ["TIMEOUT", "COMPLETED"]
    assert [job["JobState"] for job in of_reference] == ["FAILED", "COMPLETED"]
    assert [job["TimeLimit"] for job in of_target] == ["00:01:00", "00:02:00"]
    assert [job["MinMemoryNode"] for job in of_reference] == ["2500M", "5000M"]
    assert all(job["Partition"] == "gpu" and "gpu:1" in str(job) for job in of_target)
    assert {job["Partition"] for job in of_reference} == {"cpu"}
    (evaluation,) = jobs("score_methods")
    assert "evaluate_methods" in evaluation["Comment"]
    fields = [
        evaluation[key] for key in ("JobState", "NumCPUs", "MinMemoryNode", "TimeLimit")
    ]
    assert fields == ["COMPLETED", "1", "4000M", "02:00:00"]
