"""Methods that a run names are computed or an error; those that it leaves at the default may be left out, with why."""

import pytest
from made_up_studies import RUN, load_written, study

from pretrace.runtime.errors import InputError
from pretrace.studies import Plan

TEXTS = {"texts": {"source": "local", "path": "texts.jsonl"}}


@pytest.fixture
def load(tmp_path):
    (tmp_path / "texts.jsonl").write_text("")
    (tmp_path / "answers.csv").write_text("")
    return lambda *runs, **keys: load_written(
        tmp_path, study(benchmarks=TEXTS, runs=[RUN | {"benchmark": "texts"} | run for run in runs], **keys)
    )


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"methods": ["loss", "ref"]}, r"runs.0.methods: ref cannot .* add references: \[MODEL\] to the run"),
        ({"methods": ["dc_pdd"]}, r"dc_pdd cannot be computed: .* add corpora: \[CORPUS\] to the run"),
        ({"methods": ["neighbor"]}, r"neighbor .* add neighbours: \[word_swaps-25\] to the run"),
        (
            {"methods": ["loss", "de_cop"]},
            r"de_cop cannot be computed: texts asks no questions.* key question",
        ),
        (
            {"methods": ["lowercase"], "benchmark": "peoples_daily"},
            r"'zh' has no lower case. Leave lowercase out",
        ),
    ],
)
def test_a_method_that_is_named_and_cannot_be_computed_says_what_to_add(load, run, told):
    with pytest.raises(InputError, match=told):
        load(run)


def test_answers_have_no_log_probabilities_unless_they_stand_in_for_a_model(tmp_path, load):
    run = {"model": "given", "benchmark": "sotu_questions", "methods": ["loss", "de_cop"]}
    models = {"given": {"source": "answers", "path": "answers.csv"}}
    with pytest.raises(InputError, match="loss cannot be computed: the model gives no log-probabilities"):
        load(run, models=models)
    of_paper = RUN | run | {"model": "llama-2-70b", "benchmark": "booktection"}
    loaded = load_written(
        tmp_path, study(runs=[of_paper]), paths={"llama-2-70b": str(tmp_path / "answers.csv")}
    )
    assert loaded.runs[0].methods == []


def test_methods_at_the_default_are_those_that_can_be_computed_and_the_others_have_a_reason(load):
    loaded = load({})
    assert loaded.runs[0].left_out["ref"] == "the run names no reference model"
    assert not loaded.runs[0].left_out.keys() & {item.method for item in loaded.runs[0].methods}
    (line,) = [line for line in Plan(loaded).left_out if "dc_pdd" in line["methods"]]
    at = {"model": "smollm2-135m", "benchmark": "texts"}
    assert line == at | {"methods": ["dc_pdd"], "reason": "the run names no corpus"}
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
    assert (prefix.pool, prefix.draws) == (5, 2)
    assert Plan(loaded).pair("smollm2-135m", "texts").prefix_kinds == {"member", "nonmember"}
    assert Plan(loaded).needs_classes("texts"), "shots of both classes need labelled texts"


def test_only_named_methods_draw_shots_and_an_entry_s_own_pool_stays(load):
    assert load({}).benchmarks.entries["texts"].prefix is None
    assert "recall" in load({}).runs[0].left_out
    with pytest.raises(InputError, match=r"8 shots are asked for, and prefix.pool of sotu_shots is 7"):
        load({"benchmark": "sotu_shots", "methods": [{"recall": {"shots": [8]}}]})


def test_an_empty_list_of_artifacts_says_so(load):
    with pytest.raises(InputError, match=r"artifacts is empty.*as artifacts: \[results_auc\]"):
        load({}, artifacts=[])
