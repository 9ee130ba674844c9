"""Numbers in the documents are found and compared with those of a run; tests/bench/compare_documents.py does it."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

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


@pytest.mark.parametrize(("changed", "told"), [(0.04, 0), (0.06, 1)])
def test_every_auc_is_compared_with_its_own_in_the_run(tmp_path, changed, told):
    run = printed()
    rows = [
        row for row in run["tables/a.csv"].values() if (row["method"], row["benchmark"]) == ("gap_k", "sotu")
    ]
    assert rows
    for row in rows:
        row["value"] += changed
    write(run, tmp_path)
    differ = list(compare_documents.differences(tmp_path))
    assert bool(differ) == bool(told), differ
    assert all("Gap-K%" in line for line in differ)


@pytest.mark.parametrize(
    ("file", "column", "line"),
    [
        ("figures/audit_power.csv", "value", "docs/audit.md: 'find 28 %"),
        ("tables/extraction.csv", "longest_run", "docs/extraction.md: '| MIT licence"),
        ("tables/corpus_test.csv", "low", "docs/embedded_study.md: '| medium, at random"),
    ],
)
def test_a_number_of_a_figure_or_table_is_compared_with_its_row(tmp_path, file, column, line):
    run = printed()
    next(row for row in run[file].values() if column in row)[column] += 40
    write(run, tmp_path)
    differ = list(compare_documents.differences(tmp_path))
    assert differ
    assert all(line in told for told in differ[:1]), differ


def test_a_sentence_of_a_run_is_compared_by_its_number(tmp_path):
    run = printed()
    run["figures/famous_verses.txt"] = "3 of the 49 verses of the day are among the 102"
    write(run, tmp_path)
    [line] = compare_documents.differences(tmp_path)
    assert "12 is 3.000 in the run" in line


def test_what_a_run_lacks_is_told(tmp_path):
    run = printed()
    del run["figures/audit_power.csv"]
    write(run, tmp_path)
    assert any("docs/audit.md" in line and "nan" in line for line in compare_documents.differences(tmp_path))
