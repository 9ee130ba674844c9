"""What the benchmarks hold: DC-PDD table 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.render.phrases import DASH, joined
from pretrace.render.records import long_frame
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.render.tables.table import Block, Cell, Row, Table

UNLABELLED = "Unlabelled"
COLUMNS = ("Source", "Language", "Length (words)", "Members", "Non-members", UNLABELLED, "Documents")
LANGUAGES = {"en": "English", "zh": "Chinese"}


@table("benchmark_statistics", needs=("benchmarks",))
def render(artifact: Artifact, results: Results) -> Table:
    """One row a benchmark, subset and length: its texts and documents by class."""
    places = {
        (panel["benchmark"], panel["subset"], panel["length"]): panel for panel in results.panels(artifact)
    }
    records = [_record(panel, results) for panel in places.values()]
    columns = [name for name in COLUMNS if name != UNLABELLED or any(one["n_unlabelled"] for one in records)]
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Benchmark",
        columns=tuple((column,) for column in columns),
        blocks=(Block("", tuple(_row(record, columns) for record in records)),),
        notes=tuple(_notes(records)),
        frame=long_frame(records),
        reading=" ".join([_reading(records), *_equal_benchmarks(results, records)]),
    )


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


def _row(record: Mapping[str, Any], columns: Sequence[str]) -> Row:
    documents = (record["member_documents"], record["nonmember_documents"])
    words = (
        record["source"],
        LANGUAGES.get(record["language"], record["language"]) or DASH,
        DASH if record["length"] is None else str(record["length"]),
        f"{record['n_members']:,}",
        f"{record['n_nonmembers']:,}",
        f"{record['n_unlabelled']:,}" if record["n_unlabelled"] else DASH,
        f"{documents[0]} + {documents[1]}" if sum(documents) else DASH,
    )
    cells = tuple(Cell(words=word) for name, word in zip(COLUMNS, words, strict=True) if name in columns)
    name = record["benchmark"] + (f" {record['subset']}" if record["subset"] else "")
    return Row(name, cells)


def _notes(records: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = ["Length: words a text. Documents: those the members come from + those of the non-members."]
    titles = {record["benchmark"]: record["title"] for record in records if record["title"]}
    notes += [f"{benchmark}: {title}." for benchmark, title in titles.items()]
    return notes


def _reading(records: Sequence[Mapping[str, Any]]) -> str:
    """How many texts, how the classes balance, and which classes rest on few documents."""
    benchmarks = {record["benchmark"] for record in records}
    uneven = [record for record in records if record["n_members"] != record["n_nonmembers"]]
    sentences = [
        f"{len(benchmarks)} {'benchmark' if len(benchmarks) == 1 else 'benchmarks'} in {len(records)} "
        f"{'set' if len(records) == 1 else 'sets'} of texts; the smallest class has {_smallest(records):,}."
    ]
    if uneven:
        names = list(dict.fromkeys(f"{record['benchmark']}{_at_length(record)}" for record in uneven))
        sentences.append(f"The classes differ in size in {joined(names)}.")
    else:
        sentences.append("Members and non-members are equally many in each.")
    few = list(dict.fromkeys(record["benchmark"] for record in records if 0 < _fewest(record) < 5))
    if few:
        sentences.append(
            f"In {joined(few)} a class comes from fewer than 5 documents, "
            "so its intervals rest on texts of one document and say nothing about other documents."
        )
    return " ".join(sentences)


def _smallest(records: Sequence[Mapping[str, Any]]) -> int:
    return min(min(record["n_members"], record["n_nonmembers"]) for record in records)


def _fewest(record: Mapping[str, Any]) -> int:
    return min(record["member_documents"], record["nonmember_documents"])


def _at_length(record: Mapping[str, Any]) -> str:
    return "" if record["length"] is None else f" at {record['length']} words"


def _equal_benchmarks(results: Results, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each set of benchmarks that hold the same texts in the same classes."""
    groups: dict[frozenset[tuple[Any, ...]], list[str]] = {}
    for name in dict.fromkeys(record["benchmark"] for record in records):
        texts = results.benchmark(name)[["text", "label", "subset", "length"]].fillna(
            {"label": -1, "length": -1}
        )
        groups.setdefault(frozenset(texts.itertuples(index=False, name=None)), []).append(name)
    return [
        f"{joined(names)} hold the same texts in the same classes and differ by the draw of shots and folds alone."
        for names in groups.values()
        if len(names) > 1
    ]
