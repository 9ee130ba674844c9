"""What a study's artifacts show, and which of them could not be drawn."""

import sys
from itertools import product

import pytest
import yaml
from made_up_studies import RUN, load_written, study
from made_up_studies import RUN as AT

from pretrace.studies import Plan


@pytest.fixture
def load(tmp_path):
    return lambda given: load_written(tmp_path, given)


def test_a_study_without_artifacts_gets_the_results_tables(load):
    runs = [RUN | {"lengths": [32]}, RUN, RUN | {"lengths": [32]}]
    shown = load(study(runs=runs)).artifacts
    assert list(shown) == ["headline", "results_auc", "results_tpr"]
    panels = []
    for panel in shown["results_auc"].panels:
        panels.append(
            panel.to_json("start_token", "references", "names", "length_unit")
        )
    assert panels == [AT | {"length": 32}, AT], "each once, in the order of the runs"


def test_models_and_benchmarks_are_printed_by_their_titles_and_two_of_one_title_with_their_slugs(
    load,
):
    own = {
        "twin": {"title": "SmolLM2-135M", "source": "hub", "hub": "some/twin"},
        "plain": {"source": "hub", "hub": "a/b"},
    }
    runs = []
    for model in ("smollm2-135m", "twin", "plain"):
        runs.append(RUN | {"model": model, "lengths": [32]})
    artifacts = load(study(runs=runs, models=own)).artifacts
    assert [panel.name for panel in artifacts["results_auc"].panels] == [
        "SmolLM2-135M (smollm2-135m) on addresses of 2026 against 2005-2020, 32 words",
        "SmolLM2-135M (twin) on addresses of 2026 against 2005-2020, 32 words",
        "plain on addresses of 2026 against 2005-2020, 32 words",
    ]


def test_a_null_model_says_that_it_read_neither_class_wherever_it_is_named(load):
    """By its name, after a panel's own label, and as a reference."""
    place = {
        "benchmark": "sotu_split",
        "lengths": [64],
        "start_token": "<|endoftext|>",
        "methods": ["loss"],
    }
    runs = [
        place | {"model": model} for model in ("pico-en-small-null", "pico-en-small")
    ]
    runs[1] |= {"methods": ["ref"], "references": ["pico-en-small-null"]}
    panel = {"model": "pico-en-small-null", "benchmark": "sotu_split", "length": 64}
    shown = [
        panel,
        panel | {"label": "trained on old addresses"},
        panel | {"model": "pico-en-small"},
    ]
    given = study(runs=runs, artifacts={"results_auc": {"panels": shown}})
    artifact = load(given).artifacts["results_auc"]
    unlabelled, labelled, other = artifact.panels
    for printed in (
        unlabelled.name,
        unlabelled.heading,
        *unlabelled.lines[:1],
        labelled.name,
        labelled.heading,
    ):
        assert "(read neither class)" in printed
    assert "neither" not in other.name
    assert artifact.title_of("pico-en-small-null").endswith("(read neither class)")
    assert artifact.null_models == ["pico-en-small-null"]


def test_what_is_printed_of_an_entry_makes_no_text(load, tmp_path):
    texts = {"source": "local", "path": "texts.jsonl"}
    (tmp_path / "texts.jsonl").touch()
    told = {"title": "Texts", "caution": "all were read", "access": "ask the authors"}
    first, second = (
        Plan(
            load(
                study(
                    runs=[RUN | {"benchmark": "own"}], benchmarks={"own": texts | more}
                )
            )
        )
        for more in ({}, told)
    )
    assert first.benchmark("own").building == second.benchmark("own").building
    assert (
        first.rendering("results_auc").entries
        != second.rendering("results_auc").entries
    )


def test_the_page_lists_the_texts_of_the_first_pair_whose_metrics_are_shown(
    load, tmp_path
):
    (tmp_path / "texts.jsonl").touch()
    own = {"own": {"source": "local", "path": "texts.jsonl", "title": "Mine"}}
    runs = [RUN, RUN | {"benchmark": "own"}]
    listings = {}
    for name in ("sotu", "own"):
        shown = {"results_auc": [{"model": RUN["model"], "benchmark": name}]}
        plan = Plan(load(study(runs=runs, benchmarks=own, artifacts=shown)))
        listings[name] = plan.listed.benchmark_slug, plan.listing["quoted"]
    assert listings == {"sotu": ("sotu", True), "own": ("own", False)}
    audit = Plan(load(study(artifacts=["audit"])))
    assert audit.listed is None
    assert audit.listing is None


