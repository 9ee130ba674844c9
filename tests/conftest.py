"""What holds for every test: how many processes run them, and which run only when they
are asked for."""

import gc
import os
import sys
from pathlib import Path

import pytest

# the library is stored compiled, for the many commands that tests run in copies of it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process a core for the whole suite, none beside pytest's own for what is
    named."""
    named = {
        Path(config.invocation_params.dir, name.split("::")[0]).resolve()
        for name in config.args
    }
    everything = {config.rootpath / folder for folder in config.getini("testpaths")}
    return len(os.sched_getaffinity(0)) if named == everything else 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        help="also run what takes long: the tests marked full",
    )


def pytest_collection_finish() -> None:
    # the tests and what they import stay; to walk through them takes a second each time
    gc.freeze()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--full"):
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(
                pytest.mark.skip(reason="takes long: pytest --full runs it")
            )
