"""Methods that a run names are computed or an error; those that it leaves at the
default may be left out, with why."""

import pytest
from made_up_studies import RUN, load_written, study

from pretrace.studies import Plan

TEXTS = {"texts": {"source": "local", "path": "texts.jsonl"}}


@pytest.fixture
def load(tmp_path):
    (tmp_path / "texts.jsonl").write_text("")
    (tmp_path / "answers.csv").write_text("")
    return lambda *runs, **keys: load_written(
        tmp_path,
        study(
            benchmarks=TEXTS,
            runs=[RUN | {"benchmark": "texts"} | run for run in runs],
            **keys,
        ),
    )


def test_answers_that_stand_in_for_a_model_leave_out_methods_of_texts(tmp_path, load):
    run = {
        "model": "given",
        "benchmark": "sotu_questions",
        "methods": ["loss", "de_cop"],
    }
    of_paper = RUN | run | {"model": "llama-2-70b", "benchmark": "booktection"}
    loaded = load_written(
        tmp_path,
        study(runs=[of_paper]),
        paths={"llama-2-70b": str(tmp_path / "answers.csv")},
    )
    assert loaded.runs[0].methods == []


def test_methods_at_the_default_are_those_that_can_be_computed_and_the_others_have_a_reason(
    load,
):
    loaded = load({})
    assert loaded.runs[0].left_out["ref"] == "the run names no reference model"
    assert not loaded.runs[0].left_out.keys() & {
        item.method for item in loaded.runs[0].methods
    }
    (line,) = [line for line in Plan(loaded).left_out if "dc_pdd" in line["methods"]]
    panel = {"panel": "SmolLM2-135M on texts"}
    assert line == panel | {"methods": ["dc_pdd"], "reason": "the run names no corpus"}
    loaded = load(
        {}, {"corpora": ["docstrings"], "methods": ["dc_pdd"]}
    )  # another run of the pair computes it
    assert not any("dc_pdd" in line["methods"] for line in Plan(loaded).left_out)


def test_methods_with_shots_get_as_many_draws_as_they_ask_for(load):
    loaded = load(
        {"methods": ["loss", {"recall": {"shots": [3, 5]}}]},
        {"methods": [{"con_recall": {"shots": [2]}}], "draws": [0, 1]},
    )
    prefix = loaded.benchmarks.entries["texts"].prefix
    assert prefix.pool == 5
    assert prefix.draws == 2
    assert Plan(loaded).pair("smollm2-135m", "texts").prefix_kinds == {
        "member",
        "nonmember",
    }
    assert Plan(loaded).needs_classes("texts"), (
        "shots of both classes need labelled texts"
    )


def test_only_named_methods_draw_shots(load):
    assert load({}).benchmarks.entries["texts"].prefix is None
    assert "recall" in load({}).runs[0].left_out
