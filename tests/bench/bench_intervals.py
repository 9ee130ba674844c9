"""Coverage of 95 % intervals of true positive rates and size of tests, by simulation:
as they are and centred.

    python tests/bench/bench_intervals.py --repetitions 2000 --resamples 400
    python tests/bench/bench_intervals.py --sizes --repetitions 120
    python tests/bench/bench_intervals.py --stars --repetitions 400

`--sizes`: of 1 + 1 to 60 + 60 texts, and of few documents. `--stars`: of true positive
rates, as tables compare them.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.metrics import LEVELS, METRICS
from pretrace.evaluation.resampling import resample, resampling_groups
from pretrace.evaluation.roc import Ranking
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
from pretrace.render.estimates import with_stars
from pretrace.render.names import BLIND
from pretrace.render.tables.table import best, beyond_chance

SHIFTS = (0.0, 0.5, 1.5)
RATES = [METRICS.index(f"tpr_at_{level}_fpr") for level in LEVELS]


WAYS = ("percentiles", "centred")


@dataclass(frozen=True)
class Rates:
    """By level, shape (levels,): the mean and the true rate; and in percent, by way of
    making intervals, how often they cover the mean, cover the true rate, and how often
    two methods that are equally good differ."""

    mean: np.ndarray
    true: np.ndarray
    covers_mean: dict[str, np.ndarray]
    covers_true: dict[str, np.ndarray]
    differs: dict[str, np.ndarray]


def rates_of(ranking, weights):
    """Return the rates [levels, columns of `weights`] of one method."""
    numerators, pairs = ranking.counts(weights)
    return numerators[RATES] / pairs


def rates(texts, shift, repetitions, resamples):
    rng = np.random.default_rng([texts, int(10 * shift)])
    label = np.arange(2 * texts) < texts
    rows = np.arange(2 * texts)
    ones = np.ones((2 * texts, 1))
    groups = resampling_groups(rows, np.full(2 * texts, -1), label)
    values = []
    ends = {way: [] for way in WAYS}
    differs = {way: [] for way in WAYS}
    for seed in range(repetitions):
        if seed % 20 == 0:
            weights = [*resample(groups, resamples, seed)]
        common = rng.normal(size=2 * texts)
        estimates = []
        draws = []
        for own in rng.normal(size=(2, 2 * texts)):
            ranking = Ranking.of((common + own) / 2**0.5 + shift * label, label, rows)
            drawn = [rates_of(ranking, part) for part in weights]
            estimates.append(rates_of(ranking, ones)[:, 0])
            draws.append(np.concatenate(drawn, axis=1))
        values.append(estimates[0])
        centred = centre_resamples(draws[0], estimates[0])
        ends["percentiles"].append(percentile_interval(draws[0]))
        ends["centred"].append(percentile_interval(centred))
        leads = draws[0] - draws[1]
        centred = centre_resamples(leads, estimates[0] - estimates[1])
        differs["percentiles"].append(bootstrap_test(leads).p <= 0.05)
        differs["centred"].append(bootstrap_test(centred).p <= 0.05)
    mean = np.mean(values, axis=0)
    true = 1 - ndtr(ndtri(1 - np.array(LEVELS) / 100) - shift)
    result = Rates(mean, true, {}, {}, {})
    for way in WAYS:
        intervals = np.clip(ends[way], 0, 1)
        low = intervals[:, 0]
        high = intervals[:, 1]
        for wanted, covers in ((mean, result.covers_mean), (true, result.covers_true)):
            covers[way] = 100 * ((low <= wanted) & (wanted <= high)).mean(axis=0)
        result.differs[way] = 100 * np.mean(differs[way], axis=0)
    return result


def joined(numbers, digits):
    return " / ".join(f"{number:.{digits}f}" for number in numbers)


def print_rates(repetitions, resamples):
    """A row for each number of texts and level; in a cell one number for each shift."""
    for texts in (25, 50, 100, 500):
        results = [rates(texts, shift, repetitions, resamples) for shift in SHIFTS]
        for index, level in enumerate(LEVELS):
            cells = [
                joined([result.true[index] for result in results], digits=2),
                joined([result.mean[index] for result in results], digits=2),
            ]
            for name in ("covers_mean", "covers_true", "differs"):
                for way in WAYS:
                    shares = [getattr(result, name)[way] for result in results]
                    cells.append(joined([share[index] for share in shares], digits=0))
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
    rows = np.arange(2 * texts)
    ones = np.ones((2 * texts, 1))
    groups = resampling_groups(rows, np.full(2 * texts, -1), label)
    factors = expansion(texts) * np.where(widened, CROSS_FITTED, 1.0)
    any_star = []
    last_star = []
    for seed in range(repetitions):
        weights = np.concatenate(list(resample(groups, resamples, seed)), axis=1)
        common = rng.normal(size=2 * texts)
        values = []
        draws = []
        for distance, factor in zip(distances, factors, strict=True):
            scores = (common + rng.normal(size=2 * texts)) / 2**0.5 + distance * label
            ranking = Ranking.of(scores, label, rows)
            value = rates_of(ranking, ones)
            drawn = rates_of(ranking, weights)
            values.append(value[:, 0])
            draws.append(np.clip(value + factor * (drawn - value), 0, 1))
        leads = np.array(values[1:]) - values[0]
        drawn_leads = np.array(draws[1:]) - draws[0]
        starred = []
        for level in range(len(RATES)):
            lead = leads[:, level]
            centred = centre_resamples(drawn_leads[:, level], lead)
            p = holm(bootstrap_test(centred).p)
            starred.append((p <= 0.05) & (lead > 0))
        any_star.append(np.any(starred, axis=1))
        last_star.append(np.array(starred)[:, -1])
    return 100 * np.mean(any_star), 100 * np.mean(last_star)


def print_stars(repetitions, resamples):
    """A row for each number of texts of each class: false stars of six methods that are
    equally good, and power."""
    plain = np.zeros(6, dtype=bool)
    blind = np.arange(6) == 0
    better = [GOOD] * 5 + [BETTER]
    for texts in STAR_SIZES:
        none, _ = stars(texts, [0.0] * 6, plain, repetitions, resamples)
        good, _ = stars(texts, [GOOD] * 6, plain, repetitions, resamples)
        _, over_loss = stars(texts, better, plain, repetitions, resamples)
        _, over_blind = stars(texts, better, blind, repetitions, resamples)
        shares = (none, good, over_loss, over_blind)
        cells = " | ".join(f"{share:.1f}" for share in shares)
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
        "label": label.astype(int),
        "length": pd.array([64] * len(ids), "Int64"),
    }
    return pd.DataFrame(columns)


def printed(benchmark, scores, seed, resamples):
    """Return what a table would print of default settings: rows of metrics, and whether
    a method has a star."""
    columns = {}
    for method, own in zip(METHODS, scores, strict=True):
        columns[Column(method, view="original")] = own
    metrics, tests = evaluate(
        {"text": UnitScores(text_units(benchmark), columns, {})}, benchmark,
        study="bench", model=str(seed), benchmark_name="", resamples=resamples,
    )  # fmt: skip
    metrics = metrics[metrics["selection"] == "default"]
    metrics = metrics.assign(control=metrics["method"] == BLIND, panel=0)
    tests = tests[tests["selection"] == "default"]
    tests = tests[tests["test"] == "bootstrap"]
    against_blind = tests[tests["baseline"] == BLIND]
    return metrics, with_stars(against_blind.assign(panel=0, average="", control=False))


def sizes(label, document, distance, repetitions, resamples):
    """Return shares by name: columns with a star and with a bold value, and, of the
    intervals, those that cover.

    Scores have a share 0.4 of their variance in common inside a document, and half of
    the rest between methods.
    """
    rng = np.random.default_rng([len(label), len(set(document)), int(10 * distance)])
    benchmark = benchmark_of(label, document)
    _, codes = np.unique(document, return_inverse=True)
    has_documents = bool(document[0])
    share = SHARE if has_documents else 0.0
    # of the pairs, which have a document's effect in common
    inside = 1 / len(set(document)) if has_documents else 0.0
    auc_inside = ndtr(distance / (2 * (1 - share)) ** 0.5)
    truth = (1 - inside) * ndtr(distance / 2**0.5) + inside * auc_inside
    found = []
    for seed in range(repetitions):
        common = rng.normal(size=len(label))
        scores = []
        for _ in METHODS:
            of_document = share**0.5 * rng.normal(size=len(label))[codes]
            of_text = common + rng.normal(size=len(label))
            noise = of_document + ((1 - share) / 2) ** 0.5 * of_text
            scores.append(noise + distance * label)
        metrics, tests = printed(benchmark, scores, seed, resamples)
        rows = metrics[metrics["metric"] == "auc"]
        bold = best(rows, ["panel"]) & beyond_chance(rows, ["panel"])
        known = rows[rows["low"].notna()]
        covers = (known["low"] <= truth) & (truth <= known["high"])
        star = tests.loc[tests["metric"] == "auc", "star"].any()
        found.append({"star": star, "bold": bold.any(), "covers": covers.mean()})
    return pd.DataFrame(found).astype(float).mean()


def designs():
    """Yield the label and the document of each text, and the name of such a
    benchmark."""
    for n in SIZES:
        yield np.arange(2 * n) < n, np.full(2 * n, ""), f"{n} + {n} texts"
    for n in (2, 5, 10):
        yield np.arange(n + 60) < n, np.full(n + 60, ""), f"{n} + 60 texts"
    for n in DOCUMENTS:
        names = [f"d{place}" for place in range(n)]
        label = np.tile(np.arange(TEXTS) < 5, n)
        yield label, np.repeat(names, TEXTS), f"{n} documents"


def print_sizes(repetitions, resamples):
    """A row for each number of texts of each class, then for each number of documents
    of five and five texts."""
    for label, document, name in designs():
        results = []
        for distance in DISTANCES:
            results.append(sizes(label, document, distance, repetitions, resamples))
        covers = []
        for result in results:
            share = result["covers"]
            covers.append("-" if np.isnan(share) else f"{100 * share:.0f}")
        null = 100 * results[0].fillna(0)
        cells = f"{null['star']:.1f} | {null['bold']:.1f} | {' / '.join(covers)}"
        print(f"| {name} | {cells} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--stars", action="store_true")
    given = parser.parse_args()
    print_table = print_rates
    if given.stars:
        print_table = print_stars
    if given.sizes:
        print_table = print_sizes
    print_table(given.repetitions, given.resamples)


if __name__ == "__main__":
    main()
