"""Compare every number in the boxes of an audit's page with the audit's own table.

    python tests/bench/check_boxes.py [results/embedded]

Prints what differs, and every number of a box that no pattern here explains.
"""

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
from scipy.special import ndtr

from pretrace.audit.design import LEVEL, TUNED
from pretrace.audit.rows import COMBINED
from pretrace.audit.tables.audit import CHECKS, one_in
from pretrace.render.tables.table import p_text

Numbers = Callable[[pd.DataFrame], list[str]]
N = r"([\d,]*\d)"
F = r"(\d+\.?\d*)"

SKIPPED = ("Given back", "Sealed")
"""Lines whose numbers are of other tables."""


def design(frame: pd.DataFrame, *ids: str) -> list[str]:
    numbers = frame[frame["unit"] == "design"].set_index("id")["score"]
    return [f"{numbers[id]:,.0f}" for id in ids]


def effect(frame: pd.DataFrame) -> float:
    numbers = frame[frame["unit"] == "design"].set_index("id")["score"]
    return float(numbers["smallest_effect"])


def of_unit(frame: pd.DataFrame, unit: str) -> pd.DataFrame:
    return frame[(frame["unit"] == unit) & (frame["method"] == COMBINED)]


def p_of_all(frame: pd.DataFrame) -> float:
    return float(of_unit(frame, "all")["p"].iloc[0])


def alone(frame: pd.DataFrame) -> list[str]:
    documents = of_unit(frame, "document")
    return [str(int(documents["flagged"].astype(bool).sum())), str(len(documents))]


def lowest(frame: pd.DataFrame) -> list[str]:
    known = float(design(frame, "known_documents")[0].replace(",", ""))
    return [p_text(1 / (1 + known))]


PATTERNS: list[tuple[str, Numbers]] = [
    (rf"{N} published texts?\b", lambda frame: design(frame, "texts")),
    (rf"{N} private texts?\b", lambda frame: design(frame, "known_texts")),
    (rf"{N} texts? published in {N} places?",
     lambda frame: design(frame, "texts", "documents")),
    (rf"Length: {N}, of", lambda frame: design(frame, "length")),
    (rf"trained on {N} documents? \({N} passages?\)",
     lambda frame: design(frame, "documents", "texts")),
    (rf"{N} known documents? \({N} passages?\), given",
     lambda frame: design(frame, "known_documents", "known_texts")),
    (rf"{N} documents? in question and {N} known documents? are too few",
     lambda frame: design(frame, "documents", "known_documents")),
    (rf"with {N} documents? in question and {N} known documents?, no p can be as low "
     rf"as {F}",
     lambda frame: [*design(frame, "documents", "known_documents"), f"{LEVEL:g}"]),
    (rf"\(p = {F}, (1 in [\d,]+)\)",
     lambda frame: [p_text(p_of_all(frame)), one_in(p_of_all(frame))]),
    (r"\((1 in [\d,]+)\)", lambda frame: [one_in(p_of_all(frame))]),
    (rf"have read \(p = {F}\):",
     lambda frame: [p_text(frame.loc[frame["unit"] == "positive", "p"].min())]),
    (rf"which most models have read \(p = {F}\)",
     lambda frame: [f"{frame.loc[frame['unit'] == 'positive', 'p'].min():.2g}"]),
    (rf"\(p = {F}\)", lambda frame: [p_text(p_of_all(frame))]),
    (rf"your {N} documents together", lambda frame: alone(frame)[1:]),
    (rf"\({N} of {N} also alone\)", alone),
    (rf"at least {N} of the {N} are",
     lambda frame: design(frame, "read_at_least", "documents")),
    (rf"[Aa]t least {N} of the {N} documents in question",
     lambda frame: design(frame, "read_at_least", "documents")),
    (rf"[Aa]ll {N} (?:documents in question|are)",
     lambda frame: design(frame, "read_at_least")),
    (rf"with a confidence of {N} %", lambda frame: [f"{100 * (1 - LEVEL):.0f}"]),
    (rf"only if {N} % of the passages",
     lambda frame: [str(min(99, round(100 * ndtr(effect(frame)))))]),
    (rf"it finds {F} standard", lambda frame: [f"{effect(frame):.2f}"]),
    (rf"every day lie only {F} above",
     lambda frame: [f"{frame.loc[frame['unit'] == 'positive', 'effect'].max():.2f}"]),
    (rf"gently, lie {F} above", lambda frame: [f"{TUNED:g}"]),
    (rf"with {N} known documents? the p of one is at least {F},",
     lambda frame: [*design(frame, "known_documents"), *lowest(frame)]),
    (rf"Naming one takes {N} known", lambda frame: design(frame, "documents_to_name")),
]  # fmt: skip


