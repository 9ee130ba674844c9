"""What a study takes, by model, against sums by hand."""

import pytest
import yaml
from made_up_studies import FREE, ROOT, checkpoint, load_written, study

from pretrace.benchmarks import benchmark_entry
from pretrace.studies import Plan
from pretrace.studies.estimate import (
    FORWARD,
    STORED,
    TOKENS_A_WORD,
    Line,
    assumptions,
    budget,
    counted,
    estimate_study,
    measured,
    slices_read,
    table,
)
from tiny_models import tiny_tokenizer

MODELS = yaml.safe_load((ROOT / "config" / "models.yaml").read_text(encoding="utf-8"))
FLOPS = 1e12
API = FREE | {"endpoint": "completions", "price": {"input": 1.0, "output": 10.0}, "top_logprobs": 5}
TEXTS = {("a", 64): [100.0], ("a", 32): [20.0], ("b", None): [30.0]}


def lines_of(folder, **keys):
    plan = Plan(load_written(folder, study(**keys)))
    return {line.name: line for line in estimate_study(plan, FLOPS, {})}


def test_texts_are_counted_by_the_tokenizer_that_is_here_else_by_their_bytes(tmp_path):
    texts = [("x" * 400, "a", 64), ("y" * 80, "a", 64), ("\u4e2d" * 40, "b", None)]
    runs = [{"model": "tiny", "benchmark": "licences", "methods": ["loss"]}]
    checkpoint(tmp_path / "tiny")
    plan = Plan(
        load_written(tmp_path, study(models={"tiny": {"source": "local", "path": "tiny"}}, runs=runs))
    )
    assert counted(plan, "licences", texts) == {("a", 64): [100, 20], ("b", None): [3 * 40 / 1.5]}
    assert (
        "4 bytes a token of ASCII letters, 1.5 of others): licences"
        in assumptions(plan, {"licences": TEXTS})[-1]
    )
    tiny_tokenizer().save_pretrained(tmp_path / "tiny")
    by_tokenizer = counted(plan, "licences", texts)
    assert by_tokenizer["a", 64] == [
        len(tiny_tokenizer().encode(text, add_special_tokens=False)) for text, *_ in texts[:2]
    ]
    assert not any("bytes" in line for line in assumptions(plan, {"licences": TEXTS}))


def test_a_reference_model_reads_what_its_target_reads(tmp_path):
    run = {"model": "llama-7b", "benchmark": "wikimia", "lengths": [64], "methods": ["loss", "ref"]}
    lines = lines_of(tmp_path, runs=[run | {"references": ["llama-160m"]}])
    tokens = 542 * 64 * TOKENS_A_WORD["en"]
    large, small = lines["llama-7b"], lines["llama-160m"]
    assert list(lines) == ["llama-7b", "llama-160m", "all"], "the longest first"
    assert large.read == small.read == pytest.approx(tokens)
    assert (large.gpus, large.weights) == (1, MODELS["llama-7b"]["parameters"] * 2 / 1e9)
    assert large.hours == pytest.approx(FORWARD * MODELS["llama-7b"]["parameters"] * tokens / FLOPS / 3600)
    assert large.results == pytest.approx(STORED * tokens / 1e9)
    assert lines["all"][1:] == pytest.approx([2 * tokens, 0, large.hours + small.hours, 1,
                                              large.weights + small.weights, 2 * large.results, 0])  # fmt: skip


def test_a_prefix_is_read_once_and_each_text_after_it_again(tmp_path):
    run = {"lengths": [32], "methods": ["loss", {"recall": {"shots": [7]}}]}
    lines = lines_of(tmp_path, runs=[{"model": "llama-7b", "benchmark": "wikimia"} | run])
    text = 32 * TOKENS_A_WORD["en"]
    assert lines["llama-7b"].read == pytest.approx(776 * text * 2 + 7 * text)
    assert lines["llama-7b"].results == pytest.approx(STORED * 776 * text * 2 / 1e9), "shots are not stored"


