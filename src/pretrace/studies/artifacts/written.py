"""The artifacts that a study names: registry and study file merged, panels filled in
and checked, titles and cautions added."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.models.entries import ModelEntry, TrainedModel
from pretrace.render.artifact import Artifact, PairSlugs, Panel
from pretrace.render.catalogue import check, renderer_of
from pretrace.render.names import PAPERS, READ_NEITHER, join_words
from pretrace.runtime.errors import InputError, error_place, require_name
from pretrace.runtime.schema import Slug, read_keys
from pretrace.studies.artifacts.checks import check_names, methods_named
from pretrace.studies.keys import Panels, WrittenArtifact, WrittenPanel
from pretrace.studies.registries import Registries
from pretrace.studies.runs import Run, references_of, runs_by_pair

PRODUCT = ("model", "benchmark", "subset", "length")
"""Keys of a panel that may be lists, which stand for their product."""

PREFIXED = {"recall", "con_recall"}
"""The methods that have a model read a text after a prefix."""

OF_BENCHMARKS = {"benchmarks"}
"""What renderers read that show texts and no model: a panel's benchmark need not be
run."""

OF_EXTRACTION = {"extraction", "windows"}
"""What renderers read that show what a model gives back of windows of texts."""


def registered_artifacts(path: Path) -> dict[str, WrittenArtifact]:
    """Read artifacts.yaml.

    Raises:
        InputError: an entry has no title, an unknown renderer, or panels, which a study
            gives.
    """
    registered = read_keys(path, dict[Slug, WrittenArtifact])
    for slug, entry in registered.items():
        for key in ("title", "renderer"):
            if getattr(entry, key) is None:
                raise InputError(f"{path}: {slug}: missing key '{key}'")
        if entry.panels is not None:
            raise InputError(
                f"{path}: {slug}.panels: a study says what is shown; give the panels "
                "there."
            )
        artifact_of(slug, entry, entry, [], f"artifacts.{slug}")
    return registered


def require_artifact(slug: str, known: Collection[str], where: str) -> None:
    """Raise `InputError` with the nearest slug if the artifact is unknown."""
    require_name(slug, known, f"{where}: unknown artifact '{slug}'")


def shown_artifacts(
    given: list[str] | dict[str, WrittenArtifact | Panels | None],
    registered: Mapping[str, WrittenArtifact],
    runs: list[Run],
    where: str,
) -> dict[str, Artifact]:
    """Return the artifacts that a study names, registry and study merged; a list in
    place of keys is one of panels.

    Panels that name a run by its id, or that have lists, stand for several.
    """
    shown = {}
    for slug in given:
        own = given[slug] if isinstance(given, dict) else None
        if isinstance(own, list):
            place = f"{where}.{slug}"
            keys = WrittenArtifact(panels=own)
        else:
            place = f"{where}.{slug}.panels"
            keys = own or WrittenArtifact()
        if keys.renderer is None or keys.title is None:
            require_artifact(slug, registered, where)
        panels = []
        for number, written in enumerate(keys.panels or ()):
            panels += _panels(written, runs, f"{place}.{number}")
        shown[slug] = artifact_of(
            slug, registered.get(slug, keys), keys, panels, f"{where}.{slug}"
        )
    return shown


def artifact_of(
    slug: str,
    entry: WrittenArtifact,
    own: WrittenArtifact,
    panels: list[Panel],
    where: str,
) -> Artifact:
    """Return a registered entry with a study's `own` keys, and what follows from its
    slug: paper and evaluation set.

    A slug that begins with a paper's id and `_` is of that paper. Prefixes are
    Con-ReCall's: its texts, and the texts of what belongs to no paper, are without
    them; the other papers evaluate all.

    Raises:
        InputError: the renderer is unknown.
    """
    paper = next((paper for paper in PAPERS if slug.startswith(f"{paper}_")), "")
    texts = "without_prefixes" if paper in ("con_recall", "") else "all"
    keys: dict[str, Any] = {"evaluation_set": texts}
    keys |= entry.set_fields()
    keys |= own.set_fields()
    keys["options"] = entry.options.model_copy(update=own.options.set_fields())
    keys["panels"] = panels
    with error_place(where):
        renderer_of(str(keys["renderer"]))
    return Artifact(slug=slug, paper=paper, **keys)


def _panels(written: WrittenPanel | str, runs: list[Run], where: str) -> list[Panel]:
    """Return the panels of a written one: of the runs with its id, with the start token
    and references of these."""
    panel = WrittenPanel(run=written) if isinstance(written, str) else written
    if panel.run is None:
        return [Panel(**copy.set_fields()) for copy in panel.expand(PRODUCT)]
    named = _runs_named(panel, runs, where)
    several = panel.model_copy(update={"run": list(named)})
    panels = []
    for copy in several.expand(("run", *PRODUCT)):
        model, benchmark = cast(PairSlugs, copy.run)
        given = copy.set_fields()
        del given["run"]
        own = {"model": model, "benchmark": benchmark}
        # a product of lists has pairs that no run has
        if all(given.get(key, slug) == slug for key, slug in own.items()):
            of_runs = first_of_runs(named[model, benchmark])
            panels.append(Panel(**of_runs | given | own))
    return panels


def _runs_named(
    panel: WrittenPanel, runs: list[Run], where: str
) -> dict[PairSlugs, list[Run]]:
    """Return the runs with the id that a panel names, by model and benchmark.

    Raises:
        InputError: no run has the id, or none of them has the panel's model or
            benchmark.
    """
    ids = {run.id for run in runs} - {""}
    require_name(panel.run, ids, f"{where}.run: no run has the id '{panel.run}'")
    named = [run for run in runs if run.id == panel.run]
    for key in ("model", "benchmark"):
        slugs = {getattr(run, key) for run in named}
        written = getattr(panel, key) or []
        for slug in [written] if isinstance(written, str) else written:
            require_name(
                slug, slugs, f"{where}.{key}: {panel.run} has no run of '{slug}'"
            )
    return runs_by_pair(named)


def resolve_artifact(
    artifact: Artifact, known: Collection[str], runs: tuple[Run, ...], where: str
) -> Artifact:
    """Return the artifact with every panel filled in; `known` are the slugs of all
    artifacts.

    Raises:
        InputError: its renderer, options, methods or panels are unknown.
    """
    where = f"{where}.{artifact.slug}"
    options = artifact.options
    for named in options.artifacts:
        require_artifact(named, known, f"{where}.options.artifacts")
    by_pair = runs_by_pair(runs)
    needs_runs = artifact.needs != OF_BENCHMARKS and not artifact.unavailable
    panels = artifact.panels or _panels_of(_runs_shown(artifact, runs))
    for number, panel in enumerate(panels):
        if needs_runs and panel.pair not in by_pair:
            raise InputError(
                f"{where}.panels.{number}: no run has model '{panel.model}' and "
                f"benchmark '{panel.benchmark}'; add one under runs, or use one of "
                f"{sorted(by_pair)}."
            )
    if not artifact.unavailable:
        with error_place(where):
            check(artifact.renderer, options, artifact.metric)
            if not panels:
                raise InputError(
                    "it has no panel; give at least one model and benchmark under "
                    "panels"
                )
            check_names(artifact)
    filled = []
    for panel in panels:
        keys = first_of_runs(by_pair.get(panel.pair, []))
        for key in panel.model_fields_set:
            keys.pop(key, None)
        filled.append(panel.replaced(**keys))
    return artifact.replaced(panels=filled)


def _runs_shown(artifact: Artifact, runs: tuple[Run, ...]) -> list[Run]:
    """Return the runs that an artifact shows which names no panel, by what it reads."""
    needs = artifact.needs
    shown = []
    for run in runs:
        if "given_back" in needs:
            is_shown = run.given_back is not None
        elif needs & OF_EXTRACTION and "audit" not in needs:
            is_shown = run.extraction is not None
        elif "published" in needs:
            is_shown = bool(run.questions or run.methods)
        elif artifact.options.unit == "document":
            is_shown = bool(run.questions)
        else:
            is_shown = bool(run.methods)
        if is_shown:
            shown.append(run)
    return shown


def _panels_of(runs: Sequence[Run]) -> list[Panel]:
    """Return every (model, benchmark, subset, length) that the runs name, in their
    order, each once."""
    panels = []
    seen = set()
    keys: dict[str, Any]
    for run in runs:
        for subset in run.subsets or (None,):
            for length in run.lengths or (None,):
                part = *run.pair, subset, length
                if part in seen:
                    continue
                seen.add(part)
                keys = {"model": run.model, "benchmark": run.benchmark}
                if subset is not None:
                    keys["subset"] = subset
                if length is not None:
                    keys["length"] = length
                panels.append(Panel.model_validate(keys))
    return panels


def first_of_runs(runs: Sequence[Run]) -> dict[str, Any]:
    """Return a panel's default start token, and the first of each kind of reference
    that its runs name."""
    if not runs:
        return {}
    first: dict[str, Any] = {"start_token": runs[0].start_token}
    asking = [run for run in runs if run.questions]
    # answers from elsewhere have any paraphraser
    if not asking or asking[0].paraphraser is not None:
        first["references"] = [names[0] for names in references_of(runs)]
    return first


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
    slugs = set()
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
