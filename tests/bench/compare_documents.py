"""Compare the numbers of README.md and docs/ with the tables and figures of a finished
run of the embedded study.

    python tests/bench/compare_documents.py [results/embedded]

AUCs, the ends of intervals and shares may differ by TOLERANCE, and ranks by PLACES:
this is what other machines and types of numbers brought. A `Row` may name its own. A
sentence that is not in its document is an error too, so that an edit of one side shows.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pretrace.render.names import METHOD_LABELS

ROOT = Path(__file__).parents[2]
README, EMBEDDED, EXTRACTION = (
    "README.md",
    "docs/studies.md",
    "docs/extraction.md",
)
TOLERANCE = 0.05
PLACES = 3
NAN = float("nan")
NUMBER = r"(-?\d+(?:\.\d+)?)"

SMALL, MEDIUM = "pico-en-small", "pico-en-medium"
SMOLLM, NULL = "smollm2-135m", "pico-en-small-null"
AUC, INTERVAL = ("value",), ("value", "low", "high")
BEST = ("value", "best_low", "best_high")
"""An interval that pays for the choice of the best method."""
LESS_NULL = ("less_null", "less_null_low", "less_null_high")
"""The value less what models of the other splits have."""
MEMBERS = "random splits of addresses, 64 words, trained here on the members"
NEITHER = (
    "random splits of addresses, 64 words, trained here on addresses of 1790-1929 "
    "(read neither class)"
)
SPLITS = {
    "first": "sotu_split", "second": "sotu_split-s1", "third": "sotu_split-s2",
    "fourth": "sotu_split-s3", "fifth": "sotu_split-s4",
}  # fmt: skip
SPLIT_METHODS = {
    "Loss": "loss", "Zlib": "zlib", "Min-K%": "min_k", "Min-K%++": "min_k_pp",
    "DC-PDD": "dc_pdd",
}  # fmt: skip
PLACEBOS = (*INTERVAL, "placebo_mean", "placebo_sd", "rank")
OVER_DRAWS = ("value", "sd")


class Found(NamedTuple):
    """A row of the run's tables, and the columns that a sentence prints, in order."""

    model: str
    benchmark: str
    length: int
    method: str
    columns: tuple[str, ...] = AUC
    subset: str = ""
    selection: str = "held_out"
    draws: int = 1
    """Of shots, of which the row is the mean."""


class Row(NamedTuple):
    """A row of one CSV of the run: `where` are its values by column.

    Printed numbers are `scale` times as large; `tolerance` is in the unit of the CSV. A
    column may be "min COLUMN", "max COLUMN" or "count COLUMN", of all rows that fit.
    """

    file: str
    where: tuple[tuple[str, object], ...]
    columns: tuple[str, ...] = AUC
    scale: float = 1
    tolerance: float = TOLERANCE


Source = Found | Row


BY_PROCESSOR = {"MIT licence": 0.1, "BSD licence": 0.06}
"""How far the shares of a licence that SmolLM2 gives back lie apart on processors that
round bfloat16 otherwise."""


def extracted(document: str, scale: float = 1, *columns: str) -> Row:
    """Return the row of a document of the panel `licences`."""
    where = (
        ("model", SMOLLM),
        ("benchmark", "licences"),
        ("unit", "document"),
        ("document", document),
    )
    return Row("tables/extraction.csv", where, columns or ("extractable",), scale, 0.02)


def audited(model: str, benchmark: str) -> Row:
    """Return the effect of an audit's texts together; in standard deviations, so twice
    an AUC's tolerance."""
    where = (
        ("model", model),
        ("benchmark", benchmark),
        ("unit", "all"),
        ("method", "combined"),
    )
    return Row("tables/audit.csv", where, ("effect",), tolerance=0.1)


def answered(model: str, metric: str, *columns: str) -> Row:
    """Return DE-COP's row of released answers; the mean of ten resamples, as published,
    scatters by 0.01."""
    named = {
        "model": f"{model}-released",
        "method": "de_cop",
        "metric": metric,
        "selection": "default",
    }
    return Row(
        "tables/de_cop_table2.csv",
        (*named.items(),),
        columns or INTERVAL,
        tolerance=0.01 if metric == "auc" else 0.03,
    )


