"""What a study makes first: the priority of the jobs that its first artifacts wait for.

Comes in: a study. Goes out: the priority of a job, by what it makes.
"""

from functools import cache

from pretrace.models.entries import AdapterModel, TrainedModel
from pretrace.studies.audit.study import POSITIVE_CONTROL
from pretrace.studies.study import Study

FIRST = 1000
"""The priority of jobs that the study's first artifacts wait for."""
BEFORE_RENDERING = 1
"""The priority of all others but those that render: the later one starts, the more of
the rest it can draw."""


@cache
def before_first(study: Study) -> frozenset[tuple[str, str]]:
    """Return what the study's first artifacts wait for: (kind, slug) of models,
    benchmarks and corpora; pairs."""
    pairs = place_among_first(study)
    waited = set()
    for pair in pairs:
        for run in study.runs_by_pair.get(pair, []):
            waited |= {("corpora", corpus) for corpus in run.corpora}
    for model, benchmark in pairs:
        waited.add(("benchmarks", benchmark))
        waited.add(("models", model))
        waited |= _made_from(study, model)
    return frozenset(waited | pairs.keys())


@cache
def place_among_first(study: Study) -> dict[tuple[str, str], int]:
    """Return the pairs that the study's first artifacts wait for, each with the place
    of the first of these artifacts."""
    places: dict[tuple[str, str], int] = {}
    for place, slug in enumerate(study.first):
        is_audit = study.artifacts[slug].renderer == "audit"
        for panel in study.artifacts[slug].panels:
            pairs = [panel.pair]
            control = (panel.model, POSITIVE_CONTROL)
            if is_audit and control in study.runs_by_pair:
                pairs.append(control)
            for run in study.runs_by_pair.get(panel.pair, []):
                for reference in run.references:
                    pairs.append((reference, run.benchmark))
                if run.calibrate_on:
                    pairs.append((run.model, run.calibrate_on))
            for pair in pairs:
                places.setdefault(pair, place)
    return places


def _made_from(study: Study, model: str) -> set[tuple[str, str]]:
    """Return what a model's weights are made from: the base of an adapter; the texts,
    the start and the tokenizer's corpus of a training."""
    entry = study.models.entries[model]
    if isinstance(entry, AdapterModel):
        return {("models", entry.base)}
    if not isinstance(entry, TrainedModel):
        return set()
    training = entry.training
    parts = {("benchmarks", training.benchmark)}
    if training.start:
        parts.add(("models", training.start))
    if training.tokenizer_corpus:
        parts.add(("corpora", training.tokenizer_corpus))
    return parts


def priority(study: Study, *waited: str) -> int:
    """Return `FIRST` if the study's first artifacts wait for `waited`, a pair's slugs or
    (kind, slug), else `BEFORE_RENDERING`."""
    return FIRST if waited in before_first(study) else BEFORE_RENDERING
