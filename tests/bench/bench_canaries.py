"""Power of an audit of a key of canaries: how often p <= 5 %, by canaries, private
twins and effect.

The scores of a canary and its twins are normal with the same mean; the published one is
higher by the effect, in standard deviations of its twins.

python tests/bench/bench_canaries.py
"""

import argparse

import numpy as np

from pretrace.audit.design import LEVEL
from pretrace.audit.exchange_test import AuditedTexts, units_of

# canaries, private twins of each
KEYS = ((10, 1), (50, 1), (10, 19), (20, 19), (50, 19), (100, 19))
EFFECTS = (0.0, 0.25, 0.5, 1.0)
RELABELLINGS = 199


def power(canaries: int, twins: int, effect: float, repetitions: int) -> float:
    """The share of `repetitions` made-up models that the test finds."""
    rng = np.random.default_rng([canaries, twins, int(100 * effect)])
    suspect = np.tile(np.arange(twins + 1) == 0, canaries)
    document, low = np.repeat(np.arange(canaries), twins + 1), 0
    for _ in range(repetitions):
        scores = rng.normal(size=len(suspect)) + effect * suspect
        texts = AuditedTexts(
            scores[:, None], document, np.zeros_like(document), suspect, within=True
        )
        low += (
            units_of(texts, texts.ranks([0])[:, -1]).p(seed=0, drawn=RELABELLINGS)
            <= LEVEL
        )
    return low / repetitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    given = parser.parse_args()
    print(
        "| canaries | twins of each | "
        f"{' | '.join(f'effect {effect:g}' for effect in EFFECTS)} |"
    )
    print(f"|{'---|' * (2 + len(EFFECTS))}")
    for canaries, twins in KEYS:
        shares = (
            power(canaries, twins, effect, given.repetitions) for effect in EFFECTS
        )
        print(
            f"| {canaries} | {twins} | "
            f"{' | '.join(f'{share:.0%}' for share in shares)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
