"""How much of works a model behind an API gives back when it is asked to go on, beside
known works."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from pretrace.audit.design import LEVEL
from pretrace.audit.given_back import is_unanswered
from pretrace.audit.tables.audit import MOST_ROWS, works_compared
from pretrace.evaluation.averages import Record
from pretrace.questions.alignment import CONTEXT, SIZES
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.frames import records_of
from pretrace.render.results import Results
from pretrace.render.tables.table import (
    Block,
    Box,
    Cell,
    Head,
    Table,
    p_cell,
    p_text,
    rows_of,
    table_of,
)
from pretrace.runtime.errors import count_noun

SIZE = SIZES["words"]

_COUNTS = (
    "words", "given_back", "longest", "places", "requests", "refused", "unanswered",
)  # fmt: skip


def answer(model: str, frame: pd.DataFrame) -> str:
    """Say from rows of `evaluation.given_back.SUMMARY` how much a model gives back of
    works, and of known ones."""
    [whole] = records_of(frame[frame["unit"] == "all"])
    suspects, known = sides(frame)
    if suspects.empty:
        return f"No work in question is long enough to ask {model} to go on in it."
    given_back = suspects.sort_values("given_back", ascending=False, kind="stable")
    best, *others = records_of(given_back)
    title = best["title"] or best["document"]
    blocks = f"blocks of {SIZE.block} words or more"
    if best["given_back"]:
        said = (
            f"{model} gives back {best['given_back']:,.0f} of {best['words']:,.0f} "
            f"words of '{title}' in {blocks} (the longest {best['longest']:,.0f})"
        )
        if others:
            number = f"{_count_given_back(suspects)} of {len(suspects)}"
            said += f", such blocks of {number} works in question"
    else:
        of_works = f"any of {len(suspects)} works" if others else f"'{title}'"
        said = f"{model} gives back nothing of {of_works} in {blocks}"
    p = "no p: too few works"
    if is_unanswered(frame[frame["unit"] == "document"]):
        p = "no result: too many requests have no answer"
    if pd.notna(whole["p"]):
        p = f"p = {p_text(whole['p'])}"
    of_known = f"{_count_given_back(known)} of {count_noun(len(known), 'known work')}"
    said += f", and of {of_known} ({p}); {_refused(suspects)} requests were refused"
    if known["refused"].any():
        said += f", and {_refused(known)} about known works"
    silent = suspects["unanswered"].sum(), known["unanswered"].sum()
    if any(silent):
        said += f"; {silent[0]:,.0f} had no word of an answer"
        said += f", and {silent[1]:,.0f} about known works"
    if whole["cut_short"]:
        return f"{said}. The budget was used up before it had left every text."
    return f"{said}."


def _count_given_back(works: pd.DataFrame) -> int:
    return int(works["given_back"].gt(0).sum())


def sides(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the works in question, and the known ones, that were asked about."""
    works = frame[(frame["unit"] == "document") & frame["requests"].gt(0)]
    is_known = works["label"].eq(0).fillna(False)
    return works[~is_known], works[is_known]


def _refused(works: pd.DataFrame) -> str:
    return f"{works['refused'].sum():,.0f} of {works['requests'].sum():,.0f}"


def given_back_lines(frame: pd.DataFrame) -> list[str]:
    """Return `answer` of each model and benchmark of `given_back_by_chat`'s data, for a
    terminal."""
    pairs = frame.groupby(["model", "benchmark"], sort=False)
    return [answer(str(model), own) for (model, _), own in pairs]


def given_back_by_chat(artifact: Artifact, results: Results) -> Table:
    """Lay out for each model and benchmark the answer, then a row a work, the most
    given back first."""
    panels = list({panel.pair: panel for panel in artifact.panels}.values())
    blocks = []
    boxes = []
    frames = []
    for panel in panels:
        frame = results.read("given_back", panel.pair)
        blocks += _works(panel, frame)
        boxes.append(_box(panel, frame, results))
        frames.append(frame.assign(model=panel.model, benchmark=panel.benchmark))
    notes = [*_NOTES, *results.cautions(panels)]
    page = table_of(artifact, blocks, notes, pd.concat(frames, ignore_index=True))
    return replace(page, boxes=tuple(boxes))


