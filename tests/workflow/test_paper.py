"""The paper study from download to report: miniature data sets, and tiny random models
under the real ids."""

import json
import re
import time

import pandas as pd
import paper_hub
import pytest
import yaml
from projects import Project, copy_project

import hub_datasets as made
from hub_server import Hub
from small_wordnet import write_wordnet
from tiny_models import tiny_model

TEXTS = 22
"""Of each length of WikiMIA and so on; more than two pools of ten shots."""
OF_MIMIR = 12
"""Of each class, more than a pool of ten shots."""
CONTEXT = 1536
LONG_CONTEXT = 3072
"""Of the models that are asked questions, whose options are four passages."""

ARCHITECTURES = {
    "opt": "opt",
    "pythia": "gpt_neox",
    "gpt-neox": "gpt_neox",
    "gpt-neo-": "gpt2",
    "llama": "llama",
    "mamba": "mamba",
    "olmo": "olmo",
    "baichuan": "llama",
    "qwen": "qwen2",
    "mi": "mistral",
}


def architecture(slug: str) -> str:
    return next(kind for start, kind in ARCHITECTURES.items() if slug.startswith(start))


def test_the_paper_study_plans_in_a_moment(project):
    start = time.monotonic()
    planned = project.run(
        "--dry-run", "--quiet", "all", "--cores", "2", "--config", "study=paper"
    ).stdout
    assert time.monotonic() - start < 30
    jobs = dict(re.findall(r"^(\w+)\s+(\d+)$", planned, re.MULTILINE))
    for rule in (
        "fetch_model",
        "fetch_dataset",
        "stream_shard",
        "run_passes",
        "answer_questions",
    ):
        assert int(jobs[rule]) > 0, rule
    assert int(jobs["total"]) < 1000


def small(project: Project, hub: Hub) -> None:
    """The registries as they are, but for addresses that are not the hub's, fewer
    shards and books, and float32."""
    paper_hub.read_elsewhere(project, hub, books=4)
    changes = {"corpora": {"shards": 1}, "models": {"dtype": "float32"}}
    for name, changed in changes.items():
        paper_hub.change_registry(
            project,
            name,
            lambda _, entry, changed=changed: (
                entry | (changed if entry["source"] == "hub" else {})
            ),
        )


def fill(project: Project, hub: Hub, folder) -> None:
    """Every data set and every model of the registries, at the revisions that these
    name."""
    of_mimir = dict.fromkeys(made.mimir_sets(), OF_MIMIR)
    # a fifth of the words of DE-COP's passages, since each is read in 24 orders
    decop = {"booktection": 6, "arxivtection": 6, "questions": 1, "share_of_words": 0.2}
    made.paper_study(hub, made.alike(TEXTS, mimir=of_mimir, **decop))
    for seed, (slug, entry) in enumerate(paper_hub.hub_models(project).items()):
        context = LONG_CONTEXT if slug.startswith(("llama-2", "mi")) else CONTEXT
        path = tiny_model(architecture(slug), folder / slug, seed=seed, context=context)
        hub.add_folder(
            "models", entry["hub"], path, revision=entry.get("revision", "main")
        )


def run_paper(
    project: Project, hub: Hub, *arguments: str, revisions: tuple[str, ...] = ()
):
    available = "available=[dolma_book,baichuan-7b,baichuan-13b]"
    settings = ("resamples=100", "trust_remote_code=True", available, *revisions)
    started = paper_hub.command(*arguments, settings=settings)
    return project.run(*started, **paper_hub.environment(project, hub))


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    project = copy_project(tmp_path_factory.mktemp("paper") / "project")
    write_wordnet(project.path / "nltk" / "corpora" / "wordnet", made.synonyms())
    with Hub() as hub:
        small(project, hub)
        fill(project, hub, project.path / "tiny")
        run_paper(project, hub)
        yield project, hub


@pytest.mark.full
def test_from_download_to_report(paper):
    project, _ = paper
    study = project.path / "results" / "paper"
    artifacts = yaml.safe_load(
        (project.path / "config/studies/paper.yaml").read_text()
    )["artifacts"]
    report = (study / "report.html").read_text(encoding="utf-8")
    for slug in artifacts:
        assert f'id="{slug}"' in report, slug
    rendered = {
        path.stem
        for kind in ("tables", "figures")
        for path in (study / kind).glob("*.csv")
    }
    assert rendered == set(artifacts) - {"de_cop_figure7"}
    asked = pd.read_csv(study / "tables" / "de_cop_table14.csv")
    assert {"completion", "name_cloze", "de_cop"} == set(asked["method"])
    table = (study / "tables" / "dc_pdd_table2.md").read_text(encoding="utf-8")
    assert "davinci-002" in table, "a model that is gone leaves the reason"
    assert "2026-09-28" in table
    assert "Anthropic retired Claude 2.1" in report


@pytest.mark.full
def test_every_published_number_has_a_measured_one_or_a_reason(paper):
    project, _ = paper
    joined = pd.read_csv(project.path / "results/paper/tables/reproduction.csv")
    assert set(joined["paper"]) == {"dc_pdd", "con_recall", "surp", "de_cop"}
    assert joined["measured"].notna().ne(joined["reason"].notna()).all()
    lost = joined[joined["reason"] == "not measured in this study"]
    assert lost.empty, lost.to_string()


@pytest.mark.full
def test_provenance_names_the_commit_of_every_repository(paper):
    project, hub = paper
    provenance = json.loads(
        (project.path / "results/paper/provenance.json").read_text(encoding="utf-8")
    )
    shas = {
        name: set(repository.commits)
        for (_, name), repository in hub.repositories.items()
    }
    commits = {
        repository["hub"]: repository["commit"]
        for repository in provenance["repositories"]
    }
    for name in (
        "EleutherAI/pythia-6.9b",
        "swj0419/WikiMIA",
        "iamgroot42/mimir",
        "allenai/c4",
    ):
        assert commits[name] in shas[name], name


@pytest.mark.full
def test_pinning_the_commits_that_were_read_fetches_and_computes_nothing(paper):
    project, hub = paper
    pins = project.path / "results/paper/revisions.yaml"
    given = yaml.safe_load(pins.read_text(encoding="utf-8"))
    pythia = "EleutherAI/pythia-6.9b"
    assert given["models"][pythia] in hub.repositories["models", pythia].commits
    assert {
        "allenai/c4",
        "allenai/dolma",
        "zjysteven/WikiMIA_paraphrased_perturbed",
    } <= set(given["datasets"])
    done = run_paper(
        project, hub, "--dry-run", "--quiet", "all", revisions=(f"revisions={pins}",)
    )
    planned = set(re.findall(r"^(\w+)\s+\d+$", done.stdout, re.MULTILINE))
    assert planned <= {
        "all",
        "check_artifacts",
        "record_provenance",
        "render_report",
        "total",
    }, planned


@pytest.mark.full
def test_a_second_run_has_nothing_to_do_and_asks_the_hub_nothing(paper):
    project, hub = paper
    before = len(hub.asked)
    assert "Nothing to be done" in run_paper(project, hub).stdout
    assert len(hub.asked) == before
