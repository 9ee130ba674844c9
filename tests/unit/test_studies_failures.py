"""What a run says of inputs that failed, and how it goes on without them."""

import pytest

from pretrace.studies import Plan, load_study
from pretrace.studies.failures import FailedJob, ways_on

TABLES = frozenset({"dc_pdd_table2", "dc_pdd_table3"})


@pytest.fixture(scope="module")
def paper():
    return Plan(load_study({"study": "paper", "without": ["llama-160m"]}))


def failed(rule, waiting=TABLES, **wildcards):
    log = f"results/logs/{rule}/{'-'.join(wildcards.values())}.log"
    return FailedJob(rule, wildcards, log, waiting)


def test_what_failed_has_a_line_each_and_one_setting_goes_on_without_all(paper):
    jobs = [
        failed("stream_shard", corpus="c4", shard="7"),
        failed("stream_shard", frozenset({"dc_pdd_table4"}), corpus="c4", shard="3"),
        failed("run_passes", model="pythia-70m", benchmark="wikimia"),
    ]
    reference, corpus, setting = ways_on(paper, jobs)
    assert corpus == (
        "c4: stream_shard failed (results/logs/stream_shard/c4-3.log); dc_pdd_table2, "
        "dc_pdd_table3, dc_pdd_table4 wait for it. The next run tries it again."
    )
    assert reference.startswith("pythia-70m: run_passes failed (results/logs/")
    # what config.yaml or --config leaves out stays out
    assert setting.endswith('"without=[llama-160m, pythia-70m, c4]"')


def test_the_setting_that_is_advised_is_one_that_the_study_takes(paper):
    *_, setting = ways_on(paper, [failed("fetch_model", model="pythia-70m")])
    names = setting.partition("[")[2].rstrip(']"').split(", ")
    plan = Plan(load_study({"study": "paper", "without": names}))
    assert "pythia-70m" not in {model.slug for model in plan.models_read}


@pytest.mark.parametrize(
    ("job", "lines"),
    [
        # no setting leaves a benchmark's released views out alone
        (failed("fetch_dataset", benchmark="wikimia", part="views"), 1),
        (failed("fetch_dataset", benchmark="wikimia", part="texts"), 2),
        # no input of other jobs' scores
        (failed("score_methods", model="pythia-70m", benchmark="wikimia"), 0),
        (failed("fetch_model", frozenset(), model="pythia-70m"), 0),
    ],
)
def test_only_an_input_that_something_waits_for_is_told(paper, job, lines):
    assert len(ways_on(paper, [job])) == lines
