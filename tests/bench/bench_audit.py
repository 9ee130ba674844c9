"""False alarms and power of an audit's exchange of documents, in simulations of made-up
scores.

    python tests/bench/bench_audit.py [--times 400]

Prints the Markdown tables of tests/bench/SIZE_AND_POWER.md. Scores have variance 1, of which
the share ICC lies between documents. In the mixtures a tenth of the documents, and of
the texts, lies 3 or 6 standard deviations higher. Whole audits of real texts are in
bench_stress.py.
"""

import argparse
from collections.abc import Callable

import numpy as np

from pretrace.audit.design import LEVEL
from pretrace.audit.exchange_test import AuditedTexts, units_of

Draw = Callable[[np.random.Generator, int], np.ndarray]


def mixture(by: float) -> Draw:
    spread = np.sqrt(1 + 0.09 * by**2)
    return lambda rng, count: (
        (rng.normal(size=count) + by * (rng.random(count) < 0.1) - 0.1 * by) / spread
    )


FAMILIES: dict[str, Draw] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "t (3 degrees)": lambda rng, count: rng.standard_t(3, size=count) / np.sqrt(3),
    "exponential": lambda rng, count: rng.exponential(size=count) - 1,
    "lognormal": lambda rng, count: (
        (rng.lognormal(size=count) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    ),
    "mixture of 3": mixture(3),
    "mixture of 6": mixture(6),
}
SIZES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "8 each": lambda _, ours, theirs: np.full(ours + theirs, 8),
    "1 to 16": lambda rng, ours, theirs: rng.integers(1, 17, ours + theirs),
    "3 against 12": lambda _, ours, theirs: np.repeat([3, 12], [ours, theirs]),
    "20 against 4": lambda _, ours, theirs: np.repeat([20, 4], [ours, theirs]),
}
DOCUMENTS = ((2, 12), (5, 20), (20, 20))
ICCS, SHIFT = (0.0, 0.1, 0.5), 0.5
RELABELLINGS = 199


def share(
    sizes: str,
    documents: tuple[int, int],
    icc: float,
    draw: Draw,
    shift: float,
    times: int,
) -> float:
    """Return the share of `times` audits with p <= `LEVEL`, in percent."""
    rng, low = np.random.default_rng([*documents, round(10 * icc)]), 0
    for _ in range(times):
        numbers = SIZES[sizes](rng, *documents)
        code = np.repeat(np.arange(len(numbers)), numbers)
        scores = np.sqrt(icc) * draw(rng, len(numbers))[code] + np.sqrt(1 - icc) * draw(
            rng, len(code)
        )
        suspect = code < documents[0]
        texts = AuditedTexts(
            (scores + shift * suspect)[:, None], code, np.zeros_like(code), suspect
        )
        low += (
            units_of(texts, texts.ranks([0])[:, -1]).p(seed=0, drawn=RELABELLINGS)
            <= LEVEL
        )
    return 100 * low / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=int, default=400)
    times = parser.parse_args().times
    print(f"Percent with p <= {LEVEL:g} at ICC {' / '.join(map(str, ICCS))}\n")
    for title, shift in (("no effect", 0.0), (f"an effect of {SHIFT:g}", SHIFT)):
        head = [f"documents, {title}", "texts", *FAMILIES]
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
        for documents in DOCUMENTS:
            for sizes in SIZES:
                cells = [
                    " / ".join(
                        f"{share(sizes, documents, icc, draw, shift, times):.0f}"
                        for icc in ICCS
                    )
                    for draw in FAMILIES.values()
                ]
                named = [f"{documents[0]} against {documents[1]}", sizes]
                print(f"| {' | '.join([*named, *cells])} |", flush=True)
        print()


if __name__ == "__main__":
    main()
