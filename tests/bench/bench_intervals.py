"""Coverage of 95 % intervals of true positive rates and size of tests, by simulation:
as they are and centred.

    python tests/bench/bench_intervals.py --repetitions 2000 --resamples 400
    python tests/bench/bench_intervals.py --sizes --repetitions 120
    python tests/bench/bench_intervals.py --stars --repetitions 400

`--sizes`: of 1 + 1 to 60 + 60 texts, and of few documents. `--stars`: of true positive
rates, as tables compare them.
"""

import argparse

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.metrics import LEVELS, METRICS
from pretrace.evaluation.resampling import resample, resampling_groups
from pretrace.evaluation.roc import Ranking, compact
from pretrace.evaluation.scores import UnitScores, text_units
from pretrace.evaluation.significance import (
    CROSS_FITTED,
    bootstrap_test,
    centre_resamples,
    expansion,
    holm,
    percentile_interval,
)
from pretrace.methods.settings import Column
from pretrace.render.names import BLIND
from pretrace.render.results import with_stars
from pretrace.render.tables.table import best, beyond_chance

SHIFTS = (0.0, 0.5, 1.5)
RATES = [METRICS.index(f"tpr_at_{level}_fpr") for level in LEVELS]


def rates(texts, shift, repetitions, resamples):
    """For each level: by way, how often the interval covers the mean of such rates, and
    the true one, and how often two methods that are equally good differ. Shape of each:
    (levels,), in percent.
    """
    rng = np.random.default_rng([texts, int(10 * shift)])
    label = np.arange(2 * texts) < texts
    rows, ones = np.arange(2 * texts), np.ones((2 * texts, 1))
    groups = resampling_groups(rows, np.full(2 * texts, -1), label)
    values, ends, differs = (
        [],
        {"percentiles": [], "centred": []},
        {"percentiles": [], "centred": []},
    )
    for seed in range(repetitions):
        if seed % 20 == 0:
            weights = [compact(part) for part in resample(groups, resamples, seed)]
        common, estimates, draws = rng.normal(size=2 * texts), [], []
        for own in rng.normal(size=(2, 2 * texts)):
            ranking = Ranking.of((common + own) / 2**0.5 + shift * label, label, rows)
            counts = [ranking.counts(part) for part in [ones, *weights]]
            whole, *drawn = [numerators[RATES] / pairs for numerators, pairs in counts]
            estimates.append(whole[:, 0])
            draws.append(np.concatenate(drawn, axis=1))
        values.append(estimates[0])
        lead, leads = estimates[0] - estimates[1], draws[0] - draws[1]
        ends["percentiles"].append(percentile_interval(draws[0]))
        ends["centred"].append(
            percentile_interval(centre_resamples(draws[0], estimates[0]))
        )
        differs["percentiles"].append(bootstrap_test(leads).p <= 0.05)
        differs["centred"].append(
            bootstrap_test(centre_resamples(leads, lead)).p <= 0.05
        )
    mean = np.mean(values, axis=0)
    true = 1 - ndtr(ndtri(1 - np.array(LEVELS) / 100) - shift)
    low, high = (
        {way: np.clip(np.array(pairs)[:, side], 0, 1) for way, pairs in ends.items()}
        for side in (0, 1)
    )
    covered = [
        {
            way: 100 * ((low[way] <= wanted) & (wanted <= high[way])).mean(axis=0)
            for way in ends
        }
        for wanted in (mean, true)
    ]
    return (
        mean,
        true,
        *covered,
        {way: 100 * np.mean(each, axis=0) for way, each in differs.items()},
    )


def print_rates(repetitions, resamples):
    """A row for each number of texts and level; in a cell one number for each shift."""
    for texts in (25, 50, 100, 500):
        results = [rates(texts, shift, repetitions, resamples) for shift in SHIFTS]
        for index, level in enumerate(LEVELS):
            cells = [
                " / ".join(f"{result[part][index]:.2f}" for result in results)
                for part in (1, 0)
            ]
            cells += [
                " / ".join(f"{result[part][way][index]:.0f}" for result in results)
                for part in (2, 3, 4)
                for way in ("percentiles", "centred")
            ]
            print(f"| {texts} | {level} % | {' | '.join(cells)} |", flush=True)