def boxes(markdown: str) -> Iterator[dict[str, str]]:
    """Yield each box's lines by heading; the question and the answer under "Answer"."""
    lines: dict[str, str] = {}
    for line in markdown.splitlines():
        if not line.startswith("> "):
            continue
        heading, _, text = line.removeprefix("> _").partition("_ ")
        if heading.endswith("?"):
            if lines:
                yield lines
            lines = {"Answer": f"{heading} {text}"}
        else:
            lines[heading] = text
    if lines:
        yield lines


def names_of(frame: pd.DataFrame) -> list[str]:
    """Return the names of documents, features and words, whose digits are no
    numbers."""
    named = frame[frame["unit"].isin(["document", "control", "cause"])]
    names = {str(name) for name in named["id"].dropna()} - {""}
    if "base" in frame:
        names |= set(frame["base"].dropna())
    return sorted(names, key=len, reverse=True)


def told_apart(frame: pd.DataFrame, heading: str) -> list[str]:
    """Return how many documents a failed check tells apart, as its line counts them."""
    label = heading.removeprefix("Told apart by ")
    [method] = [name for name, (words, _) in CHECKS.items() if words == label]
    own = frame[(frame["unit"] == "cause") & (frame["method"] == method)]
    is_ours = own["flagged"].astype(bool)
    is_apart = own["effect"] > 0
    counts = []
    for is_side in (is_ours, ~is_ours):
        counts += [str((is_side & is_apart).sum()), str(is_side.sum())]
    return counts


def words_with_counts(frame: pd.DataFrame) -> str:
    words = frame[frame["unit"] == "word"]
    counted = zip(words["id"], words["texts"], words["n"], strict=True)
    return ", ".join(f"{word} ({own:.0f}, {known:.0f})" for word, own, known in counted)


def mistakes(lines: dict[str, str], frame: pd.DataFrame) -> Iterator[str]:
    """Yield the numbers of a box that are not those of the audit's table."""
    for heading, text in lines.items():
        left = f"{heading}: {text}"
        if heading in SKIPPED:
            continue
        if heading.startswith("Told apart by"):
            shown = re.findall(r"(\d+) of (\d+)", text)
            if [number for pair in shown for number in pair] != told_apart(
                frame, heading
            ):
                yield f"{heading}: {text}"
            continue
        if heading.startswith("Words more frequent"):
            counted = words_with_counts(frame)
            for word in text.removesuffix(".").split(". In brackets")[0].split("), "):
                if f"{word.rstrip(')')})" not in counted:
                    yield f"{heading}: {word}"
            continue
        if heading in ("In question", "Compared with") and "published" not in text:
            continue  # names of works
        for pattern, expected in PATTERNS:
            match = re.search(pattern, left)
            while match:
                if [*match.groups()] != expected(frame):
                    yield f"'{match.group()}' should have {expected(frame)}"
                left = left[: match.start()] + left[match.end() :]
                match = re.search(pattern, left)
        for name in names_of(frame):
            left = left.replace(name, "")
        if heading in ("In question", "Length", "What would make it better"):
            continue  # names of places, other lengths, numbers that advice asks for
        left = re.sub(r"'[^']*'", "", left)  # the benchmark
        if re.search(r"(?<![\w-])\d", left):
            yield f"not explained: {left.strip()}"


def check(markdown: str, audits: pd.DataFrame) -> list[str]:
    """Return what is wrong with the boxes of a page, given the data of its audits."""
    found = []
    own = audits.groupby(["model", "benchmark"], sort=False)
    for lines, ((model, benchmark), frame) in zip(boxes(markdown), own, strict=True):
        for mistake in mistakes(lines, frame):
            found.append(f"{model} on {benchmark}: {mistake}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "results", nargs="?", type=Path, default=Path("results/embedded")
    )
    tables = parser.parse_args().results / "tables"
    audits = pd.read_csv(tables / "audit.csv")
    page = (tables / "audit.md").read_text(encoding="utf-8")
    found = check(page, audits)
    print("\n".join(found) or f"{len([*boxes(page)])} boxes agree with their tables")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
