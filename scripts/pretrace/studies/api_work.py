"""A study's requests to models behind APIs, to estimate their cost before any is sent."""

from collections.abc import Mapping
from typing import Any

from pretrace.models.entries import ApiModel
from pretrace.questions.methods import QUESTION_METHODS
from pretrace.studies import plan
from pretrace.studies.questions import WRITTEN, view_writer
from pretrace.studies.study import Study
from pretrace.views import VIEWS

Work = dict[str, Any]


def api_work(study: Study) -> list[Work]:
    """One entry a task, for `questions.estimate`: `model`, `benchmark` (slugs), `task`, `subsets`, `lengths` and what
    the number of tokens depends on.

    `task`: a question method; `scoring`, a pass with `shots` before and `variants` of each text; `paraphrase`; or
    `continuation`, with a number of `samples`.
    """
    behind_apis = {slug for slug, entry in study.models.entries.items() if isinstance(entry, ApiModel)}
    work: list[Work] = []

    def add(pair: plan.Pair, task: str, request: Mapping[str, Any], **about: Any) -> None:
        model, benchmark = pair
        if model in behind_apis:
            part = {key: request.get(key) for key in ("subsets", "lengths")}
            work.append({"model": model, "benchmark": benchmark, "task": task} | about | part)

    for pair in plan.question_pairs(study):
        for request in plan.answer_requests(study, *pair):
            if not QUESTION_METHODS[request["method"]].control:
                add(pair, request["method"], request, k=request["parameters"].get("k", 0))
    for pair in plan.pass_pairs(study):
        for read in plan.pass_requests(study, *pair):
            altered, shots = read.reading.altered, read.reading.shots
            variants = (VIEWS[altered].number or 1) if altered else 1
            add(pair, "scoring", read.to_json(), shots=shots.count if shots else 0, variants=variants)
    for pair in _paraphrases(study):
        add(pair, "paraphrase", {})
    for benchmark, view in plan.continued_views(study):
        writer = view_writer(view, study.benchmarks.entries[benchmark])
        add((writer, benchmark), "continuation", {}, samples=VIEWS[view].number)
    return sorted(work, key=lambda one: (one["model"], one["benchmark"], one["task"], str(one)))


def _paraphrases(study: Study) -> set[plan.Pair]:
    """(model, benchmark) whose questions take the model's paraphrases, which the benchmark does not bring."""
    return {
        (view.removeprefix(WRITTEN), benchmark)
        for model, benchmark in plan.question_pairs(study)
        for view in plan.paraphrasers_of(study, model, benchmark)
        if view.startswith(WRITTEN) and view not in study.benchmarks.entries[benchmark].views
    }
