"""The bench of GPUs runs on a CPU, measures every row that a study takes time for, and
two files of it compare."""

import json
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
ROWS = (
    "bare forward, logits alone",
    "pass, top40",
    "one text at a time",
    "check of the prefix's way",
    "pass after 7 shots, first time",
    "pass after 7 shots, second time",
    "passes after 10 to 1 shots",
    "pass, batches of 64 tokens, first time",
    "questions, tokens read",
    "generation, tokens written, second time",
)


def test_a_shape_of_random_weights_is_measured_in_one_command(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_gpu
    import compare_machines

    out = tmp_path / "tiny.json"
    bench_gpu.main(
        [
            "--device",
            "cpu",
            "--shape",
            "tiny",
            "--budgets",
            "64",
            "--threads",
            "1",
            "--out",
            str(out),
        ]
    )
    measured = json.loads(out.read_text())
    seconds = {row["what"]: row["seconds"] for row in measured["rows"]}
    assert set(ROWS) <= seconds.keys()
    assert min(seconds.values()) > 0
    shares = {row["what"]: row["of_bare"] for row in measured["rows"]}
    assert shares["one text at a time"] > 0
    assert {"card", "torch", "transformers", "date"} == measured["machine"].keys()
    assert (
        f"the tiny shape reads {measured['rows'][0]['tokens']:,} tokens"
        in capsys.readouterr().out
    )
    both = compare_machines.speeds(out, out)
    assert both["times as fast"].eq(1).all()
    assert len(both) == len(measured["rows"])


def test_without_a_gpu_the_bench_says_so_and_how_it_runs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_gpu

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit):
        bench_gpu.main([])
    assert "--device cpu --shape tiny" in capsys.readouterr().err
