"""The environment of rules for `snakemake --sdm conda`; a stand-in for conda makes an environment without packages."""

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from projects import ROOT, Project

CONDA = """#!/bin/sh
echo "$*" >> "{folder}/asked"
case "$1 $2" in
    "--version "*) echo conda 26.1.0 ;;
    "info --json") echo '{{"conda_prefix": "{folder}", "platform": "linux-64"}}' ;;
    "config --get") echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create") while [ "$1" != --prefix ]; do shift; done; "{python}" -m venv --without-pip "$2" ;;
esac
"""

WHERE_IT_RUNS = """
import sys
from pathlib import Path

import pretrace

Path("ran").write_text(f"{sys.prefix} {pretrace.__file__}")
"""


@pytest.fixture
def conda(tmp_path) -> Path:
    """A folder for PATH with a command `conda`; `asked` in it has what it was called with."""
    folder = tmp_path / "conda"
    (folder / "bin").mkdir(parents=True)
    command = folder / "bin" / "conda"
    command.write_text(CONDA.format(folder=folder, python=sys.executable), encoding="utf-8")
    command.chmod(0o755)
    (folder / "bin" / "activate").write_text('export PATH="$1/bin:$PATH"\n', encoding="utf-8")
    return folder


def path_with(folder: Path, project: Project) -> str:
    return f"{folder / 'bin'}:{project.environment()['PATH']}"


def test_every_job_of_a_study_is_planned_in_the_environment_of_the_pins(unrun, conda):
    planned = unrun.smoke("--dry-run", "--sdm", "conda", PATH=path_with(conda, unrun)).stdout
    assert re.findall(r"Conda environment .*?(\w+/\w+\.yaml) will be created", planned) == [
        "envs/pretrace.yaml"
    ]


def test_a_job_finds_the_library_in_an_environment_that_has_none(unrun, conda):
    table = "results/benchmarks/smoke~texts.parquet"
    script = unrun.path / "scripts" / "build_benchmark.py"
    script.write_text(script.read_text(encoding="utf-8") + WHERE_IT_RUNS, encoding="utf-8")
    unrun.smoke(table, "--sdm", "conda", PATH=path_with(conda, unrun))
    prefix, library = (unrun.path / "ran").read_text(encoding="utf-8").split()
    assert Path(prefix).parent == unrun.path / ".snakemake" / "conda"
    assert Path(library) == unrun.path / "src" / "pretrace" / "__init__.py"


def pins(lines: list[str]) -> dict[str, str]:
    return {canonicalize_name(line.split("==")[0]): line for line in lines if "==" in line}


def test_the_environment_has_the_pins_of_the_lock_and_all_that_the_library_needs():
    lock = pins((ROOT / "envs" / "requirements.txt").read_text(encoding="utf-8").splitlines())
    *_, python, _, packages = yaml.safe_load((ROOT / "envs" / "pretrace.yaml").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    pinned = pins(packages["pip"])
    assert len(pinned) == len(packages["pip"])
    assert {name: lock.get(name) for name in pinned} == pinned
    assert python == f"python={sys.version_info.major}.{sys.version_info.minor}"
    # without the extras `workflow` and `cluster`: Snakemake starts the jobs, they do not import it
    needed = {"pretrace"}
    for extra in ("hf", "documents"):
        for line in requires("pretrace"):
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                needed.add(canonicalize_name(requirement.name))
    waiting = [*needed - {"pretrace"}]
    while waiting:
        for line in requires(waiting.pop()) or []:
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            is_wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if is_wanted and name not in needed:
                needed.add(name)
                waiting.append(name)
    assert (needed & lock.keys()) <= pinned.keys()
    assert not {"snakemake", "pytest", "mypy", "mkdocs"} & pinned.keys()
