"""What the configuration selects of a study: its artifacts, and the runs that they
need."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pretrace.methods.registry import INPUTS
from pretrace.questions.method_facts import METHODS
from pretrace.render.artifact import Artifact, Missing, PairSlugs, Panel
from pretrace.render.catalogue import Options
from pretrace.runtime.errors import InputError, nearest, require_name
from pretrace.studies.artifacts.checks import check_choices, methods_left_out
from pretrace.studies.artifacts.left_out import (
    LeftOut,
    left_out,
    narrow_runs,
    without_lost,
)
from pretrace.studies.artifacts.written import (
    OF_BENCHMARKS,
    registered_artifacts,
    require_artifact,
    resolve_artifact,
    shown_artifacts,
    with_notes,
)
from pretrace.studies.audit.study import BY_CHAT, positive_runs
from pretrace.studies.keys import Config, StudyFile
from pretrace.studies.registries import Models, Registries
from pretrace.studies.runs import Run, resolve_run

DEFAULT_ARTIFACTS = ["headline", "results_auc", "results_tpr"]
"""The artifacts of a study that names none: every method on every run."""

DEFAULT_QUESTION_ARTIFACTS = ["de_cop_table1", "de_cop_table3"]
"""The same for a study whose runs only ask questions."""

EXTRACTION_ARTIFACTS = ["extraction", "extraction_map"]
"""The further default artifacts of a study with `extraction`."""


class Selected(NamedTuple):
    """The part of a study that runs: its runs, its artifacts with their panels, and
    what is left out -> why."""

    runs: tuple[Run, ...]
    artifacts: dict[str, Artifact]
    left_out: dict[str, str]


def resolve_artifacts(
    file: StudyFile,
    path: Path,
    runs: list[Run],
    registries: Registries,
    config: Config,
    folder: Path,
) -> Selected:
    """Return what runs of the study file at `path`, whose resolved runs are `runs`;
    `folder` has artifacts.yaml.

    Raises:
        InputError: an artifact is unknown or wrong, nothing is selected, or no model is
            left.
    """
    models, benchmarks, corpora, *_ = registries
    registered = registered_artifacts(folder / "artifacts.yaml")
    where = f"{path}: artifacts"
    named = _default(runs) if file.artifacts is None else file.artifacts
    offered = shown_artifacts(named, registered, runs, where)
    known = {*registered, *offered}
    _require_panels(offered, registries, where)
    for run in runs:
        for slug in run.serves:
            require_artifact(slug, known, str(path))
    for slug in file.first:
        require_artifact(slug, known, f"{path}: first")
        require_name(slug, offered, f"{path}: first: the study does not show {slug}")

    unread = left_out(models, benchmarks, corpora.entries, config)
    able, unread, lost = narrow_runs(runs, unread, benchmarks)
    chosen, shown = _choose(able, offered, unread, models, config, str(path))
    artifacts = {}
    for slug, artifact in shown.items():
        left = without_lost(artifact, lost)
        artifacts[slug] = resolve_artifact(left, known, chosen, where)
    for slug, artifact in artifacts.items():
        check_choices(artifact, runs, benchmarks, f"{where}.{slug}")
    if config.only:
        chosen = _with_inputs_shown(chosen, artifacts.values())

    artifacts = with_notes(artifacts, chosen, registries)
    reasons = {}
    for missing in unread.missing_among(runs):
        reasons[missing.name] = missing.reason
    for inputs in lost.values():
        for item in inputs:
            reasons[item.name] = item.reason
    reasons |= methods_left_out(named, artifacts.values(), chosen)

    controls = []
    place = f"{path}: the positive control of an audit"
    for control in positive_runs(chosen, artifacts, models, benchmarks):
        controls.append(resolve_run(control, place, registries))
    return Selected((*chosen, *controls), artifacts, reasons)


def _default(runs: list[Run]) -> list[str]:
    """Return the artifacts of a study that names none."""
    artifacts = []
    if any(run.methods for run in runs):
        artifacts += DEFAULT_ARTIFACTS
    elif any(run.questions for run in runs):
        artifacts += DEFAULT_QUESTION_ARTIFACTS
    if any(run.extraction for run in runs):
        artifacts += EXTRACTION_ARTIFACTS
    if any(run.given_back for run in runs):
        artifacts.append(BY_CHAT)
    return artifacts


def _require_panels(
    artifacts: Mapping[str, Artifact], registries: Registries, where: str
) -> None:
    """Raise `InputError` if a panel names an unknown model or benchmark, also where an
    artifact shows texts or cannot be drawn."""
    for slug, artifact in artifacts.items():
        for number, panel in enumerate(artifact.panels):
            place = f"{where}.{slug}.panels.{number}"
            registries.models.require(panel.model, f"{place}.model")
            registries.benchmarks.require(panel.benchmark, f"{place}.benchmark")


def _choose(
    runs: list[Run],
    artifacts: dict[str, Artifact],
    unread: LeftOut,
    models: Models,
    config: Config,
    where: str,
) -> tuple[tuple[Run, ...], dict[str, Artifact]]:
    """Return the runs and artifacts of a study that `config` selects by `papers`,
    `only` and `max_parameters`.

    A run stays where it serves (its key `for`) an artifact that stays; without that
    key, where the panels of one name its model and benchmark.

    Raises:
        InputError: nothing is selected, or no model is left.
    """
    chosen = _choose_artifacts(artifacts, config, where)
    readable = unread.readable(runs)
    shows_all_runs = any(not artifact.panels for artifact in chosen.values())
    # those that score texts, or measure what the model gives back
    measured = [
        run for run in readable if run.methods or run.extraction or run.given_back
    ]
    if not readable or (shows_all_runs and not measured):
        _require_smaller(runs, models, config, where)
    if not readable:
        missing = unread.missing_among(runs)
        raise InputError(
            f"{where}: none of its models can be asked: {_join_reasons(missing)}"
        )
    is_narrowed = chosen.keys() != artifacts.keys()
    selected = _serving_runs(readable, chosen) if is_narrowed else readable
    pairs_run = {run.pair for run in selected} if is_narrowed else None
    of_papers = [slug for slug, artifact in chosen.items() if artifact.paper]
    shown = {}
    for slug, artifact in chosen.items():
        if "published" in artifact.needs:
            shown[slug] = _of_papers(artifact, of_papers, pairs_run, unread)
        elif not artifact.panels:
            shown[slug] = artifact
        elif artifact.needs == OF_BENCHMARKS:  # of models that cannot be asked too
            shown[slug] = _of_paper(artifact, replace(unread, models={}))
        elif artifact.paper:
            shown[slug] = _of_paper(artifact, unread)
        elif panels := _panels_left(artifact, pairs_run, unread):
            missing = unread.missing_among(artifact.panels)
            shown[slug] = artifact.replaced(panels=panels, missing=missing)
    return tuple(selected), shown


def _choose_artifacts(
    artifacts: dict[str, Artifact], config: Config, where: str
) -> dict[str, Artifact]:
    """Return the artifacts that `only` and `papers` select."""
    if not artifacts:
        raise InputError(
            f"{where}: artifacts is empty, so that nothing would be shown. Name tables "
            "and figures of config/artifacts.yaml, as artifacts: [results_auc], or "
            "leave the key out for the default ones."
        )
    only = set()
    for name in config.only:
        only.update(_artifacts_named(name, artifacts, where))
    chosen = {}
    papers = set()
    for slug, artifact in artifacts.items():
        is_named = not only or slug in only
        is_of_papers = not config.papers or artifact.paper in ("", *config.papers)
        if is_named and is_of_papers:
            chosen[slug] = artifact
            papers.add(artifact.paper)
    has_no_paper = config.papers and not only and papers <= {""}
    if not chosen or has_no_paper:
        raise InputError(
            f"config: no artifact of {where} is selected by papers and only; change "
            "one of them."
        )
    return chosen


def _artifacts_named(
    name: str, artifacts: Mapping[str, Artifact], where: str
) -> list[str]:
    """Return the artifacts that a name of `only` stands for: its own, or all of an
    ablation.

    Raises:
        InputError: it stands for none.
    """
    named = []
    ablations = set()
    for slug, artifact in artifacts.items():
        ablations.update(artifact.ablations)
        if name in (slug, *artifact.ablations):
            named.append(slug)
    if not named:
        hint = nearest(name, [*artifacts, *sorted(ablations)])
        raise InputError(
            f"config: only: {where} has no artifact or ablation '{name}': {hint}"
        )
    return named


def _require_smaller(
    runs: Iterable[Run], models: Models, config: Config, where: str
) -> None:
    """Raise `InputError` if every model of the runs whose size is known has more than
    `max_parameters`."""
    sizes = {}
    for run in runs:
        size = models.entries[run.model].parameters
        if size is not None:
            sizes[run.model] = size
    most = config.max_parameters
    if most is None or not sizes:
        return
    least = min(sizes, key=lambda slug: sizes[slug])
    if sizes[least] > most:
        raise InputError(
            f"config: max_parameters={most:.2g} is below every model of {where}; the "
            f"smallest, {least}, has {sizes[least]:.2g} parameters."
        )


def _serving_runs(runs: list[Run], chosen: dict[str, Artifact]) -> list[Run]:
    """Return the runs that the chosen artifacts need; artifacts of no paper need none
    beside others."""
    of_papers = {slug: artifact for slug, artifact in chosen.items() if artifact.paper}
    wanted = of_papers or chosen
    served = set()
    for run in runs:
        served.update(run.serves)
    pairs = set()
    for slug, artifact in wanted.items():
        # it shows every run, also one of texts, which needs no run otherwise
        if not artifact.panels and not artifact.unavailable:
            return runs
        if slug not in served and artifact.needs != OF_BENCHMARKS:
            for panel in artifact.panels:
                pairs.add(panel.pair)
    serving = []
    for run in runs:
        readers = {(model, run.benchmark) for model in (run.model, *run.references)}
        if not wanted.keys().isdisjoint(run.serves) or pairs & readers:
            serving.append(run)
    return serving


def _panels_left(
    artifact: Artifact, pairs_run: set[PairSlugs] | None, unread: LeftOut
) -> list[Panel]:
    """Return the panels whose runs are selected; `pairs_run` None: all runs that can be
    read."""
    if pairs_run is None:
        return unread.readable(artifact.panels)
    return [panel for panel in artifact.panels if panel.pair in pairs_run]


def _of_papers(
    artifact: Artifact,
    of_papers: list[str],
    pairs_run: set[PairSlugs] | None,
    unread: LeftOut,
) -> Artifact:
    """Return an artifact about the papers' numbers, with the artifacts shown beside it
    and what is left out."""
    panels = _panels_left(artifact, pairs_run, unread)
    missing = []
    for name, reason in {**unread.models, **unread.benchmarks}.items():
        missing.append(Missing(name=name, reason=reason))
    own = artifact.options.set_fields()
    options = Options(artifacts=of_papers).model_copy(update=own)
    return artifact.replaced(panels=panels, options=options, missing=missing)


def _of_paper(artifact: Artifact, unread: LeftOut) -> Artifact:
    """Return a paper's artifact without the panels that cannot be read, which are
    `missing` from it; without any other it is `unavailable`."""
    missing = unread.missing_among(artifact.panels)
    if not missing:
        return artifact
    left = unread.readable(artifact.panels)
    if left:
        return artifact.replaced(missing=missing, panels=left)
    return artifact.replaced(missing=missing, unavailable=_join_reasons(missing))


def _join_reasons(missing: Iterable[Missing]) -> str:
    reasons = {}
    for gone in missing:
        reasons[gone.name] = f"{gone.name}: {gone.reason}"
    return f"{'; '.join(reasons.values())}."


def _with_inputs_shown(
    runs: Iterable[Run], artifacts: Iterable[Artifact]
) -> tuple[Run, ...]:
    """Return the runs with the inputs (corpora, reference models ...) that their
    methods need and the artifacts show.

    So `only` counts no corpus for the rows of a table that is not selected. Runs that
    no artifact shows stay whole.
    """
    names: dict[PairSlugs, set[str]] = {}
    for artifact in artifacts:
        if artifact.unavailable:
            continue
        across = {*map(str, artifact.options.across.get("reference", ()))}
        for panel in artifact.panels:
            of_pair = names.setdefault(panel.pair, set())
            of_pair |= across
            of_pair.update(panel.references or ())
    narrowed = []
    for run in runs:
        shown = names.get(run.pair)
        narrowed.append(run if shown is None else _with_inputs(run, shown))
    return tuple(narrowed)


def _with_inputs(run: Run, shown: set[str]) -> Run:
    """Return a run with the inputs that its methods need; of these, the `shown` ones if
    any is."""
    needs: set[str] = set()
    for chosen in run.methods:
        needs.update(METHODS[chosen.method].needs)
    if "aligned_reference" in needs:
        needs.add("reference")
    inputs = {}
    for kind in INPUTS.values():
        if not kind.key:
            continue
        named = getattr(run, kind.key)
        of_artifacts = [name for name in named if name in shown]
        inputs[kind.key] = (of_artifacts or named) if kind.need in needs else []
    return run.model_copy(update=inputs)