def headline_of(label: str, method: str, *columns: str) -> Row:
    """Return a method's mean over the five splits, as the headline has it."""
    where = (("label", label), ("method", method))
    return Row("figures/headline.csv", where, columns)


def split_mean(method: str, null_model: bool, *columns: str) -> Row:
    """Return a method's mean over the five splits, of the null model or the others."""
    where = (("average", "split"), ("null_model", null_model), ("method", method))
    return Row("tables/splits.csv", where, columns)


def shots_of(method: str, *columns: str) -> Found:
    """Return a method's row over the three draws of shots of the real model."""
    return Found(SMOLLM, "sotu_shots", 32, method, columns, draws=3)


RELEASED = {
    "Mistral-7B": "mistral-7b", "Mixtral-8x7B": "mixtral-8x7b",
    "LLaMA-2-13B": "llama-2-13b",
    "LLaMA-2-70B": "llama-2-70b", "GPT-3, 69 books": "gpt-3",
}  # fmt: skip
LICENCES = {
    "MIT licence": "268", "BSD licence": "375", "Apache licence": "2,214",
    "address of 1790": "1,275",
    "address of 2026": "843", "table of 2026": "816",
}  # fmt: skip

# {} is a number; the numbers are compared in order with the columns of what follows
SENTENCES: list[tuple[str, str, list[Source]]] = [
    (README,
     "of 2005-2020, 32 words | SmolLM2-135M | Gap-K% | {} [{}, {}] | {} [{}, {}] |",
     [Found(SMOLLM, "sotu", 32, "gap_k", BEST),
      Found(SMOLLM, "sotu", 32, "blind", INTERVAL)]),
    (README,
     "| the same with shots | SmolLM2-135M | Con-ReCall | {} ± {} | {} [{}, {}] |",
     [shots_of("con_recall", *OVER_DRAWS),
      Found(SMOLLM, "sotu_shots", 32, "blind", INTERVAL)]),
    (README,
     "five random splits of addresses, 64 words | trained here on the members | Min-K% "
     "| {} [{}, {}] | {} [{}, {}] | +{} [+{}, +{}] |",
     [headline_of(MEMBERS, "min_k", *BEST), headline_of(MEMBERS, "blind", *INTERVAL),
      headline_of(MEMBERS, "min_k", *LESS_NULL)]),
    (README,
     "split by date, 64 words | trained here on the members | Min-K%++ | {} [{}, {}] | {} [{}, {}] |",
     [Found("pico-en-temporal", "sotu_temporal", 64, "min_k_pp", BEST),
      Found("pico-en-temporal", "sotu_temporal", 64, "blind", INTERVAL)]),
    (README,
     "Chinese, 512 words | trained here on the members | Min-K%++ | {} [{}, {}] | {} [{}, {}] |",
     [Found("pico-zh-small", "peoples_daily", 512, "min_k_pp", BEST),
      Found("pico-zh-small", "peoples_daily", 512, "blind", INTERVAL)]),
    (README,
     "the same five splits | trained here on neither class | Min-K%++ | {} [{}, {}] | "
     "{} [{}, {}] |",
     [headline_of(NEITHER, "min_k_pp", *BEST),
      headline_of(NEITHER, "blind", *INTERVAL)]),
    (EMBEDDED,
     "Over five random splits Min-K% has {} [{}, {}] in the small model",
     [headline_of(MEMBERS, "min_k", *BEST)]),
    *((EMBEDDED, f"| {label} | {{}} [{{}}, {{}}] | {{}} | +{{}} [+{{}}, +{{}}] | {{}} [{{}}, {{}}] |",
       [split_mean(method, False, *INTERVAL, "null_value", *LESS_NULL),
        split_mean(method, True, *INTERVAL)])
      for label, method in SPLIT_METHODS.items()),
    (EMBEDDED, "has {} to {} in single splits of the model that read neither",
     [Row("tables/splits.csv", (("model", NULL), ("method", "min_k"), ("splits", 1)),
          ("min value", "max value"))]),
    (EMBEDDED, "AUC of Loss is {}; its placebos have {} ± {}.",
     [Found(SMOLLM, "sotu", 32, "loss", ("value", "placebo_mean", "placebo_sd"))]),
    (EMBEDDED, "Gap-K% ({}) ranks first", [Found(SMOLLM, "sotu", 32, "gap_k")]),
    (EMBEDDED, "A bag of words that sees no model reaches {} [{}, {}].",
     [Found(SMOLLM, "sotu", 32, "blind", INTERVAL)]),
    (EMBEDDED, "over three draws, ReCall has {} ± {} and Con-ReCall {} ± {}",
     [shots_of("recall", *OVER_DRAWS), shots_of("con_recall", *OVER_DRAWS)]),
    (EMBEDDED, "Their placebos have {} and {} on average",
     [shots_of("recall", "placebo_mean"), shots_of("con_recall", "placebo_mean")]),
    (EMBEDDED, "with one shot in place of seven they have {} and {}.",
     [Row("figures/con_recall_figure7.csv", (("method", method), ("x_value", 1)))
      for method in ("recall", "con_recall")]),
    (EMBEDDED, "the bag of words is at chance ({})",
     [Found(MEDIUM, "sotu_split", 64, "blind")]),
    (EMBEDDED,
     "Min-K% reaches {} in the small model and {} in the medium one at 64 words",
     [Found(SMALL, "sotu_split", 64, "min_k"),
      Found(MEDIUM, "sotu_split", 64, "min_k")]),
    (EMBEDDED, "are found at {}, {} and {}.",
     [Found("pico-en-small-doses", "sotu_repeated", 64, "min_k", AUC,
            f"{dose}x") for dose in (1, 3, 10)]),
    (EMBEDDED, "Word counts of the training stream alone reach {}, {} and {}.",
     [Found("pico-en-small-doses", "sotu_repeated", 64, "unigram", AUC,
            f"{dose}x") for dose in (1, 3, 10)]),
    (EMBEDDED,
     "Min-K% has {} [{}, {}] in the small model and {} [{}, {}] in the medium one.",
     [Found(SMALL, "sotu_split", 64, "min_k", INTERVAL),
      Found(MEDIUM, "sotu_split", 64, "min_k", INTERVAL)]),
    (EMBEDDED,
     "In the medium one it has {} [{}, {}] at 32 words and {} [{}, {}] at 128.",
     [Found(MEDIUM, "sotu_split", 32, "min_k", INTERVAL),
      Found(MEDIUM, "sotu_split", 128, "min_k", INTERVAL)]),
    (EMBEDDED, "Loss has {} and {} at 64 words.",
     [Found(SMALL, "sotu_split", 64, "loss"), Found(MEDIUM, "sotu_split", 64, "loss")]),
    (EMBEDDED, "In the medium model Gap-K% has {} [{}, {}]",
     [Found(MEDIUM, "sotu_split", 64, "gap_k", INTERVAL)]),
    (EMBEDDED, "In the null model Gap-K% has {} [{}, {}].",
     [Found(NULL, "sotu_split", 64, "gap_k", INTERVAL)]),
    (EMBEDDED, "a bag of words has {} [{}, {}], above every method",
     [Found("pico-en-temporal", "sotu_temporal", 64, "blind", INTERVAL)]),
    (EMBEDDED, "single draws of ReCall have {} to {} and of Con-ReCall {} to {}",
     [Row("tables/repetitions.csv", (("method", method), ("selection", "held_out")),
          ("min value", "max value")) for method in ("recall", "con_recall")]),
    (EMBEDDED, "RMIA finds {} in the small model, where Min-K% finds {}.",
     [Found(SMALL, "sotu_split", 64, "rmia"), Found(SMALL, "sotu_split", 64, "min_k")]),
    (EMBEDDED, "{} of 30 judged numbers of the paper come out",
     [Row("tables/reproduction.csv", (("agrees", True),), ("count measured",),
          tolerance=2)]),
    (EMBEDDED,
     "Its AUC of 0.972 for LLaMA-2-70B is {} here; as the area under the curve it is {}.",
     [answered("llama-2-70b", "auc_as_published", "value"),
      answered("llama-2-70b", "auc", "value")]),
    *((EMBEDDED, f"| {label} | {{}} [{{}}, {{}}] | {{}} [{{}}, {{}}] |",
       [answered(model, "auc"), answered(model, "auc_as_published")]) for label,
       model in RELEASED.items()),
    (EMBEDDED, "It reaches {} [{}, {}] where Min-K% has {}.",
     [Found(SMALL, "sotu_split", 64, "rmia", INTERVAL),
      Found(SMALL, "sotu_split", 64, "min_k")]),
    (EMBEDDED,
     "at the paper's k = 0.2 on each model and at every length: {} against {} (small), "
     "{} against {} (medium), {} against {} (Chinese, 512 words)",
     [Found(*panel, method, selection="default")
      for panel in ((SMALL, "sotu_split", 64), (MEDIUM, "sotu_split", 64),
                    ("pico-zh-small", "peoples_daily", 512))
      for method in ("dc_pdd", "min_k")]),
    (EMBEDDED, "Min-K% finds them at {} [{}, {}], {} [{}, {}] and {}.",
     [Found("pico-en-small-doses", "sotu_repeated", 64, "min_k", columns, subset)
      for columns, subset in ((INTERVAL, "1x"), (INTERVAL, "3x"), (AUC, "10x"))]),
    (EMBEDDED, "ReCall has {} and Con-ReCall {} in the medium model on one era",
     [Found(MEDIUM, "sotu_split", 64, method, AUC, "1989-2024") for method in ("recall",
                                                                               "con_recall")]),
    (EMBEDDED,
     "In the medium model Gap-K% has {} [{}, {}], windows of Min-K% {} and WBC {}; "
     "Min-K% has {} and Loss {} on the same texts.",
     [Found(MEDIUM, "sotu_split", 64, method, INTERVAL if method == "gap_k" else AUC)
      for method in ("gap_k", "min_k;window=3", "wbc", "min_k", "loss")]),
    (EMBEDDED,
     "SmolLM2-135M gives back what the web repeats most often: {} % of the tokens of "
     "the MIT licence and {} % of the Apache licence.",
     [extracted(f"{name} licence", 100) for name in ("MIT", "Apache")]),
    (EMBEDDED, "greedy decoding emits {} %",
     [Row("tables/extraction.csv",
          (("model", "pico-en-by-heart"), ("subset", "100x"), ("unit", "class"),
           ("label", 1)),
          ("greedy",), 100, 0.2)]),
    (EMBEDDED, "| medium, at random within addresses | {} |",
     [audited(MEDIUM, "sotu_split")]),
    *((EMBEDDED, f"| null model, {name} split | {{}} |", [audited(NULL, benchmark)])
      for name, benchmark in SPLITS.items()),
    (EMBEDDED, "| whole addresses in or out | {} |",
     [audited("pico-en-segments", "sotu_segments")]),
    (EMBEDDED, "| by date | {} |", [audited("pico-en-temporal", "sotu_temporal")]),
    (EMBEDDED, "| the null model tuned on the second split, beside the null model | {} |",
     [audited("pico-en-small-tuned", "sotu_split-s1")]),
    (EMBEDDED, "| a model of the third split on the second, beside the null model | {} |",
     [audited("pico-en-small-s2", "sotu_split-s1")]),
    *((EXTRACTION, f"| {name} | {tokens} | {{}} | {{}} | {{}} | {{}} |",
       [extracted(name, 1, "extractable", "greedy", "fifty")._replace(
            tolerance=BY_PROCESSOR.get(name, 0.02)),
        extracted(name, 1, "longest_run")._replace(tolerance=20)])
      for name, tokens in LICENCES.items()),
]  # fmt: skip

