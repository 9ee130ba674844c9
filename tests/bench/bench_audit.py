"""False alarms and power of an audit's document test, in simulations, beside two other tests.

    python tests/bench/bench_audit.py [--times 1000] [--quick] [--results results]

Prints the Markdown tables of docs/size_and_power.md. Scores have variance 1, of which the share ICC lies between
documents. About 200 known texts come from K documents, with as many texts each, or with unequal numbers (1 to twice as
many). The suspect document has n texts. Power is that of a shift by 0.8 standard deviations of a text.

`--results`: also whole audits on the embedded study's scores. The null model read none of the addresses, so that every
verdict of evidence is a false alarm; the medium model read the members.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from pretrace.evaluation.document_test import ScoredTexts, comparisons

from pretrace.evaluation.audit import COMBINED, audit
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.significance import LEVEL, empirical_p
from pretrace.evaluation.verdict import verdict

TEXTS, SHIFT = 200, 0.8
FEW = 4  # texts of each known document, where the suspect has many more
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
    group = ScoredTexts(suspect[:, None], np.full(len(suspect), code.max() + 1), np.zeros(len(suspect), int))
    (result,) = comparisons(ScoredTexts(known[:, None], code, np.zeros_like(code)), group, [])
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


def sizes_of(count: int, unequal: bool, texts: int = TEXTS) -> np.ndarray:
    each = max(1, texts // count)
    if not unequal:
        return np.full(count, each)
    return np.random.default_rng(5).integers(1, 2 * each + 1, count)


def shares(
    count: int, own: int, icc: float, draw: Draw, unequal: bool, times: int, shift: float, tests: list[str],
    texts: int = TEXTS,
) -> list[float]:  # fmt: skip
    """Return the share of `times` suspect documents with p <= `LEVEL`, of each test, against `texts` known texts."""
    rng = np.random.default_rng([count, own, round(100 * icc), unequal, round(10 * shift)])
    sizes, rejected = sizes_of(count, unequal, texts), np.zeros(len(tests))
    for _ in range(times):
        known, code = documents(rng, sizes, icc, draw)
        suspect = documents(rng, np.array([own]), icc, draw)[0] + shift
        rejected += [TESTS[name](known, code, suspect) <= LEVEL for name in tests]
    return list(rejected / times)


RUN = {key: [] for key in ("corpora", "references", "neighbours", "questions")} | {
    "start_token": "<|endoftext|>", "paraphraser": None,
}  # fmt: skip
METHODS = ["loss", "zlib", "min_k", "min_k_pp", "gap_k"]


def real_audits(results: Path, model: str, known: int, times: int) -> Iterator[pd.DataFrame]:
    """Audit the members' texts of five addresses against the non-members' of `known` others, drawn at random."""
    scores = pd.read_parquet(results / f"embedded/scores/{model}/sotu_split.parquet")
    scores = scores[scores["method"].isin(METHODS) & scores["draw"].isna() & (scores["view"] == "original")]
    texts = pd.read_parquet(results / "benchmarks/sotu_split.parquet")
    texts = texts[texts["length"] == 64].assign(subset="")
    for number in range(times):
        names = np.random.default_rng([known, number]).permutation(sorted(texts["document"].unique()))
        suspects = texts[texts["label"].eq(1) & texts["document"].isin(names[:5])]
        others = texts[texts["label"].eq(0) & texts["document"].isin(names[5 : 5 + known])]
        unknown = suspects.assign(label=pd.array([pd.NA] * len(suspects), "Int64"))
        scored = ScoredBenchmark("sotu_split", scores, pd.concat([unknown, others]))
        yield audit(scored, scored, [RUN])


def real_row(results: Path, model: str, known: int, times: int) -> list[str]:
    """Return the shares of documents with p <= `LEVEL`, and of verdicts of each kind."""
    low, count, kinds = 0, 0, Counter[str]()
    for frame in real_audits(results, model, known, times):
        own = frame[(frame["unit"] == "document") & (frame["method"] == COMBINED)]
        low, count = low + int(own["p"].le(LEVEL).sum()), count + len(own)
        kinds[verdict(frame).kind] += 1
    shares_of = [
        f"{100 * kinds[kind] / times:.0f} %" for kind in ("evidence", "none", "invalid", "impossible")
    ]
    return [model, f"{known}", f"{100 * low / count:.1f} % of {count}", *shares_of]


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
    parser.add_argument("--results", type=Path)
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
    print(
        f"Known documents of {FEW} texts, normal scores: false alarms / power for a shift of {SHIFT:g}, in percent\n"
    )
    table(head, (
        [f"{count}", f"{own}", *(percent([
            shares(count, own, icc, FAMILIES["normal"], False, times, shift, ["this test"], FEW * count)[0]
            for shift in (0, SHIFT)
        ]) for icc in ICCS)]
        for count in counts[:3] for own in (4, 20, 60)
    ))  # fmt: skip
    if given.results:
        print("Whole audits of five addresses, on the embedded study's scores\n")
        heads = [
            "model",
            "known documents",
            "documents with p <= 0.05",
            "evidence",
            "none",
            "invalid",
            "impossible",
        ]
        audits = 5 if given.quick else 100
        models = ("pico-en-small-null", "pico-en-medium")
        table(
            heads,
            (real_row(given.results, model, known, audits) for model in models for known in (12, 24, 48)),
        )


if __name__ == "__main__":
    main()
