"""Which part of a study runs: what the configuration selects of it, less the models and benchmarks that are gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pretrace.methods import INPUTS, METHODS
from pretrace.render.artifact import Artifact, Missing, Panel
from pretrace.render.catalogue import Options
from pretrace.runtime.errors import InputError, nearest
from pretrace.studies.artifacts import (
    OF_BENCHMARKS,
    check_choices,
    methods_left_out,
    null_models,
    prefix_cautions,
    registered_artifacts,
    require_artifact,
    resolve_artifact,
    shown_artifacts,
    with_names,
)
from pretrace.studies.audit_study import positive_runs
from pretrace.studies.keys import Config, StudyFile
from pretrace.studies.registries import Benchmarks, Models, Registries
from pretrace.studies.runs import Run, resolve_run

DEFAULT_ARTIFACTS = ["headline", "results_auc", "results_tpr"]
"""The artifacts of a study that names none: every method on every run."""

DEFAULT_QUESTION_ARTIFACTS = ["de_cop_table1", "de_cop_table3"]
"""The same for a study whose runs only ask questions."""

EXTRACTION_ARTIFACTS = ["extraction", "extraction_map"]
"""What a study with `extraction` gets besides."""


class Selected(NamedTuple):
    """The part of a study that runs: its runs, its artifacts with their panels, and what is left out -> why."""

    runs: tuple[Run, ...]
    artifacts: dict[str, Artifact]
    left_out: dict[str, str]


def resolve_artifacts(
    file: StudyFile, path: Path, runs: list[Run], registries: Registries, config: Config, folder: Path
) -> Selected:
    """Return what runs of the study file at `path`, whose resolved runs are `runs`; `folder` has artifacts.yaml.

    Raises:
        InputError: an artifact is unknown or wrong, nothing is selected, or no model is left.
    """
    models, benchmarks, corpora, *_ = registries
    registered = registered_artifacts(folder / "artifacts.yaml")
    where = f"{path}: artifacts"
    named = _default(runs) if file.artifacts is None else file.artifacts
    offered = shown_artifacts(named, registered, runs, where)
    # also where an artifact shows texts or cannot be drawn
    for slug, artifact in offered.items():
        for number, panel in enumerate(artifact.panels):
            models.require(panel.model, f"{where}.{slug}.panels.{number}.model")
            benchmarks.require(panel.benchmark, f"{where}.{slug}.panels.{number}.benchmark")
    known = {*registered, *offered}
    for slug in [slug for run in runs for slug in run.serves]:
        require_artifact(slug, known, str(path))
    for slug in file.first:
        require_artifact(slug, known, f"{path}: first")
        if slug not in offered:
            raise InputError(f"{path}: first: the study does not show {slug}: {nearest(slug, offered)}")
    out = _left_out(models, benchmarks, config)
    chosen, shown = _choose(runs, offered, out, models, config, str(path))
    artifacts = {slug: resolve_artifact(artifact, known, chosen, where) for slug, artifact in shown.items()}
    for slug, artifact in artifacts.items():
        check_choices(artifact, runs, benchmarks, f"{where}.{slug}")
    if config.only:
        chosen = _with_inputs_shown(chosen, artifacts.values())
    if file.positive_control:
        place = f"{path}: the positive control of an audit"
        controls = positive_runs(chosen, artifacts, models, benchmarks)
        chosen += tuple(resolve_run(run, place, registries) for run in controls)
    titles = corpora.titles | benchmarks.titles | models.titles
    missing = [gone for run in runs if (gone := out.missing(run))]
    left_out = {gone.name: gone.reason for gone in missing}
    for slug, artifact in artifacts.items():
        added = {"cautions": prefix_cautions(artifact, chosen, models.entries)}
        added["null_models"] = null_models(artifact, models.entries)
        artifacts[slug] = with_names(artifact.model_copy(update=added), titles, benchmarks.entries)
    return Selected(chosen, artifacts, left_out | methods_left_out(named, artifacts.values(), chosen))


def _choose(
    runs: list[Run],
    artifacts: dict[str, Artifact],
    out: "LeftOut",
    models: Models,
    config: Config,
    where: str,
) -> tuple[tuple[Run, ...], dict[str, Artifact]]:
    """Return the runs and artifacts of a study that `config` selects by `papers`, `only` and `max_parameters`.

    A run stays where it serves (its key `for`) an artifact that stays; without that key, where the panels of one name
    its model and benchmark. Panels of models and benchmarks that are left out are `missing` from a paper's artifact,
    each with the reason, and an artifact without any other panel is `unavailable`. Artifacts of no paper show what is
    left.

    Raises:
        InputError: nothing is selected, or no model is left.
    """
    chosen = _chosen(artifacts, config, where)
    narrowed = chosen.keys() != artifacts.keys()
    readable = [run for run in runs if not out.missing(run)]
    whole = [artifact for artifact in chosen.values() if not artifact.panels]
    if not readable or (whole and not any(run.methods or run.extraction for run in readable)):
        _require_smaller(runs, models, config, where)
    if not readable:
        missing = [gone for run in runs if (gone := out.missing(run))]
        raise InputError(f"{where}: none of its models can be asked: {_reasons(missing)}")
    selected = _serving(readable, chosen) if narrowed else readable
    ran = {(run.model, run.benchmark) for run in selected}
    shown: dict[str, Artifact] = {}
    for slug, artifact in chosen.items():
        if "published" in artifact.needs:
            panels = [panel for panel in artifact.panels if panel.pair in ran or not narrowed]
            of_papers = [other for other in chosen if chosen[other].paper]
            shown[slug] = _with_papers(artifact.replaced(panels=panels), of_papers, out)
        elif not artifact.panels:
            shown[slug] = artifact
        elif artifact.needs == OF_BENCHMARKS:  # of models that cannot be asked too
            shown[slug] = _of_paper(artifact, replace(out, models={}))
        elif artifact.paper:
            shown[slug] = _of_paper(artifact, out)
        elif panels := [
            panel for panel in artifact.panels if panel.pair in ran or not (narrowed or out.missing(panel))
        ]:
            missing = [gone for panel in artifact.panels if (gone := out.missing(panel))]
            shown[slug] = artifact.replaced(panels=panels, missing=missing)
    return tuple(selected), shown


def _with_inputs_shown(runs: Iterable[Run], artifacts: Iterable[Artifact]) -> tuple[Run, ...]:
    """Return the runs with the inputs (corpora, reference models ...) that their methods need and the artifacts show.

    So `only` counts no corpus for the rows of a table that is not selected. Runs that no artifact shows stay whole.
    """
    names: dict[tuple[str, str], set[str]] = {}
    for artifact in artifacts:
        across = map(str, artifact.options.across.get("reference", ()))
        for panel in artifact.panels if not artifact.unavailable else ():
            names.setdefault(panel.pair, set()).update([*(panel.references or ()), *across])
    return tuple(
        _with_inputs(run, names[run.model, run.benchmark]) if (run.model, run.benchmark) in names else run
        for run in runs
    )


def _with_inputs(run: Run, shown: set[str]) -> Run:
    needs = {need for chosen in run.methods for need in METHODS[chosen.method].needs}
    needs |= {"reference"} if "aligned_reference" in needs else set()
    inputs: dict[str, list[str]] = {}
    for kind in INPUTS.values():
        if kind.key:
            given = getattr(run, kind.key)
            of_artifacts = [name for name in given if name in shown]
            inputs[kind.key] = (of_artifacts or given) if kind.need in needs else []
    return run.model_copy(update=inputs)


@dataclass(frozen=True)
class LeftOut:
    """The slugs of models and benchmarks that are not read -> why."""

    models: Mapping[str, str]
    benchmarks: Mapping[str, str]

    def missing(self, pair: Run | Panel) -> Missing | None:
        """Return what a run or panel lacks: its benchmark or its model; None if both can be read."""
        reasons = ((pair.benchmark, self.benchmarks), (pair.model, self.models))
        gone = next(((name, out[name]) for name, out in reasons if name in out), None)
        if gone is None:
            return None
        name, reason = gone
        references = list(pair.references or ())
        pair_of = {"model": pair.model, "benchmark": pair.benchmark}
        return Missing(name=name, reason=reason, references=references, **pair_of)


def _left_out(models: Models, benchmarks: Benchmarks, config: Config) -> LeftOut:
    """Return the models and benchmarks that are gone, and the models larger than `max_parameters`."""
    most = config.max_parameters
    large = {
        slug: f"its {entry.parameters:.2g} parameters are more than max_parameters={most:.2g}"
        for slug, entry in models.entries.items()
        if most is not None and entry.parameters is not None and entry.parameters > most
    }
    return LeftOut(large | _unavailable(models), _unavailable(benchmarks))


def _require_smaller(runs: Iterable[Run], models: Models, config: Config, where: str) -> None:
    """Raise `InputError` if every model of the runs whose size is known has more than `max_parameters`."""
    sizes = {run.model: models.entries[run.model].parameters for run in runs}
    known = {slug: size for slug, size in sizes.items() if size is not None}
    most = config.max_parameters
    if most is not None and known and min(known.values()) > most:
        least = min(known, key=lambda slug: known[slug])
        raise InputError(
            f"config: max_parameters={most:.2g} is below every model of {where}; the smallest, {least}, has "
            f"{known[least]:.2g} parameters."
        )


def _unavailable(registry: Models | Benchmarks) -> dict[str, str]:
    return {
        slug: entry.unavailable for slug, entry in registry.entries.items() if entry.unavailable is not None
    }


def _chosen(artifacts: dict[str, Artifact], config: Config, where: str) -> dict[str, Artifact]:
    only, papers = config.only, config.papers
    if not artifacts:
        raise InputError(
            f"{where}: artifacts is empty, so that nothing would be shown. Name tables and figures of "
            "config/artifacts.yaml, as artifacts: [results_auc], or leave the key out for the default ones."
        )
    for slug in only:
        if slug not in artifacts:
            raise InputError(f"config: only: {where} has no artifact '{slug}': {nearest(slug, artifacts)}")
    chosen = {
        slug: artifact
        for slug, artifact in artifacts.items()
        if (not only or slug in only) and (not papers or artifact.paper in ("", *papers))
    }
    if not chosen or (papers and not only and not any(artifact.paper for artifact in chosen.values())):
        raise InputError(
            f"config: no artifact of {where} is selected by papers and only; change one of them."
        )
    return chosen


def _serving(runs: list[Run], chosen: dict[str, Artifact]) -> list[Run]:
    """Return the runs that the chosen artifacts need; those of no paper need none, where there are others."""
    wanted = {slug: own for slug, own in chosen.items() if own.paper} or chosen
    named = {slug for run in runs for slug in run.serves}
    # without panels an artifact shows every run, also one of texts, which needs no run otherwise
    every = any(not artifact.panels and not artifact.unavailable for artifact in wanted.values())
    reading = [artifact for artifact in wanted.values() if artifact.needs != OF_BENCHMARKS]
    pairs = {panel.pair for artifact in reading if artifact.slug not in named for panel in artifact.panels}
    return [run for run in runs if wanted.keys() & set(run.serves) or pairs & _pairs(run) or every]


def _pairs(run: Run) -> set[tuple[str, str]]:
    """Return the models that read a run's benchmark, with it."""
    return {(model, run.benchmark) for model in (run.model, *run.references)}