_NOTES = (
    f"Given back: words of the work in blocks of {SIZE.block} or more that an answer "
    f"has in the same order, without case and quotes. Stretches of {SIZE.stretch} "
    f"words or more are one block if at most {SIZE.gap} words lie between them; these "
    "do not count. Nor do words that the prompt has, and phrases that the work "
    "repeats. Languages without spaces are compared in characters, twice as many.",
    f"Asked: at each place the model gets title, author and the {CONTEXT} words before "
    "it. Where it gives back a block, it goes on from its own words until it adds no "
    "other block.",
    "Refused: the server says so or filters the answer, or a short answer that gives "
    "nothing back says in its first sentence, in English, that it will not. Such a "
    "place is not asked again. Refusals in other words count as answers that give "
    "nothing back.",
    "Unanswered: without a word, as where a model thinks until its tokens are used up. "
    "Such a place is asked again. If more than 5 in 100 requests are unanswered, "
    "there is no p.",
    "p of a work: its rank among the known ones.",
)


def _box(panel: Panel, frame: pd.DataFrame, results: Results) -> Box:
    [whole] = records_of(frame[frame["unit"] == "all"])
    suspects, known = sides(frame)
    model = panel.title_of(panel.model)
    is_evidence = bool(suspects["given_back"].any()) and whole["p"] <= LEVEL
    models = whole["models"] or "a model without a name"
    if ", " in models:
        models = f"more than one model ({models})"
    dates = f"answers of {whole['first']} to {whole['last']}"
    lines = (
        *works_compared(results.read("benchmarks", panel.benchmark)),
        (
            "What p means",
            "Of all ways to deal the works out into yours and known ones, the share in "
            "which as much of yours would be given back. It is exact if the model read "
            "none of them and all are of one kind.",
        ),
        ("What follows", _follows(suspects, is_evidence)),
        ("Sent to", f"{whole['server']}; the server told: {models}, {dates}"),
        *_not_compared(frame),
        (
            "Rests on",
            f"{count_noun(len(known), 'known work')}, given as unread. pretrace cannot "
            "check that.",
        ),
    )
    question = (
        f"How much of {count_noun(len(suspects), 'work')} of "
        f"'{panel.title_of(panel.benchmark)}' does {model} give back?"
    )
    kind = "evidence" if is_evidence else "none"
    return Box(question, answer(model, frame), kind, lines)


def _follows(suspects: pd.DataFrame, is_evidence: bool) -> str:
    """Say what follows from the blocks of works in question."""
    if is_evidence:
        return (
            f"Blocks of {SIZE.block} words are no chance: the model has read these "
            "works, copies or long quotations of them."
        )
    if suspects["given_back"].any():
        return (
            "Such blocks are hardly chance, but quotations and common texts come back, "
            "too, and p is not low: nothing follows about training on these works."
        )
    return (
        "Nothing follows about training: models give back few of the works that they "
        "were trained on."
    )


def _not_compared(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield which works are not compared, and why."""
    works = frame[frame["unit"] == "document"]
    short = works[works["places"].eq(0)]
    without = works["refused"] + works["unanswered"]
    silent = works[works["requests"].gt(0) & works["requests"].eq(without)]
    if len(short):
        yield "Too short", ", ".join(short["document"])
    if len(silent):
        yield "Without an answer, not compared", ", ".join(silent["document"])


def _works(panel: Panel, frame: pd.DataFrame) -> list[Block]:
    """Return a block with a row a work; its longest block is read when the label is
    opened."""
    is_asked = (frame["unit"] == "document") & frame["requests"].gt(0)
    works = records_of(frame[is_asked].head(MOST_ROWS))
    rows = [(row["title"] or row["document"], _cells(row), False) for row in works]
    blocks = rows_of(f"Works: {panel.name}", rows, "Work")
    for number, block in enumerate(blocks):
        detailed = []
        for row, work in zip(block.rows, works, strict=True):
            detailed.append(replace(row, detail=work["passage"] or ""))
        blocks[number] = replace(block, rows=tuple(detailed))
    return blocks


def _cells(row: Record) -> Iterator[tuple[Head, Cell]]:
    yield "side", Cell(words="known" if row["label"] == 0 else "in question")
    for key in _COUNTS:
        yield key.replace("_", " "), Cell(words=f"{row[key]:,.0f}")
    yield "p", p_cell(row["p"])
