"""What of a study runs: papers, artifacts and sizes that the configuration selects, and
models that are gone."""

from pathlib import Path

import pytest
from made_up_studies import CONFIG, RUN, load_written, study

from pretrace.methods import INPUTS, METHODS
from pretrace.runtime.errors import InputError
from pretrace.runtime.schema import read_yaml
from pretrace.studies import Plan, load_study

PAPER = CONFIG | {"study": "paper"}
PAPER_STUDY = load_study(PAPER)
SLUGS = list(read_yaml(Path("config/studies/paper.yaml"))["artifacts"])


@pytest.mark.parametrize(
    "slug",
    [
        pytest.param(slug, marks=pytest.mark.full if place % 6 else ())
        for place, slug in enumerate(SLUGS)
    ],
)
def test_every_artifact_of_the_paper_study_stands_alone(slug):
    study = load_study(PAPER | {"only": [slug]})
    assert list(study.artifacts) == [slug]
    artifact = study.artifacts[slug]
    of_texts = artifact.renderer == "benchmark_statistics"
    if artifact.unavailable or of_texts:
        return
    for panel in artifact.panels:
        runs = Plan(study).pair(panel.model, panel.benchmark).runs
        assert any(panel.length in (run.lengths or [panel.length]) for run in runs), (
            panel
        )
        assert any(panel.start_token == run.start_token for run in runs), panel
        for kind in INPUTS.values():
            named = set()
            for run in runs:
                named.update(kind.names(run.for_jobs()))
            needed = any(
                kind.need in METHODS[chosen.method].needs
                for run in runs
                for chosen in run.methods
            )
            whole = Plan(PAPER_STUDY).pair(panel.model, panel.benchmark).runs
            listed = set()
            for run in whole:
                listed.update(kind.names(run.for_jobs()))
            assert not needed or listed & set(panel.references) <= named, panel


def test_a_table_of_texts_without_panels_shows_the_texts_of_every_run(tmp_path):
    given = study(artifacts=["dc_pdd_table1", "results_auc"])
    (panel,) = (
        load_written(tmp_path, given, only=["dc_pdd_table1"])
        .artifacts["dc_pdd_table1"]
        .panels
    )
    assert panel.pair == (RUN["model"], RUN["benchmark"])


def test_one_figure_counts_the_corpus_that_it_shows_and_passes_no_model_that_it_does_not():
    study = load_study(PAPER | {"only": ["dc_pdd_figure2"]})
    corpora = set()
    for run in PAPER_STUDY.runs:
        corpora.update(run.corpora)
    assert corpora > {"chinesewebtext", "c4"}
    corpora = set()
    for run in study.runs:
        corpora.update(run.corpora)
    assert corpora == {"chinesewebtext"}
    assert {model for model, _ in study.runs_by_reader} == {"qwen1.5-14b"}, (
        "no method needs its reference"
    )


@pytest.mark.parametrize("name", ["paper", "embedded"])
def test_one_paper_keeps_what_belongs_to_none_as_far_as_it_ran(name):
    study = load_study(CONFIG | {"study": name, "papers": ["surp"]})
    assert {
        artifact.paper for artifact in study.artifacts.values() if artifact.paper
    } == {"surp"}
    ran = study.runs_by_pair.keys()
    panels = study.artifacts["blind_audit"].panels
    assert panels
    assert {(panel.model, panel.benchmark) for panel in panels} <= ran


def test_a_panel_names_its_length_in_the_unit_of_its_benchmark():
    named = {}
    for slug in ("de_cop_figure5", "surp_table1"):
        named[slug] = PAPER_STUDY.artifacts[slug].panels[0].name
    assert named["de_cop_figure5"].endswith(", 64 tokens")
    assert named["surp_table1"].endswith(", 32 words")


def test_models_above_a_size_are_missing_with_the_reason():
    study = load_study(PAPER | {"max_parameters": 7e9})
    assert (
        max(study.models.entries[run.model].parameters or 0 for run in study.runs)
        <= 7e9
    )
    table = study.artifacts["surp_table1"]
    assert {panel.model for panel in table.missing} == {"llama-13b", "pythia-12b"}
    assert "max_parameters=7e+09" in table.missing[0].reason
    assert "llama-13b" in study.artifacts["surp_figure3"].unavailable


def test_a_model_whose_access_ended_leaves_its_reason():
    study = load_study(PAPER)
    assert not {"davinci-002", "claude-2.1"} & {run.model for run in study.runs}
    table = study.artifacts["dc_pdd_table2"]
    missing = {panel.model: panel.reason for panel in table.missing}
    assert "2026-09-28" in missing["davinci-002"]
    assert "claude-2.1" in {
        panel.model for panel in study.artifacts["de_cop_table1"].missing
    }

    of_texts = load_study(PAPER | {"only": ["dc_pdd_table1"]})
    panels = of_texts.artifacts["dc_pdd_table1"].panels
    assert ("davinci-002", "bookmia") in {panel.pair for panel in panels}, (
        "its texts are counted"
    )
    assert ("davinci-002", "bookmia") in load_study(
        PAPER | {"available": ["davinci-002"]}
    ).runs_by_pair


def test_a_benchmark_whose_data_are_gone_leaves_its_reason_and_nothing_waits_for_it():
    study = load_study(PAPER)
    assert "dolma_book" not in {run.benchmark for run in study.runs}
    missing = {
        (panel.name, panel.model) for panel in study.artifacts["surp_table2"].missing
    }
    assert missing == {("dolma_book", "olmo-1b"), ("dolma_book", "olmo-7b")}
    assert "January 2026" in study.artifacts["surp_figure4"].unavailable
    assert "dolma_book" not in {
        panel.benchmark for panel in study.artifacts["blind_audit"].panels
    }
    for given in ({"available": ["dolma_book"]}, {"paths": {"dolma_book": "."}}):
        assert ("olmo-7b", "dolma_book") in load_study(PAPER | given).runs_by_pair


