"""How much of documents and classes a model gives back, beside known non-members."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from pretrace.evaluation.averages import Record, number
from pretrace.evaluation.extraction import FIFTY
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.frames import of_panels, records_of
from pretrace.render.names import CLASSES, join_words
from pretrace.render.results import Results
from pretrace.render.tables.table import Block, Cell, Head, Table, rows_of, table_of

MOST_DOCUMENTS = 20  # documents of a panel that are printed; the CSV has all
# documents of known non-members from which on a p can be 0.05; with fewer there is none
LEAST_KNOWN = 19

COLUMN_HEADS: dict[str, Head] = {
    "measured": ("", "measured"),
    "extractable": ("given back", "top-40"),
    "in_tries": ("given back", "in n tries"),
    "sampled": ("given back", "temperature 1"),
    "greedy": ("given back", "greedy"),
    "fifty": ("given back", "50 after 50"),
}


def given_back(model: str, frame: pd.DataFrame) -> str:
    """Say from rows of `SUMMARY` how much a model gives back of its best work and of
    known ones; "" of these alone."""
    works = frame[(frame["unit"] == "document") & ~frame["label"].eq(0).fillna(False)]
    if works.empty:
        return ""
    ordered = works.sort_values("extractable", ascending=False, kind="stable")
    best = records_of(ordered.head(1))[0]
    name = f"'{best['document']}'"
    if best["texts"] > 1:
        name = f"{best['texts']:.0f} passages of {name}"
    if pd.isna(best["extractable"]):
        return f"What {model} gives back of {name} is {_not_measurable(best)}."
    if len(works) > 1 and best["extractable"]:
        name += f", the most of {len(works):,} works,"
    elif len(works) > 1:
        name = f"each of {len(works):,} works"
    fifty = f"50 tokens after 50: {_percent(best['fifty'])}"
    known = "there is no known work beside it"
    if best["known"]:
        noun = "known work" if best["known"] == 1 else "known works"
        known = f"{_percent(best['nonmembers'])} of {best['known']:,.0f} {noun}"
    sentence = (
        f"{model} gives back {_percent(best['extractable'])} of {name} word for "
        f"word (above a probability of {best['threshold']:g}; greedy decoding: "
        f"{_percent(best['greedy'])}; {fifty}), and {known}."
    )
    if best["measured"] < 0.5:
        unmeasured = _percent(1 - best["measured"])
        sentence += f" {unmeasured} of its tokens are not measurable."
    left_out = works["extractable"].isna().sum()
    if left_out:
        sentence += f" Not measurable: {left_out:,} of the works."
    return sentence


def extraction_lines(frame: pd.DataFrame) -> list[str]:
    """Return `given_back` of each model and benchmark of `extraction`'s data, for a
    terminal."""
    lines = []
    for (model, _), own in frame.groupby(["model", "benchmark"], sort=False):
        line = given_back(str(model), own)
        if line:
            lines.append(line)
    return lines


def _percent(share: float) -> str:
    if pd.isna(share):
        return f"not measurable, shorter than {2 * FIFTY} tokens"
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _not_measurable(row: Record) -> str:
    if row["repeats"]:
        return "not measurable: repeats itself"
    return f"not measurable: shorter than {row['least']} tokens"


def extraction(artifact: Artifact, results: Results) -> Table:
    """Lay out the classes of each panel, then the documents of panels with an
    extractable window."""
    panels = results.panels(artifact)
    frames = [results.rows(artifact, panel, "extraction") for panel in panels]
    classes = []
    documents = []
    for panel, frame in zip(panels, frames, strict=True):
        for row in records_of(frame[frame["unit"] == "class"]):
            classes.append((f"{panel.name}: {_label(row)}", _cells(row), False))
        documents += _documents(panel.name, frame[frame["unit"] == "document"])
    blocks = [*rows_of("Classes", classes, "Of"), *documents]
    notes = [
        " ".join(_settings(panels, frames)),
        *NOTES,
        " ".join(_left_out(panels, frames)),
        " ".join(results.cautions(panels)),
    ]
    return table_of(artifact, blocks, notes, of_panels(frames, panels))


NOTES = (
    "Measured: tokens in a window that does not repeat its text. A window is left out "
    "if half of its tokens or more are in runs that the text had before: a model "
    "copies these from what it reads, trained on them or not.",
    "Greedy: windows that come when the likeliest token is always taken. 50 after 50: "
    f"{FIFTY} tokens that follow at least {FIFTY} others, at the same threshold; a "
    "dash: too short. Longest: tokens of the longest stretch that is given back "
    "without a gap.",
)


def _settings(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Say what a window is, when it is extractable, and in how many tries; panel by
    panel if they differ."""
    said: dict[str, list[str]] = {}
    for panel, frame in zip(panels, frames, strict=True):
        for row in records_of(frame.iloc[:1]):
            words = (
                "Shares are of a work's tokens. A token is given back if it is in a "
                f"window of {row['suffix']} tokens that the model emits after all "
                "tokens before it in its text, as far as the model's context reaches, "
                f"with a probability above {row['threshold']:g}; in n tries: at least "
                f"once in {row['tries']:,} samples with a probability of one half."
            )
            said.setdefault(words, []).append(panel.name)
    for words, labels in said.items():
        yield words if len(said) == 1 else f"{join_words(labels)}: {words}"


