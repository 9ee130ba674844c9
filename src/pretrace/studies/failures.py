"""What a run says of inputs that failed: what waits for them, and how to go on without
them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pretrace.runtime.errors import first_names
from pretrace.studies.plan import Plan

OF_CORPORA = ("stream_shard", "write_documents", "count_tokens", "add_counts")
OF_BENCHMARKS = ("fetch_dataset", "build_benchmark")
OF_MODELS = (
    "fetch_model",
    "convert_gguf",
    "register_checkpoint",
    "register_adapter",
    "train_model",
    "train_shadows",
    "complete_openings",
    "run_passes",
    "run_share",
    "fill_store",
    "score_prompts",
    "answer_questions",
    "answer_share",
    "ask_questions",
)
"""Rules whose jobs give what scores are made from."""


class FailedJob(NamedTuple):
    """A job that failed, and the tables and figures that wait for it."""

    rule: str
    wildcards: Mapping[str, str]
    log: str
    waiting: frozenset[str]


def ways_on(plan: Plan, failed: Iterable[FailedJob]) -> list[str]:
    """Return a line for each model, benchmark or corpus of which a job failed that
    tables or figures wait for, then the setting that goes on without them.

    Released views of a benchmark have a line alone, because no setting leaves them out.
    """
    by_name: dict[str, list[FailedJob]] = {}
    left_out = []
    for job in sorted(failed, key=lambda job: job.log):
        name = _input_of(plan, job)
        if not job.waiting or not name:
            continue
        by_name.setdefault(name, []).append(job)
        if job.wildcards.get("part") != "views" and name not in left_out:
            left_out.append(name)
    lines = []
    for name, jobs in by_name.items():
        waiting = sorted(frozenset().union(*(job.waiting for job in jobs)))
        shown = first_names(waiting)
        wait = "waits" if len(waiting) == 1 else "wait"
        lines.append(
            f"{name}: {jobs[0].rule} failed ({jobs[0].log}); {shown} {wait} for it. "
            "The next run tries it again."
        )
    if left_out:
        names = dict.fromkeys([*plan.study.settings.without, *left_out])
        lines.append(
            "to go on without what failed, add this to --config: "
            f'"without=[{", ".join(names)}]"'
        )
    return lines


def _input_of(plan: Plan, job: FailedJob) -> str:
    """Return the model, benchmark or corpus that a failed job is of; "" if it gives no
    input of scores."""
    study = plan.study
    wildcards = job.wildcards
    if job.rule in OF_CORPORA:
        return study.corpora.slug_of(wildcards["corpus"])
    if job.rule in OF_BENCHMARKS:
        return study.benchmarks.slug_of(wildcards["benchmark"])
    if job.rule in OF_MODELS:
        return study.models.slug_of(wildcards["model"])
    return ""
