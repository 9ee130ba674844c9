"""What tests of several files ask for.

Torch computes with one thread: two wait for each other longer than a tiny model takes.
What imports numpy or torch is imported where it is used, after that is set.
"""

import logging
import os
from functools import cache

import pytest

from hub_server import Hub

# read when torch is first imported, also by what a test starts
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub of this machine, which the hub's client asks while the test runs."""
    with Hub() as server:
        server.use_here(monkeypatch, tmp_path)
        yield server


@pytest.fixture
def log_lines(caplog, monkeypatch):
    """What is logged from INFO on, as `caplog`, also after a test of a job's log, which
    takes the logger for itself."""
    logger = logging.getLogger("pretrace")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "handlers", [])
    with caplog.at_level(logging.INFO, logger="pretrace"):
        yield caplog


@pytest.fixture
def warnings(log_lines):
    """Gives the warnings that were logged so far, a line each."""
    return lambda: "\n".join(
        record.message
        for record in log_lines.records
        if record.levelno == logging.WARNING
    )


@pytest.fixture
def quick_retries(monkeypatch):
    from pretrace.models.api import faults

    monkeypatch.setattr(faults, "_FIRST_WAIT", 0.001)


@pytest.fixture
def short_branches(monkeypatch):
    """So that the short prompts of tiny models share what they begin with."""
    from pretrace.questions import prompt_tree

    monkeypatch.setattr(prompt_tree, "WORTH", 2)


@pytest.fixture
def benchmark_table():
    """Twenty made-up texts of one length."""
    from made_up_stores import made_up_benchmark

    return made_up_benchmark()


@pytest.fixture
def store(tmp_path, benchmark_table):
    """Their passes, and those of the lower-cased texts."""
    from made_up_stores import Store

    return Store(tmp_path, "tiny", benchmark_table).add().add(altered="lowercase")


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """One made-up model on two benchmarks; read it, do not change it."""
    from made_up_results import make_study

    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory):
    """Gives the record of a tiny checkpoint of a kind, whose folder is `model` beside
    it; made once."""
    from pretrace.models.checkpoint import register_local
    from tiny_models import tiny_model

    @cache
    def record(kind):
        folder = tmp_path_factory.mktemp(kind)
        register_local(tiny_model(kind, folder / "model"), folder / "checkpoint.json")
        return folder / "checkpoint.json"

    return record


@pytest.fixture(scope="session")
def tiny_model(tiny_checkpoint):
    """Gives the model of such a checkpoint in float32, the same one to every test."""
    from made_up_jobs import target_of

    return cache(lambda kind: target_of(tiny_checkpoint(kind)).load())


@pytest.fixture
def job(tiny_checkpoint, tmp_path):
    """Runs a job of passes in a store of its own."""
    from made_up_jobs import runner

    return runner(tiny_checkpoint, tmp_path)