def _left_out(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Say what is not measured: texts that are too short, and what too few known
    non-members leave open."""
    counts = []
    for panel, frame in zip(panels, frames, strict=True):
        classes = frame[frame["unit"] == "class"]
        short = int(classes["short"].sum())
        texts = int(classes["texts"].sum())
        if short:
            yield (
                f"{panel.name}: {short:,} of {texts:,} texts are shorter than a window."
            )
        counts.append(frame.loc[frame["unit"] == "document", "known"])
    known = pd.concat(counts)
    if not known.any():
        yield "There are no known non-members to compare with."
        return
    yield (
        "Known non-members: the share of their tokens that is given back although the "
        "model never read them, because they are common or predictable."
    )
    if known.ge(LEAST_KNOWN).any():
        yield (
            "p: share of known non-members' documents with at least the same share "
            "given back, the document itself counted."
        )
    too_few = known[known.lt(LEAST_KNOWN)]
    if len(too_few):
        yield (
            f"A p takes {LEAST_KNOWN} documents of known non-members, or it cannot be "
            f"as low as 0.05; where there is no p there are at most {too_few.max()}."
        )


def _documents(title: str, frame: pd.DataFrame) -> list[Block]:
    if not frame["extractable"].gt(0).any():
        return []
    ordered = frame.sort_values("extractable", ascending=False, kind="stable")
    which = f"{len(frame)}"
    if len(frame) > MOST_DOCUMENTS:
        which = f"the first {MOST_DOCUMENTS} of {which}"
    rows = []
    for row in records_of(ordered.head(MOST_DOCUMENTS)):
        rows.append((_label(row), _cells(row), False))
    return rows_of(f"Documents, {which}: {title}", rows, "Of")


def _label(row: Record) -> str:
    label: str = "in question" if pd.isna(row["label"]) else CLASSES[int(row["label"])]
    return label if row["unit"] == "class" else f"{row['document']}, {label}"


def _cells(row: Record) -> Iterable[tuple[Head, Cell]]:
    yield ("", "tokens"), Cell(words=f"{row['tokens']:,}")
    for key, head in COLUMN_HEADS.items():
        cell = Cell(number(row[key]))
        if key == "extractable" and pd.isna(row[key]):
            cell = Cell(words=_not_measurable(row))
        yield head, cell
    longest = f"{row['longest_run']:,.0f}" if row["measured"] > 0 else None
    yield ("", "longest"), Cell(words=longest)
    yield ("known", "non-members"), Cell(number(row["nonmembers"]))
    if row["unit"] == "document":
        has_p = bool(pd.notna(row["p"])) and row["known"] >= LEAST_KNOWN
        yield ("", "p"), Cell(words=f"{row['p']:.2g}") if has_p else Cell()
