"""False alarms and power of a corpus test whose documents have different numbers of texts, in simulations.

    python tests/bench/bench_corpus.py [--times 1000] [--quick]

Prints the Markdown table of docs/size_and_power.md: percent of draws with p <= 0.05, by relabelling documents (as until
2026) and by the test of the library. Scores are normal with variance 1, of which the share ICC lies between documents.
"""

import argparse

import numpy as np

from pretrace.evaluation.corpus_test import p_values, t_p_values
from pretrace.evaluation.corpus_units import Units
from pretrace.evaluation.significance import LEVEL

Design = tuple[int, int, int, int]
"""Suspected documents, texts of each, held-out documents, texts of each."""

DESIGNS: tuple[Design, ...] = (
    (20, 3, 60, 30), (20, 1, 100, 20), (10, 20, 10, 2), (10, 2, 50, 20), (50, 5, 50, 10),
)  # fmt: skip
ICCS = (0.0, 0.1, 0.3, 0.7)
EFFECT = 0.5
RELABELLINGS = 199


def units_of(rng: np.random.Generator, design: Design, icc: float, effect: float) -> Units:
    suspected, few, held_out, many = design
    texts = np.repeat([few, many], [suspected, held_out])
    suspect = np.arange(len(texts)) < suspected
    document = np.repeat(np.arange(len(texts)), texts)
    shared = np.sqrt(icc) * rng.normal(size=len(texts)) + effect * suspect
    scores = shared[document] + np.sqrt(1 - icc) * rng.normal(size=len(document))
    means = np.bincount(document, scores) / texts
    within = ((scores - means[document]) ** 2).sum() / max(1, len(document) - len(texts))
    codes = np.arange(len(texts))
    return Units(
        suspect=suspect, stratum=np.zeros_like(codes), document=codes, second=codes % 2 == 0, texts=texts,
        names=("loss",), scores=means[:, None], within=np.array([[within]]),
    )  # fmt: skip


def relabelled(units: Units, rng: np.random.Generator) -> float:
    """The share of relabellings of whole documents with at least the effect, as if all had as many texts."""
    score = units.scores[:, 0]
    orders = [units.suspect, *(rng.permutation(units.suspect) for _ in range(RELABELLINGS))]
    effects = np.array([score[order].mean() - score[~order].mean() for order in orders])
    return float((effects >= effects[0] - 1e-12).mean())


def cell(design: Design, icc: float, effect: float, times: int) -> str:
    rng = np.random.default_rng([*design, round(100 * icc), round(10 * effect)])
    rejected = np.zeros(2)
    for _ in range(times):
        units = units_of(rng, design, icc, effect)
        mine = t_p_values(units) if not units.exchangeable else p_values(units, RELABELLINGS, 0)
        rejected += [relabelled(units, rng) <= LEVEL, mine[0] <= LEVEL]
    return " / ".join(f"{100 * share:.0f}" for share in rejected / times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="few draws, to see that it works")
    given = parser.parse_args()
    times = 20 if given.quick else given.times
    for title, effect in (("False alarms in percent", 0.0), (f"Power in percent, {EFFECT:g} SD", EFFECT)):
        print(f"{title}: relabelling (before) / this test\n")
        print(
            f"| suspected | held out | {' | '.join(f'ICC {icc:g}' for icc in ICCS)} |\n|{'---|' * (2 + len(ICCS))}"
        )
        for design in DESIGNS:
            named = [f"{design[place]} of {design[place + 1]} texts" for place in (0, 2)]
            cells = [cell(design, icc, effect, times) for icc in ICCS]
            print(f"| {' | '.join([*named, *cells])} |", flush=True)
        print()


if __name__ == "__main__":
    main()
