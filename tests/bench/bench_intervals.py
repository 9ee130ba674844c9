"""Coverage of 95 % intervals of true positive rates and size of tests, by simulation: as they are and centred.

python tests/bench/bench_intervals.py --repetitions 2000 --resamples 400
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
)

SHIFTS = (0.0, 0.5, 1.5)
RATES = [METRICS.index(f"tpr_at_{level}_fpr") for level in LEVELS]


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
    given = parser.parse_args()
    print_rates(given.repetitions, given.resamples)


if __name__ == "__main__":
    main()