def test_prefixes_before_models_that_ignore_them_are_cautioned_about(load):
    place = {"model": "pico-en-small", "benchmark": "sotu_split"}
    runs = [
        RUN | {"benchmark": "sotu_split", "methods": ["recall"]},
        place | {"methods": ["loss"], "lengths": [32]},
        place | {"methods": ["recall"], "lengths": [64]},
        place | {"model": "pico-en-medium", "methods": ["loss"]},
    ]
    panels = [{key: run[key] for key in ("model", "benchmark")} for run in runs]
    shown = ("con_recall_table2", "con_recall_figure5", "blind_audit", "dc_pdd_table2")
    artifacts = load(study(runs=runs, artifacts=dict.fromkeys(shown, panels))).artifacts
    cautioned = {slug for slug in artifacts if any(artifacts[slug].cautions[:1])}
    assert cautioned == set(shown[:3])
    assert (
        artifacts["con_recall_table2"]
        .cautions[0]
        .startswith(
            "These small models cannot test ReCall or Con-ReCall: pico-en small."
        )
    )


def test_what_is_evaluated_depends_on_the_runs_and_not_on_what_is_shown(load):
    place = {"model": "smollm2-135m", "benchmark": "sotu_split"}
    runs = [RUN | {"benchmark": "sotu_split", "methods": ["recall"], "draws": [0, 3]}]
    shown = {
        "con_recall_table2": {"panels": [place]},
        "surp_figure3": {"panels": [place | {"subset": "*", "length": 64}]},
        "repetitions": {"panels": [place], "options": {"across": {"draw": [0, 3]}}},
    }
    table = {"con_recall_table2": shown["con_recall_table2"]}
    first = Plan(load(study(runs=runs, artifacts=table)))
    second = Plan(load(study(runs=runs, artifacts=shown)))
    one_shown = first.pair(*place.values())
    all_shown = second.pair(*place.values())
    assert one_shown.draws == all_shown.draws == [0, 3]
    assert one_shown.statistic_options == all_shown.statistic_options
    metrics = "results/mine/metrics/smollm2-135m/sotu_split.parquet"
    assert one_shown.read_by("roc")["metrics"] == metrics
    assert {kind for kind, *_ in second.rendering("surp_figure3").reads} == {
        "metrics",
        "roc",
    }


def test_lists_stand_for_their_product_and_what_is_written_first_varies_slowest(load):
    models = ["pico-en-small", "smollm2-135m"]
    benchmarks = ["sotu_split", "sotu_split-s1"]
    run = {"model": models, "benchmark": benchmarks, "methods": ["loss"]}
    panel = {"length": [64, 32], "benchmark": benchmarks[0], "model": models}
    loaded = load(
        yaml.safe_dump(
            study(runs=[run], artifacts={"results_auc": [panel]}), sort_keys=False
        )
    )
    assert [(run.model, run.benchmark) for run in loaded.runs] == list(
        product(models, benchmarks)
    )
    shown = loaded.artifacts["results_auc"].panels
    expected = list(product([64, 32], models))
    assert [
        (panel_shown.length, panel_shown.model) for panel_shown in shown
    ] == expected


def test_a_panel_that_names_runs_has_their_start_token_and_references(load):
    other = RUN | {
        "start_token": "none",
        "corpora": ["sotu_historic"],
        "methods": ["dc_pdd"],
    }
    own = {"id": "own", "start_token": "<s>", "methods": ["loss", "dc_pdd"]}
    own |= {"corpora": ["docstrings", "reviews"]}
    runs = [
        other,
        RUN | own,
        RUN | own | {"benchmark": "sotu_split", "methods": ["loss"]},
    ]
    narrowed = {
        "run": "own",
        "benchmark": "sotu_split",
        "length": 64,
        "references": ["reviews"],
    }
    artifacts = load(
        study(runs=runs, artifacts={"results_auc": ["own"], "results_tpr": [narrowed]})
    ).artifacts
    keys = {"model": "smollm2-135m", "start_token": "<s>", "references": ["docstrings"]}
    panels = {}
    for slug, artifact in artifacts.items():
        panels[slug] = [
            panel.to_json("names", "length_unit") for panel in artifact.panels
        ]
    assert panels["results_auc"] == [
        keys | {"benchmark": name} for name in ("sotu", "sotu_split")
    ]
    last = keys | {"benchmark": "sotu_split", "length": 64, "references": ["reviews"]}
    assert panels["results_tpr"] == [last]


def test_a_study_of_twice_the_pairs_takes_twice_the_steps(tmp_path):
    (tmp_path / "texts.jsonl").write_text('{"text": "a word", "label": 1}\n')

    def calls(pairs):
        models = {}
        for number in range(pairs):
            models[f"m{number}"] = {"source": "hub", "hub": f"a/m{number}"}
        run = {
            "model": list(models),
            "benchmark": "own",
            "methods": ["loss", "min_k", "zlib"],
        }
        own = {"own": {"source": "local", "path": "texts.jsonl"}}
        counted = 0

        def count(*_):
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            load_written(tmp_path, study(models=models, benchmarks=own, runs=[run]))
        finally:
            sys.setprofile(None)
        return counted

    calls(2)  # what is read and kept once
    few = calls(50)
    more = calls(100)
    most = calls(200)
    assert most - more < 2.2 * (more - few)
