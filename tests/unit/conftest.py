"""What tests of several files ask for.

Torch computes with one thread: two wait for each other longer than a tiny model takes.
"""

import logging
import os

import pytest

from hub_server import Hub

os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is first imported, also by what a test starts


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub of this machine, which the hub's client asks while the test runs."""
    with Hub() as server:
        server.use_here(monkeypatch, tmp_path)
        yield server


@pytest.fixture
def warnings(caplog):
    """Gives the warnings that were logged so far, a line each."""
    logger = logging.getLogger("pretrace")
    logger.addHandler(caplog.handler)
    yield lambda: "\n".join(record.message for record in caplog.records if record.levelno == logging.WARNING)
    logger.removeHandler(caplog.handler)
