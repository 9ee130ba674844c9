"""The measurement of README's two commands: which they are, and what a run is said to
have taken."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = """
mkdir -p results/study/figures && touch results/study/figures/first.svg
printf 'job   count\\nall  1 \\ntotal    260 \\n'
echo '["run_passes", 2.5, 700.0]' >> $BENCH_USAGE
echo '["run_passes", 1.5, 900.0]' >> $BENCH_USAGE
"""


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests" / "bench")
    import bench_readme

    yield bench_readme
    del sys.modules["bench_readme"]


def test_readmes_commands_are_measured_without_the_installation(bench):
    study, tests = bench.commands_of(ROOT)
    assert study.startswith(".venv/bin/snakemake")
    assert tests.startswith(".venv/bin/pytest")


def test_a_run_tells_its_jobs_its_first_figure_and_each_rule(bench, tmp_path):
    run = bench.run(tmp_path, RUN)
    assert run.jobs == 260
    assert 0 <= run.first_figure <= run.wall
    assert bench.row_of(run).endswith("| 260 | 900 |")
    rows = bench.rows_of_rules([run, run], [run.commit])
    assert rows == ["| run_passes | 2 | 4.0 | 900 |"], "means over the turns"
