"""Jobs start in the order that shows something soon and ends two cores together."""

import heapq

import pytest
from made_up_studies import CONFIG, ROOT, RUN, load_written, study

from pretrace.studies import load_study, plan
from pretrace.studies.compute import FORWARD, TOKENS_A_WORD
from pretrace.studies.priorities import FIRST, LONGEST, PARAMETERS, SOON, priorities, steps_waiting, work_of


@pytest.fixture(scope="module")
def embedded():
    return load_study(CONFIG | {"study": "embedded"}, ROOT / "config")


def makespan(chosen, waiting, work, priority, cores=2):
    """When the last step ends if each free core takes the ready step of the highest priority."""
    lacking = {step: {before for before, steps in waiting.items() if step in steps} for step in chosen}
    ready = [step for step in chosen if not lacking[step] & chosen]
    running, now, done = [], 0.0, set()
    while ready or running:
        ready.sort(key=lambda step: (-priority(step), step))
        while ready and len(running) < cores:
            step = ready.pop(0)
            heapq.heappush(running, (now + work.get(step, 0.0), step))
        now, step = heapq.heappop(running)
        done.add(step)
        after = sorted(waiting.get(step, set()) - done)
        ready += [other for other in after if lacking[other] & chosen <= done]
    return now


def test_two_cores_end_together(embedded):
    work, waiting, order = work_of(embedded), steps_waiting(embedded), priorities(embedded)
    chosen = {*work, *waiting}
    taken = makespan(chosen, waiting, work, lambda step: order.of(*step))
    least = max(max(order.chains.values()), sum(work.values()) / 2)
    assert taken <= 7 / 6 * least, "Graham's bound of longest first on two machines (1969)"
    assert taken < makespan(chosen, waiting, work, lambda step: -order.of(*step))


def test_a_chain_is_a_job_and_what_waits_for_it(tmp_path):
    runs = [RUN | {"benchmark": "sotu_split", "model": model, "lengths": [64], "methods": ["loss"]}
            for model in ("smollm2-135m", "pico-en-medium")]  # fmt: skip
    loaded = load_written(tmp_path, study(runs=runs))
    order, entry = priorities(loaded), loaded.models.entries["pico-en-medium"]
    texts = loaded.benchmarks.entries["sotu_split"].texts
    tokens = 2 * texts * 64 * TOKENS_A_WORD["en"]
    parameters = max(entry.parameters, PARAMETERS)
    large = order.chains["passes", "pico-en-medium", "sotu_split"]
    assert large == pytest.approx(FORWARD * parameters * tokens)
    trained = entry.training.epochs * texts * 128 * TOKENS_A_WORD["en"] * 3 * FORWARD * parameters
    assert order.chains["model", "pico-en-medium"] == pytest.approx(large + trained)
    real = order.chains["passes", "smollm2-135m", "sotu_split"]
    assert order.chains["benchmark", "sotu_split"] == max(real, large + trained)
    assert order.chains["corpus", "sotu_historic"] == large + trained, "the tokenizer is trained on it"


def test_the_first_table_is_of_a_model_that_was_not_trained_here_and_takes_the_least(tmp_path):
    runs = [
        RUN | {"model": "pico-en-small", "benchmark": "sotu_split", "methods": ["loss"]},
        RUN | {"benchmark": "sotu_questions", "methods": ["loss"]},
        RUN | {"methods": ["loss"]},
    ]
    panels = [[{key: run[key] for key in ("model", "benchmark")}] for run in runs]
    named = dict(zip(("results_auc", "results_tpr", "selection_gap"), panels, strict=True))
    shown = {slug: {"panels": own} for slug, own in named.items()}
    order = priorities(load_written(tmp_path, study(runs=runs, artifacts=shown)))
    assert order.first == ("results_tpr",)
    first = "smollm2-135m", "sotu_questions"
    assert order.of("passes", *first) > FIRST
    assert order.of_evaluation(*first) == order.of_artifact("results_tpr") == FIRST + SOON
    assert order.of("passes", "smollm2-135m", "sotu") <= LONGEST < order.of_artifact("selection_gap") == SOON
    assert order.of("model", "smollm2-135m") > FIRST > order.of("model", "pico-en-small")


def test_every_job_that_reads_or_trains_has_a_place(embedded):
    order = priorities(embedded)
    for pair in plan.pass_pairs(embedded):
        assert order.of("passes", *pair) > 0
        assert order.of("model", pair[0]) >= order.of("passes", *pair)
    assert order.first[1] == "word_for_word", "the figure that the report opens with"
    assert order.of("passes", "smollm2-135m", "licences") > FIRST
    assert len(order.first) == 2
