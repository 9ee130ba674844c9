"""What a study asks of models behind APIs, for an estimate of its cost before anything is asked."""

from typing import Any

from pretrace.questions.methods import QUESTION_METHODS
from pretrace.studies import plan
from pretrace.studies.apis import is_api
from pretrace.studies.questions import WRITTEN
from pretrace.studies.study import Study
from pretrace.views import VIEWS

Work = dict[str, Any]


def api_work(study: Study) -> list[Work]:
    """One entry a task, for `questions.estimate`: `model`, `benchmark` (slugs), `task`, `subsets`, `lengths` and what
    the number of tokens depends on.

    `task`: a question method; `scoring`, a pass with `shots` before and `variants` of each text; or `paraphrase`.
    """
    work = [one for pair in plan.question_pairs(study) for one in _questions(study, *pair)]
    work += [one for pair in plan.pass_pairs(study) for one in _passes(study, *pair)]
    work += _paraphrases(study)
    return sorted(work, key=lambda one: (one["model"], one["benchmark"], one["task"], str(one)))


def _api(study: Study, model: str) -> bool:
    return model in study.models.entries and is_api(study.models.entries[model])


def _questions(study: Study, model: str, benchmark: str) -> list[Work]:
    if not _api(study, model):
        return []
    return [
        {
            "model": model,
            "benchmark": benchmark,
            "task": request["method"],
            "k": request["parameters"].get("k", 0),
        }
        | {key: request[key] for key in ("subsets", "lengths")}
        for request in plan.answer_requests(study, model, benchmark)
        if not QUESTION_METHODS[request["method"]].control
    ]


def _passes(study: Study, model: str, benchmark: str) -> list[Work]:
    if not _api(study, model):
        return []
    return [
        {"model": model, "benchmark": benchmark, "task": "scoring", "shots": request["shots"] or 0}
        | {"variants": VIEWS[request["companion"]].number or 1 if request["companion"] else 1}
        | {key: request[key] for key in ("subsets", "lengths")}
        for request in plan.pass_requests(study, model, benchmark)
    ]


def _paraphrases(study: Study) -> list[Work]:
    """Of each benchmark whose questions take them from a model behind an API, and that does not bring them."""
    wanted = {
        (view.removeprefix(WRITTEN), benchmark)
        for model, benchmark in plan.question_pairs(study)
        for view in plan.paraphrasers_of(study, model, benchmark)
        if view.startswith(WRITTEN) and view not in study.benchmarks.entries[benchmark].get("views", {})
    }
    return [
        {"model": model, "benchmark": benchmark, "task": "paraphrase", "subsets": None, "lengths": None}
        for model, benchmark in sorted(wanted) if _api(study, model)
    ]  # fmt: skip
