"""Published against measured, number by number, and a summary for each paper."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pretrace.evaluation.published import (
    NAMES,
    Compared,
    Names,
    compare,
    frame_of,
    rates,
    read_names,
    summary,
)
from pretrace.render.names import method_label, metric_label
from pretrace.render.phrases import joined
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.tables.table import Block, Cell, Head, Table, rows_of, table_of
from pretrace.runtime.errors import InputError

FARTHEST = 10


def reproduction(artifact: Artifact, results: Results) -> Table:
    """A block a paper: a row an artifact, under each protocol how many of its numbers were measured, how many of them
    agree by which criterion, and how far apart they are; then the numbers that are farthest apart.

    The long data holds every published number under every protocol.
    """
    compared = compared_of(artifact, results)
    names = read_names(results.published[NAMES])
    papers = list(dict.fromkeys(one.row["paper"] for one in compared))
    summaries = [block for paper in papers for block in _summaries(names, paper, compared)]
    blocks = [*summaries, *_farthest(compared)]
    reading = " ".join(_reading(names, paper, compared) for paper in papers)
    return table_of(artifact, blocks, _notes(names, papers, compared), frame_of(compared), reading)


def compared_of(artifact: Artifact, results: Results) -> list[Compared]:
    """Every published number that the study could measure, by protocol; raises where there is none."""
    gone = {one["model"]: one["reason"] for one in artifact.get("missing", ())}
    compared = compare(results, artifact["options"]["artifacts"], gone)
    if not compared:
        raise InputError(
            f"artifact {artifact['artifact']}: the study shows no table or figure of a paper; leave it out."
        )
    return compared


def _summaries(names: Names, paper: str, compared: Sequence[Compared]) -> list[Block]:
    """A row an artifact of the paper: under each protocol how many of its numbers agree, and how far they are apart."""
    of_paper = [one for one in compared if one.row["paper"] == paper and not one.skipped]
    rows = []
    for artifact in dict.fromkeys(one.row["artifact"] for one in of_paper):
        cells: list[tuple[Head, Cell]] = []
        for protocol in names.papers[paper]["protocols"]:
            counts = summary(
                [one for one in of_paper if (one.row["artifact"], one.protocol) == (artifact, protocol)]
            )
            cells += [((f"as the {protocol}", head), cell) for head, cell in _counts(counts)]
        rows.append((artifact, cells, False))
    return rows_of(names.papers[paper]["title"], rows, "Table or figure")


def _counts(counts: Mapping[str, Any]) -> Iterable[tuple[str, Cell]]:
    yield "numbers", Cell(words=str(counts["numbers"]))
    yield "measured", Cell(words=str(counts["measured"]))
    yield "agree", Cell(words=f"{counts['agree']} of {counts['judged']}" if counts["judged"] else None)
    yield "criterion", Cell(words=", ".join(counts["criteria"]) or None)
    yield "median difference", Cell(counts["median"], signed=True)
    yield "largest difference", Cell(counts["largest"], signed=True)


def _farthest(compared: Sequence[Compared]) -> list[Block]:
    apart = sorted(rates(compared), key=lambda one: (-abs(one.difference or 0), *one.row.values()))
    rows = ((_place(one), _far_cells(one), False) for one in apart[:FARTHEST])
    return rows_of("The farthest apart", rows, "Number")


def _far_cells(one: Compared) -> Iterable[tuple[str, Cell]]:
    yield "protocol", Cell(words=one.protocol)
    yield "published", Cell(words=one.row["value"])
    yield "measured", Cell(one.found.value, one.found.low, one.found.high) if one.found else Cell()
    yield "difference", Cell(one.difference, signed=True)


def _place(one: Compared) -> str:
    row = one.row
    parts = [row["paper"], row["artifact"], row["model"], row["benchmark"], row["subset"]]
    parts += [f"{row['length']} words"] if row["length"] else []
    method = method_label(row["method"])
    return " ".join(part for part in [*parts, method, metric_label(row["metric"])] if part)


def _notes(names: Names, papers: Sequence[str], compared: Sequence[Compared]) -> list[str]:
    notes = [
        "Numbers: those that the paper prints and that can be compared. Differences: measured less published, of AUCs "
        "and true-positive rates.",
        "Agree: on a released benchmark both numbers are of the same texts, so no interval is asked. They may differ "
        "by 0.005 where nothing is drawn (0 of counts), else by the standard deviation of our draws, or of the paper's "
        "resamples, 0.005 at least; and by the rounding of the paper's digits. About half of the numbers that differ "
        "by the draw alone are that near. On a rebuilt benchmark the texts are others: the published number has to lie "
        "in our 95 % interval (bootstrap of our texts).",
    ]
    for paper in papers:
        protocols = names.papers[paper]["protocols"]
        told = "; ".join(f"{name}: {its['says'].strip()}" for name, its in protocols.items())
        notes.append(f"{names.papers[paper]['title']}, {told}.")
    if guessed := {id(one.row): one.inferred for one in compared if one.inferred and not one.skipped}:
        counted = Counter(guessed.values())
        told = "; ".join(f"{what} ({count})" for what, count in sorted(counted.items()))
        notes.append(f"Inferred, because the paper does not state it (column inferred of the CSV): {told}.")
    kinds = {
        "Not compared": [(one.row, one.reason) for one in compared if one.skipped],
        "Not measured": [(one.row, one.reason) for one in compared if not one.skipped],
        "Not judged": [(one.row, one.agreement.unjudged) for one in compared],
    }
    for what, reasons in kinds.items():
        numbers = dict.fromkeys((id(row), reason) for row, reason in reasons if reason)
        counts = Counter(reason for _, reason in numbers)
        told = "; ".join(f"{reason} ({count})" for reason, count in counts.items())
        notes += [f"{what}: {told}."] if told else []
    return notes


def _reading(names: Names, paper: str, compared: Sequence[Compared]) -> str:
    parts = []
    for protocol in names.papers[paper]["protocols"]:
        counts = summary([one for one in compared if (one.row["paper"], one.protocol) == (paper, protocol)])
        if counts["distance"] is not None:
            parts.append(
                f"as the {protocol}, {counts['agree']} of {counts['judged']} measured numbers agree with the published "
                f"ones (median distance {counts['distance']:.3f})"
            )
    return f"{names.papers[paper]['title']}: {joined(parts) if parts else 'nothing was measured'}."
