"""What is printed beside an artifact: titles, cautions, null models, and methods that
no run computes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import ModelEntry, TrainedModel
from pretrace.render.artifact import Artifact
from pretrace.render.names import READ_NEITHER, join_words
from pretrace.studies.artifacts.checks import methods_named, settings_scored
from pretrace.studies.keys import Panels, WrittenArtifact
from pretrace.studies.registries import Registries
from pretrace.studies.runs import Run, runs_by_pair

PREFIXED = {"recall", "con_recall"}
"""The methods that have a model read a text after a prefix."""


def with_notes(
    artifacts: Mapping[str, Artifact], runs: Sequence[Run], registries: Registries
) -> dict[str, Artifact]:
    """Return the artifacts with all that is printed beside them: cautions, null models
    and titles."""
    models, benchmarks, corpora, *_ = registries
    titles = corpora.titles | benchmarks.titles | models.titles
    noted = {}
    for slug, artifact in artifacts.items():
        with_cautions = artifact.replaced(
            cautions=prefix_cautions(artifact, runs, models.entries),
            null_models=null_models(artifact, models.entries),
        )
        noted[slug] = with_names(with_cautions, titles, benchmarks.entries)
    return noted


def with_names(
    artifact: Artifact,
    titles: Mapping[str, str],
    benchmarks: Mapping[str, BenchmarkEntry],
) -> Artifact:
    """Return the artifact with the titles of what it shows, and of the models in names
    of views; and units of lengths.

    Where two have one title, their slugs follow it.
    """
    shown = slugs_shown(artifact)
    for slug in list(shown):
        # a view as synonym_by_MODEL-10
        _, _, writer = slug.partition("_by_")
        shown.add(writer.rpartition("-")[0])
    titled = {slug: titles[slug] for slug in sorted(shown & titles.keys())}
    several = Counter(titled.values())
    names = {}
    for slug, title in titled.items():
        names[slug] = f"{title} ({slug})" if several[title] > 1 else title
    panels = []
    for panel in artifact.panels:
        about: dict[str, Any] = {
            "names": names,
            "length_unit": benchmarks[panel.benchmark].length_unit,
        }
        if panel.label is not None and panel.model in artifact.null_models:
            about["label"] = f"{panel.label} ({READ_NEITHER})"
        panels.append(panel.replaced(**about))
    return artifact.replaced(names=names, panels=panels)


def slugs_shown(artifact: Artifact) -> set[str]:
    """Return the slugs of models, benchmarks and corpora in an artifact's panels and
    options."""
    slugs: set[str | None] = set()
    for missing in artifact.missing:
        slugs |= {missing.name, missing.model, missing.benchmark, *missing.references}
    for panel in artifact.panels:
        slugs |= {panel.model, panel.benchmark, panel.view, panel.reference}
        slugs.update(panel.references or ())
    for key in ("reference", "view"):
        slugs.update(map(str, artifact.options.across.get(key, ())))
    return set(filter(None, slugs))


def null_models(artifact: Artifact, models: Mapping[str, ModelEntry]) -> list[str]:
    """Return the models that an artifact shows and that are known to have read neither
    members nor non-members."""
    nulls = []
    for slug in sorted({panel.model for panel in artifact.panels}):
        entry = models.get(slug)
        if isinstance(entry, TrainedModel) and entry.is_null:
            nulls.append(slug)
    return nulls


def prefix_cautions(
    artifact: Artifact, runs: Iterable[Run], models: Mapping[str, ModelEntry]
) -> list[str]:
    """Return cautions for an artifact that shows methods with a prefix on models that
    cannot test them.

    These models are trained here from random weights. With so few training tokens they
    hardly react to a prefix.
    """
    if not artifact.needs & {"metrics", "shift"}:
        return []
    named = set()
    for key, name in methods_named(artifact):
        if key != "baseline":
            named.add(name.partition(";")[0])
    shown = PREFIXED & named if named else PREFIXED
    pairs = {panel.pair for panel in artifact.panels}
    prefixed = set()
    for run in runs:
        methods = {item.method for item in run.methods}
        if run.pair in pairs and shown & methods:
            prefixed.add(run.model)
    small = []
    for slug in sorted(prefixed):
        entry = models[slug]
        if isinstance(entry, TrainedModel) and entry.training.start is None:
            small.append(entry.title or slug)
    if not small:
        return []
    return [
        f"These small models cannot test ReCall or Con-ReCall: {join_words(small)}. "
        "They were trained here from random weights and hardly use what comes before a "
        "text."
    ]


def methods_left_out(
    given: list[str] | dict[str, WrittenArtifact | Panels | None],
    artifacts: Iterable[Artifact],
    runs: Sequence[Run],
) -> dict[str, str]:
    """Return the methods that a study has an artifact show and that no run of its
    panels computes -> why not."""
    reasons = {}
    by_pair = runs_by_pair(runs)
    for artifact in artifacts:
        own: list[Run] = []
        for panel in artifact.panels:
            own += by_pair.get(panel.pair, [])
        scored = settings_scored(own)
        keys = given.get(artifact.slug) if isinstance(given, dict) else None
        named = keys.methods or () if isinstance(keys, WrittenArtifact) else ()
        absent = [name for name in named if name.partition(";")[0] not in scored]
        # answers from elsewhere bring scores
        if absent and own and not any(run.questions for run in own):
            reasons[f"{', '.join(absent)} of {artifact.slug}"] = (
                "no run of its panels has them"
            )
    return reasons
