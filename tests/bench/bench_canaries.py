"""Power of the corpus test on a key of canaries: how often p <= 5 %, by canaries, private twins and effect.

The scores of a canary and its twins are normal with the same mean; the published one is higher by the effect, in
standard deviations of its twins.

python tests/bench/bench_canaries.py
"""

import argparse

import numpy as np
from pretrace.evaluation.corpus_test import p_values
from pretrace.evaluation.corpus_units import Units

from pretrace.evaluation.significance import LEVEL

TWINS = (1, 4, 19)
COUNTS = (5, 10, 20, 50, 100)
EFFECTS = (0.0, 0.25, 0.5, 1.0, 2.0)


def drawn(canaries: int, twins: int, effect: float, rng: np.random.Generator, columns: int) -> Units:
    """`columns` made-up models that read the same key: each has normal scores of its own."""
    suspect = np.tile(np.arange(twins + 1) == 0, canaries)
    document = np.repeat(np.arange(canaries), twins + 1)
    scores = rng.normal(size=(len(suspect), columns)) + effect * suspect[:, None]
    names = tuple(f"model{number}" for number in range(columns))
    return Units(
        suspect=suspect, stratum=document, document=document, second=document % 2 == 0, texts=np.ones_like(document),
        names=names, scores=scores, within=np.zeros((columns, columns)),
    )  # fmt: skip


def power(
    canaries: int, twins: int, effect: float, repetitions: int, resamples: int, columns: int = 50
) -> float:
    """The share of `repetitions` made-up models that the test finds; each relabelling serves `columns` of them."""
    rng = np.random.default_rng([canaries, twins, int(100 * effect)])
    shares = [
        p_values(drawn(canaries, twins, effect, rng, columns), resamples, seed) <= LEVEL
        for seed in range(repetitions // columns)
    ]
    return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=20000)
    parser.add_argument("--resamples", type=int, default=999)
    given = parser.parse_args()
    print(f"| canaries | twins of each | {' | '.join(f'effect {effect:g}' for effect in EFFECTS)} |")
    print(f"|{'---|' * (2 + len(EFFECTS))}")
    for twins in TWINS:
        for canaries in COUNTS:
            shares = (
                power(canaries, twins, effect, given.repetitions, given.resamples) for effect in EFFECTS
            )
            print(f"| {canaries} | {twins} | {' | '.join(f'{share:.0%}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
