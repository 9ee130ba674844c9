"""What the benchmarks hold: DC-PDD table 1."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pretrace.render.phrases import DASH
from pretrace.render.records import long_frame
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.render.tables.table import Cell, Table, lay_out, rows_of, table_of

LANGUAGES = {"en": "English", "zh": "Chinese"}


@table("benchmark_statistics", needs=("benchmarks",))
def render(artifact: Artifact, results: Results) -> Table:
    """One row a benchmark, subset and length: its texts and documents by class."""
    places = {
        (panel["benchmark"], panel["subset"], panel["length"]): panel for panel in results.panels(artifact)
    }
    records = [_record(panel, results) for panel in places.values()]
    unlabelled = any(record["n_unlabelled"] for record in records)
    rows = (
        (f"{row['benchmark']} {row['subset']}".strip(), _cells(row, unlabelled), False) for row in records
    )
    notes = ["Length: words a text. Documents: those the members come from + those of the non-members."]
    titles = {record["benchmark"]: record["title"] for record in records if record["title"]}
    notes += [f"{benchmark}: {title}." for benchmark, title in titles.items()]
    return table_of(artifact, lay_out(rows_of("", rows), "Benchmark"), notes, long_frame(records))


def _record(panel: Panel, results: Results) -> dict[str, Any]:
    texts, entry = results.every_text(panel), results.entry(panel)
    label = texts["label"]
    return {
        "benchmark": panel["benchmark"],
        "subset": panel["subset"],
        "length": panel["length"],
        "title": entry.get("title", ""),
        "source": entry["source"],
        "language": entry.get("language", ""),
        "n_members": int((label == 1).sum()),
        "n_nonmembers": int((label == 0).sum()),
        "n_unlabelled": int(label.isna().sum()),
        "member_documents": _documents(texts[(label == 1).fillna(False)]),
        "nonmember_documents": _documents(texts[(label == 0).fillna(False)]),
    }


def _documents(texts: pd.DataFrame) -> int:
    """Distinct documents; 0 where the benchmark names none."""
    return int(texts.loc[texts["document"] != "", "document"].nunique())


def _cells(record: Mapping[str, Any], unlabelled: bool) -> Iterable[tuple[str, Cell]]:
    documents = (record["member_documents"], record["nonmember_documents"])
    yield "Source", Cell(words=record["source"])
    yield "Language", Cell(words=LANGUAGES.get(record["language"], record["language"]) or DASH)
    yield "Length (words)", Cell() if record["length"] is None else Cell(words=str(record["length"]))
    yield "Members", Cell(words=f"{record['n_members']:,}")
    yield "Non-members", Cell(words=f"{record['n_nonmembers']:,}")
    if unlabelled:
        yield "Unlabelled", Cell(words=f"{record['n_unlabelled']:,}" if record["n_unlabelled"] else DASH)
    yield "Documents", Cell(words=f"{documents[0]} + {documents[1]}") if sum(documents) else Cell()
