"""How many documents in question are counted as read, of known numbers that were.

    python tests/bench/bench_number_read.py --results results [--draws 100] [--seed 1]

Prints a Markdown table of tests/bench/SIZE_AND_POWER.md. Addresses of a finished
embedded study are dealt as by `bench_dial.py`: the medium model read the passages of
some documents in question, and none of the others or of known ones.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from bench_dial import SIDES, read_texts
from bench_stress import METHODS, PASSAGES, table

from pretrace.audit.design import LEVEL
from pretrace.audit.exchange_test import AuditedTexts, units_of
from pretrace.audit.number_read import read_at_least


def dealt(
    rows: pd.DataFrame, read: int, ours: int, known: int, rng: np.random.Generator
) -> AuditedTexts:
    """Deal documents: of those in question the model read so many, of known ones
    none."""
    names = rng.permutation(sorted(rows["document"].unique()))[: ours + known]
    label = rows["document"].isin(names[:read]).astype(int)
    shuffled = rows[rows["document"].isin(names) & rows["label"].eq(label)].sample(
        frac=1, random_state=int(rng.integers(1 << 30))
    )
    chosen = shuffled[shuffled.groupby("document").cumcount() < PASSAGES]
    _, document = np.unique(chosen["document"], return_inverse=True)
    return AuditedTexts(
        chosen[[*METHODS]].to_numpy(),
        document,
        np.zeros_like(document),
        chosen["document"].isin(names[:ours]).to_numpy(bool),
    )


def counted(
    rows: pd.DataFrame, share: float, draws: int, seed: int
) -> Iterator[list[str]]:
    """Yield for each number of documents what is counted, and how often too much."""
    for ours, known in SIDES:
        read = round(share * ours)
        least, is_shown = [], []
        for number in range(draws):
            rng = np.random.default_rng([seed, number, ours, known, read])
            texts = dealt(rows, read, ours, known, rng)
            units = units_of(texts, texts.ranks(range(len(METHODS)))[:, -1])
            p = units.p(int(rng.integers(1 << 30)), 1999)
            least.append(read_at_least(units, p, LEVEL, number))
            is_shown.append(p <= LEVEL)
        low, shown = np.array(least), np.array(is_shown)
        yield [
            f"{ours} + {known}",
            str(read),
            f"{low.mean():.1f}",
            f"{100 * (low > read).mean():.0f}",
            str(shown.sum()),
            str((low > read)[shown].sum()),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rows = read_texts(given.results)
    found: list[list[str]] = []
    for share in (1, 0.5, 0.25, 0):
        found += counted(rows, share, given.draws, given.seed)
    heads = ["documents", "read", "at least", "too many", "shown", "of these too many"]
    table("Documents counted as read", heads, iter(found))


if __name__ == "__main__":
    main()
