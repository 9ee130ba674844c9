"""Published against measured, number by number, and a summary for each paper."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record, number
from pretrace.render.artifact import Artifact
from pretrace.render.frames import records_of
from pretrace.render.names import join_words, method_label, metric_label
from pretrace.render.published import (
    PUBLISHED_KEYS,
    Paper,
    compare_published,
    rates,
    read_papers,
    summarise_comparison,
)
from pretrace.render.results import Results
from pretrace.render.tables.table import (
    Block,
    Cell,
    Table,
    cell_of,
    rows_of,
    table_of,
)

FARTHEST = 10


def reproduction(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a paper, a row an artifact: by protocol how many numbers agree,
    and how far apart they are.

    Below are the numbers that are farthest apart, or with `options.every` all that were
    measured.

    The long data holds every published number under every protocol.
    """
    compared = compared_of(artifact, results)
    papers = _papers_shown(read_papers(results), compared)
    protocols = []
    for paper, about in papers.items():
        protocols += [(paper, protocol) for protocol in about.protocols]
    of_rows = pd.MultiIndex.from_frame(compared[["paper", "protocol"]])
    shown = compared[of_rows.isin(protocols)]
    blocks = []
    reading = []
    for paper, about in papers.items():
        numbers = shown[shown["paper"] == paper]
        blocks += _summaries(about, numbers)
        reading.append(_read_comparison(about, numbers))
    blocks += _every(papers, shown) if artifact.options.every else _farthest(shown)
    notes = _notes(papers, shown)
    return table_of(artifact, blocks, notes, compared, " ".join(reading))


def _papers_shown(
    papers: Mapping[str, Paper], compared: pd.DataFrame
) -> dict[str, Paper]:
    """Return the papers that are compared with the protocols that the study measured,
    or all if it measured none."""
    measured = compared[compared["measured"].notna()]
    protocols_of = measured.groupby("paper")["protocol"].agg(set)
    shown = {}
    for paper in compared["paper"].unique():
        protocols = papers[paper].protocols
        named = protocols_of.get(paper, protocols)
        own = {name: says for name, says in protocols.items() if name in named}
        shown[paper] = papers[paper].replaced(protocols=own)
    return shown


def compared_of(artifact: Artifact, results: Results) -> pd.DataFrame:
    """Return every published number that the study could measure, by protocol; raises
    if there is none."""
    gone = {missing.name: missing.reason for missing in artifact.missing}
    compared = compare_published(results, artifact.options.artifacts, gone)
    if compared.empty:
        raise artifact.error(
            "the study shows no table or figure of a paper; leave it out."
        )
    return compared


def _summaries(paper: Paper, numbers: pd.DataFrame) -> list[Block]:
    """Return a row an artifact: under each protocol how many of its numbers agree, and
    how far they are apart."""
    rows = []
    for artifact, own in numbers[~numbers["skipped"]].groupby("artifact", sort=False):
        cells = []
        for protocol in paper.protocols:
            counts = summarise_comparison(own[own["protocol"] == protocol])
            for head, cell in _counts(counts):
                cells.append(((f"as the {protocol}", head), cell))
        rows.append((str(artifact), cells, False))
    return rows_of(paper.title, rows, "Table or figure")


def _counts(counts: Mapping[str, Any]) -> Iterable[tuple[str, Cell]]:
    agree = None
    if counts["judged"]:
        agree = f"{counts['agree']} of {counts['judged']}"
    yield "numbers", Cell(words=str(counts["numbers"]))
    yield "measured", Cell(words=str(counts["measured"]))
    yield "agree", Cell(words=agree)
    yield "criterion", Cell(words=", ".join(counts["criteria"]) or None)
    yield "median difference", Cell(counts["median"], signed=True)
    yield "largest difference", Cell(counts["largest"], signed=True)


def _farthest(compared: pd.DataFrame) -> list[Block]:
    apart = rates(compared).sort_values(
        "difference", key=abs, ascending=False, kind="stable"
    )
    rows = []
    for row in records_of(apart[:FARTHEST]):
        cells = [("protocol", Cell(words=row["protocol"])), *_cells(row)]
        rows.append((place_of(row), cells, False))
    return rows_of("The farthest apart", rows, "Number")


