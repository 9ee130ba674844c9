"""Texts scored per second on random statistics: each method over its grid, then all, from store to table.

PYTHONPATH=scripts python tests/bench/bench_scoring.py [texts] [tokens]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pretrace.methods import METHODS, TokenStatistics, score, settings
from pretrace.runtime.files import sha256_file, write_parquet

VOCABULARY = 50_000
Statistics = dict[str, np.ndarray]


def random_statistics(rng: np.random.Generator, n: int) -> Statistics:
    return {
        "token_ids": rng.integers(VOCABULARY, size=n).astype("int32"),
        "logprobs": -rng.exponential(3, size=n).astype("float32"),
        "entropies": rng.gamma(3, 1, size=n).astype("float32"),
        "variances": rng.gamma(5, 2, size=n).astype("float32"),
    }


def best_of(runs: int, function: Callable[[], Any]) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def score_grid(id: str, texts: list[Statistics]) -> None:
    grid = settings(id)
    for one in texts:
        logprobs = one["logprobs"]
        companions = dict.fromkeys(("lowercase", "reference", "log_frequencies"), logprobs)
        companions |= {"given_nonmember": logprobs, "given_member": logprobs, "neighbours": (logprobs,) * 25}
        text = TokenStatistics("word " * 100, **one, **companions)
        for params in grid:
            METHODS[id].function(text, **params)


def write_pass(store: Path, ids: list[str], texts: list[Statistics]) -> dict[str, Any]:
    """A store file, and a manifest in which it stands for the text and its lower-cased view alike."""
    columns = {name: [one[name] for one in texts] for name in texts[0]}
    rows = {"text_id": ids, "variant": pa.array([0] * len(ids), pa.int32()), **columns}
    rows |= {"shots_used": pa.nulls(len(ids), pa.int32()), "skipped": pa.nulls(len(ids), pa.string())}
    write_parquet(store / "pass.parquet", pa.table(rows))
    entry = {"view": "original", "prefix": "", "draw": None, "shots": None, "start_token": "none"}
    entry |= {"inner_start": False, "subset": "", "length": 64, "file": "pass.parquet"}
    entry |= {"sha256": sha256_file(store / "pass.parquet")}
    views = [entry | {"companion": companion} for companion in ("", "lowercase")]
    return {
        "study": "bench",
        "model": "random",
        "benchmark": "random",
        "vocabulary": VOCABULARY,
        "views": views,
    }


def score_table(store: Path, benchmark: pd.DataFrame, manifest: dict[str, Any]) -> pd.DataFrame:
    run = {"model": "random", "benchmark": "random", "start_token": "none", "views": ["original"]}
    run |= {"corpora": ["corpus"], "references": ["small"]}
    run |= {"methods": [{"method": id} for id, method in METHODS.items() if method.scope == "text"]}
    sources = {"references": {"small": manifest}, "counts": {"corpus": store / "counts.parquet"}}
    return pd.concat(score([run], manifest=manifest, store=store, benchmark=benchmark, **sources))


def main(count: int = 1340, tokens: int = 100) -> None:
    rng = np.random.default_rng(0)
    stored = [random_statistics(rng, tokens) for _ in range(count)]
    texts = [{name: one[name].astype("float64") for name in one if name != "token_ids"} for one in stored]
    print(f"{count} texts of {tokens} tokens")
    for id, method in METHODS.items():
        if method.scope == "text":
            full = [one | {"token_ids": raw["token_ids"]} for one, raw in zip(texts, stored, strict=True)]
            seconds = best_of(3, lambda id=id, full=full: score_grid(id, full))
            print(f"{id:10} {len(settings(id)):4} settings {count / seconds:10.0f} texts/s {seconds:7.3f} s")
    ids = [f"text-{i:05d}" for i in range(count)]
    columns = {"text_id": ids, "text": [f"word {i} " * 50 for i in range(count)], "subset": "", "length": 64}
    with tempfile.TemporaryDirectory() as folder:
        store, benchmark = Path(folder), pd.DataFrame(columns)
        write_parquet(store / "counts.parquet", pa.table({"token_id": [1], "count": [9]}))
        manifest = write_pass(store, ids, stored)
        seconds = best_of(3, lambda: score_table(store, benchmark, manifest))
    print(f"{'all, from store to table':24} {count / seconds:10.0f} texts/s {seconds:7.3f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
