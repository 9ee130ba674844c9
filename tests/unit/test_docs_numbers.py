"""Numbers in the documents are found and compared with those of a run;
tests/bench/compare_documents.py does it."""

import sys
from pathlib import Path

import pandas as pd

from pretrace.runtime.schema import read_yaml
from pretrace.studies import Plan, load_study
from pretrace.studies.estimate import jobs_of

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import compare_documents
from compare_documents import Found, Row

ROOT = Path(__file__).parents[2]

TEXT = (
    "It has 0.60 [0.50, 0.70]. Shares are 10 % to 40 %, 2 of 3 agree, and 7 are gone."
)
CHECKS = [
    ("It has {} [{}, {}].", [Found("m", "b", 32, "loss", ("value", "low", "high"))]),
    (
        "are {} % to {} %",
        [
            Row(
                "tables/shares.csv",
                (("model", "m"),),
                ("min share", "max share"),
                100,
                0.02,
            )
        ],
    ),
    (
        "{} of 3 agree",
        [Row("tables/shares.csv", (("agrees", True),), ("count share",), tolerance=0)],
    ),
    ("and {} are gone", [Row("tables/gone.csv", ())]),
]


def test_every_sentence_is_in_its_document_with_a_number_for_each_that_is_compared():
    for document, text, sentence, sources in compare_documents.checks():
        match = compare_documents.match_of(sentence, text)
        assert match, f"{document} does not say {sentence!r}: change both"
        assert len(match.groups()) == sum(len(source.columns) for source in sources), (
            sentence
        )


def differences(folder: Path, value: float, shares: list[float]) -> list[str]:
    (folder / "tables").mkdir(exist_ok=True)
    auc = {"model": "m", "benchmark": "b", "length": 32, "subset": "", "method": "loss"}
    row = auc | {
        "selection": "held_out",
        "metric": "auc",
        "value": value,
        "low": 0.5,
        "high": 0.7,
    }
    others = [
        row | {"metric": "tpr_at_1_fpr", "value": 0.9},
        row | {"benchmark": "c", "value": 0.9},
    ]
    pd.DataFrame([*others, row]).to_csv(folder / "tables" / "a.csv", index=False)
    table = {"model": "m", "share": shares, "agrees": [True, False, True]}
    pd.DataFrame(table).to_csv(folder / "tables" / "shares.csv", index=False)
    return list(compare_documents.differences(folder))


def test_what_a_run_lacks_or_has_beyond_the_tolerance_is_told_and_nothing_else(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(
        compare_documents,
        "checks",
        lambda: (("README.md", TEXT, *check) for check in CHECKS),
    )
    (gone,) = differences(tmp_path, 0.64, [0.1, 0.3, 0.41])
    assert "7 is nan in the run" in gone
    value, highest, _ = differences(tmp_path, 0.66, [0.1, 0.3, 0.43])
    assert (
        value
        == "README.md: 'It has 0.60 [0.50, 0.70].': 0.60 is 0.660 in the run (value)"
    )
    assert "40 is 43.000 in the run (max share)" in highest


def ablations_of_the_guide():
    """Each row of the guide's table: name, artifacts of the default study, of the paper
    study, GPU hours."""
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Ablations")[2].partition("## How to cite")[0]
    for line in section.splitlines():
        if line.startswith("| ") and "`[" in line:
            cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
            embedded = [slug.strip("` ") for slug in cells[2].split(",")]
            paper = [slug.strip("` ") for slug in cells[4].split(",")]
            yield cells[1].strip("[]"), embedded, paper, float(cells[6])


def test_the_guides_table_of_ablations_is_what_only_plans():
    config = read_yaml(ROOT / "config" / "config.yaml")
    registered = read_yaml(ROOT / "config" / "artifacts.yaml")
    listed = list(ablations_of_the_guide())
    names = set()
    for entry in registered.values():
        names.update(entry.get("ablations", []))
    assert {name for name, *_ in listed} == names
    for name, embedded, paper, hours in listed:
        for study, artifacts in (("embedded", embedded), ("paper", paper)):
            plan = Plan(
                load_study(config | {"study": study, "only": [name]}, ROOT / "config")
            )
            assert list(plan.study.artifacts) == artifacts, (study, name)
        reserved = sum(job.reserved("H100") for job in jobs_of(plan, {}))
        assert abs(reserved - hours) < 0.051, name
