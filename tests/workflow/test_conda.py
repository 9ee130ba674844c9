"""The environment of rules for `snakemake --sdm conda`; a stand-in for conda makes an
environment without packages."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
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
    """A folder for PATH with a command `conda`; `asked` in it has what it was called
    with."""
    folder = tmp_path / "conda"
    (folder / "bin").mkdir(parents=True)
    command = folder / "bin" / "conda"
    command.write_text(
        CONDA.format(folder=folder, python=sys.executable), encoding="utf-8"
    )
    command.chmod(0o755)
    (folder / "bin" / "activate").write_text(
        'export PATH="$1/bin:$PATH"\n', encoding="utf-8"
    )
    return folder


def path_with(folder: Path, project: Project) -> str:
    return f"{folder / 'bin'}:{project.environment()['PATH']}"


def test_every_job_of_a_study_is_planned_in_the_environment_of_the_pins(unrun, conda):
    planned = unrun.smoke(
        "--dry-run", "--sdm", "conda", PATH=path_with(conda, unrun)
    ).stdout
    assert re.findall(
        r"Conda environment .*?(\w+/\w+\.yaml) will be created", planned
    ) == ["envs/pretrace.yaml"]


@pytest.mark.full
def test_a_job_finds_the_library_in_an_environment_that_has_none(unrun, conda):
    table = "results/benchmarks/smoke~texts.parquet"
    script = unrun.path / "scripts" / "build_benchmark.py"
    script.write_text(
        script.read_text(encoding="utf-8") + WHERE_IT_RUNS, encoding="utf-8"
    )
    unrun.smoke(table, "--sdm", "conda", PATH=path_with(conda, unrun))
    prefix, library = (unrun.path / "ran").read_text(encoding="utf-8").split()
    assert Path(prefix).parent == unrun.path / ".snakemake" / "conda"
    assert Path(library) == unrun.path / "src" / "pretrace" / "__init__.py"


def pins(lines: list[str]) -> dict[str, str]:
    return {
        canonicalize_name(line.split("==")[0]): line for line in lines if "==" in line
    }


LOCK = pins(
    (ROOT / "envs" / "requirements.txt").read_text(encoding="utf-8").splitlines()
)
ENVIRONMENT = yaml.safe_load(
    (ROOT / "envs" / "pretrace.yaml").read_text(encoding="utf-8")
)["dependencies"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]


def test_the_environment_has_the_pins_of_the_lock_without_snakemake_and_tests():
    pinned = pins(ENVIRONMENT[-1]["pip"])
    assert len(pinned) == len(ENVIRONMENT[-1]["pip"])
    assert {name: LOCK.get(name) for name in pinned} == pinned
    assert ENVIRONMENT[0] == f"python={sys.version_info.major}.{sys.version_info.minor}"
    assert not {"snakemake", "pytest", "mypy", "mkdocs"} & pinned.keys()


def test_the_environment_has_all_that_the_library_declares_and_what_these_packages_need():
    extras = PROJECT["optional-dependencies"]
    waiting = [
        Requirement(line)
        for line in [
            *PROJECT["dependencies"],
            *extras["hf"],
            *extras["adapters"],
            *extras["documents"],
        ]
    ]
    needed = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        is_wanted = requirement.marker is None or requirement.marker.evaluate(
            {"extra": ""}
        )
        if is_wanted and name not in needed:
            needed.add(name)
            waiting += [Requirement(line) for line in requires(name) or []]
    assert len(needed) > 60
    assert (needed & LOCK.keys()) <= pins(ENVIRONMENT[-1]["pip"]).keys()


def test_whatever_the_library_imports_it_declares():
    declared = {
        canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]
    }
    for extra in ("hf", "adapters", "documents", "workflow", "cluster"):
        declared |= {
            canonicalize_name(Requirement(line).name)
            for line in PROJECT["optional-dependencies"][extra]
        }
    packages = packages_distributions()
    undeclared = set()
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
        for module in re.findall(
            r"^ *(?:from|import) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            distributions = {
                canonicalize_name(name) for name in packages.get(module, [])
            } - {"pretrace"}
            if distributions and not distributions & declared:
                undeclared.add((path.name, module))
    assert undeclared == set()
