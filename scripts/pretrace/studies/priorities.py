"""Which jobs start first: what the study's first artifacts wait for, then what is cheap, then what much waits for.

Training is long and passes wait for it; of passes, those of larger models are longer.
"""

from functools import cache

from pretrace.models.entries import TrainedModel
from pretrace.studies import plan
from pretrace.studies.study import Study

SEALING = 1_000_000
FIRST = 2000
"""Added to what the study's first artifacts wait for."""
SOON = 1500
"""Scores, metrics, tables, figures, and downloads."""
WAITED_FOR = 1000
"""Texts, corpora and training."""


@cache
def before_first(study: Study) -> frozenset[tuple[str, ...]]:
    """Return what the study's first artifacts wait for: (kind, slug) of models, benchmarks and corpora; pairs."""
    pairs = {pair for slug in study.first for pair in plan.artifact_pairs(study, slug)}
    pairs |= {(other, benchmark) for _, benchmark in pairs for other in _references(study, pairs, benchmark)}
    models = {model for model, _ in pairs}
    trainings = [
        entry.training for model in models if isinstance(entry := study.models.entries[model], TrainedModel)
    ]
    models |= {training.start for training in trainings if training.start}
    benchmarks = {benchmark for _, benchmark in pairs} | {training.benchmark for training in trainings}
    corpora = {slug for pair in pairs for run in plan.runs_of(study, *pair) for slug in run.corpora}
    corpora |= {training.tokenizer_corpus for training in trainings if training.tokenizer_corpus}
    slugs = {"models": models, "benchmarks": benchmarks, "corpora": corpora}
    return frozenset(pairs | {(kind, slug) for kind in slugs for slug in slugs[kind]})


def _references(study: Study, pairs: set[plan.Pair], benchmark: str) -> set[str]:
    runs = [run for pair in pairs if pair[1] == benchmark for run in plan.runs_of(study, *pair)]
    return {slug for run in runs for slug in run.references}


def priority(study: Study, usual: float, *waited: str) -> float:
    """Return `usual`, raised if the first artifacts wait for `waited`: a pair's slugs, or (kind, slug)."""
    return usual + FIRST * (waited in before_first(study))


def size(study: Study, model: str) -> float:
    """Return millions of parameters, below `WAITED_FOR`."""
    return min((study.models.entries[model].parameters or 0) / 1e6, WAITED_FOR - 1)
