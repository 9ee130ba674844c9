"""The profiles for clusters: each is accepted, a wrong name ends the run, and jobs go
through the scheduler's commands.

The schedulers are stand-ins that run a job at once and write down what was asked; Slurm
is real in test_slurm.py.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from projects import Project

from slurm_cluster import needs_plugin

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "profiles"
TARGETS = (
    "results/benchmarks/smoke~texts.parquet",
    "results/models/smoke~target/checkpoint.json",
)

QSUB = """#!/bin/sh
for script; do :; done
number=$(($(ls "$STANDIN" | grep -c submitted) + 1))
echo "$@" > "$STANDIN/$number.submitted"
if [ $number = 1 ] && [ -e "$STANDIN/kill-first" ]; then
    echo 137 > "$STANDIN/$number.ended"
else
    # as SGE, whose jobs have none of the variables of the process that submits them
    unset PRETRACE_ONLY PRETRACE_CHECKED PRETRACE_JOB
    (sh "$script" > /dev/null 2>&1; echo $? > "$STANDIN/$number.ended") > /dev/null 2>&1 < /dev/null &
fi
echo $number
"""
QSTAT = '#!/bin/sh\n[ ! -e "$STANDIN/$2.ended" ]\n'
QACCT = (
    '#!/bin/sh\nprintf "failed       0\\nexit_status  %s\\n" "$(cat '
    '"$STANDIN/$2.ended")"\n'
)
KUBECTL = """#!/bin/sh
if [ "$1" = create ]; then
    cat > "$STANDIN/manifest"
    name=$(sed -n 's/.*"metadata": {"name": "\\([^"]*\\)".*/\\1/p' "$STANDIN/manifest")
    script=$(sed -n 's/.*"command": \\["\\/bin\\/sh", "\\([^"]*\\)"\\].*/\\1/p' "$STANDIN/manifest")
    mv "$STANDIN/manifest" "$STANDIN/$name.submitted"
    (sh "$script" > /dev/null 2>&1; echo $? > "$STANDIN/$name.ended") > /dev/null 2>&1 < /dev/null &
elif [ "$1" = get ]; then
    case $(cat "$STANDIN/$3.ended" 2> /dev/null) in '') printf job// ;; 0) printf job/1/ ;; *) printf job//1 ;; esac
