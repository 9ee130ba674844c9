"""Which part of a study runs: what the configuration selects of it, less the models and benchmarks that are gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pretrace.methods import INPUTS, METHODS
from pretrace.render.catalogue import RENDERERS, Options
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Slug, read_keys
from pretrace.studies.artifacts import (
    OF_BENCHMARKS,
    Artifact,
    Missing,
    Panel,
    ShownArtifact,
    check_choices,
    filled,
    methods_left_out,
    null_models,
    prefix_cautions,
    require_artifact,
    resolve_artifact,
    with_names,
    written_artifacts,
)
from pretrace.studies.audit_study import positive_runs
from pretrace.studies.keys import ArtifactEntry, Config, StudyFile
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
    entries = read_keys(folder / "artifacts.yaml", dict[Slug, ArtifactEntry])
    registered = {slug: filled(slug, entry) for slug, entry in entries.items()}
    where = f"{path}: artifacts"
    own = written_artifacts(_default(runs) if file.artifacts is None else file.artifacts, runs, where)
    # also where an artifact shows texts or cannot be drawn
    for slug, keys in own.items():
        for number, panel in enumerate(keys.panels or ()):
            models.require(panel.model, f"{where}.{slug}.panels.{number}.model")
            benchmarks.require(panel.benchmark, f"{where}.{slug}.panels.{number}.benchmark")
    for slug in file.first:
        require_artifact(slug, registered, f"{path}: first")
        if slug not in own:
            raise InputError(f"{path}: first: the study does not show {slug}: {nearest(slug, own)}")
    chosen, shown = _choose(runs, own, registered, models, benchmarks, config, str(path))
    artifacts = {
        slug: resolve_artifact(slug, keys, registered, chosen, where) for slug, keys in shown.items()
    }
    for slug, artifact in artifacts.items():
        check_choices(artifact, runs, benchmarks, f"{where}.{slug}")
    if config.only:
        chosen = _with_inputs_shown(chosen, artifacts.values())
    if file.positive_control:
        place = f"{path}: the positive control of an audit"
        controls = positive_runs(chosen, artifacts, models, benchmarks)
        chosen += tuple(resolve_run(run, place, registries) for run in controls)
    titles = corpora.titles | benchmarks.titles | models.titles
    out = _left_out(models, benchmarks, config)
    missing = [gone for run in runs if (gone := out.missing(run))]
    return Selected(
        chosen,
        {slug: _in_print(artifact, chosen, models, titles) for slug, artifact in artifacts.items()},
        {gone.name: gone.reason for gone in missing} | methods_left_out(shown, artifacts.values(), chosen),
    )


def _choose(
    runs: list[Run],
    artifacts: dict[str, ShownArtifact],
    registered: dict[str, Artifact],
    models: Models,
    benchmarks: Benchmarks,
    config: Config,
    where: str,
) -> tuple[tuple[Run, ...], dict[str, ShownArtifact]]:
    """Return the runs and artifacts of a study that `config` selects by `papers`, `only` and `max_parameters`.

    A run stays where it serves (its key `for`) an artifact that stays; without that key, where the panels of one name
    its model and benchmark. Panels of models and benchmarks that are left out are `missing` from a paper's artifact,
    each with the reason, and an artifact without any other panel is `unavailable`. Artifacts of no paper show what is
    left.

    Raises:
        InputError: an unknown artifact, nothing is selected, or no model is left.
    """
    for slug in {slug for run in runs for slug in run.serves} | artifacts.keys():
        require_artifact(slug, registered, where)
    out = _left_out(models, benchmarks, config)
    chosen = _chosen(artifacts, registered, config, where)
    narrowed = chosen.keys() != artifacts.keys()
    readable = [run for run in runs if not out.missing(run)]
    whole = [own for own in chosen.values() if own.panels is None]
    if not readable or (whole and not any(run.methods or run.extraction for run in readable)):
        _require_smaller(runs, models, config, where)
    if not readable:
        missing = [gone for run in runs if (gone := out.missing(run))]
        raise InputError(f"{where}: none of its models can be asked: {_reasons(missing)}")
    selected = _serving(readable, chosen, registered) if narrowed else readable
    ran = {pair for run in selected for pair in _pairs(run)}
    shown: dict[str, ShownArtifact] = {}
    for slug, own in chosen.items():
        if "published" in RENDERERS[registered[slug].renderer].needs:
            shown[slug] = _with_papers(own, [other for other in chosen if registered[other].paper], out)
        elif own.panels is None:
            shown[slug] = own
        elif _shows_texts(registered[slug]):  # of models that cannot be asked too
            shown[slug] = _of_paper(own, own.panels, replace(out, models={}))
        elif registered[slug].paper:
            shown[slug] = _of_paper(own, own.panels, out)
        elif panels := [
            panel for panel in own.panels if panel.pair in ran or not (narrowed or out.missing(panel))
        ]:
            missing = [gone for panel in own.panels if (gone := out.missing(panel))]
            shown[slug] = own.model_copy(update={"panels": panels, "missing": missing})
    return tuple(selected), shown


def _with_inputs_shown(runs: Iterable[Run], artifacts: Iterable[Artifact]) -> tuple[Run, ...]:
    """Return the runs with the inputs (corpora, reference models ...) that their methods need and the artifacts show.

    So `only` counts no corpus for the rows of a table that is not selected. Runs that no artifact shows stay whole.
    """
    names: dict[tuple[str, str], set[str]] = {}
    for artifact in artifacts:
        across = map(str, artifact.options.across.get("reference", ()))
        for panel in artifact.panels if artifact.unavailable is None else ():
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
        references = list(pair.references or ())
        return Missing(
            name=gone[0],
            reason=gone[1],
            model=pair.model,
            benchmark=pair.benchmark,
            references=references,
        )


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


def _chosen(
    artifacts: dict[str, ShownArtifact], registered: dict[str, Artifact], config: Config, where: str
) -> dict[str, ShownArtifact]:
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
        slug: own
        for slug, own in artifacts.items()
        if (not only or slug in only) and (not papers or registered[slug].paper in (None, *papers))
    }
    if not chosen or (papers and not only and not any(registered[slug].paper for slug in chosen)):
        raise InputError(
            f"config: no artifact of {where} is selected by papers and only; change one of them."
        )
    return chosen


def _serving(runs: list[Run], chosen: dict[str, ShownArtifact], registered: dict[str, Artifact]) -> list[Run]:
    """Return the runs that the chosen artifacts need; those of no paper need none, where there are others."""
    wanted = {slug: own for slug, own in chosen.items() if registered[slug].paper} or chosen
    named = {slug for run in runs for slug in run.serves}
    reading = {slug: own for slug, own in wanted.items() if not _shows_texts(registered[slug])}
    every = any(own.panels is None and registered[slug].unavailable is None for slug, own in reading.items())
    pairs = {panel.pair for slug, own in reading.items() if slug not in named for panel in own.panels or ()}
    return [run for run in runs if wanted.keys() & set(run.serves) or pairs & _pairs(run) or every]


def _pairs(run: Run) -> set[tuple[str, str]]:
    """Return the models that read a run's benchmark, with it."""
    return {(model, run.benchmark) for model in (run.model, *run.references)}


