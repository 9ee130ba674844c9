"""The smoke study of the workflow tests: run once for all processes, copied for each
test that changes it."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from projects import Project, copy_project, plant, write_smoke


@pytest.fixture
def project(tmp_path) -> Project:
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def of_all_processes(tmp_path_factory) -> Path:
    """The smoke study, run to its end once for all processes of the tests: copy it.

    Its store can be made to fail; `first_run.log` is what the terminal showed.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    whole = folder / "smoke-finished"
    with (folder / "smoke.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            project = write_smoke(
                copy_project(tmp_path_factory.mktemp("smoke") / "project")
            )
            plant(project)
            compiled = project.path / "src" / "pretrace" / "runtime" / "__pycache__"
            shutil.rmtree(compiled, ignore_errors=True)
            # as in many containers
            shown = project.smoke("all", PYTHONDONTWRITEBYTECODE="1").stdout
            (project.path / "first_run.log").write_text(shown, encoding="utf-8")
            project.path.rename(whole)
    return whole


def copied(finished: Path, target: Path) -> Project:
    shutil.copytree(finished, target, symlinks=True)
    return Project(target)


@pytest.fixture(scope="module")
def finished(of_all_processes, tmp_path_factory) -> Project:
    """The finished smoke study; read it, do not change it."""
    return copied(of_all_processes, tmp_path_factory.mktemp("finished") / "project")


@pytest.fixture
def smoke(of_all_processes, tmp_path) -> Project:
    """A copy of the finished smoke study that a test may change."""
    return copied(of_all_processes, tmp_path / "project")


@pytest.fixture
def unrun(project) -> Project:
    return write_smoke(project)
