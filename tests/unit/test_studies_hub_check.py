"""What a study will not be able to fetch is found without fetching: a hub on loopback,
a defect at a time."""

import re
from copy import deepcopy

import pytest
from made_up_studies import CONFIG

import hub_datasets as made
from pretrace.models import sentencepiece_files
from pretrace.models.entries import HubModel
from pretrace.studies import load_study
from pretrace.studies.hub_check import check_hub, report
from pretrace.studies.plan import Plan

PAPER = CONFIG | {"study": "paper", "available": ["dolma_book"]}
FRONTIER = CONFIG | {"study": "frontier", "available": ["pythia-1b-step90000"]}
MODEL = {
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "model.safetensors": bytes(1000),
}
PICKLED = {
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "pytorch_model.bin": b"of this step",
}
SHARDS = [f"model-{number:05d}-of-00003.safetensors" for number in (1, 2, 3)]


@pytest.fixture
def plan_of(hub, monkeypatch):
    """Gives the plan of a study whose repositories and pages are all there, as they
    should be."""
    monkeypatch.setattr("pretrace.runtime.hub.time.sleep", lambda seconds: None)
    monkeypatch.setattr("pretrace.studies.hub_check.lacks", lambda plan, partitions: [])

    def made_up(config):
        plan = Plan(load_study(config))
        for entry in (model.entry for model in plan.models_read):
            if isinstance(entry, HubModel):
                hub.add("models", entry.hub, MODEL, revision=entry.revision)
        made.paper_study(hub, made.alike(4))
        made.frontier_study(hub, 2)
        hub.add("datasets", "iamgroot42/mimir", made.mimir(2))
        elsewhere = {
            "patentmia": {"url": f"{hub.url}/data.zip"},
            "dolma_book": {"gutenberg": hub.url},
        }
        entries = plan.study.benchmarks.entries
        for slug, change in elsewhere.items():
            entries[slug] = entries[slug].model_copy(update=change)
        return plan

    return made_up


@pytest.mark.parametrize("config", [PAPER, FRONTIER], ids=["paper", "frontier"])
def test_what_is_there_is_counted_and_nothing_is_fetched(hub, plan_of, config):
    plan = plan_of(config)
    hub.limited = 3
    answers = check_hub(plan)
    assert not [answer for answer in answers if answer.problem]
    assert {answer.entry.partition(" ")[0] for answer in answers} >= {"model", "texts"}
    for answer in answers:
        assert answer.files, answers
        assert answer.size, answers
    fetched = {
        path for method, path, _ in hub.asked if "/resolve/" in path and method == "GET"
    }
    assert {path.rpartition("/")[2] for path in fetched} <= {"v1_5.txt"}, (
        "Dolma's list of addresses"
    )
    lines, problems = report(plan, answers)
    assert f"{len(answers)} of {len(answers)} can be fetched" in lines[-1]
    assert not problems


def without(files, *endings):
    return {name: data for name, data in files.items() if not name.endswith(endings)}


DEFECTS = {
    "pickled weights": (
        "model opt-350m", "no safetensors at 'main', and no conversion",
        lambda hub: hub.add("models", "facebook/opt-350m", PICKLED),
    ),
    "the conversion of other weights": (
        "model opt-350m",
        r"conversion refs/pr/2 by SFconvertbot is of other files \(pytorch_model.bin\)",
        lambda hub: (
            hub.add("models", "facebook/opt-350m", PICKLED),
            hub.propose("facebook/opt-350m", 2,
                        MODEL | {"pytorch_model.bin": b"of main"},
                        title="Adding `safetensors` variant of this model",
                        author="SFconvertbot"),
        ),
    ),
    "a revision that is gone": (
        "model opt-6.7b", "has no revision 'refs/pr/31'",
        lambda hub: hub.repositories["models", "facebook/opt-6.7b"].revisions.clear(),
    ),
    "a repository that is gone": (
        "model gpt-neo-125m", "gpt-neo-125m is not there, or private",
        lambda hub: hub.repositories.pop(("models", "EleutherAI/gpt-neo-125m")),
    ),
    "terms that are not accepted": (
        "model mistral-7b", "is gated: accept its terms at",
        lambda hub: hub.add("models", "mistralai/Mistral-7B-Instruct-v0.1", MODEL,
                            token="hf_other"),
    ),
    "a part of the weights": (
        "model pythia-12b", "has no model-00003-of-00003.safetensors",
        lambda hub: hub.add("models", "EleutherAI/pythia-12b",
                            without(MODEL, "safetensors") | dict.fromkeys(SHARDS[:2],
                                                                          b"x")),
    ),
    "no configuration": (
        "model llama-160m", "has no config.json",
        lambda hub: hub.add("models", "JackFram/llama-160m",
                            without(MODEL, "config.json")),
    ),
    "a tokenizer of sentencepiece alone": (
        "model llama-7b",
        "tokenizer.model alone, which needs the packages sentencepiece and protobuf",
        lambda hub: hub.add("models", "huggyllama/llama-7b",
                            without(MODEL,
                                    "tokenizer.json") | {"tokenizer.model": b"x"}),
    ),
    "a length": (
        "texts of wikimia", r"no file like \*WikiMIA_length256",
        lambda hub: hub.add("datasets", "swj0419/WikiMIA",
                            {name: data for name,
                             data in made.wikimia(4).items() if "length256" not in name}),
    ),
    "a file of a corpus": (
        "corpus c4", "has no en/c4-train.00019-of-01024.json.gz",
        lambda hub: hub.add("datasets", "allenai/c4", made.c4(19)),
    ),
    "an archive of the web": (
        "texts of patentmia", r"data\.zip is not there \(HTTP 404\)",
        lambda hub: hub.pages.pop("/data.zip"),
    ),
    "Dolma's files": (
        "texts of dolma_book", r"books-0000.json.gz is not there \(HTTP 404\)",
        lambda hub: hub.pages.pop("/dolma-v1_5r1/books/books-0000.json.gz"),
    ),
}  # fmt: skip


def test_every_defect_is_found_and_nothing_else(hub, plan_of, monkeypatch):
    packages = ["sentencepiece", "protobuf"]  # that this machine may have
    monkeypatch.setattr(sentencepiece_files, "_lacking_packages", lambda: packages)
    plan = plan_of(PAPER)
    repositories = hub.repositories
    pages = hub.pages
    for defect, (entry, says, spoil) in DEFECTS.items():
        hub.repositories, hub.pages = deepcopy(repositories), dict(pages)
        spoil(hub)
        answers = {answer.entry: answer for answer in check_hub(plan)}
        assert re.search(says, answers[entry].problem), (defect, answers[entry])
        place = answers[entry].place
        assert {answer.place for answer in answers.values() if answer.problem} == {
            place
        }, defect


def test_without_a_network_the_first_failure_is_told_with_the_names_of_all_others(
    hub, plan_of
):
    plan = plan_of(PAPER)
    answers = [
        answer._replace(problem="no network", files=0) for answer in check_hub(plan)
    ]
    lines, (first, others) = report(plan, answers)
    assert first == f"{answers[0].entry}: no network"
    for answer in answers[1:]:
        assert answer.entry in others
    assert "HF_ENDPOINT" in others
    for line in lines:
        assert not line.startswith("|"), "an empty table"
