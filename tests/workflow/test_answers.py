"""A local model's answers: killed, shared or extended, a study of them ends in the same
bytes."""

import copy
import json
import random
import re
from pathlib import Path

import pytest
import yaml
from projects import Project, copy_project, sentence
from small_study import results

from tiny_models import tiny_model

MOMENTS = 5
STUDY = "asked/asked.yaml"
TIMES = "de_cop_table13"
ANSWERS = "results/answers/asked~target/asked~books/asked.parquet"
DOCUMENTS, PASSAGES = 6, 2
pytestmark = pytest.mark.full

# appended to the library of each project: every question is a chunk, and a job dies
# after DIES_AFTER of them
DYING = """

import os as _os
import signal as _signal

SECONDS_OF_A_CHUNK = 0
_write = Store.write
_written = []


def _dying(self, *chunk):
    _write(self, *chunk)
    _written.append(chunk)
    if len(_written) == int(_os.environ.get("DIES_AFTER", 0)):
        _os.kill(_os.getpid(), _signal.SIGKILL)


Store.write = _dying
"""


def asking(folder: Path, jobs: int = 1) -> Project:
    """A study of a tiny model that is asked about passages of six documents; `jobs`
    share the questions."""
    project = copy_project(folder)
    stored = project.path / "src" / "pretrace" / "questions" / "stored.py"
    stored.write_text(stored.read_text(encoding="utf-8") + DYING, encoding="utf-8")
    study = project.path / "asked"
    study.mkdir()
    tiny_model("llama", study / "target", context=1024)
    write_passages(study)
    resources = {"threads": 1, "jobs": jobs}
    target = {
        "source": "local",
        "path": "target",
        "dtype": "float32",
        "resources": resources,
    }
    views = {"paraphrase": "paraphrases.jsonl"}
    books = {
        "source": "local",
        "path": "texts.jsonl",
        "question": "book",
        "views": views,
    }
    methods = ["de_cop", {"completion": {"k": 4}}, "name_cloze"]
    written = {
        "study": "asked",
        "models": {"target": target},
        "benchmarks": {"books": books},
        "runs": [{"model": "target", "benchmark": "books", "methods": methods}],
        "artifacts": ["de_cop_table2", "results_auc", TIMES],
    }
    project.write_study(written, STUDY)
    return project


def write_passages(folder: Path) -> None:
    draw = random.Random(0)
    texts, paraphrases = [], []
    for document in range(DOCUMENTS):
        about = {"label": document % 2, "document": f"d{document}"}
        about |= {"title": f"Book {document}", "author": "Nobody"}
        for passage in range(PASSAGES):
            name = f"d{document}-{passage}"
            texts.append(
                about
                | {
                    "id": name,
                    "text": f"{sentence(draw, 5)} of Alice {sentence(draw, 5)}",
                }
            )
            for variant in range(3):
                paraphrases.append(
                    {"id": name, "variant": variant, "text": sentence(draw, 12)}
                )
    for file, rows in (("texts", texts), ("paraphrases", paraphrases)):
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / f"{file}.jsonl").write_text("".join(lines), encoding="utf-8")


def ask(project: Project, *targets: str, **options):
    settings = (f"study={STUDY}", "device=cpu", "resamples=100")
    return project.run("--cores", "2", *targets, "--config", *settings, **options)


def content(project: Project) -> dict[str, bytes]:
    """The study's results and its table of answers, by their paths; but not the table
    of times."""
    files = results(project, "asked") | {ANSWERS: (project.path / ANSWERS).read_bytes()}
    return {name: held for name, held in files.items() if TIMES not in name}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Project:
    project = asking(tmp_path_factory.mktemp("undisturbed") / "project")
    ask(project, "all")
    return project


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_study_killed_at_five_moments_of_its_questions_ends_in_the_same_bytes(
    undisturbed, tmp_path, jobs
):
    project = asking(tmp_path / "project", jobs)
    printed = ask(project, "all", "--retries", "12", DIES_AFTER="4").stdout
    kills = len(re.findall(r"^Trying to restart job", printed, re.MULTILINE))
    assert kills >= MOMENTS
    shares = re.findall(r"^(?:local)?rule answer_share:", printed, re.MULTILINE)
    assert len(shares) == (kills + jobs if jobs > 1 else 0)
    times = (project.path / "results" / "asked" / "tables" / f"{TIMES}.csv").read_text(
        encoding="utf-8"
    )
    assert re.search(r",de_cop,.*\d$", times, re.MULTILINE)
    expected, ended = content(undisturbed), content(project)
    assert expected.keys() == ended.keys()
    assert [name for name, held in expected.items() if ended[name] != held] == []


def test_a_question_added_to_a_finished_study_is_asked_alone_and_ends_in_the_same_bytes(
    undisturbed, tmp_path
):
    project = asking(tmp_path / "project")
    whole = yaml.safe_load((project.path / STUDY).read_text(encoding="utf-8"))
    part = copy.deepcopy(whole)
    part["runs"][0]["methods"].remove("name_cloze")
    project.write_study(part, STUDY)
    ask(project, "all")
    project.write_study(whole, STUDY)
    printed = ask(project, "all").stdout
    [minutes] = re.findall(
        r"^(?:local)?rule answer_questions:.*?runtime=(\d+)",
        printed,
        re.MULTILINE | re.DOTALL,
    )
    assert int(minutes) == 30, "of 240: a model is loaded"
    log = (
        project.path
        / "results/logs/answer_questions/asked~target/asked~books/asked.log"
    )
    passages = DOCUMENTS * PASSAGES
    stored = (24 + 1) * passages
    told = f"{stored} answers were stored before, {passages} were asked for"
    assert told in log.read_text(encoding="utf-8")
    expected, ended = content(undisturbed), content(project)
    assert [name for name, held in expected.items() if ended[name] != held] == []