STAR_SIZES = (10, 15, 20, 30, 60)
GOOD, BETTER = 1.8, 2.6
"""Distances of the classes in standard deviations: AUC 0.90 of good methods, 0.97 of
one that is better."""


def stars(texts, distances, widened, repetitions, resamples):
    """Return how often (percent) a column of rates has a star over its first method,
    and how often the last method has.

    By level, then the mean over them; `distances` and `widened` of the methods: the
    latter's intervals and tests are wider by the root of 2, as those of the bag of
    words.
    """
    rng = np.random.default_rng([texts, len(distances), int(10 * sum(distances))])
    label = np.arange(2 * texts) < texts
    rows, ones = np.arange(2 * texts), np.ones((2 * texts, 1))
    groups = resampling_groups(rows, np.full(2 * texts, -1), label)
    factors = expansion(texts) * np.where(widened, CROSS_FITTED, 1.0)
    any_star, last_star = [], []
    for seed in range(repetitions):
        weights = np.concatenate(list(resample(groups, resamples, seed)), axis=1)
        common = rng.normal(size=2 * texts)
        values, draws = [], []
        for distance, factor in zip(distances, factors, strict=True):
            scores = (common + rng.normal(size=2 * texts)) / 2**0.5 + distance * label
            ranking = Ranking.of(scores, label, rows)
            value, drawn = (
                numerators[RATES] / pairs
                for numerators, pairs in map(ranking.counts, (ones, weights))
            )
            values.append(value[:, 0])
            draws.append(np.clip(value + factor * (drawn - value), 0, 1))
        leads = np.array(values[1:]) - values[0]
        drawn_leads = np.array(draws[1:]) - draws[0]
        starred = []
        for level in range(len(RATES)):
            p = bootstrap_test(
                centre_resamples(drawn_leads[:, level], leads[:, level])
            ).p
            starred.append((holm(p) <= 0.05) & (leads[:, level] > 0))
        any_star.append(np.any(starred, axis=1))
        last_star.append(np.array(starred)[:, -1])
    return 100 * np.mean(any_star), 100 * np.mean(last_star)


def print_stars(repetitions, resamples):
    """A row for each number of texts of each class: false stars of six methods that are
    equally good, and power."""
    plain, blind = np.zeros(6, dtype=bool), np.arange(6) == 0
    for texts in STAR_SIZES:
        none, _ = stars(texts, [0.0] * 6, plain, repetitions, resamples)
        good, _ = stars(texts, [GOOD] * 6, plain, repetitions, resamples)
        _, over_loss = stars(
            texts, [GOOD] * 5 + [BETTER], plain, repetitions, resamples
        )
        _, over_blind = stars(
            texts, [GOOD] * 5 + [BETTER], blind, repetitions, resamples
        )
        cells = " | ".join(
            f"{share:.1f}" for share in (none, good, over_loss, over_blind)
        )
        print(f"| {texts} + {texts} | {cells} |", flush=True)


SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60)
DOCUMENTS = (5, 10, 20)
METHODS = ("loss", "zlib", "lowercase", "ref", "gap_k", "blind")
"""Six methods with one setting; the stars are those above the last."""

DISTANCES = (0.0, 0.6, 1.8)
"""AUC 0.5, 0.66 and 0.90."""

TEXTS = 10
SHARE = 0.4
"""Texts of a document, half of each class, and how much of a score's variance they have
in common."""


def benchmark_of(label, document):
    ids = [f"{place:05d}" for place in range(len(label))]
    columns = {
        "text_id": ids,
        "text": ids,
        "subset": "",
        "fold": 0,
        "document": document,
    }
    return pd.DataFrame(columns).assign(
        label=label.astype(int), length=pd.array([64] * len(ids), "Int64")
    )


