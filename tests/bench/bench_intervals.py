"""Coverage of 95 % intervals of the AUC and size of its tests, by simulation: documents drawn apart and jointly.

python tests/bench/bench_intervals.py
"""

import argparse

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from pretrace.evaluation.permutation import relabellings
from pretrace.evaluation.resampling import resample, resampling_groups
from pretrace.evaluation.roc import Ranking
from pretrace.evaluation.significance import (
    bootstrap_test,
    delong_test,
    delong_variance,
    percentile_interval,
    permutation_test,
    placements,
)

TEXTS = 10
SHARES = (0.0, 0.4)
"""How much of a score's variance the texts of a document have in common."""

SHIFT = 0.6
"""Distance of the classes in standard deviations where there is something to find: AUC 0.66."""

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


def permutation_p(scores, document, label, count, seed):
    labels = np.concatenate(list(relabellings(label, document, count, seed)), axis=1)
    return permutation_test((rankdata(scores) @ labels)[None] / label.sum())[1].p[0]


def expected_auc(document, label, share, shift):
    """Of all pairs; members and non-members of one document have its effect in common."""
    inside = (np.bincount(document, label) * np.bincount(document, ~label)).sum() / (
        label.sum() * (~label).sum()
    )
    return (1 - inside) * ndtr(shift / 2**0.5) + inside * ndtr(shift / (2 * (1 - share)) ** 0.5)


def simulate(name, share, shift, repetitions, resamples):
    """AUCs (repetitions,); by way, the bootstrap's SDs and whether its intervals cover; by test, whether it rejects."""
    rng = np.random.default_rng([list(DESIGNS).index(name), int(10 * share), int(10 * shift)])
    values, spread, covers, rejects = [], {}, {}, {}
    for seed in range(repetitions):
        members = DESIGNS[name](rng)
        document = np.repeat(np.arange(len(members)), TEXTS)
        label = np.tile(np.arange(TEXTS), len(members)) < members[document]
        scores = share**0.5 * rng.normal(size=len(members))[document] + shift * label
        scores += (1 - share) ** 0.5 * rng.normal(size=len(label))
        per_member, per_nonmember = placements(scores, label)
        values.append(per_member.mean())
        truth = expected_auc(document, label, share, shift)
        for way, of_document in (("apart", 2 * document + label), ("jointly", document)):
            draws = bootstrap(scores, of_document, label, resamples, seed)
            low, high = percentile_interval(draws)
            spread.setdefault(way, []).append(draws.std())
            covers.setdefault(way, []).append(low[0] <= truth <= high[0])
            rejects.setdefault(way, []).append(bootstrap_test(draws - 0.5).p[0] <= 0.05)
        variance = np.array([delong_variance(per_member, per_nonmember)])
        rejects.setdefault("delong", []).append(
            delong_test(values[-1:] - np.array([0.5]), variance).p[0] <= 0.05
        )
        if ((members > 0) & (members < TEXTS)).any():
            exact = permutation_p(scores, document, label, 199, seed)
            rejects.setdefault("permutation", []).append(exact <= 0.05)
    return np.array(values), spread, covers, rejects


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    given = parser.parse_args()
    for name in DESIGNS:
        for share in SHARES:
            values, spread, _, rejects = simulate(name, share, 0.0, given.repetitions, given.resamples)
            covers = simulate(name, share, SHIFT, given.repetitions, given.resamples)[2]
            ratios = [f"{np.mean(spread[way]) / values.std():.2f}" for way in ("apart", "jointly")]
            coverage = [f"{100 * np.mean(covers[way]):.0f} %" for way in ("apart", "jointly")]
            size = [
                f"{100 * np.mean(rejects[test]):.0f} %" if test in rejects else ""
                for test in ("apart", "jointly", "delong", "permutation")
            ]
            print(f"| {name} | {share:g} | {' | '.join([*ratios, *coverage, *size])} |", flush=True)


if __name__ == "__main__":
    main()
