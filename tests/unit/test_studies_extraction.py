"""A run's key `extraction`: its defaults, what is planned for it, and what is
refused."""

from made_up_jobs import benchmark_of
from made_up_studies import FREE, RUN, load_written, study

from pretrace.passes.requests import passes_of
from pretrace.studies import Plan

COUNTED = {"threshold": 0.001, "tries": 100}
WHOLE = COUNTED | {"suffix": 20, "context": 20, "stride": 1}


def test_a_run_that_only_extracts_scores_nothing_and_gets_the_two_artifacts(tmp_path):
    loaded = load_written(tmp_path, study(runs=[RUN | {"extraction": {}}]))
    [run] = loaded.runs
    assert run.extraction.to_json() == WHOLE
    assert run.methods == []
    assert run.questions == []
    assert list(loaded.artifacts) == ["extraction", "extraction_map"]
    requests = Plan(loaded).pair("smollm2-135m", "sotu").requests
    assert [request.reading.past_context for request in requests] == [False, True]
    assert {(request.statistics, request.reading.view) for request in requests} == {
        ("top40", "original")
    }
    assert [kind for kind, *_ in Plan(loaded).rendering("extraction").reads] == [
        "extraction",
        "benchmarks",
    ]


def test_a_server_that_returns_the_likeliest_tokens_is_measured_too(tmp_path):
    far = {
        "far": {
            "source": "openai",
            "api": FREE | {"top40": "prompt_logprobs"},
            "tokenizer": "smollm2-135m",
        }
    }
    methods = ["loss", {"max_renyi": {"entropy": "min"}}]
    run = RUN | {"model": "far", "extraction": {}, "methods": methods}
    loaded = load_written(tmp_path, study(models=far, runs=[run]))
    assert {item.method for item in loaded.runs[0].methods} >= {"loss", "max_renyi"}
    requests = Plan(loaded).pair("far", "sotu").requests
    assert {request.statistics for request in requests} == {"likeliest"}
    assert {request.reading.past_context for request in requests} == {False, True}


def test_methods_read_the_same_pass_as_an_extraction_with_the_whole_context(tmp_path):
    loaded = load_written(
        tmp_path, study(runs=[RUN | {"extraction": {}, "methods": ["loss"]}])
    )
    requests = Plan(loaded).pair("smollm2-135m", "sotu").requests
    benchmark = benchmark_of(["a text"], length=32)
    plain, past = passes_of(requests, benchmark, {})
    assert (plain.key.reading.past_context, plain.statistics) == (False, "top40")
    assert past.key.reading.past_context
    assert {"results_auc", "extraction"} <= loaded.artifacts.keys()


def test_a_job_is_told_which_texts_the_runs_with_an_extraction_read(tmp_path):
    runs = [
        RUN | {"extraction": {}, "lengths": [32]},
        RUN | {"lengths": [64], "methods": ["loss"]},
    ]
    texts = {
        "source": "sotu_split",
        "download": "sotu",
        "texts": 4,
        "lengths": [32, 64],
        "eras": [[1930, 2024]],
    }
    runs = [run | {"benchmark": "texts"} for run in runs]
    loaded = load_written(tmp_path, study(runs=runs, benchmarks={"texts": texts}))
    told = Plan(loaded).pair("smollm2-135m", "texts").extraction
    assert told == WHOLE | {
        "start_token": "tokenizer",
        "parts": [{"subsets": None, "lengths": [32]}],
    }


def test_an_audit_reads_the_extraction_of_its_run_if_there_is_one(tmp_path):
    for beside, expected in (
        ({}, {"audit", "benchmarks"}),
        ({"extraction": {}}, {"audit", "extraction", "benchmarks"}),
    ):
        written = study(
            runs=[RUN | {"methods": ["loss"], **beside}], artifacts=["audit"]
        )
        reads = Plan(load_written(tmp_path, written)).rendering("audit").reads
        assert {kind for kind, *_ in reads} == expected
