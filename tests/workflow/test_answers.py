"""Answers collected elsewhere become tables of documents, without a model, a text or a forward pass."""

import csv
import random
from itertools import permutations

import pytest


def write_answers(path) -> None:
    draw = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["document", "label", "passage", "permutation", "true_answer", "p_a", "p_b", "p_c", "p_d"]
        )
        for number in range(12):
            for passage in range(2):
                for permutation, order in enumerate(permutations(range(4))):
                    right = order.index(0)
                    p = [draw.random() + (place == right) * (number % 2) * 0.3 for place in range(4)]
                    shares = [value / sum(p) for value in p]
                    writer.writerow([f"d{number}", number % 2, passage, permutation, "ABCD"[right], *shares])


STUDY = {
    "study": "released",
    "models": {"oracle": {"source": "answers", "path": "answers.csv"}},
    "benchmarks": {"books": {"source": "answers"}},
    "runs": [{"model": "oracle", "benchmark": "books"}],
}


@pytest.mark.full
def test_a_study_of_answers_gives_tables_and_a_report(project):
    write_answers(project.path / "answers.csv")
    project.write_study(STUDY, "released.yaml")
    command = ("--cores", "2", "--config", "study=released.yaml", "resamples=100")
    project.run(*command)
    results = project.path / "results" / "released"
    assert (results / "report.html").exists()
    for artifact in ("de_cop_table1", "de_cop_table3"):
        table = (results / "tables" / f"{artifact}.md").read_text(encoding="utf-8")
        assert "DE-COP, calibrated (cross-fitted)" in table
    assert not (project.path / "results" / "passes").exists()
    assert "Nothing to be done" in project.run(*command).stdout