TABLES = [
    Found(SMOLLM, "sotu", 32, "", PLACEBOS),
    Found(SMOLLM, "sotu_shots", 32, "", PLACEBOS),
]
"""The tables of methods and placebos of docs/studies.md, in its order: each row
is a method by its label."""

HEADER = "| method | 2026 | placebos | rank |"


def checks() -> Iterator[tuple[str, str, str, list[Source]]]:
    """Yield (document, its words or a table's, sentence, what its numbers are)."""
    texts = {document: words(document) for document in (README, EMBEDDED, EXTRACTION)}
    for document, sentence, numbers in SENTENCES:
        yield document, texts[document], sentence, numbers
    methods = {label: method for method, label in METHOD_LABELS.items()}
    lines = (ROOT / EMBEDDED).read_text(encoding="utf-8").split(HEADER)
    for source, table in zip(TABLES, lines[1:], strict=True):
        rows = table.strip().split("\n\n")[0].splitlines()[1:]
        for row in rows:
            label = row.split(" | ")[0].removeprefix("| ")
            method = methods[label.removesuffix(" (no model)")]
            after_shots = row.count("±") > 1
            shown = "{} ± {}" if after_shots else "{} [{}, {}]"
            found = (
                shots_of(method, *OVER_DRAWS, *PLACEBOS[3:])
                if after_shots
                else source._replace(method=method)
            )
            yield EMBEDDED, row, f"| {label} | {shown} | {{}} ± {{}} | {{}} of", [found]


