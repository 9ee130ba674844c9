"""Every bench starts by the command of its docstring, with nothing on the path."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHES = sorted((ROOT / "tests" / "bench").glob("*.py"))


@pytest.mark.full
@pytest.mark.parametrize("bench", BENCHES, ids=lambda path: path.stem)
def test_a_bench_says_how_it_is_run_and_starts(bench: Path):
    path = bench.relative_to(ROOT).as_posix()
    assert re.search(rf"^ *python {path}", bench.read_text(encoding="utf-8"), re.MULTILINE)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, path, "--help"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")
