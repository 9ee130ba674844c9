"""A run's key `extraction`: its defaults, what is planned for it, and what is refused."""

import pytest
from made_up_studies import RUN, load_written, study

from pretrace.runtime.errors import InputError
from pretrace.studies import paths, plan

WINDOWS = {"prefix": 50, "suffix": 50, "stride": 50, "threshold": 0.001, "tries": 100}
FREE = {
    "base_url": "http://localhost:1/v1",
    "model": "m",
    "endpoint": "completions",
    "price": {"input": 0, "output": 0},
}


def test_a_run_that_only_extracts_scores_nothing_and_gets_the_two_artifacts(tmp_path):
    found = load_written(tmp_path, study(runs=[RUN | {"extraction": {}}]))
    [run] = found.runs
    assert (run.extraction, run.methods, run.questions) == (WINDOWS, [], [])
    assert list(found.artifacts) == ["extraction", "extraction_map"]
    [request] = plan.pass_requests(found, "smollm2-135m", "sotu")
    assert (request["windows"], request["statistics"], request["view"]) == ([50, 50, 50], "top40", "original")
    assert [kind for kind, *_ in paths.read_by(found, "extraction", [])] == ["extraction", "benchmarks"]


def test_the_stride_is_the_suffix_unless_it_is_given(tmp_path):
    for given, stride in (({"suffix": 30}, 30), ({"suffix": 30, "stride": 10}, 10)):
        [run] = load_written(tmp_path, study(runs=[RUN | {"extraction": given}])).runs
        assert run.extraction == WINDOWS | {"suffix": 30, "stride": stride}


def test_a_run_with_methods_too_has_both_kinds_of_passes_and_artifacts(tmp_path):
    found = load_written(tmp_path, study(runs=[RUN | {"extraction": {}, "methods": ["loss"]}]))
    requests = plan.pass_requests(found, "smollm2-135m", "sotu")
    assert [request["windows"] for request in requests] == [None, [50, 50, 50]]
    assert {"results_auc", "extraction"} <= found.artifacts.keys()


@pytest.mark.parametrize(
    ("runs", "complaint"),
    [
        (
            [{"extraction": {}}, {"extraction": {"suffix": 20}}],
            r"runs\.1\.extraction: another run .* gives a different one",
        ),
        (
            [{"extraction": {}}, {"extraction": {}, "start_token": "none"}],
            r"another start_token; give the same",
        ),
        (
            [{"extraction": {}, "calibrate_on": "sotu_segments"}],
            r"calibrate_on: no run has smollm2-135m read sotu_segments with the same extraction; add one",
        ),
        (
            [{"extraction": {}, "model": "far"}],
            r"extraction: far does not run here, and extraction needs the 40 most",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, runs, complaint):
    far = {"far": {"source": "openai", "api": FREE}}
    with pytest.raises(InputError, match=complaint):
        load_written(tmp_path, study(models=far, runs=[RUN | run for run in runs]))
