"""The bench of GPUs runs to its end on a CPU, with models of the same kinds that are tiny."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "bench_gpu.py"


@pytest.mark.full
def test_every_table_is_printed():
    models = ["llama-7b", "pythia-6.9b", "qwen-14b"]
    done = subprocess.run(
        [sys.executable, BENCH, "--tiny", "--device", "cpu", "--models", *models, "--lengths", "16",
         "--tokens", "64", "--repetitions", "1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")]
    for name in models:
        assert sum(row[0].strip() == name for row in rows) == 1 + 4, done.stdout
    passes = next(row for row in rows if row[0].strip() == "llama-7b")
    assert float(passes[2]) > 0
    assert float(passes[3]) > 0
    parity = [row for row in rows if row[0].strip().startswith("float32 on")]
    assert float(parity[0][2]) == 0
