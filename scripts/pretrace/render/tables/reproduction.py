"""Published against measured, number by number, and a summary for each paper."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from pretrace.evaluation.published import (
    CRITERIA,
    NAMES,
    Compared,
    Names,
    compare,
    frame_of,
    judged,
    rates,
    read_names,
)
from pretrace.render.names import method_label, metric_label
from pretrace.render.phrases import joined
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.tables.table import Cell, Placed, Table, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

FARTHEST = 10


@table(
    "reproduction",
    needs=("metrics", "tests", "benchmarks", "published"),
    optional=("artifacts", "evaluation_sets"),
)
def render(artifact: Artifact, results: Results) -> Table:
    """A block a paper: a row an artifact, under each protocol how many of its numbers were measured, how many of them
    agree by which criterion, and how far apart they are; then the numbers that are farthest apart.

    The long data holds every published number under every protocol.
    """
    compared = compared_of(artifact, results)
    names = read_names(results.published[NAMES])
    papers = list(dict.fromkeys(one.row["paper"] for one in compared))
    summaries: list[Placed] = []
    for paper in papers:
        summaries += _summary(names, paper, [one for one in compared if one.row["paper"] == paper])
    blocks = [*lay_out(summaries, "Table or figure"), *lay_out(_farthest(compared), "Number")]
    reading = _reading(names, papers, compared)
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


def _summary(names: Names, paper: str, compared: Sequence[Compared]) -> list[Placed]:
    """A row an artifact of the paper: under each protocol how many of its numbers agree, and how far they are apart."""
    groups: dict[str, dict[str, list[Compared]]] = {}
    for one in compared:
        if not one.skipped:
            empty: dict[str, list[Compared]] = {name: [] for name in names.papers[paper]["protocols"]}
            groups.setdefault(one.row["artifact"], empty)[one.protocol].append(one)
    rows = {
        artifact: [
            ((f"as the {protocol}", head), cell)
            for protocol, own in of.items()
            for head, cell in _counts(own)
        ]
        for artifact, of in groups.items()
    }
    return rows_of(names.papers[paper]["title"], ((name, cells, False) for name, cells in rows.items()))


def _counts(shown: Sequence[Compared]) -> Iterable[tuple[str, Cell]]:
    agreeing = judged(shown)
    criteria = dict.fromkeys(one.agreement.criterion for one in shown if one.agreement.criterion)
    apart = [one.difference for one in rates(shown) if one.difference is not None]
    named = ", ".join(words for criterion, words in CRITERIA.items() if criterion in criteria)
    yield "numbers", Cell(words=str(len(shown)))
    yield "measured", Cell(words=str(sum(one.found is not None for one in shown)))
    yield "agree", Cell(words=f"{sum(agreeing)} of {len(agreeing)}") if agreeing else Cell()
    yield "criterion", Cell(words=named) if named else Cell()
    yield "median difference", Cell(median(apart), signed=True) if apart else Cell()
    yield "largest difference", Cell(max(apart, key=abs), signed=True) if apart else Cell()


def _farthest(compared: Sequence[Compared]) -> list[Placed]:
    apart = sorted(rates(compared), key=lambda one: (-abs(one.difference or 0), *one.row.values()))
    return rows_of("The farthest apart", ((_place(one), _far_cells(one), False) for one in apart[:FARTHEST]))


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
        "Agree: on a released benchmark both numbers are of the same texts and share their sampling error, so no "
        "interval is asked. The fixed tolerance is 0.005 where nothing is drawn (0 of counts). Where shots are drawn, "
        "ours is the mean over draws and the tolerance is their standard deviation, where the paper resamples, the one "
        "that it prints; 0.005 at least. Of numbers that differ by the draw alone, about half are so near to the mean "
        "of three draws. To each tolerance the rounding of the paper's digits is added. A rate moves in steps of one "
        "text, which may exceed it. On a rebuilt benchmark the texts are others: the published number has to lie in "
        "our 95 % interval (bootstrap of our texts).",
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
        counts: dict[str, set[int]] = {}
        for row, reason in reasons:
            if reason:
                counts.setdefault(reason, set()).add(id(row))
        if counts:
            told = "; ".join(f"{reason} ({len(rows)})" for reason, rows in counts.items())
            notes.append(f"{what}: {told}.")
    return notes


def _reading(names: Names, papers: Sequence[str], compared: Sequence[Compared]) -> str:
    sentences = []
    for paper in papers:
        parts = []
        for protocol in names.papers[paper]["protocols"]:
            of = [one for one in compared if (one.row["paper"], one.protocol) == (paper, protocol)]
            agreeing = judged(of)
            apart = [abs(one.difference) for one in rates(of) if one.difference is not None]
            if apart:
                parts.append(
                    f"as the {protocol}, {sum(agreeing)} of {len(agreeing)} measured numbers agree with the published "
                    f"ones (median distance {median(apart):.3f})"
                )
        title = names.papers[paper]["title"]
        sentences.append(f"{title}: {joined(parts)}." if parts else f"{title}: nothing was measured.")
    return " ".join(sentences)