def _every(papers: Mapping[str, Paper], compared: pd.DataFrame) -> list[Block]:
    """Return a block for each table or figure of a paper with a row for each number
    that was measured."""
    measured = compared[compared["measured"].notna()]
    groups = measured.groupby(["paper", "artifact", "protocol"], sort=False)
    blocks = []
    for (paper, artifact, protocol), own in groups:
        same = []
        for key in PUBLISHED_KEYS:
            if key != "model" and own[key].nunique() == 1:
                same.append(key)
        rows = [(place_of(row, *same), _cells(row), False) for row in records_of(own)]
        title = f"{papers[str(paper)].title}, {artifact}, as the {protocol}"
        blocks += rows_of(title, rows, "Number")
    return blocks


def _cells(row: Record) -> Iterable[tuple[str, Cell]]:
    ours = {
        "value": row["measured"],
        "low": row["low"],
        "high": row["high"],
        "metric": row["metric"],
    }
    yield "published", Cell(words=row["published"])
    yield "measured", replace(cell_of(ours), digits=3)  # as the papers print
    yield "difference", Cell(row["difference"], signed=True)
    yield "allowed", Cell(number(row["tolerance"]))
    yield "agrees", Cell(words={"true": "yes", "false": "no"}.get(row["agrees"]))


def place_of(row: Record, *without: str) -> str:
    """Name a number by its printed keys `without` those that all numbers beside it
    share."""
    words = {
        "paper": row["paper"],
        "artifact": row["artifact"],
        "model": row["model"],
        "benchmark": row["benchmark"],
        "subset": row["subset"],
        "length": f"{row['length']} words" if row["length"] else "",
        "method": method_label(row["method"]),
        "metric": metric_label(row["metric"]),
    }
    for key in without:
        words.pop(key, None)
    return " ".join(filter(None, words.values()))


def _notes(papers: Mapping[str, Paper], compared: pd.DataFrame) -> list[str]:
    notes = [
        "Numbers: those that the paper prints and that can be compared. Differences: "
        "measured less published, of p-values the common logarithm of their ratio; "
        "their median and largest are of AUCs, accuracies and rates.",
        "Agree: on a released benchmark both numbers are of the same texts, so no "
        "interval is asked. They may differ by 0.005 where nothing is drawn, or as the "
        "authors drew it (0 of counts), else by the standard deviation of our draws, "
        "or of the paper's resamples, 0.005 at least; and by the rounding of the "
        "paper's digits. About half of the numbers that differ by the draw alone are "
        "that near. On a rebuilt benchmark the texts are others: the published number "
        "has to lie in our 95 % interval (bootstrap of our texts).",
    ]
    protocols = []
    for paper in papers.values():
        told = []
        for name, sentence in paper.protocols.items():
            told.append(f"{name}: {sentence.strip()}")
        protocols.append(f"{paper.title}, {'; '.join(told)}.")
    numbers = compared.groupby([*PUBLISHED_KEYS], sort=False).ngroup()
    compared = compared.assign(number=numbers)
    skipped = compared[compared["skipped"]]
    others = compared[~compared["skipped"]]
    reasons = {
        "Inferred, because the paper does not state it (column inferred of the "
        "CSV)": others["inferred"],
        "Not compared": skipped["reason"],
        "Not measured": others["reason"],
        "Not judged": others["unjudged"],
    }
    gaps = []
    for what, column in reasons.items():
        counts = compared["number"].groupby(column[column != ""], sort=False).nunique()
        if len(counts):
            told = [f"{reason} ({count})" for reason, count in counts.items()]
            gaps.append(f"{what}: {'; '.join(told)}.")
    return [*notes, " ".join(protocols), " ".join(gaps)]


def _read_comparison(paper: Paper, numbers: pd.DataFrame) -> str:
    parts = []
    for protocol in paper.protocols:
        counts = summarise_comparison(numbers[numbers["protocol"] == protocol])
        if counts["distance"] is not None:
            parts.append(
                f"as the {protocol}, {counts['agree']} of {counts['judged']} measured "
                "numbers agree with the published ones (median distance "
                f"{counts['distance']:.3f})"
            )
    return f"{paper.title}: {join_words(parts) if parts else 'nothing was measured'}."
