"""Study files for the tests of the studies room, read against the project's own
registries."""

from pathlib import Path

import yaml

from pretrace.runtime.schema import read_yaml
from pretrace.studies import load_study

ROOT = Path(__file__).parents[2]
CONFIG = read_yaml(ROOT / "config" / "config.yaml")
RUN = {"model": "smollm2-135m", "benchmark": "sotu"}
FREE = {
    "base_url": "http://h/v1",
    "model": "m",
    "endpoint": "completions",
    "price": {"input": 0, "output": 0},
}


def study(**keys):
    """A study of one run, with these keys beside or in place of its own."""
    return {"study": "mine", "runs": [RUN]} | keys


def write(folder, given):
    """Write a study file (a dict or raw text) into a folder; its path."""
    path = folder / "my_study.yaml"
    path.write_text(
        given if isinstance(given, str) else yaml.safe_dump(given), encoding="utf-8"
    )
    return str(path)


def checkpoint(folder):
    """Make a folder that a study may name as a checkpoint; its name."""
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder.name


def load_written(folder, given, **config):
    return load_study(
        CONFIG | {"study": write(folder, given)} | config, ROOT / "config"
    )
