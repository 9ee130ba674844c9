"""Seconds of `evaluate` by the size of a cell, and the weighted bootstrap against resampling text by text.

Run: python tests/bench/bench_evaluation.py
"""

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "unit")]

from evaluation_tables import run, scores, texts  # noqa: E402
from sklearn.metrics import roc_auc_score, roc_curve  # noqa: E402

from pretrace.evaluation.resampling import resample, resampling_groups  # noqa: E402
from pretrace.evaluation.roc import Ranking  # noqa: E402

PLAIN = ("plain", "other", "third")


def best_of(repetitions, *functions):
    """Best seconds of each function, alternating between them."""
    best = [np.inf] * len(functions)
    for _ in range(repetitions):
        for at, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[at] = min(best[at], time.perf_counter() - start)
    return best


def seconds_of_a_cell(n, settings, resamples=2000):
    label = np.arange(n) % 2
    rng = np.random.default_rng(n)
    benchmark = texts(label)
    columns = {("tuned", f"k={k}"): rng.normal(size=n) + 0.2 * label for k in range(1, settings + 1)}
    table = scores(benchmark, columns | {(name, ""): rng.normal(size=n) for name in PLAIN})
    return best_of(3 if n < 5000 else 1, lambda: run(table, benchmark, resamples=resamples))[0]


def text_by_text(values, label, resamples):
    rng = np.random.default_rng(0)
    members, nonmembers = np.flatnonzero(label), np.flatnonzero(~label)
    for _ in range(resamples):
        drawn = np.concatenate([rng.choice(members, len(members)), rng.choice(nonmembers, len(nonmembers))])
        roc_auc_score(label[drawn], values[drawn])
        roc_curve(label[drawn], values[drawn], drop_intermediate=False)


def weighted(values, label, resamples):
    groups = resampling_groups(np.arange(len(label)), np.full(len(label), -1), label)
    ranking = Ranking.of(values, label, np.arange(len(label)))
    for weights in resample(groups, resamples, 0):
        ranking.counts(weights)


def main():
    print("seconds of evaluate, one cell, 2000 resamples")
    for n, settings in ((670, 250), (1_000, 5), (10_000, 5), (100_000, 5)):
        seconds = seconds_of_a_cell(n, settings)
        print(f"  {n:>7} texts, {settings:>3} settings and {len(PLAIN)} methods: {seconds:8.2f}", flush=True)
    label = np.arange(670) % 2 == 0
    values = np.random.default_rng(0).normal(size=670)
    ours, theirs = best_of(3, lambda: weighted(values, label, 200), lambda: text_by_text(values, label, 200))
    print(f"200 resamples of 670 texts: {theirs / ours:.0f} times as fast as scikit-learn on each of them")


if __name__ == "__main__":
    main()