fi
"""


def through(
    project: Project,
    profile: str,
    commands: dict[str, str],
    *options: str,
    targets: Iterable[str] = TARGETS,
) -> list[str]:
    """Make files with a profile whose scheduler's commands are these; what each
    submission asked for."""
    folder = project.path / "stand-in"
    folder.mkdir()
    for name, script in commands.items():
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    if "kill-first" in options:
        (folder / "kill-first").touch()
    project.run(
        *targets, "--workflow-profile", profile, "--jobs", "1", "--latency-wait", "5",
        "--seconds-between-status-checks", "1", "--config", "study=smoke/smoke.yaml",
        PATH=f"{folder}:{os.environ['PATH']}", STANDIN=str(folder),
    )  # fmt: skip
    assert all((project.path / target).is_file() for target in targets)
    return [
        path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.submitted"))
    ]


@pytest.mark.full
def test_jobs_go_to_sge_and_one_that_was_killed_is_submitted_anew_with_more_memory_and_time(
    unrun,
):
    commands = through(
        unrun,
        "cluster-generic",
        {"qsub": QSUB, "qstat": QSTAT, "qacct": QACCT, "qdel": "#!/bin/sh\n"},
        "kill-first",
    )
    assert len(commands) == 3
    wanted = [
        re.search(r"h_vmem=(\d+)M -l h_rt=(\d+) ", command).groups()
        for command in commands
    ]
    assert sorted(wanted) == [("4000", "3600"), ("4000", "3600"), ("8000", "7200")]
    assert not any("gpu=" in command for command in commands)


def test_sge_is_asked_for_the_gpus_of_a_job_that_needs_some():
    profile = yaml.safe_load(
        (PROFILES / "cluster-generic" / "profile.yaml").read_text(encoding="utf-8")
    )
    command = profile["cluster-generic-submit-cmd"].replace("&& qsub", "&& echo")
    resources = SimpleNamespace(gpu=2, mem_mb=4000, runtime=60)
    done = subprocess.run(
        [
            "sh",
            "-c",
            command.replace("mkdir -p", "true").format(threads=1, resources=resources),
        ],
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.split()[-4:] == ["-l", "h_rt=3600", "-l", "gpu=2"]


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ("    job_state = F\n    Exit_status = 0\n", "success"),
        ("    job_state = F\n    Exit_status = 271\n", "failed"),
        ("    job_state = F\n", "failed"),
        ("    job_state = R\n", "running"),
        ("    job_state = Q\n", "running"),
        (None, "running"),
    ],
)
def test_what_pbs_tells_of_a_job_is_understood(tmp_path, told, state):
    qstat = tmp_path / "qstat"
    qstat.write_text(
        f"#!/bin/sh\ncat <<END\nJob Id: 7.server\n{told}END\n"
        if told
        else "#!/bin/sh\nexit 1\n"
    )
    qstat.chmod(0o755)
    status = PROFILES / "cluster-generic" / "status_pbs.sh"
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [status, "7.server"],
        env=environment,
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == state


@pytest.mark.full
def test_jobs_go_to_kubernetes_with_the_volume_of_the_profile(unrun):
    import json

    manifests = [
        json.loads(printed)
        for printed in through(unrun, "kubernetes", {"kubectl": KUBECTL})
    ]
    assert len(manifests) == 2
    for job in manifests:
        pod = job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["workingDir"] == str(unrun.path)
        assert container["resources"]["limits"] == {
            "memory": "4000M",
            "nvidia.com/gpu": "0",
        }
        assert pod["activeDeadlineSeconds"] == 3600, "waiting for a node is not counted"
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "pretrace"
        assert container["volumeMounts"][0]["mountPath"] == "/project"


@pytest.mark.full
def test_jobs_of_a_figure_asked_by_its_path_compute_what_it_shows(unrun):
    study, figure = unrun.study(), "results/smoke/figures/surp_figure3.svg"
    study["runs"][0]["for"] = ["headline", "results_auc"]
    study["runs"].append(
        study["runs"][0]
        | {"methods": [{"surp": {"eps": [1, 2]}}], "for": ["surp_figure3"]}
    )
    unrun.write_study(study)
    through(
        unrun,
        "cluster-generic",
        {"qsub": QSUB, "qstat": QSTAT, "qacct": QACCT},
        targets=[figure],
    )
    # the study's other runs read more: altered texts, texts after shots
    assert [(view["view"], view["length"]) for view in unrun.manifest()["views"]] == [
        ("original", 8), ("original", 32)
    ]  # fmt: skip
    assert (
        "Nothing to be done"
        in unrun.run(figure, "--config", "study=smoke/smoke.yaml").stdout
    )


@pytest.mark.parametrize(
    "profile",
    [
        "gpu",
        "cluster-generic",
        pytest.param("kubernetes", marks=pytest.mark.full),
        pytest.param("slurm", marks=[pytest.mark.full, needs_plugin]),
    ],
)
def test_a_profile_is_found_by_its_folder_and_scores_are_submitted_with_their_metrics(
    unrun, profile
):
    said = unrun.run(
        "--dry-run", "--workflow-profile", profile, "--config", "study=smoke/smoke.yaml"
    ).stdout
    assert f"Using workflow specific profile profiles/{profile}" in said
    if profile == "gpu":
        assert "run_passes" in said
        return
    (members,) = re.findall(r"\] Group job evaluation .*\n((?:\n|    .*\n)*)", said)
    rules = re.findall(r"^    rule (\w+):", members, re.M)
    assert rules == ["compute_statistic", "evaluate_methods", "score_methods"]
    assert said.count("Group job") == 1, "other jobs do not wait for each other"


# after the file is written, the first time, Snakemake and its job are killed
KILLED = """
import os
import signal
from pathlib import Path

if not Path("killed").exists():
    Path("killed").touch()
    os.killpg(0, signal.SIGKILL)
"""


@pytest.mark.full
def test_what_a_killed_run_left_is_made_again_by_the_same_command(unrun):
    script = unrun.path / "scripts" / "build_benchmark.py"
    script.write_text(script.read_text(encoding="utf-8") + KILLED, encoding="utf-8")
    command = (TARGETS[0], "--config", "study=smoke/smoke.yaml")
    assert unrun.start(*command).wait() == -signal.SIGKILL
    assert (unrun.path / TARGETS[0]).is_file()
    unrun.run("--unlock", *command)
    assert "1 of 1 steps (100%) done" in unrun.run(*command).stdout


@pytest.mark.full
def test_the_default_profile_prints_a_line_a_job(unrun):
    shutil.copy2(
        PROFILES / "default" / "profile.yaml", unrun.path / "profiles" / "default"
    )
    study = ("--config", "study=smoke/smoke.yaml")
    planned = unrun.run("--dry-run", *study).stdout.splitlines()
    assert len(planned) < 45
    shown = unrun.run(*TARGETS, *study).stdout
    assert re.search(
        "^build_benchmark/smoke~texts: .*120 texts: 60 members", shown, re.M
    )
    assert len(re.findall("^build_benchmark|^register_checkpoint", shown, re.M)) == 2
    shutil.rmtree(unrun.path / ".snakemake")
    copied = unrun.run("--dry-run", *study).stdout
    assert "2 results have no record in .snakemake. What they" in copied
    assert "missing provenance" not in copied
    (unrun.path / "smoke" / "target" / "model.safetensors").write_bytes(b"{}")
    failed = unrun.run(*TARGETS, *study, check=False)
    assert failed.returncode == 1
    assert re.search("^error: .*model.safetensors", failed.stdout, re.M)