ASKED = [
    # every order of the options holds the passage and three like it; the model writes the paraphrases
    ({"methods": ["de_cop"], "paraphraser": "paraphrase_by_far"}, {}, 24 * (3 * 120 + 4 * 150) + 3 * 90 + 150,
     3 * 24 + 3 * 150),
    ({"methods": [{"completion": {"k": [15]}}]}, {}, 3 * (50 + 15), 3 * 15 * 3),
    ({"methods": ["name_cloze"], "subsets": ["b"]}, {}, 30 + 190, 16),
    ({"methods": ["loss"]}, {"echo": True}, 150, 3),
]  # fmt: skip


@pytest.mark.parametrize(("run", "offered", "read", "written"), ASKED)
def test_what_an_api_reads_and_writes_is_counted_in_the_texts_and_priced(
    tmp_path, run, offered, read, written
):
    (tmp_path / "texts.jsonl").write_text('{"text": "one", "label": 1, "document": "d"}\n')
    keys = {
        "models": {"far": {"source": "openai", "api": API | offered, "tokenizer": "smollm2-135m"}},
        "benchmarks": {"own": {"source": "local", "path": "texts.jsonl", "question": "book"}},
        "runs": [{"model": "far", "benchmark": "own"} | run],
    }
    plan = Plan(load_written(tmp_path, study(**keys)))
    assert measured(plan) == {"own": plan.benchmark("own").table}
    line = estimate_study(plan, FLOPS, {"own": TEXTS})[0]
    assert (line.read, line.written) == pytest.approx((read, written))
    assert line.dollars == pytest.approx(read * 1e-6 + written * 10e-6)
    assert line.hours == 0


def test_the_table_says_what_is_stored_and_whether_the_budget_suffices(tmp_path):
    run = {"model": "llama-7b", "benchmark": "wikimia", "methods": ["loss"]}
    plan = Plan(load_written(tmp_path, study(runs=[run])))
    lines = table(estimate_study(plan, FLOPS, {}), FLOPS, 13.5)
    assert lines[2].startswith("| llama-7b | ")
    assert lines[3].startswith("| all | ")
    assert "To download: 14 GB of weights" in lines[-1]
    assert lines[-3] == "Disk: about 14 GB for weights and results, without data sets and corpora."
    enough = "\n".join(budget(4.0, {"api": (10, 1.0)}, spent=1, budget_usd=5))
    assert "10 answers of api, for 1.00" in enough
    assert "1.00 are spent and 4.00 are left" in enough
    assert "may not suffice" not in enough
    assert "may not suffice" in "\n".join(budget(4.0, {}, spent=0, budget_usd=3))


def test_days_count_each_gpu_that_a_model_holds():
    lines = [
        Line("spread", read=0, written=0, hours=48, gpus=2, weights=0, results=0, dollars=0),
        Line("small", read=0, written=0, hours=24, gpus=0, weights=0, results=0, dollars=0),
        Line("all", read=0, written=0, hours=72, gpus=2, weights=0, results=30, dollars=0),
    ]
    *_, disk, days, _ = table(lines, FLOPS, 100)
    assert disk.startswith("Disk: about 130 GB ")
    # (48 h x 2 + 24 h) / 24 h = 5 days of one GPU
    assert days == "Days with GPUs that are never idle: 2.5 with 2, 1.2 with 4, 0.6 with 8, 0.3 with 16."


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
    typed = benchmark_entry(entry)
    assert [place[2] for place in slices_read(typed, {"subsets": None, "lengths": None})] == texts
    subset = entry.get("subsets", [""])[-1]
    assert {place[2] for place in slices_read(typed, {"subsets": [subset], "lengths": None})} == {texts[-1]}


def test_what_the_entries_do_not_state_is_said_with_what_is_assumed(tmp_path):
    checkpoint(tmp_path / "tiny")
    runs = [{"model": "tiny", "benchmark": "licences", "methods": ["loss"]}]
    runs.append({"model": "llama-7b", "benchmark": "wikimia", "lengths": [64], "methods": ["loss"]})
    plan = Plan(
        load_written(tmp_path, study(models={"tiny": {"source": "local", "path": "tiny"}}, runs=runs))
    )
    assert assumptions(plan, {}) == [
        "Entries without `parameters` count as 0: tiny.",
        "Entries without `expected` count as 2,000 texts of each subset and length: licences.",
        "Entries without `lengths` count as 250 tokens a text: licences.",
    ]
    assert len(assumptions(plan, {"licences": TEXTS})) == 2, "parameters, and the bytes of a token"
