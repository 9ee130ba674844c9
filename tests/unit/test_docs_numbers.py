"""Numbers in the documents are found and compared with those of a run; tests/bench/compare_documents.py does it."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import compare_documents
from compare_documents import Found, Reading, Row

RUN = dict[str, Any]


def printed() -> RUN:
    """The files of a run that gave exactly what the documents print: rows of CSVs, and sentences."""
    files: RUN = {"tables/a.csv": {}}
    for document, text, sentence, sources in compare_documents.checks():
        match = compare_documents.match_of(sentence, text)
        assert match, f"{document} does not say {sentence!r}: change both"
        values = iter(map(float, match.groups()))
        for source in sources:
            numbers = [next(values) for _ in source.columns]
            match source:
                case Found():
                    row = {"metric": "auc"} | source._asdict()
                    key = source._replace(columns=())
                    files["tables/a.csv"].setdefault(key, row).update(
                        zip(source.columns, numbers, strict=True)
                    )
                case Row():
                    for column, number in zip(source.columns, numbers, strict=True):
                        kind, _, name = column.rpartition(" ")
                        row = files.setdefault(source.file, {}).setdefault(
                            (source.where, kind), dict(source.where)
                        )
                        row[name] = number / source.scale
                case Reading():
                    files[source.file] = source.sentence.replace("{}", "{:g}").format(*numbers)
        assert next(values, None) is None, f"{sentence!r}: more numbers than sources"
    return files


def write(run: RUN, folder: Path) -> None:
    for file, content in run.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            pd.DataFrame(list(content.values())).to_csv(path, index=False)


def differences(run: RUN, folder: Path) -> list[str]:
    write(run, folder)
    return list(compare_documents.differences(folder))


def add_to_aucs(run: RUN, change: float) -> None:
    for row in run["tables/a.csv"].values():
        if (row["method"], row["benchmark"]) == ("gap_k", "sotu"):
            row["value"] += change


def test_what_a_run_has_within_the_tolerance_is_not_told(tmp_path):
    run = printed()
    add_to_aucs(run, 0.04)
    assert differences(run, tmp_path) == []


def test_what_a_run_lacks_or_has_otherwise_is_told_with_its_document(tmp_path):
    run = printed()
    add_to_aucs(run, 0.06)
    for file, column in (("tables/extraction.csv", "longest_run"), ("tables/corpus_test.csv", "low")):
        next(row for row in run[file].values() if column in row)[column] += 40
    run["tables/reproduction.md"] = "12 of 30"
    del run["tables/repetitions.csv"]
    differ = differences(run, tmp_path)
    for parts in (
        ("Gap-K%",),
        ("docs/extraction.md: '| MIT licence", "longest_run"),
        ("docs/embedded_study.md: '| medium, at random", "low"),
        ("24 is 12.000 in the run",),
        ("docs/embedded_study.md: 'single draws", "nan"),
    ):
        told = [line for line in differ if all(part in line for part in parts)]
        assert told, (parts, differ)
        differ = [line for line in differ if line not in told]
    assert all("single draws" in line and "nan" in line for line in differ), "nothing else is told"
