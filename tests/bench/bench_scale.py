"""How cost grows with the number of texts: building a benchmark, scoring it from stored passes, evaluating it.

python tests/bench/bench_scale.py [--texts 1000 10000 100000 1000000] [--resamples 1000]

Made-up texts of 30 words, one length, documents of five texts; passes of about 30 tokens in the store's own format;
loss, zlib, min_k and min_k_pp with their grids (22 settings). `pass` is a job of passes without its model, `join` the
same job when every chunk is stored: what a job does after those that shared the texts. `blind` is the control beside
them, which learns from the texts themselves: their words, drawn evenly from 5,000, make nearly every pair of words a
new one. Each stage is a process of its own that does what its script does, so that the peak memory is the stage's.
The tables' sizes are those of the files.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from measuring import process_took

METHODS = ("loss", "zlib", "min_k", "min_k_pp")
TOKENS, VOCABULARY = 30, 50_000
STAGES = ("check", "build", "pass", "join", "score", "evaluate", "blind")


def write_texts(path: Path, texts: int) -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(5000)])
    with path.open("w", encoding="utf-8") as file:
        for place in range(texts):
            text = " ".join(words[rng.integers(len(words), size=TOKENS)])
            row = {"input": text, "label": place // 5 % 2, "length": TOKENS, "document": f"d{place // 5}"}
            file.write(json.dumps(row) + "\n")


def check(folder: Path) -> None:
    """What planning does with a file of texts before any job."""
    from pretrace.benchmarks.loaders import local

    local.check_texts(folder / "texts.jsonl", metrics=True)


def build(folder: Path) -> None:
    from pretrace import benchmarks
    from pretrace.benchmarks.table import schema_of
    from pretrace.runtime.files import write_parquet

    table = benchmarks.build(
        "texts", {"source": "local", "path": "texts.jsonl"}, [folder / "texts.jsonl"], seed=0
    )
    write_parquet(folder / "benchmark.parquet", table, schema_of(table))


class WordIds:
    """A tokenizer: the id of `word17` is 17."""

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        return {"input_ids": [[int(word[4:]) for word in text.split()] for text in texts]}


class MadeUpModel:
    """An engine that draws the statistics of tokens."""

    batch_tokens = 2048

    def __init__(self, *_: object) -> None:
        self.rng = np.random.default_rng(1)

    def statistics(self, chunk, prompt_prefix, *, statistics, progress) -> list[np.ndarray]:
        progress(len(chunk), 0)
        sizes = [len(request.scored(prompt_prefix)) for request in chunk]
        numbers = self.rng.gamma(3, 1, (3, sum(sizes))).astype(np.float32)
        drawn = np.stack([-numbers[0], numbers[1], numbers[2], -numbers[0], np.zeros_like(numbers[0])])
        return np.split(drawn, np.cumsum(sizes)[:-1], axis=1)

    @staticmethod
    def tokenised(chunk, values, prompt_prefix):
        return chunk


def write_pass(folder: Path) -> None:
    """A job of passes with a made-up model: texts are tokenised, cut in chunks, looked up, stored, joined."""
    from pretrace.passes import echo, job
    from pretrace.runtime.files import read_parquet
    from pretrace.views.readings import PassRequest, Reading

    echo.EchoScorer = MadeUpModel
    target = SimpleNamespace(
        tokenizer=WordIds(), digest="", dtype="float32", device="cpu", vocabulary=VOCABULARY, context=2048
    )
    job.run(
        [PassRequest(Reading("original", "none"), "full")],
        benchmark=read_parquet(folder / "benchmark.parquet"),
        names={"study": "bench", "model": "random", "benchmark": "texts"},
        target=target, store=folder / "store", manifest=folder / "manifest.json", batch_tokens=2048, threads=1,
    )  # fmt: skip


def score(folder: Path, methods: Sequence[str] = METHODS, file: str = "scores.parquet") -> None:
    from pretrace import methods as library
    from pretrace.passes.index import PassIndex
    from pretrace.questions.scoring import with_documents
    from pretrace.runtime.files import read_json, read_parquet, write_parquet_parts

    run = {"model": "random", "benchmark": "texts", "start_token": "none", "views": ["original"]}
    run |= {"methods": [{"method": id} for id in methods]}
    benchmark = read_parquet(folder / "benchmark.parquet")
    scores = library.score(
        [run], library.Inputs(PassIndex(read_json(folder / "manifest.json"), folder / "store"), benchmark)
    )
    scores = with_documents(scores, benchmark, [run], answers=None, calibrations=None)
    write_parquet_parts(folder / file, scores)


def blind(folder: Path) -> None:
    score(folder, ["blind"], "blind.parquet")


def evaluate(folder: Path, resamples: int) -> None:
    from pretrace.evaluation.evaluate import evaluate
    from pretrace.evaluation.scores import scores_of
    from pretrace.runtime.files import read_parquet, read_parquet_parts, write_parquet

    benchmark = read_parquet(folder / "benchmark.parquet")
    scores = scores_of(read_parquet_parts(folder / "scores.parquet"), benchmark)
    names = {"study": "bench", "model": "random", "benchmark_name": "texts"}
    metrics, tests = evaluate(scores, benchmark, **names, resamples=resamples)
    write_parquet(folder / "metrics.parquet", metrics)
    write_parquet(folder / "tests.parquet", tests)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument(
        "--blind-texts", type=int, default=10**5, help="the most texts of which blind is measured"
    )
    parser.add_argument("--stage", choices=STAGES)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.stage:
        stages = {
            "check": check,
            "build": build,
            "pass": write_pass,
            "join": write_pass,
            "score": score,
            "blind": blind,
        }
        if given.stage == "evaluate":
            evaluate(given.folder, given.resamples)
        else:
            stages[given.stage](given.folder)
        return
    print(f"{'texts':>9}  {'stage':9} {'wall s':>8} {'CPU s':>8} {'peak GB':>8}")
    for texts in given.texts:
        with tempfile.TemporaryDirectory() as name:
            folder = given.folder or Path(name)
            write_texts(folder / "texts.jsonl", texts)
            for stage in STAGES if texts <= given.blind_texts else STAGES[:-1]:
                command = [sys.executable, __file__, "--stage", stage, "--folder", str(folder)]
                wall, cpu, peak, _ = process_took([*command, "--resamples", str(given.resamples)])
                print(f"{texts:>9}  {stage:9} {wall:8.1f} {cpu:8.1f} {peak:8.3f}", flush=True)
            files = [*sorted(folder.glob("*.parquet")), folder / "manifest.json"]
            sizes = {path.name: path.stat().st_size / 1e6 for path in files}
            print("; ".join(f"{name} {size:.1f} MB" for name, size in sizes.items()), flush=True)


if __name__ == "__main__":
    main()