def printed(benchmark, scores, seed, resamples):
    """Return what a table would print of default settings: rows of metrics, and whether
    a method has a star."""
    units = text_units(benchmark)
    columns = {
        Column(method, view="original"): own
        for method, own in zip(METHODS, scores, strict=True)
    }
    metrics, tests = evaluate(
        {"text": UnitScores(units, columns, {})}, benchmark,
        study="bench", model=str(seed), benchmark_name="", resamples=resamples,
    )  # fmt: skip
    metrics = metrics[metrics["selection"].eq("default")].assign(
        control=metrics["method"].eq(BLIND), panel=0
    )
    against = (
        tests["baseline"].eq(BLIND)
        & tests["test"].eq("bootstrap")
        & tests["selection"].eq("default")
    )
    return metrics, with_stars(
        tests[against].assign(panel=0, average="", control=False)
    )


def sizes(label, document, distance, repetitions, resamples):
    """Return shares by name: columns with a star and with a bold value, and, of the
    intervals, those that cover.

    Scores have a share 0.4 of their variance in common inside a document, and half of
    the rest between methods.
    """
    rng = np.random.default_rng([len(label), len(set(document)), int(10 * distance)])
    benchmark = benchmark_of(label, document)
    codes = np.unique(document, return_inverse=True)[1]
    inside = (
        1 / len(set(document)) if document[0] else 0.0
    )  # of the pairs, which have a document's effect in common
    share = SHARE if document[0] else 0.0
    truth = (1 - inside) * ndtr(distance / 2**0.5) + inside * ndtr(
        distance / (2 * (1 - share)) ** 0.5
    )
    found = []
    for seed in range(repetitions):
        common = rng.normal(size=len(label))
        scores = [
            share**0.5 * rng.normal(size=len(label))[codes]
            + ((1 - share) / 2) ** 0.5 * (common + rng.normal(size=len(label)))
            + distance * label
            for _ in METHODS
        ]
        metrics, tests = printed(benchmark, scores, seed, resamples)
        rows = metrics[metrics["metric"] == "auc"]
        bold = best(rows, ["panel"]) & beyond_chance(rows, ["panel"])
        known = rows[rows["low"].notna()]
        found.append({
            "star": tests.loc[tests["metric"] == "auc", "star"].any(),
            "bold": bold.any(),
            "covers": ((known["low"] <= truth) & (truth <= known["high"])).mean(),
        })  # fmt: skip
    return pd.DataFrame(found).astype(float).mean()


def print_sizes(repetitions, resamples):
    """A row for each number of texts of each class, then for each number of documents
    of five and five texts."""
    alike = [
        (np.arange(2 * n) < n, np.full(2 * n, ""), f"{n} + {n} texts") for n in SIZES
    ]
    alike += [
        (np.arange(n + 60) < n, np.full(n + 60, ""), f"{n} + 60 texts")
        for n in (2, 5, 10)
    ]
    alike += [
        (
            np.tile(np.arange(TEXTS) < 5, n),
            np.repeat([f"d{place}" for place in range(n)], TEXTS),
            f"{n} documents",
        )
        for n in DOCUMENTS
    ]
    for label, document, name in alike:
        null, *others = [
            sizes(label, document, distance, repetitions, resamples)
            for distance in DISTANCES
        ]
        covers = " / ".join(
            "-" if np.isnan(row["covers"]) else f"{100 * row['covers']:.0f}"
            for row in (null, *others)
        )
        star, bold = (
            f"{100 * np.nan_to_num(null[key]):.1f}" for key in ("star", "bold")
        )
        print(f"| {name} | {star} | {bold} | {covers} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--stars", action="store_true")
    given = parser.parse_args()
    printed_of = (
        print_sizes if given.sizes else print_stars if given.stars else print_rates
    )
    printed_of(given.repetitions, given.resamples)


if __name__ == "__main__":
    main()
