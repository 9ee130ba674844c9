"""How many processes run the tests: one a core for all of them, none beside pytest's own for what is named."""

import os
from pathlib import Path

import pytest


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    named = {Path(config.invocation_params.dir, one.split("::")[0]).resolve() for one in config.args}
    everything = {config.rootpath / folder for folder in config.getini("testpaths")}
    return len(os.sched_getaffinity(0)) if named == everything else 0
