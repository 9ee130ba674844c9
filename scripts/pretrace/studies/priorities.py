"""Which jobs start first: a first table and figure, then what is cheap, then the longest chains of jobs.

A chain is a job and whatever waits for it. Its length is in floating-point operations of the passes, questions and
training steps in it, estimated from the registries (`compute`); all other jobs are short.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pretrace.render.registry import RENDERERS
from pretrace.studies import plan
from pretrace.studies.compute import FORWARD, passes, questions, trainings
from pretrace.studies.study import Study

Step = tuple[str, ...]
"""A step of a study: passes or answers (model, benchmark); a model; a benchmark; a corpus."""

LONGEST = 1000
"""The priority of the longest chain; other chains get a share of it."""
SOON = 1500
"""The priority of cheap jobs: scores, metrics, tables and figures."""
FIRST = 2000
"""Added where the first table or figure waits for it."""
DEMONSTRATION = "word_for_word"
"""The figure that a reader should see first."""
TRAINING = 3
"""The cost of a training step in forward passes."""
PARAMETERS = 1e6
"""Smaller models spend their time on starting operations: they cost as much as one of this size."""


@dataclass(frozen=True)
class Priorities:
    """`chains`: operations of the longest chain that begins with a step. `first`: the first table and figure."""

    chains: Mapping[Step, float]
    first: tuple[str, ...]
    before_first: frozenset[Step]

    def of(self, *step: str) -> float:
        """The priority of a step's job; that of the passes of a model and benchmark, `("passes", model, benchmark)`."""
        longest = max(self.chains.values(), default=0) or 1
        share = LONGEST * self.chains.get(step, 0) / longest
        return round(share, 3) + FIRST * (step in self.before_first)

    def of_evaluation(self, model: str, benchmark: str) -> int:
        """That of the scores and metrics of a model and benchmark."""
        return SOON + FIRST * (("passes", model, benchmark) in self.before_first)

    def of_artifact(self, artifact: str) -> int:
        return SOON + FIRST * (artifact in self.first)


@cache
def priorities(study: Study) -> Priorities:
    """The priorities of a study's jobs."""
    work, waiting = work_of(study), steps_waiting(study)
    chains: dict[Step, float] = {}

    def chain(step: Step) -> float:
        if step not in chains:
            rest = max((chain(other) for other in waiting.get(step, ())), default=0.0)
            chains[step] = work.get(step, 0.0) + rest
        return chains[step]

    for step in sorted({*work, *waiting}):
        chain(step)
    first = _first_results(study, work, waiting)
    before = frozenset().union(*(_before(study, artifact, waiting) for artifact in first))
    return Priorities(chains, first, before)


def work_of(study: Study) -> dict[Step, float]:
    """Operations of each step that a model of this machine does."""
    work: dict[Step, float] = {}
    steps = [
        *((("passes", model, benchmark), model, tokens) for model, benchmark, tokens in passes(study)),
        *((("answers", model, benchmark), model, tokens) for model, benchmark, tokens in questions(study)),
        *((("model", model), model, TRAINING * tokens) for model, tokens in trainings(study)),
    ]
    for step, model, tokens in steps:
        parameters = max(study.models.entries[model].get("parameters", 0), PARAMETERS)
        work[step] = work.get(step, 0.0) + FORWARD * parameters * tokens
    return work


def steps_waiting(study: Study) -> dict[Step, set[Step]]:
    """Step -> the steps that wait for it. Passes wait for corpora too: their scores do."""
    waiting: dict[Step, set[Step]] = {}
    readers = [(("passes", *pair), pair) for pair in plan.pass_pairs(study)]
    readers += [(("answers", *pair), pair) for pair in plan.question_pairs(study)]
    for step, (model, benchmark) in readers:
        corpora = plan.inputs_of(study, model, benchmark)["frequencies"]
        for before in [("model", model), ("benchmark", benchmark), *(("corpus", one) for one in corpora)]:
            waiting.setdefault(before, set()).add(step)
        training = study.models.entries[model].get("training")
        if training:
            start = "corpus", training.get("tokenizer_corpus", "")
            start = ("model", training["from"]) if "from" in training else start
            for before in ("benchmark", training["benchmark"]), start:
                waiting.setdefault(before, set()).add(("model", model))
    return waiting


def _first_results(
    study: Study, work: Mapping[Step, float], waiting: Mapping[Step, set[Step]]
) -> tuple[str, ...]:
    """The table and the figure of metrics that take the least, rather of texts than of questions, and of models trained
    here only if of no others. A figure that the report opens with (`DEMONSTRATION`) goes before cheaper ones.
    """
    cost: dict[str, tuple[bool, bool, bool, float]] = {}
    for slug, artifact in study.artifacts.items():
        measures = "metrics" in RENDERERS[artifact["renderer"]].needs or slug == DEMONSTRATION
        if "unavailable" not in artifact and measures:
            models = {panel["model"] for panel in artifact["panels"]}
            trained = any(study.models.entries[model]["source"] == "trained" for model in models)
            asked = any(plan.asks_questions(study, *pair) for pair in plan.artifact_pairs(study, slug))
            later = slug != DEMONSTRATION
            operations = sum(work.get(step, 0.0) for step in _before(study, slug, waiting))
            cost[slug] = trained, asked, later, operations
    of_kind = [
        [slug for slug in cost if study.artifacts[slug]["kind"] == kind] for kind in ("table", "figure")
    ]
    return tuple(min(slugs, key=lambda slug: cost[slug]) for slugs in of_kind if slugs)


def _before(study: Study, artifact: str, waiting: Mapping[Step, set[Step]]) -> set[Step]:
    """The steps that an artifact waits for."""
    found: set[Step] = set()
    for model, benchmark in plan.artifact_pairs(study, artifact):
        readers = [model, *plan.inputs_of(study, model, benchmark)["reference"]]
        found |= {("passes", reader, benchmark) for reader in readers} | {("answers", model, benchmark)}
    for _ in range(2):  # what waits for a model that is trained, which waits for a benchmark
        found |= {before for before, steps in waiting.items() if steps & found}
    return found
