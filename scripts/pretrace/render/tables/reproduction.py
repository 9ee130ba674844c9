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
from pretrace.render.names import joined, method_label, metric_label
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.tables.table import Block, Cell, Head, Table, rows_of, table_of

FARTHEST = 10


def reproduction(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a paper, a row an artifact: by protocol how many numbers agree, and how far apart they are.

    The last block has the numbers that are farthest apart.

    The long data holds every published number under every protocol.
    """
    compared = compared_of(artifact, results)
    names = read_names(results.published[NAMES])
    papers = list(dict.fromkeys(number.row["paper"] for number in compared))
    summaries = [block for paper in papers for block in _summaries(names, paper, compared)]
    apart = sorted(rates(compared), key=lambda number: (-abs(number.difference or 0), *number.row.values()))
    rows = ((_place(number.row), _far_cells(number), False) for number in apart[:FARTHEST])
    blocks = [*summaries, *rows_of("The farthest apart", rows, "Number")]
    reading = " ".join(_reading(names, paper, compared) for paper in papers)
    return table_of(artifact, blocks, _notes(names, papers, compared), frame_of(compared), reading)


def compared_of(artifact: Artifact, results: Results) -> list[Compared]:
    """Return every published number that the study could measure, by protocol; raises if there is none."""
    gone = {missing.name: missing.reason for missing in artifact.missing}
    compared = compare(results, artifact.options.artifacts, gone)
    if not compared:
        raise artifact.error("the study shows no table or figure of a paper; leave it out.")
    return compared


def _summaries(names: Names, paper: str, compared: Sequence[Compared]) -> list[Block]:
    """Return a row an artifact: under each protocol how many of its numbers agree, and how far they are apart."""
    rows = []
    own = [number for number in compared if number.row["paper"] == paper and not number.skipped]
    for artifact in dict.fromkeys(number.row["artifact"] for number in own):
        cells: list[tuple[Head, Cell]] = []
        for protocol in names.papers[paper]["protocols"]:
            key = (artifact, protocol)
            counts = summary([number for number in own if (number.row["artifact"], number.protocol) == key])
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


def _far_cells(number: Compared) -> Iterable[tuple[str, Cell]]:
    measured = number.found
    yield "protocol", Cell(words=number.protocol)
    yield "published", Cell(words=number.row["value"])
    yield "measured", Cell(measured.value, measured.low, measured.high) if measured else Cell()
    yield "difference", Cell(number.difference, signed=True)


def _place(row: Mapping[str, str]) -> str:
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
    measured = [number for number in compared if not number.skipped]
    inferred = "Inferred, because the paper does not state it (column inferred of the CSV)"
    kinds = {
        inferred: sorted((number.inferred, id(number.row)) for number in measured),
        "Not compared": [(number.reason, id(number.row)) for number in compared if number.skipped],
        "Not measured": [(number.reason, id(number.row)) for number in measured],
        "Not judged": [(number.agreement.unjudged, id(number.row)) for number in compared],
    }
    for what, reasons in kinds.items():
        counts = Counter(reason for reason, _ in dict.fromkeys(reasons) if reason)
        told = "; ".join(f"{reason} ({count})" for reason, count in counts.items())
        notes += [f"{what}: {told}."] if told else []
    return notes


def _reading(names: Names, paper: str, compared: Sequence[Compared]) -> str:
    parts = []
    own = [number for number in compared if number.row["paper"] == paper]
    for protocol in names.papers[paper]["protocols"]:
        counts = summary([number for number in own if number.protocol == protocol])
        if counts["distance"] is not None:
            parts.append(
                f"as the {protocol}, {counts['agree']} of {counts['judged']} measured numbers agree with the published "
                f"ones (median distance {counts['distance']:.3f})"
            )
    return f"{names.papers[paper]['title']}: {joined(parts) if parts else 'nothing was measured'}."
