"""The pins of the two ways to install the workflow are the same."""

import tomllib
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def test_conda_installs_the_pins_of_the_lock():
    lines = (ROOT / "envs" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    *named, by_pip = yaml.safe_load((ROOT / "envs" / "pretrace.yaml").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    pins = [line for line in lines if line and not line.startswith("#")]
    assert by_pip["pip"] == pins, (
        "envs/pretrace.yaml and envs/requirements.txt differ: sh envs/lock.sh writes both"
    )
    (python,) = [one.removeprefix("python=") for one in named if one.startswith("python=")]
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "requires-python"
    ]
    assert python in SpecifierSet(allowed), (
        f"envs/pretrace.yaml: Python {python}, and pyproject.toml allows {allowed}"
    )
