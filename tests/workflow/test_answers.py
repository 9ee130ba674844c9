"""Answers collected elsewhere become tables of documents, without a model, a text or a forward pass."""

import csv
import random
from itertools import permutations

import pytest
import yaml


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


def write_study(project) -> None:
    study = {
        "study": "released",
        "models": {"oracle": {"source": "answers", "path": "answers.csv"}},
        "benchmarks": {"books": {"source": "answers"}},
        "runs": [{"model": "oracle", "benchmark": "books"}],
    }
    (project.path / "released.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")


@pytest.mark.full
def test_a_study_of_answers_gives_tables_and_a_report(project):
    write_answers(project.path / "answers.csv")
    write_study(project)
    command = ("--cores", "2", "--config", "study=released.yaml", "resamples=100")
    project.run(*command)
    results = project.path / "results" / "released"
    assert (results / "report.html").exists()
    for artifact in ("de_cop_table1", "de_cop_table3"):
        table = (results / "tables" / f"{artifact}.md").read_text(encoding="utf-8")
        assert "DE-COP, calibrated (cross-fitted)" in table
    assert not (project.path / "results" / "passes").exists()
    assert "Nothing to be done" in project.run(*command).stdout


def test_a_bad_answer_stops_the_run_before_any_job(project):
    write_answers(project.path / "answers.csv")
    path = project.path / "answers.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("d0,0,0,3,A,", "d0,0,0,3,E,"), encoding="utf-8")
    write_study(project)
    done = project.run("--cores", "2", "--config", "study=released.yaml", check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert "answers.csv:5: true_answer is 'E'" in done.stdout
    assert not (project.path / "results").exists()
