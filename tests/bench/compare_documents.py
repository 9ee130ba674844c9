"""Compare the numbers of README.md and docs/embedded_study.md with the tables of a finished run of the embedded study.

    python tests/bench/compare_documents.py [results/embedded]

AUCs and the ends of intervals may differ by TOLERANCE, and ranks by PLACES: this is what other machines and types of
numbers brought. A sentence that is not in its document is an error too, so that an edit of one side shows.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pretrace.render.names import METHOD_LABELS

ROOT = Path(__file__).parents[2]
README, EMBEDDED = "README.md", "docs/embedded_study.md"
TOLERANCE = 0.05
PLACES = 3
NUMBER = r"(-?\d+(?:\.\d+)?)"

SMALL, MEDIUM = "pico-en-small", "pico-en-medium"
SMOLLM, NULL = "smollm2-135m", "pico-en-small-null"
AUC, INTERVAL = ("value",), ("value", "low", "high")
PLACEBOS = (*INTERVAL, "placebo_mean", "placebo_sd", "rank")


class Found(NamedTuple):
    """A row of the run's tables, and the columns that a sentence prints, in order."""

    model: str
    benchmark: str
    length: int
    method: str
    columns: tuple[str, ...] = AUC
    subset: str = ""
    selection: str = "held_out"


# {} is a number; the numbers are compared in order with the columns of what follows
SENTENCES: list[tuple[str, str, list[Found]]] = [
    (README, "of 2005-2020, 32 words | SmolLM2-135M | Gap-K% | {} [{}, {}] | {} [{}, {}] |",
     [Found(SMOLLM, "sotu", 32, "gap_k", INTERVAL), Found(SMOLLM, "sotu", 32, "blind", INTERVAL)]),
    (README, "| the same with shots | SmolLM2-135M | Con-ReCall | {} [{}, {}] | {} [{}, {}] |",
     [Found(SMOLLM, "sotu_shots", 32, "con_recall", INTERVAL), Found(SMOLLM, "sotu_shots", 32, "blind", INTERVAL)]),
    (README, "split of addresses, 64 words | trained here on the members | Min-K% | {} [{}, {}] | {} [{}, {}] |",
     [Found(MEDIUM, "sotu_split", 64, "min_k", INTERVAL), Found(MEDIUM, "sotu_split", 64, "blind", INTERVAL)]),
    (README, "split by date, 64 words | trained here on the members | Min-K%++ | {} [{}, {}] | {} [{}, {}] |",
     [Found("pico-en-temporal", "sotu_temporal", 64, "min_k_pp", INTERVAL),
      Found("pico-en-temporal", "sotu_temporal", 64, "blind", INTERVAL)]),
    (README, "Chinese, 512 words | trained here on the members | Min-K%++ | {} [{}, {}] | {} [{}, {}] |",
     [Found("pico-zh-small", "peoples_daily", 512, "min_k_pp", INTERVAL),
      Found("pico-zh-small", "peoples_daily", 512, "blind", INTERVAL)]),
    (README, "trained here on neither members nor non-members | ReCall | {} [{}, {}] | {} [{}, {}] |",
     [Found(NULL, "sotu_split", 64, "recall", INTERVAL), Found(NULL, "sotu_split", 64, "blind", INTERVAL)]),
    (EMBEDDED, "AUC of Loss is {}; its placebos have {} ± {}.",
     [Found(SMOLLM, "sotu", 32, "loss", ("value", "placebo_mean", "placebo_sd"))]),
    (EMBEDDED, "Gap-K% ({}) ranks first", [Found(SMOLLM, "sotu", 32, "gap_k")]),
    (EMBEDDED, "A bag of words that sees no model reaches {} [{}, {}].",
     [Found(SMOLLM, "sotu", 32, "blind", INTERVAL)]),
    (EMBEDDED, "ReCall has {} and Con-ReCall {}, and both rank first",
     [Found(SMOLLM, "sotu_shots", 32, "recall"), Found(SMOLLM, "sotu_shots", 32, "con_recall")]),
    (EMBEDDED, "Their placebos have {} and {} on average",
     [Found(SMOLLM, "sotu_shots", 32, "recall", ("placebo_mean",)),
      Found(SMOLLM, "sotu_shots", 32, "con_recall", ("placebo_mean",))]),
    (EMBEDDED, "the bag of words is at chance ({})", [Found(MEDIUM, "sotu_split", 64, "blind")]),
    (EMBEDDED, "Min-K% reaches {} in the small model and {} in the medium one at 64 words",
     [Found(SMALL, "sotu_split", 64, "min_k"), Found(MEDIUM, "sotu_split", 64, "min_k")]),
    (EMBEDDED, "are found at {}, {} and {}.",
     [Found("pico-en-small-doses", "sotu_repeated", 64, "min_k", AUC, f"{dose}x") for dose in (1, 3, 10)]),
    (EMBEDDED, "Word counts of the training stream alone reach {}, {} and {}.",
     [Found("pico-en-small-doses", "sotu_repeated", 64, "unigram", AUC, f"{dose}x") for dose in (1, 3, 10)]),
    (EMBEDDED, "Min-K% has {} [{}, {}] in the small model and {} [{}, {}] in the medium one.",
     [Found(SMALL, "sotu_split", 64, "min_k", INTERVAL), Found(MEDIUM, "sotu_split", 64, "min_k", INTERVAL)]),
    (EMBEDDED, "In the medium one it has {} [{}, {}] at 32 words and {} [{}, {}] at 128.",
     [Found(MEDIUM, "sotu_split", 32, "min_k", INTERVAL), Found(MEDIUM, "sotu_split", 128, "min_k", INTERVAL)]),
    (EMBEDDED, "Loss has {} and {} at 64 words.",
     [Found(SMALL, "sotu_split", 64, "loss"), Found(MEDIUM, "sotu_split", 64, "loss")]),
    (EMBEDDED, "In the medium model Gap-K% has {} [{}, {}]", [Found(MEDIUM, "sotu_split", 64, "gap_k", INTERVAL)]),
    (EMBEDDED, "In the null model Gap-K% has {} [{}, {}].", [Found(NULL, "sotu_split", 64, "gap_k", INTERVAL)]),
    (EMBEDDED, "a bag of words has {} [{}, {}], above every method",
     [Found("pico-en-temporal", "sotu_temporal", 64, "blind", INTERVAL)]),
]  # fmt: skip

