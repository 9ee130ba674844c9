"""Tokens and GPU hours of a study, against sums by hand."""

from pathlib import Path

import pytest
import yaml

from pretrace.studies.compute import FORWARD, TOKENS_A_WORD, assumptions, compute_lines, places, table

CONFIG = yaml.safe_load(Path("config/config.yaml").read_text(encoding="utf-8"))
MODELS = yaml.safe_load(Path("config/models.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def lines(tmp_path):
    study = {
        "study": "mine",
        "runs": [
            {"for": ["surp_figure3"], "model": "llama-7b", "benchmark": "wikimia", "lengths": [64],
             "references": ["llama-160m"], "methods": ["loss", "ref"]},
            {"for": ["con_recall_figure1"], "model": "llama-7b", "benchmark": "wikimia", "lengths": [32],
             "methods": ["loss", {"recall": {"shots": [7]}}]},
        ],
        "artifacts": {
            "surp_figure3": {"panels": [{"model": "llama-7b", "benchmark": "wikimia", "length": 64}]},
            "con_recall_figure1": {"panels": [{"model": "llama-7b", "benchmark": "wikimia", "length": 32}]},
        },
    }  # fmt: skip
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    return {line.name: line for line in compute_lines(CONFIG | {"study": str(path), "gpu_flops": 1e12})}


def test_a_reference_model_reads_what_its_target_reads(lines):
    line = lines["surp_figure3"]
    tokens = 542 * 64 * TOKENS_A_WORD["en"]
    assert (line.models, line.gpus) == (2, 1)
    assert line.tokens == pytest.approx(2 * tokens)
    parameters = MODELS["llama-7b"]["parameters"] + MODELS["llama-160m"]["parameters"]
    assert line.hours == pytest.approx(FORWARD * parameters * tokens / 1e12 / 3600)


def test_a_prefix_is_read_once_and_each_text_after_it_again(lines):
    text = 32 * TOKENS_A_WORD["en"]
    assert lines["con_recall_figure1"].tokens == pytest.approx(776 * text * 2 + 7 * text)


def test_the_whole_study_is_the_last_line(lines):
    assert list(lines)[-1] == "all"
    assert lines["all"].tokens == pytest.approx(sum(lines[name].tokens for name in list(lines)[:2]))
    assert "| all | 2 |" in "\n".join(table(list(lines.values()), 1e12))


def test_texts_are_those_that_the_registry_states():
    entry = {
        "source": "x",
        "subsets": ["head", "tail"],
        "lengths": [512],
        "expected": {"head/512": 10, "tail/512": 20},
    }
    assert [place[2] for place in places(entry, {"subsets": None, "lengths": None})] == [10, 20]
    assert [place[2] for place in places(entry, {"subsets": ["tail"], "lengths": [512]})] == [20]
    assert [
        place[2]
        for place in places({"source": "x", "expected": {"all": 5}}, {"subsets": None, "lengths": None})
    ] == [5]


def test_what_the_entries_do_not_state_is_said_with_what_is_assumed(tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "one", "label": 1}\n{"text": "two", "label": 0}\n')
    (tmp_path / "tiny").mkdir()
    study = {
        "study": "mine",
        "models": {"tiny": {"source": "local", "path": "tiny"}},
        "benchmarks": {"own": {"source": "local", "path": "texts.jsonl"}},
        "runs": [{"model": model, "benchmark": "own", "methods": ["loss"]} for model in ("tiny", "llama-7b")]
        + [{"model": "llama-7b", "benchmark": "wikimia", "lengths": [64], "methods": ["loss"]}],
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    assert assumptions(CONFIG | {"study": str(path)}) == [
        "Entries without `parameters` count as 0: tiny.",
        "Entries without `expected` count as 2,000 texts of each subset and length: own.",
        "Entries without `lengths` count as 250 tokens a text: own.",
    ]


def test_every_model_of_the_paper_study_states_its_parameters():
    assert not any("parameters" in one for one in assumptions(CONFIG | {"study": "paper"}))


def test_texts_that_a_construction_fixes_are_counted():
    every = {"subsets": None, "lengths": None}

    def texts(entry):
        return [place[2] for place in places(entry, every)]

    speeches = {"source": "sotu", "texts": 40, "lengths": [32, 64],
                "members": {"years": [2005, 2020]}, "nonmembers": {"years": [2026, 2026]}}  # fmt: skip
    assert texts(speeches) == [17 * 40] * 2
    assert texts({"source": "sotu_split", "texts": 600, "subsets": ["a", "b"], "lengths": [64]}) == [600] * 2
    assert texts({"source": "sotu_questions", "documents": 6, "passages": 2, "lengths": [64]}) == [24]
    assert texts(
        {"source": "sotu_segments", "years": [1930, 2024], "subsets": ["head"], "lengths": [512]}
    ) == [95]
