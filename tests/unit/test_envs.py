"""The pins of the two ways to install the workflow are the same."""

import tomllib
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def test_conda_installs_the_pins_of_the_lock():
    locked = (ROOT / "envs" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    conda = yaml.safe_load((ROOT / "envs" / "pretrace.yaml").read_text(encoding="utf-8"))
    *named, by_pip = conda["dependencies"]
    pins = [line for line in locked if line and not line.startswith("#")]
    assert by_pip["pip"] == pins, "sh envs/lock.sh writes both files of envs/"
    (python,) = [one.removeprefix("python=") for one in named if one.startswith("python=")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert python in SpecifierSet(project["requires-python"]), "envs/pretrace.yaml's Python"