def _shows_texts(entry: Artifact) -> bool:
    return RENDERERS[entry.renderer].needs == OF_BENCHMARKS


def _with_papers(own: ShownArtifact, of_papers: list[str], out: LeftOut) -> ShownArtifact:
    """Return an artifact about the papers' numbers, those of the artifacts shown beside it, and what is left out."""
    reasons = {**out.models, **out.benchmarks}
    missing = [Missing(name=name, reason=reason) for name, reason in reasons.items()]
    options = Options(artifacts=of_papers).model_copy(update=own.options.set_fields())
    return own.model_copy(update={"options": options, "missing": missing})


def _of_paper(own: ShownArtifact, panels: list[Panel], out: LeftOut) -> ShownArtifact:
    missing = [gone for panel in panels if (gone := out.missing(panel))]
    left = [panel for panel in panels if not out.missing(panel)]
    if not missing:
        return own
    shown = {"panels": left} if left else {"unavailable": _reasons(missing)}
    return own.model_copy(update={"missing": missing} | shown)


def _reasons(missing: Iterable[Missing]) -> str:
    reasons = {gone.name: gone.reason for gone in missing}
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) + "."


def _default(runs: list[Run]) -> list[str]:
    """Return the artifacts of a study that names none."""
    extraction = EXTRACTION_ARTIFACTS if any(run.extraction for run in runs) else []
    if any(run.methods for run in runs):
        return DEFAULT_ARTIFACTS + extraction
    return (DEFAULT_QUESTION_ARTIFACTS if any(run.questions for run in runs) else []) + extraction


def _in_print(
    artifact: Artifact, runs: tuple[Run, ...], models: Models, titles: Mapping[str, str]
) -> Artifact:
    """Return the artifact with its cautions, and with the titles of what it shows."""
    added = {"cautions": prefix_cautions(artifact, runs, models.entries)}
    added["null_models"] = null_models(artifact, models.entries)
    return with_names(artifact.model_copy(update=added), titles)
