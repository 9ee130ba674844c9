"""Every registered study plans cleanly, and a bad one stops before any job with an
error for users."""

import json
import re
import subprocess
import sys
from inspect import signature
from unittest import mock

import pytest
from projects import ROOT, jobs_of
from snakemake.common import get_input_function_aux_params, overwrite_function_params

import hub_datasets as made
from hub_server import Hub
from pretrace.runtime.files import read_json
from tiny_models import tiny_model


@pytest.mark.full
def test_the_rule_graph_draws(project):
    assert "flowchart" in project.run("--rulegraph", "mermaid-js").stdout


def test_an_artifact_by_its_path_plans_what_only_plans(unrun):
    written, both = (
        unrun.study(),
        {"model": "target", "benchmark": "texts", "start_token": "<|endoftext|>"},
    )
    written["runs"][0]["for"] = ["headline", "results_auc"]
    written["runs"].append(
        both | {"methods": [{"surp": {"eps": [1, 2]}}], "for": ["surp_figure3"]}
    )
    unrun.write_study(written)
    figure, study = (
        "results/smoke/figures/surp_figure3.svg",
        ("--config", "study=smoke/smoke.yaml"),
    )
    # Snakemake prints jobs that wait for the same ones in any order
    jobs = [
        sorted(
            re.findall(
                r"^ *rule (\w+):$",
                unrun.run("--dry-run", target, *study, *more).stdout,
                re.M,
            )
        )
        for target, more in (
            (figure, []),
            (figure, ["only=[surp_figure3]"]),
            ("figures", []),
        )
    ]
    assert "count_tokens" not in jobs[0]
    assert jobs[0] == jobs[1]
    assert "count_tokens" in jobs[2]


@pytest.mark.full
def test_an_ablation_plans_as_many_jobs_as_the_guide_says(project):
    guide = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    row = r"^\|[^|]*\| `(\[\w+\])` \|[^|]*\| (\d+) \|[^|]*\| (\d+) \| [\d.]+ \|$"
    rows = re.findall(row, guide, re.MULTILINE)
    assert len(rows) > 10
    for only, embedded, paper in rows:
        for study, stated in (("embedded", embedded), ("paper", paper)):
            planned = project.run("-n", "--config", f"study={study}", f"only={only}")
            jobs = jobs_of(planned.stdout)
            assert jobs["total"] == int(stated), (only, study, jobs)


PLANNING = """
import sys

import yaml

{imports}
from pretrace.studies import Plan, load_study
study = load_study(yaml.safe_load(open("config/config.yaml", encoding="utf-8")))
found = Plan(study)
assert [request for run in study.runs for request in found.pair(run.model, run.benchmark).pass_requests]
assert any(pair.passes for pair in found.reading_pairs)
libraries = "torch transformers pandas scipy sklearn pyarrow matplotlib jieba"
heavy = {{*libraries.split()}} & {{*sys.modules}}
assert not heavy, heavy
"""


def test_the_snakefiles_import_neither_torch_nor_pandas(project):
    """In a Python of its own: within Snakemake, an executor's plugin may have imported
    them first."""
    rules = (project.path / "workflow" / "rules" / "common.smk").read_text(
        encoding="utf-8"
    )
    imports = "\n".join(
        re.findall(r"^from pretrace[^(\n]*(?:\([^)]*\))?$", rules, re.MULTILINE)
    )
    code = PLANNING.format(imports=imports)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_snakemake_takes_a_functions_parameters_as_the_rules_tell_them():
    """workflow/rules/common.smk tells them, because to work them out for each job takes
    a tenth of the time of planning."""

    def amount(*_):
        raise AssertionError

    overwrite_function_params(
        amount, signature(lambda wildcards, attempt: None).parameters
    )
    with mock.patch("inspect.signature", side_effect=AssertionError):
        taken = get_input_function_aux_params(amount, {"attempt": 1, "input": []})
    assert taken == {"attempt": 1}


GOOD = ['{"text": "a b", "label": 1}', '{"text": "c d", "label": 0}']
AT = {"model": "smollm2-135m", "benchmark": "texts", "methods": ["loss"]}
OF_TEXTS = {
    "study": "bad",
    "benchmarks": {"texts": {"source": "local", "path": "texts.jsonl"}},
    "runs": [AT],
}
AUDIT = OF_TEXTS | {"artifacts": ["audit"]}
KNOWN = '{"text": "a draft that was not read", "label": 0}'


