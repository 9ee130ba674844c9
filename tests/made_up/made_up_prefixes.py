"""A made-up study of methods with prefixes: two subsets, two draws, shots and gammas,
evaluated for real."""

from pathlib import Path
from typing import Any

import made_up_results
import numpy as np
import pandas as pd

from pretrace.evaluation.curves import density_curves, roc_curves
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.scores import evaluation_sets, scores_of
from pretrace.evaluation.tokens import Passes, shifts
from pretrace.passes.index import PassIndex
from pretrace.render.results import Results
from pretrace.runtime.files import sha256_file, write_json, write_parquet
from pretrace.views.prefixes import draw_prefixes

MODEL = "tiny-small"
BENCHMARK = "eras"
LENGTH = 32
SUBSETS = ("early", "late")
PAIR = (MODEL, BENCHMARK)
CLASS = 60
SHOTS = (1, 3, 5, 7)
GAMMAS = (-0.5, 0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
PANEL = {"model": MODEL, "benchmark": BENCHMARK, "length": LENGTH}
POOL = 3
KINDS = {1: "member", 0: "nonmember"}


def texts() -> pd.DataFrame:
    rows = []
    for subset in SUBSETS:
        for number in range(2 * CLASS):
            name = f"{subset}-{number:03d}"
            rows.append(
                {
                    "text_id": name,
                    "text": f"{name} says {number * 17} of its own",
                    "label": int(number < CLASS),
                    "subset": subset,
                    "length": LENGTH,
                    "document": f"d-{name}",
                    "fold": number % 5,
                }
            )
    return pd.DataFrame(rows).astype({"label": "Int64", "length": "Int64"})


def log_likelihood(benchmark: pd.DataFrame, kind: str, shots: int) -> np.ndarray:
    """Members are likelier; prefixes of non-members raise non-members more, in step
    with the shots."""
    member = benchmark["label"].to_numpy(dtype=float)
    own = np.random.default_rng(4).normal(size=len(benchmark)) * 0.5
    lift = np.zeros(len(benchmark))
    if kind == "member":
        lift = 0.04 * shots * (1 - 0.5 * member)
    if kind == "nonmember":
        lift = 0.05 * shots * (1 - 0.9 * member)
    noise = np.random.default_rng([shots, len(kind)]).normal(size=len(benchmark))
    return -3 + 0.35 * member + own + lift + noise * 0.02 * shots


def scores(benchmark: pd.DataFrame) -> pd.DataFrame:
    plain = log_likelihood(benchmark, "", 0)
    columns: dict[tuple[str, str, Any], np.ndarray] = {("loss", "", pd.NA): plain}
    rng = np.random.default_rng(8)
    columns["blind", "", pd.NA] = rng.normal(size=len(plain))
    for draw in (0, 1):
        extra = rng.normal(size=len(plain)) * 0.02
        for shots in SHOTS:
            nonmember = log_likelihood(benchmark, "nonmember", shots)
            member = log_likelihood(benchmark, "member", shots)
            columns["recall", f"shots={shots}", draw] = nonmember / plain + extra
            for gamma in GAMMAS:
                value = (nonmember - gamma * member) / plain + extra
                columns["con_recall", f"gamma={gamma:g};shots={shots}", draw] = value
        zero_access = rng.normal(size=len(plain))
        columns["con_recall", "gamma=0.5;shots=7;access=zero", draw] = zero_access
    frames = []
    for (method, setting, draw), scores in columns.items():
        keys = {"method": method, "setting": setting, "draw": draw}
        frames.append(
            pd.DataFrame({"id": benchmark["text_id"]}).assign(**keys, score=scores)
        )
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.assign(
        shots_used=None, unit="text", view="original", start_token="none", reference=""
    )
    return frame.astype({"draw": "Int64", "shots_used": "Int64"})


def make_study(folder: Path) -> Results:
    benchmark = texts()
    prefixes = draw_prefixes(benchmark, pool=POOL, draws=2, seed=3)
    table = scores(benchmark)
    read = scores_of([table], benchmark)
    sets = evaluation_sets(benchmark, prefixes)
    metrics, tests = evaluate(
        read,
        benchmark,
        study="made_up",
        model=MODEL,
        benchmark_name=BENCHMARK,
        resamples=60,
        evaluation_sets=sets,
        pooled=True,
    )
    written = manifest(folder, benchmark)
    write_json(folder / "manifest.json", written)
    index = PassIndex(written, folder / "store")
    passes = Passes(index, benchmark, sets, 60, f"{MODEL} on {BENCHMARK}")
    frames = {
        "metrics": metrics,
        "tests": tests,
        "benchmarks": benchmark,
        "training": training(),
    }
    for name, rows in (
        ("shift", shifts(passes)),
        ("roc", roc_curves(metrics, read, sets)),
        ("density", density_curves(metrics, read, sets)),
    ):
        frames[name] = made_up_results.statistic(name, rows)
    keys = {"benchmarks": BENCHMARK, "training": MODEL}
    paths = {"passes": {PAIR: folder / "manifest.json"}}
    for kind, frame in frames.items():
        path = folder / f"{kind}.parquet"
        write_parquet(path, frame)
        paths[kind] = {keys.get(kind, PAIR): path}
    entries = {BENCHMARK: {"title": "Two eras", "source": "eras", "language": "en"}}
    return Results(paths, entries)


def manifest(folder: Path, benchmark: pd.DataFrame) -> dict[str, Any]:
    """The passes of each subset: plain, and after every number of shots of either kind;
    written to the store."""
    views = []
    kinds = [("", None, None)]
    for prefix in KINDS.values():
        kinds += [(prefix, shots, 0) for shots in SHOTS]
    for kind, shots, draw in kinds:
        values = log_likelihood(benchmark, kind, shots or 0)
        for subset in SUBSETS:
            rows_of_subset = (benchmark["subset"] == subset).to_numpy()
            name = f"{subset}-{kind}-{shots}.parquet"
            ids = benchmark.loc[rows_of_subset, "text_id"]
            logprobs = [[value] for value in values[rows_of_subset]]
            path = folder / "store" / name
            write_parquet(path, pd.DataFrame({"text_id": ids, "logprobs": logprobs}))
            views.append(
                {
                    "view": "original",
                    "altered": "",
                    "prefix": kind,
                    "draw": draw,
                    "shots": shots,
                    "start_token": "none",
                    "inner_start": False,
                    "past_context": False,
                    "subset": subset,
                    "length": LENGTH,
                    "files": [{"file": name, "sha256": sha256_file(path)}],
                    "statistics": "logprobs" if kind else "full",
                    "texts": int(rows_of_subset.sum()),
                    "skipped": 0,
                    "truncated": 2 if kind else 0,
                    "tokens": 4000,
                    "seconds": 2.0,
                    "cpu_seconds": 1.5,
                    # half of them are repeats
                    "tokens_per_second": 500.0 if kind else 2000.0,
                    "peak_memory_mb": 500.0 + len(kind),
                    "prefix_way": "keys and values" if kind else None,
                }
            )
    return {
        "dtype": "float32",
        "device": "cpu",
        "model": MODEL,
        "benchmark": BENCHMARK,
        "views": views,
    }


def training() -> pd.DataFrame:
    steps = np.arange(1, 301)
    loss = 3 + 5 * np.exp(-steps / 60) + np.random.default_rng(1).normal(size=300) * 0.1
    held_out = np.where(steps % 50 == 0, 3.6 + 4.4 * np.exp(-steps / 50), np.nan)
    return pd.DataFrame(
        {"step": steps, "tokens": steps * 1023, "loss": loss, "heldout_loss": held_out}
    )


def artifact(renderer: str, **other: Any) -> dict[str, Any]:
    own = {
        "slug": f"p_{renderer}",
        "evaluation_set": "without_prefixes",
        "panels": [PANEL],
    }
    return made_up_results.artifact(renderer, **own | other)
