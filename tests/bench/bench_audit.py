"""False alarms and power of an audit's document test, in simulations, beside two other tests.

    PYTHONPATH=scripts python tests/bench/bench_audit.py [--times 1000] [--quick]

Prints the Markdown tables of docs/size_and_power.md. Scores have variance 1, of which the share ICC lies between
documents. About 200 known texts come from K documents, with as many texts each, or with unequal numbers (1 to twice as
many). The suspect document has n texts. Power is that of a shift by 0.8 standard deviations of a text.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from pretrace.evaluation.document_test import ScoredTexts, comparisons
from pretrace.evaluation.evidence import LEVEL, empirical_p

TEXTS, SHIFT = 200, 0.8
ICCS = (0.0, 0.1, 0.3, 0.7)
OWN = (1, 4, 20)
Draw = Callable[[np.random.Generator, int], np.ndarray]
FAMILIES: dict[str, Draw] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "heavy tails (t, 3 degrees)": lambda rng, count: rng.standard_t(3, size=count) / np.sqrt(3),
    "skewed (exponential)": lambda rng, count: rng.exponential(size=count) - 1,
}


def documents(
    rng: np.random.Generator, sizes: np.ndarray, icc: float, draw: Draw
) -> tuple[np.ndarray, np.ndarray]:
    code = np.repeat(np.arange(len(sizes)), sizes)
    return np.sqrt(icc) * draw(rng, len(sizes))[code] + np.sqrt(1 - icc) * draw(rng, len(code)), code


def this_test(known: np.ndarray, code: np.ndarray, suspect: np.ndarray) -> float:
    group = ScoredTexts(suspect[:, None], np.full(len(suspect), -1))
    (result,) = comparisons([ScoredTexts(known[:, None], code)], [group], [])
    return 1.0 if result is None else result.p


def cauchy(known: np.ndarray, code: np.ndarray, suspect: np.ndarray) -> float:
    """Combine the texts' empirical p-values by Cauchy's rule, as audits did until 2026."""
    p = np.minimum(empirical_p(suspect, known), 0.99)
    return float(0.5 - np.arctan(np.tan((0.5 - p) * np.pi).mean()) / np.pi)


def rank(known: np.ndarray, code: np.ndarray, suspect: np.ndarray) -> float:
    """Rank the suspect's mean among the known documents' means: exact where all have as many texts."""
    means = np.bincount(code, known) / np.bincount(code)
    return float(empirical_p(suspect.mean(), means))


TESTS = {"Cauchy (before)": cauchy, "rank of means": rank, "this test": this_test}


def sizes_of(count: int, unequal: bool) -> np.ndarray:
    each = max(1, TEXTS // count)
    if not unequal:
        return np.full(count, each)
    return np.random.default_rng(5).integers(1, 2 * each + 1, count)


def shares(
    count: int, own: int, icc: float, draw: Draw, unequal: bool, times: int, shift: float, tests: list[str]
) -> list[float]:
    """Return the share of `times` suspect documents with p <= `LEVEL`, of each test."""
    rng = np.random.default_rng([count, own, round(100 * icc), unequal, round(10 * shift)])
    sizes, found = sizes_of(count, unequal), np.zeros(len(tests))
    for _ in range(times):
        known, code = documents(rng, sizes, icc, draw)
        suspect = documents(rng, np.array([own]), icc, draw)[0] + shift
        found += [TESTS[name](known, code, suspect) <= LEVEL for name in tests]
    return list(found / times)


def table(head: list[str], rows: Iterator[list[str]]) -> None:
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def percent(values: list[float]) -> str:
    return " / ".join(f"{100 * value:.0f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="few draws of few cells, to see that it works")
    given = parser.parse_args()
    times, counts = (20, (10,)) if given.quick else (given.times, (10, 15, 20, 40, 100))
    head = ["known documents", "suspect texts", *(f"ICC {icc:g}" for icc in ICCS)]

    print(f"False alarms in percent, p <= {LEVEL:g}, normal scores: {' / '.join(TESTS)}\n")
    few = (10,) if given.quick else (1, 2, 5, 10, 20, 100)
    table(head, (
        [f"{count}", f"{own}", *(percent(shares(count, own, icc, FAMILIES["normal"], False, times, 0, [*TESTS]))
                                 for icc in ICCS)]
        for count in few for own in OWN[:2]
    ))  # fmt: skip
    for family, draw in FAMILIES.items():
        print(f"False alarms in percent of this test, scores {family}: equal / unequal numbers of texts\n")
        table(head, (
            [f"{count}", f"{own}", *(percent([
                shares(count, own, icc, draw, unequal, times, 0, ["this test"])[0] for unequal in (False, True)
            ]) for icc in ICCS)]
            for count in counts for own in OWN
        ))  # fmt: skip
    print(f"Power in percent for a shift of {SHIFT:g}, normal scores: {' / '.join(TESTS)}\n")
    table(head, (
        [f"{count}", f"{own}", *(percent(shares(count, own, icc, FAMILIES["normal"], False, times, SHIFT, [*TESTS]))
                                 for icc in ICCS)]
        for count in counts for own in OWN
    ))  # fmt: skip


if __name__ == "__main__":
    main()