TABLES = [
    Found(SMOLLM, "sotu", 32, "", PLACEBOS),
    Found(SMOLLM, "sotu_shots", 32, "", PLACEBOS),
]
"""The tables of methods and placebos of docs/embedded_study.md, in its order: each row is a method by its label."""

HEADER = "| method | 2026 | placebos | rank |"


def checks() -> Iterator[tuple[str, str, str, list[Found]]]:
    """Yield (document, its words or a table's, sentence, what its numbers are)."""
    texts = {document: words(document) for document in (README, EMBEDDED)}
    for document, sentence, numbers in SENTENCES:
        yield document, texts[document], sentence, numbers
    methods = {label: method for method, label in METHOD_LABELS.items()}
    lines = (ROOT / EMBEDDED).read_text(encoding="utf-8").split(HEADER)
    for found, table in zip(TABLES, lines[1:], strict=True):
        rows = table.strip().split("\n\n")[0].splitlines()[1:]
        for row in rows:
            label = row.split(" | ")[0].removeprefix("| ")
            method = methods[label.removesuffix(" (no model)")]
            sentence = f"| {label} | {{}} [{{}}, {{}}] | {{}} ± {{}} | {{}} of"
            yield EMBEDDED, row, sentence, [found._replace(method=method)]


def words(document: str) -> str:
    """Return a document's text with single spaces, so that a sentence is found across lines."""
    return " ".join((ROOT / document).read_text(encoding="utf-8").split())


def tables_of(folder: Path) -> pd.DataFrame:
    """Return the AUCs of all tables and figures of a run, of the first draw of shots."""
    keys = {"model", "benchmark", "length", "subset", "method", "selection", "value", "low"}
    frames = [pd.read_csv(path, low_memory=False) for path in sorted(folder.glob("*/*.csv"))]
    whole = pd.concat([frame for frame in frames if keys <= {*frame}], ignore_index=True)
    if "draw" in whole:
        whole = whole[whole["draw"].isna() | whole["draw"].astype(str).isin(["0", "0.0"])]
    return whole[whole["metric"].fillna("auc").eq("auc")]


def value_of(tables: pd.DataFrame, found: Found, column: str) -> float:
    """Return the number of the run, NaN if no table has it."""
    if column not in tables:
        return float("nan")
    mine = tables[tables[column].notna() & tables["subset"].astype(object).fillna("").eq(found.subset)]
    for key in ("model", "benchmark", "length", "method", "selection"):
        mine = mine[mine[key].eq(getattr(found, key))]
    return float("nan") if mine.empty else float(mine[column].iloc[0])


def match_of(sentence: str, text: str) -> re.Match[str] | None:
    """Find a sentence; its groups are the numbers."""
    return re.search(re.escape(sentence).replace(r"\{\}", NUMBER), text)


def differences(folder: Path) -> Iterator[str]:
    """Yield a line for each number that differs by more than is allowed, or that is not found."""
    tables = tables_of(folder)
    for document, text, sentence, numbers in checks():
        match = match_of(sentence, text)
        if match is None:
            yield f"{document}: does not say {sentence!r}"
            continue
        columns = [(found, column) for found in numbers for column in found.columns]
        for printed, (found, column) in zip(match.groups(), columns, strict=True):
            measured = value_of(tables, found, column)
            allowed = PLACES if column == "rank" else TOLERANCE
            if not abs(float(printed) - measured) <= allowed:
                yield f"{document}: {match.group()!r}: {printed} is {measured:.3f} in the run ({column})"


def main() -> int:
    """Print what differs; 1 if anything does."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "embedded"
    found = list(differences(folder))
    numbers = sum(len(found.columns) for *_, each in checks() for found in each)
    print(*found, f"{numbers} numbers compared, {len(found)} lines differ", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
