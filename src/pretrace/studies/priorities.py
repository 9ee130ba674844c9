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
def before_first(study: Study) -> dict[tuple[str, str], int]:
    """Return what the study's first artifacts wait for, (kind, slug) of models,
    benchmarks and corpora, and pairs, each with the place of the first of these
    artifacts."""
    places = place_among_first(study)
    waited = dict(places)
    for pair, place in sorted(places.items(), key=lambda item: item[1]):
        model, benchmark = pair
        own = {("benchmarks", benchmark), ("models", model), *_made_from(study, model)}
        for run in study.runs_by_pair.get(pair, []):
            own |= {("corpora", corpus) for corpus in run.corpora}
        for part in own:
            waited.setdefault(part, place)
    return waited


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


def priority(study: Study, kind: str, slug: str) -> int:
    """Return the priority of a job by what it makes, a kind and a slug, or the slugs of a
    pair: `FIRST` or more for the study's first artifacts, the first of them the most,
    else `BEFORE_RENDERING`."""
    place = before_first(study).get((kind, slug))
    if place is None:
        return BEFORE_RENDERING
    return FIRST + len(study.first) - 1 - place