GONE = {"gone": {"source": "hub", "hub": "nobody/gone", "unavailable": "it is gone"}}
PLAIN = RUN | {"methods": ["loss"]}


@pytest.mark.parametrize(
    ("without", "keys", "lost"),
    [
        # of a view's writer, nothing is left; deleted words are read all the same
        ([], {"views": ["delete-10", "synonym_by_gone-10"]}, "synonym_by_gone-10"),
        ([], {"neighbours": ["neighbours_by_gone-5"], "methods": ["loss", "neighbor"]},
         "neighbours_by_gone-5"),
        ([], {"references": ["gone"], "methods": ["loss", "ref"]}, "gone"),
        ([], {"references": ["gone"]}, "gone"),
        (["c4"], {"corpora": ["c4"], "methods": ["loss", "dc_pdd"]}, "c4"),
    ],
)  # fmt: skip
def test_a_run_without_an_input_loses_what_reads_it_and_nothing_else(
    tmp_path, without, keys, lost
):
    panels = [{"model": RUN["model"], "benchmark": RUN["benchmark"]}]
    artifacts = {
        "results_auc": {"panels": panels},
        "results_tpr": {"panels": panels, "methods": ["loss"]},
    }
    given = study(models=GONE, runs=[PLAIN, PLAIN | keys], artifacts=artifacts)
    loaded = load_written(tmp_path, given, without=without)
    first, second = loaded.runs
    assert [item.method for item in first.methods][:1] == ["loss"]
    assert [
        item.method for item in second.methods if item.method in keys.get("methods", ())
    ] == (["loss"] if "methods" in keys else [])
    plan = Plan(loaded)
    assert "gone" not in {model.slug for model in plan.models_read}
    assert not plan.corpora_read
    assert not plan.stored_views
    assert set(loaded.left_out) == {lost}
    noted = {}
    for slug, artifact in loaded.artifacts.items():
        noted[slug] = [missing.name for missing in artifact.missing]
    needed = [lost] if "methods" in keys else []
    assert noted == {"results_auc": needed, "results_tpr": []}, (
        "a table says what it would show"
    )


def test_a_table_names_a_lost_input_that_one_of_its_runs_would_read(tmp_path):
    reads = PLAIN | {"references": ["gone"], "methods": ["loss", "ref"]}
    names_alone = PLAIN | {"references": ["gone"], "views": ["delete-10"]}
    for runs in ([reads, names_alone], [names_alone, reads]):
        given = study(models=GONE, runs=runs, artifacts=["results_auc"])
        [shown] = load_written(tmp_path, given).artifacts.values()
        assert [missing.name for missing in shown.missing] == ["gone"]


def test_a_table_of_views_keeps_those_that_can_be_made_and_names_the_other(tmp_path):
    views = ["original", "delete-10", "synonym_by_gone-10"]
    panels = [{"model": RUN["model"], "benchmark": RUN["benchmark"]}]
    artifacts = {
        "results_auc": {"panels": panels, "options": {"across": {"view": views}}},
        "results_tpr": {"panels": panels, "options": {"across": {"view": views[2:]}}},
    }
    runs = [PLAIN, PLAIN | {"views": views[1:]}]
    loaded = load_written(tmp_path, study(models=GONE, runs=runs, artifacts=artifacts))
    whole, nothing = loaded.artifacts.values()
    assert whole.options.across == {"view": views[:2]}
    reason = "gone: it is gone"
    expected = [(views[2], reason)]
    assert [tuple(item.to_json().values())[:2] for item in whole.missing] == expected
    assert nothing.unavailable == f"{views[2]}: {reason}."


def test_questions_whose_paraphraser_is_gone_are_not_asked(tmp_path):
    run = PLAIN | {
        "benchmark": "sotu_questions",
        "paraphraser": "paraphrase_by_gone",
        "methods": ["loss", "de_cop", "name_cloze"],
    }
    (loaded,) = load_written(tmp_path, study(models=GONE, runs=[run])).runs
    assert [item.method for item in loaded.questions] == ["name_cloze"]
    assert loaded.left_out["de_cop"] == "paraphrase_by_gone: gone: it is gone"


def test_a_pair_whose_only_run_has_lost_all_that_it_reads_is_missing(tmp_path):
    only_view = PLAIN | {"benchmark": "sotu_temporal", "views": ["synonym_by_gone-10"]}
    given = study(models=GONE, runs=[PLAIN, only_view], artifacts=["results_auc"])
    loaded = load_written(tmp_path, given)
    assert list(loaded.runs_by_pair) == [(RUN["model"], RUN["benchmark"])]
    assert loaded.left_out == {"synonym_by_gone-10": "gone: it is gone"}


def test_what_is_left_out_by_its_name_must_have_an_entry(tmp_path):
    with pytest.raises(InputError, match=r"without: no entry has the name 'gon'.*gone"):
        load_written(tmp_path, study(models=GONE), without=["gon"])
    with pytest.raises(InputError, match="none of its models can be asked"):
        load_written(tmp_path, study(), without=[RUN["model"]])


def test_the_comparison_with_papers_shows_what_is_left():
    slug = "gpt-3-released"
    study = load_study(CONFIG | {"study": "embedded", "without": [slug]})
    compared = study.artifacts["reproduction"]
    assert slug not in {panel.model for panel in compared.panels}
    assert slug in {missing.name for missing in compared.missing}