def _with_papers(artifact: Artifact, of_papers: list[str], out: LeftOut) -> Artifact:
    """Return an artifact about the papers' numbers, those of the artifacts shown beside it, and what is left out."""
    reasons = {**out.models, **out.benchmarks}
    missing = [Missing(name=name, reason=reason) for name, reason in reasons.items()]
    options = Options(artifacts=of_papers).model_copy(update=artifact.options.set_fields())
    return artifact.replaced(options=options, missing=missing)


def _of_paper(artifact: Artifact, out: LeftOut) -> Artifact:
    missing = [gone for panel in artifact.panels if (gone := out.missing(panel))]
    left = [panel for panel in artifact.panels if not out.missing(panel)]
    if not missing:
        return artifact
    if left:
        return artifact.replaced(missing=missing, panels=left)
    return artifact.replaced(missing=missing, unavailable=_reasons(missing))


def _reasons(missing: Iterable[Missing]) -> str:
    reasons = {gone.name: gone.reason for gone in missing}
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) + "."


def _default(runs: list[Run]) -> list[str]:
    """Return the artifacts of a study that names none."""
    extraction = EXTRACTION_ARTIFACTS if any(run.extraction for run in runs) else []
    if any(run.methods for run in runs):
        return DEFAULT_ARTIFACTS + extraction
    return (DEFAULT_QUESTION_ARTIFACTS if any(run.questions for run in runs) else []) + extraction
