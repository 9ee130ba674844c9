"""Coverage of 95 % intervals and size of tests, by simulation.

python tests/bench/bench_intervals.py           # AUC: documents drawn apart and jointly
python tests/bench/bench_intervals.py --rates   # true positive rates: percentiles as they are and centred
"""

import argparse

import numpy as np
from scipy.special import ndtr, ndtri

from pretrace.evaluation.metrics import LEVELS, METRICS
from pretrace.evaluation.resampling import resample, resampling_groups
from pretrace.evaluation.roc import Ranking, compact
from pretrace.evaluation.significance import (
    bootstrap_test,
    centred,
    percentile_interval,
    placements,
)

TEXTS = 10
SHARES = (0.0, 0.4)
"""How much of a score's variance the texts of a document have in common."""

SHIFT = 0.6
"""Distance of the classes in standard deviations where there is something to find: AUC 0.66."""

SHIFTS = (0.0, 0.5, 1.5)
RATES = [METRICS.index(f"tpr_at_{level}_fpr") for level in LEVELS]

DESIGNS = {
    "50 documents, 25 of each class": lambda rng: np.repeat([0, TEXTS], 25),
    "25 documents, half of each": lambda rng: np.full(25, TEXTS // 2),
    "25 documents, 2 to 8 members in each": lambda rng: rng.integers(2, 9, 25),
    "12 documents, half of each, 3 of one class": lambda rng: np.r_[
        np.full(12, 5), TEXTS * rng.integers(0, 2, 3)
    ],
    "48 documents, half of each, 12 of one class": lambda rng: np.r_[
        np.full(48, 5), TEXTS * rng.integers(0, 2, 12)
    ],
}
"""Members of each document of ten texts."""


def bootstrap(scores, document, label, resamples, seed):
    groups = resampling_groups(np.arange(len(label)), document, label)
    ranking = Ranking.of(scores, label, np.arange(len(label)))
    counts = [ranking.counts(weights) for weights in resample(groups, resamples, seed)]
    return np.concatenate([numerators[:1] / pairs for numerators, pairs in counts], axis=1)


def expected_auc(document, label, share, shift):
    """Of all pairs; members and non-members of one document have its effect in common."""
    inside = (np.bincount(document, label) * np.bincount(document, ~label)).sum() / (
        label.sum() * (~label).sum()
    )
    return (1 - inside) * ndtr(shift / 2**0.5) + inside * ndtr(shift / (2 * (1 - share)) ** 0.5)


def simulate(name, share, shift, repetitions, resamples):
    """AUCs (repetitions,); by way, the bootstrap's SDs, whether its intervals cover and whether its test rejects."""
    rng = np.random.default_rng([list(DESIGNS).index(name), int(10 * share), int(10 * shift)])
    values, spread, covers, rejects = [], {}, {}, {}
    for seed in range(repetitions):
        members = DESIGNS[name](rng)
        document = np.repeat(np.arange(len(members)), TEXTS)
        label = np.tile(np.arange(TEXTS), len(members)) < members[document]
        scores = share**0.5 * rng.normal(size=len(members))[document] + shift * label
        scores += (1 - share) ** 0.5 * rng.normal(size=len(label))
        values.append(placements(scores, label)[0].mean())
        truth = expected_auc(document, label, share, shift)
        for way, of_document in (("apart", 2 * document + label), ("jointly", document)):
            draws = bootstrap(scores, of_document, label, resamples, seed)
            low, high = percentile_interval(draws)
            spread.setdefault(way, []).append(draws.std())
            covers.setdefault(way, []).append(low[0] <= truth <= high[0])
            rejects.setdefault(way, []).append(bootstrap_test(draws - 0.5).p[0] <= 0.05)
    return np.array(values), spread, covers, rejects


def rates(texts, shift, repetitions, resamples):
    """For each level: by way, how often the interval covers the mean of such rates, and the true one, and how often
    two methods that are equally good differ. Shape of each: (levels,), in percent.
    """
    rng = np.random.default_rng([texts, int(10 * shift)])
    label = np.arange(2 * texts) < texts
    rows, ones = np.arange(2 * texts), np.ones((2 * texts, 1))
    groups = resampling_groups(rows, np.full(2 * texts, -1), label)
    values, ends, differs = [], {"percentiles": [], "centred": []}, {"percentiles": [], "centred": []}
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
        ends["centred"].append(percentile_interval(centred(draws[0], estimates[0])))
        differs["percentiles"].append(bootstrap_test(leads).p <= 0.05)
        differs["centred"].append(bootstrap_test(centred(leads, lead)).p <= 0.05)
    mean = np.mean(values, axis=0)
    true = 1 - ndtr(ndtri(1 - np.array(LEVELS) / 100) - shift)
    low, high = (
        {way: np.clip(np.array(pairs)[:, side], 0, 1) for way, pairs in ends.items()} for side in (0, 1)
    )
    covered = [
        {way: 100 * ((low[way] <= wanted) & (wanted <= high[way])).mean(axis=0) for way in ends}
        for wanted in (mean, true)
    ]
    return mean, true, *covered, {way: 100 * np.mean(each, axis=0) for way, each in differs.items()}


def print_rates(repetitions, resamples):
    """A row for each number of texts and level; in a cell one number for each shift."""
    for texts in (25, 50, 100, 500):
        results = [rates(texts, shift, repetitions, resamples) for shift in SHIFTS]
        for index, level in enumerate(LEVELS):
            cells = [" / ".join(f"{result[part][index]:.2f}" for result in results) for part in (1, 0)]
            cells += [
                " / ".join(f"{result[part][way][index]:.0f}" for result in results)
                for part in (2, 3, 4)
                for way in ("percentiles", "centred")
            ]
            print(f"| {texts} | {level} % | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--rates", action="store_true")
    given = parser.parse_args()
    if given.rates:
        print_rates(given.repetitions, given.resamples)
        return
    for name in DESIGNS:
        for share in SHARES:
            values, spread, _, rejects = simulate(name, share, 0.0, given.repetitions, given.resamples)
            covers = simulate(name, share, SHIFT, given.repetitions, given.resamples)[2]
            ratios = [f"{np.mean(spread[way]) / values.std():.2f}" for way in ("apart", "jointly")]
            coverage = [f"{100 * np.mean(covers[way]):.0f} %" for way in ("apart", "jointly")]
            size = [f"{100 * np.mean(rejects[way]):.0f} %" for way in ("apart", "jointly")]
            print(f"| {name} | {share:g} | {' | '.join([*ratios, *coverage, *size])} |", flush=True)


if __name__ == "__main__":
    main()