def test_what_is_wrong_stops_the_run_before_any_job(project):
    """What is said of other mistakes is tested in
    tests/unit/test_studies_refused.py."""
    (project.path / "texts.jsonl").write_text(f"{KNOWN}\n", encoding="utf-8")
    project.write_study(AUDIT, "bad.yaml")
    done = project.run("--cores", "2", "--config", "study=bad.yaml", check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert re.search(r"texts\.jsonl: the audit has no text to ask about", done.stdout)
    assert not (project.path / "results").exists()


def test_a_remark_about_the_texts_of_an_audit_is_printed_once_and_stops_nothing(
    project,
):
    texts = ['{"text": "a page of a book for all", "label": null}', KNOWN]
    (project.path / "texts.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    project.write_study(AUDIT, "audit.yaml")
    shown = project.run(
        "--dry-run", "--quiet", "rules", "--config", "study=audit.yaml"
    ).stdout
    assert (
        len(
            re.findall(
                r"^pretrace: .*texts\.jsonl: 1 document in .* at least 19 known",
                shown,
                re.M,
            )
        )
        == 1
    )


def test_a_view_that_one_benchmark_brings_is_written_by_its_model_for_another(project):
    (project.path / "texts.jsonl").write_text("\n".join(GOOD), encoding="utf-8")
    (project.path / "options.jsonl").write_text(
        '{"id": "1", "text": "b a"}\n', encoding="utf-8"
    )
    view = "paraphrase_by_smollm2-135m"
    entry = {"source": "local", "path": "texts.jsonl", "question": "book"}
    asking = {"model": "smollm2-135m", "paraphraser": view, "methods": ["de_cop"]}
    study = {
        "study": "both",
        "benchmarks": {
            "brings": entry | {"views": {view: "options.jsonl"}},
            "asks": entry,
        },
        "runs": [asking | {"benchmark": "brings"}, asking | {"benchmark": "asks"}],
    }
    project.write_study(study, "both.yaml")
    planned = project.run(
        "--dry-run", "--cores", "2", "--config", "study=both.yaml"
    ).stdout
    made = dict(
        re.findall(r"rule (\w+):\n.*\n    output: results/views/both~(\w+)/", planned)
    )
    assert made == {"get_view": "brings", "make_view": "asks"}


@pytest.mark.full
def test_the_hub_is_asked_before_anything_is_fetched(project):
    """What it finds is tested in tests/unit/test_studies_hub_check.py."""
    with Hub() as hub:
        made.frontier_study(hub, 2)
        done = project.run(
            "--cores",
            "1",
            "check_hub",
            "--config",
            "study=frontier",
            "only=[dose_response]",
            check=False,
            **hub.environment(project.path / "hub"),
        )
    assert "| texts of hubble_mmlu | allegrolab/testset_mmlu | 2 |" in done.stdout
    assert re.search(
        r"this will fail:\n(.*\n)*model hubble-1b: .* is not there, or private",
        done.stdout,
    )


@pytest.mark.full
def test_an_adapter_is_sealed_with_its_base_and_another_tokenizer_is_refused(project):
    """The rules up to the seal run, with real weights; nothing is scored."""
    import transformers
    from peft import LoraConfig, get_peft_model

    whole = tiny_model("llama", project.path / "whole")
    model = transformers.AutoModelForCausalLM.from_pretrained(whole)
    lora = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"]))
    lora.save_pretrained(project.path / "lora")
    tiny_model("qwen2", project.path / "other")
    words = [f"In 19{n} it was read twice" for n in (34, 56, 78)]
    rows = [json.dumps({"text": word, "document": word}) for word in words]
    (project.path / "mine.jsonl").write_text("\n".join(rows), encoding="utf-8")
    known = f"{KNOWN}\n{KNOWN.replace('draft', 'note')}"
    (project.path / "known.jsonl").write_text(known, encoding="utf-8")
    given = ["--config", "study=audit", "texts=mine.jsonl", "known=known.jsonl"]
    given += ["whole_works=False"]
    until = ["--cores", "1", "--until", "seal_plan"]
    done = project.run(*until, *given, "model=lora")
    assert "which the adapter names" in done.stdout
    [seals] = project.path.glob("results/audit-*/seals.json")
    models = read_json(seals)[0]["plan"]["checkpoints"]
    digests = {
        name.rpartition("~")[2]: about["digest"] for name, about in models.items()
    }
    assert digests.keys() == {"lora", "whole"}
    assert digests["lora"] != digests["whole"]
    refused = project.run(*until, *given, "model=whole", "base=other", check=False)
    assert refused.returncode != 0
    assert "base: other reads texts as other tokens than whole" in refused.stdout
    assert "Traceback" not in refused.stdout