def words(document: str) -> str:
    """Return a document's text with single spaces, so that a sentence is found across
    lines."""
    return " ".join((ROOT / document).read_text(encoding="utf-8").split())


class Run:
    """The numbers of a finished run: its AUCs and its CSVs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.aucs = tables_of(folder)

    def values(self, source: Source) -> Iterator[tuple[str, float, float]]:
        """Yield (column, number of the run, allowed difference); NaN if the run does
        not have the number."""
        match source:
            case Found():
                for column in source.columns:
                    allowed = PLACES if column == "rank" else TOLERANCE
                    yield column, value_of(self.aucs, source, column), allowed
            case Row():
                rows = self.rows(source)
                for column in source.columns:
                    kind, _, name = column.rpartition(" ")
                    numbers = rows[name] if name in rows else pd.Series(dtype=float)
                    chosen = getattr(numbers, kind or "squeeze")()
                    # one row has it, or it is of several
                    known = pd.api.types.is_number(chosen)
                    yield (
                        column,
                        source.scale * chosen if known else NAN,
                        source.scale * source.tolerance,
                    )

    def rows(self, source: Row) -> pd.DataFrame:
        path = self.folder / source.file
        frame = pd.read_csv(path, low_memory=False) if path.exists() else pd.DataFrame()
        for column, value in source.where:
            frame = (
                frame[frame[column].eq(value)] if column in frame else frame.iloc[:0]
            )
        return frame


def tables_of(folder: Path) -> pd.DataFrame:
    """Return the AUCs of all tables and figures of a run, of the first draw of
    shots."""
    keys = {
        "model",
        "benchmark",
        "length",
        "subset",
        "method",
        "selection",
        "value",
        "low",
    }
    frames = [
        pd.read_csv(path, low_memory=False) for path in sorted(folder.glob("*/*.csv"))
    ]
    whole = pd.concat(
        [frame for frame in frames if keys <= {*frame}], ignore_index=True
    )
    if "draw" in whole:
        whole = whole[
            whole["draw"].isna() | whole["draw"].astype(str).isin(["0", "0.0"])
        ]
    return whole[whole["metric"].fillna("auc").eq("auc")]


def value_of(tables: pd.DataFrame, source: Found, column: str) -> float:
    """Return the number of the run, NaN if no table has it."""
    if column not in tables:
        return NAN
    mine = tables[
        tables[column].notna()
        & tables["subset"].astype(object).fillna("").eq(source.subset)
    ]
    if "draws" in tables:
        mine = mine[mine["draws"].fillna(1).eq(source.draws)]
    for key in ("model", "benchmark", "length", "method", "selection"):
        mine = mine[mine[key].eq(getattr(source, key))]
    return NAN if mine.empty else float(mine[column].iloc[0])


def match_of(sentence: str, text: str) -> re.Match[str] | None:
    return re.search(re.escape(sentence).replace(r"\{\}", NUMBER), text)


def differences(folder: Path) -> Iterator[str]:
    """Yield a line for each number that differs by more than is allowed, or that is not
    found."""
    run = Run(folder)
    for document, text, sentence, sources in checks():
        match = match_of(sentence, text)
        if match is None:
            yield f"{document}: does not say {sentence!r}"
            continue
        measured = [number for source in sources for number in run.values(source)]
        for printed, (column, value, allowed) in zip(
            match.groups(), measured, strict=True
        ):
            if not abs(float(printed) - value) <= allowed:
                yield (
                    f"{document}: {match.group()!r}: {printed} is {value:.3f} in the "
                    f"run ({column})"
                )


def main() -> int:
    """Print what differs; 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "run", type=Path, nargs="?", default=ROOT / "results" / "embedded"
    )
    lines = list(differences(parser.parse_args().run))
    numbers = sum(len(source.columns) for *_, sources in checks() for source in sources)
    print(*lines, f"{numbers} numbers compared, {len(lines)} lines differ", sep="\n")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
