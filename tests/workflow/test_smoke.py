"""The smoke study from end to end, as a user runs it."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from projects import NOTHING, jobs_of, plant
from small_study import results

pytestmark = pytest.mark.full


def test_every_target_of_the_contract_is_there(finished):
    results = finished.path / "results"
    for file in (
        "benchmarks/smoke~texts.parquet",
        "corpora/smoke~web/counts/smoke~target.parquet",
        "models/smoke~target/checkpoint.json",
        "passes/smoke~target/smoke~texts/smoke.json",
        "smoke/scores/target/texts.parquet",
        "smoke/metrics/target/texts.parquet",
        "smoke/tests/target/texts.parquet",
        *(f"smoke/tables/results_auc.{ending}" for ending in ("csv", "md", "tex")),
        *(
            f"smoke/figures/surp_figure3.{ending}"
            for ending in ("csv", "pdf", "png", "svg")
        ),
        "smoke/report.html",
        "smoke/provenance.json",
    ):
        assert (results / file).stat().st_size > 0, file


def test_every_method_of_the_run_has_finite_scores(finished):
    scores = pd.read_parquet(
        finished.path / "results/smoke/scores/target/texts.parquet"
    )
    assert np.isfinite(scores.score).all()
    texts = scores[scores["view"] == "original"].groupby("method").id.nunique()
    of_both_lengths = {
        "loss",
        "zlib",
        "ref",
        "min_k",
        "min_k_pp",
        "surp",
        "dc_pdd",
        "blind",
    }
    of_one = {"neighbor", "recall", "con_recall", "prefix_similarity"}
    assert texts.to_dict() == dict.fromkeys(of_both_lengths, 120) | dict.fromkeys(
        of_one, 60
    )
    with_prefix = scores[scores.method == "recall"]
    assert set(with_prefix.draw) == {0, 1}
    assert set(scores["view"]) == {"original", "delete-50"}


FOUND = r"^texts, 8 words, target\n  \S+: AUC 0\.\d\d .*\n    bag of words .*\ntexts, 32 words, target\n.*\n.*\n"
WARNINGS = r"(?:pretrace: (?:warning: |\d+ different warnings ).*\n)*"
CONCLUSION = re.compile(
    rf"{FOUND}{WARNINGS}pretrace: the report is results/smoke/report.html$", re.M
)


def test_a_run_ends_with_what_was_found_and_a_second_one_has_nothing_to_do(finished):
    first = (finished.path / "first_run.log").read_text(encoding="utf-8")
    assert len(CONCLUSION.findall(first)) == 1
    shown = finished.smoke("all", "results/smoke/figures/surp_figure3.pdf").stdout
    assert NOTHING in shown
    assert not CONCLUSION.search(shown), "the report was not made"


def test_the_first_results_are_announced(finished):
    shown = (finished.path / "first_run.log").read_text(encoding="utf-8")
    paths = re.findall(r"pretrace: made first: (results/\S+)", shown)
    assert [Path(path).name for path in paths] == ["results_auc.md", "headline.svg"]
    assert all((finished.path / path).is_file() for path in paths)


def test_jobs_find_the_library_compiled(finished):
    compiled = finished.path / "src" / "pretrace" / "runtime" / "__pycache__"
    assert any(path.stem.startswith("jobs.") for path in compiled.iterdir())


def test_the_study_is_the_same_bytes_from_scratch_on_one_core(finished, unrun):
    plant(unrun)
    unrun.run(
        "--cores", "1", "all", "--config", "study=smoke/smoke.yaml", "resamples=200"
    )
    assert results(finished) == results(unrun)
    assert len(results(finished)) >= 11


def test_one_more_table_or_figure_is_one_more_job(smoke):
    study = smoke.study()
    panels = study["artifacts"]["results_auc"]["panels"]
    study["artifacts"] |= {
        "results_tpr": {"panels": panels},
        "surp_appendix_heatmap_tail": {"panels": panels[:1]},
    }
    smoke.write_study(study)
    planned = smoke.smoke("--dry-run", "results/smoke/tables/results_tpr.csv").stdout
    assert jobs_of(planned) == {"render_table": 1, "total": 1}
    planned = jobs_of(smoke.smoke("--dry-run").stdout)
    told = {"record_provenance": 1, "render_report": 1, "check_artifacts": 1, "all": 1}
    assert planned == {"render_table": 1, "render_figure": 1, **told, "total": 6}
    smoke.smoke("--cores", "1")
    folder = smoke.path / "results" / "smoke"
    logs = [
        (folder / "logs" / name).read_text(encoding="utf-8")
        for name in (
            "render_table/results_tpr.log",
            "render_figure/surp_appendix_heatmap_tail.log",
        )
    ]
    assert sorted("drawn with others" in log for log in logs) == [False, True]
    assert not (folder / "drawn").exists()
    drawn = results(smoke)
    for name in ("tables/results_tpr.md", "figures/surp_appendix_heatmap_tail.svg"):
        (folder / name).unlink()
        smoke.smoke(f"results/smoke/{name}")
    assert results(smoke) == drawn, "alone as together"
    assert NOTHING in smoke.smoke("--dry-run").stdout


def test_jobs_to_start_are_looked_for_once_for_each_job_that_ended(smoke):
    for path in (smoke.path / "results" / "smoke" / "figures").iterdir():
        path.unlink()
    planned = jobs_of(smoke.smoke("--dry-run").stdout)
    assert planned["render_figure"] >= 2, "another one is ready while one runs"
    shown = smoke.smoke("--verbose", "--cores", "1").stdout
    assert 3 <= shown.count("Ready jobs:") <= planned["total"] + 1


def test_a_figure_that_fails_leaves_the_report_and_the_conclusion_and_is_tried_again(
    smoke,
):
    curves = smoke.path / "src" / "pretrace" / "render" / "figures" / "curves.py"
    whole = curves.read_text(encoding="utf-8")
    curves.write_text(
        whole + '\n\ndef roc(*_):\n    raise KeyError("boom")\n', encoding="utf-8"
    )
    report = smoke.path / "results" / "smoke" / "report.html"
    report.unlink()
    failed = smoke.smoke(check=False)
    assert failed.returncode == 1
    assert "3 tables and figures are not complete" in failed.stdout
    assert re.search(
        rf"{FOUND}surp_figure3: This figure could not be shown: KeyError: 'boom'.*\n"
        rf"{WARNINGS}pretrace: the report is results/smoke/report.html$",
        failed.stdout,
        re.M,
    ), failed.stdout
    assert "KeyError: &#39;boom&#39;" in report.read_text(encoding="utf-8")
    planned = jobs_of(smoke.smoke("--dry-run").stdout)
    assert planned["render_figure"] == 1, "it is rendered again, and nothing else"
    assert "render_table" not in planned
    curves.write_text(whole, encoding="utf-8")
    smoke.smoke()
    assert "boom" not in report.read_text(encoding="utf-8")
    assert NOTHING in smoke.smoke("--dry-run").stdout


def test_words_about_code_rerun_nothing_and_a_changed_statement_its_own_stage(smoke):
    library = smoke.path / "src" / "pretrace"
    (library / "render" / "report.html.jinja").touch()
    for file in (
        "runtime/logs.py",
        "evaluation/evaluate.py",
        "passes/engine.py",
        "../../scripts/score_methods.py",
    ):
        path = library / file
        path.write_text(
            path.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8"
        )
    planned = smoke.smoke("--dry-run").stdout
    assert NOTHING in planned
    assert not CONCLUSION.search(planned), "a plan has found nothing"
    code = library / "evaluation" / "evaluate.py"
    code.write_text(
        code.read_text(encoding="utf-8") + "\nEDITED = True\n", encoding="utf-8"
    )
    planned = smoke.smoke("--dry-run").stdout
    assert "evaluate_methods" in planned
    assert "record_provenance" in planned, "it says which commit the tables are of"
    assert "score_methods" not in planned


@pytest.mark.parametrize(
    ("file", "rule"),
    [
        ("texts.jsonl", "build_benchmark"),
        ("corpus.txt", "write_documents"),
        ("target/config.json", "register_checkpoint"),
    ],
)
def test_a_file_that_an_older_one_replaces_is_read_again(smoke, file, rule):
    """As unzip, rsync -a, cp -p and git do: the file's time is before that of every
    result."""
    path = smoke.path / "smoke" / file
    path.write_bytes(path.read_bytes() + b"\n")
    os.utime(path, (1, 1))
    assert rule in jobs_of(smoke.smoke("--dry-run").stdout)
