"""A study's artifacts: those that the configuration selects, each with its panels, and
the runs that they need."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.evaluation.metrics import EACH
from pretrace.methods.registry import INPUTS
from pretrace.models.entries import ModelEntry, TrainedModel
from pretrace.questions.known import METHODS, is_question, parse_setting
from pretrace.render.artifact import Artifact, Missing, Panel
from pretrace.render.catalogue import X_PLACES, Options, check, renderer_of
from pretrace.render.names import PAPERS, READ_NEITHER, join_words
from pretrace.runtime.errors import InputError, error_place, nearest, shorten
from pretrace.runtime.schema import Slug, read_keys
from pretrace.studies.audit_study import BY_CHAT, positive_runs
from pretrace.studies.keys import (
    Config,
    Panels,
    StudyFile,
    WrittenArtifact,
    WrittenPanel,
)
from pretrace.studies.left_out import LeftOut, left_out, narrow_runs, without_lost
from pretrace.studies.registries import Benchmarks, Models, Registries
from pretrace.studies.runs import Run, resolve_run

DEFAULT_ARTIFACTS = ["headline", "results_auc", "results_tpr"]
"""The artifacts of a study that names none: every method on every run."""

DEFAULT_QUESTION_ARTIFACTS = ["de_cop_table1", "de_cop_table3"]
"""The same for a study whose runs only ask questions."""

EXTRACTION_ARTIFACTS = ["extraction", "extraction_map"]
"""What a study with `extraction` gets besides."""

OF_BENCHMARKS = {"benchmarks"}
"""What renderers read that show texts and no model: a panel's benchmark need not be
run."""

PRODUCT = ("model", "benchmark", "subset", "length")
"""Keys of a panel that may be lists, which stand for their product."""

PREFIXED = {"recall", "con_recall"}
"""The methods that have a model read a text after a prefix."""


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
    # also where an artifact shows texts or cannot be drawn
    for slug, artifact in offered.items():
        for number, panel in enumerate(artifact.panels):
            models.require(panel.model, f"{where}.{slug}.panels.{number}.model")
            benchmarks.require(
                panel.benchmark, f"{where}.{slug}.panels.{number}.benchmark"
            )
    known = {*registered, *offered}
    for run in runs:
        for slug in run.serves:
            require_artifact(slug, known, str(path))
    for slug in file.first:
        require_artifact(slug, known, f"{path}: first")
        if slug not in offered:
            raise InputError(
                f"{path}: first: the study does not show {slug}: "
                f"{nearest(slug, offered)}"
            )
    out = left_out(models, benchmarks, corpora.entries, config)
    able, out, lost = narrow_runs(runs, out, benchmarks)
    chosen, shown = _choose(able, offered, out, models, config, str(path))
    shown = {slug: without_lost(artifact, lost) for slug, artifact in shown.items()}
    artifacts = {
        slug: resolve_artifact(artifact, known, chosen, where)
        for slug, artifact in shown.items()
    }
    for slug, artifact in artifacts.items():
        check_choices(artifact, runs, benchmarks, f"{where}.{slug}")
    if config.only:
        chosen = _with_inputs_shown(chosen, artifacts.values())
    titles = corpora.titles | benchmarks.titles | models.titles
    missing = out.missing_among(runs)
    reasons = {gone.name: gone.reason for gone in missing}
    for inputs in lost.values():
        reasons |= {item.name: item.reason for item in inputs}
    for slug, artifact in artifacts.items():
        added = {"cautions": prefix_cautions(artifact, chosen, models.entries)}
        added["null_models"] = null_models(artifact, models.entries)
        artifacts[slug] = with_names(
            artifact.model_copy(update=added), titles, benchmarks.entries
        )
    reasons |= methods_left_out(named, artifacts.values(), chosen)
    place = f"{path}: the positive control of an audit"
    controls = positive_runs(chosen, artifacts, models, benchmarks)
    chosen += tuple(resolve_run(run, place, registries) for run in controls)
    return Selected(chosen, artifacts, reasons)


def _choose(
    runs: list[Run],
    artifacts: dict[str, Artifact],
    out: LeftOut,
    models: Models,
    config: Config,
    where: str,
) -> tuple[tuple[Run, ...], dict[str, Artifact]]:
    """Return the runs and artifacts of a study that `config` selects by `papers`,
    `only` and `max_parameters`.

    A run stays where it serves (its key `for`) an artifact that stays; without that
    key, where the panels of one name its model and benchmark. Panels of models and
    benchmarks that are left out are `missing` from a paper's artifact, each with the
    reason, and an artifact without any other panel is `unavailable`. Artifacts of no
    paper show what is left.

    Raises:
        InputError: nothing is selected, or no model is left.
    """
    chosen = _choose_artifacts(artifacts, config, where)
    narrowed = chosen.keys() != artifacts.keys()
    readable = [run for run in runs if not out.missing_of(run)]
    whole = [artifact for artifact in chosen.values() if not artifact.panels]
    if not readable or (
        whole
        and not any(run.methods or run.extraction or run.given_back for run in readable)
    ):
        _require_smaller(runs, models, config, where)
    if not readable:
        missing = out.missing_among(runs)
        raise InputError(
            f"{where}: none of its models can be asked: {_join_reasons(missing)}"
        )
    selected = _serving_runs(readable, chosen) if narrowed else readable
    ran = {(run.model, run.benchmark) for run in selected}
    shown: dict[str, Artifact] = {}
    for slug, artifact in chosen.items():
        if "published" in artifact.needs:
            panels = [
                panel for panel in artifact.panels if panel.pair in ran or not narrowed
            ]
            of_papers = [other for other in chosen if chosen[other].paper]
            shown[slug] = _with_papers(artifact.replaced(panels=panels), of_papers, out)
        elif not artifact.panels:
            shown[slug] = artifact
        elif artifact.needs == OF_BENCHMARKS:  # of models that cannot be asked too
            shown[slug] = _of_paper(artifact, replace(out, models={}))
        elif artifact.paper:
            shown[slug] = _of_paper(artifact, out)
        else:
            panels = []
            for panel in artifact.panels:
                if panel.pair in ran or not (narrowed or out.missing_of(panel)):
                    panels.append(panel)
            if panels:
                missing = out.missing_among(artifact.panels)
                shown[slug] = artifact.replaced(panels=panels, missing=missing)
    return tuple(selected), shown


def _with_inputs_shown(
    runs: Iterable[Run], artifacts: Iterable[Artifact]
) -> tuple[Run, ...]:
    """Return the runs with the inputs (corpora, reference models ...) that their
    methods need and the artifacts show.

    So `only` counts no corpus for the rows of a table that is not selected. Runs that
    no artifact shows stay whole.
    """
    names: dict[tuple[str, str], set[str]] = {}
    for artifact in artifacts:
        if artifact.unavailable:
            continue
        across = {str(name) for name in artifact.options.across.get("reference", ())}
        for panel in artifact.panels:
            of_pair = names.setdefault(panel.pair, set())
            of_pair |= across
            of_pair.update(panel.references or ())
    narrowed = []
    for run in runs:
        shown = names.get((run.model, run.benchmark))
        narrowed.append(run if shown is None else _with_inputs(run, shown))
    return tuple(narrowed)


def _with_inputs(run: Run, shown: set[str]) -> Run:
    needs: set[str] = set()
    for chosen in run.methods:
        needs.update(METHODS[chosen.method].needs)
    if "aligned_reference" in needs:
        needs.add("reference")
    inputs: dict[str, list[str]] = {}
    for kind in INPUTS.values():
        if kind.key:
            given = getattr(run, kind.key)
            of_artifacts = [name for name in given if name in shown]
            inputs[kind.key] = (of_artifacts or given) if kind.need in needs else []
    return run.model_copy(update=inputs)


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


def _choose_artifacts(
    artifacts: dict[str, Artifact], config: Config, where: str
) -> dict[str, Artifact]:
    """Return the artifacts that `only` and `papers` select."""
    papers = config.papers
    if not artifacts:
        raise InputError(
            f"{where}: artifacts is empty, so that nothing would be shown. Name tables "
            "and figures of config/artifacts.yaml, as artifacts: [results_auc], or "
            "leave the key out for the default ones."
        )
    ablations: set[str] = set()
    for artifact in artifacts.values():
        ablations.update(artifact.ablations)
    only: set[str] = set()
    for name in config.only:
        named = [
            slug
            for slug, artifact in artifacts.items()
            if name in (slug, *artifact.ablations)
        ]
        if not named:
            hint = nearest(name, [*artifacts, *sorted(ablations)])
            raise InputError(
                f"config: only: {where} has no artifact or ablation '{name}': {hint}"
            )
        only.update(named)
    chosen = {}
    for slug, artifact in artifacts.items():
        is_named = not only or slug in only
        is_of_papers = not papers or artifact.paper in ("", *papers)
        if is_named and is_of_papers:
            chosen[slug] = artifact
    of_papers = [slug for slug, artifact in chosen.items() if artifact.paper]
    if not chosen or (papers and not only and not of_papers):
        raise InputError(
            f"config: no artifact of {where} is selected by papers and only; change "
            "one of them."
        )
    return chosen


def _serving_runs(runs: list[Run], chosen: dict[str, Artifact]) -> list[Run]:
    """Return the runs that the chosen artifacts need; artifacts of no paper need none
    beside others."""
    wanted = {
        slug: artifact for slug, artifact in chosen.items() if artifact.paper
    } or chosen
    named: set[str] = set()
    for run in runs:
        named.update(run.serves)
    pairs: set[tuple[str, str]] = set()
    for slug, artifact in wanted.items():
        # it shows every run, also one of texts, which needs no run otherwise
        if not artifact.panels and not artifact.unavailable:
            return runs
        if slug not in named and artifact.needs != OF_BENCHMARKS:
            pairs.update(panel.pair for panel in artifact.panels)
    return [
        run for run in runs if wanted.keys() & set(run.serves) or pairs & _pairs(run)
    ]


def _pairs(run: Run) -> set[tuple[str, str]]:
    """Return the models that read a run's benchmark, with it."""
    return {(model, run.benchmark) for model in (run.model, *run.references)}


def _with_papers(artifact: Artifact, of_papers: list[str], out: LeftOut) -> Artifact:
    """Return an artifact about the papers' numbers, with the artifacts shown beside it
    and what is left out."""
    reasons = {**out.models, **out.benchmarks}
    missing = [Missing(name=name, reason=reason) for name, reason in reasons.items()]
    options = Options(artifacts=of_papers).model_copy(
        update=artifact.options.set_fields()
    )
    return artifact.replaced(options=options, missing=missing)


def _of_paper(artifact: Artifact, out: LeftOut) -> Artifact:
    missing = out.missing_among(artifact.panels)
    left = [panel for panel in artifact.panels if not out.missing_of(panel)]
    if not missing:
        return artifact
    if left:
        return artifact.replaced(missing=missing, panels=left)
    return artifact.replaced(missing=missing, unavailable=_join_reasons(missing))


def _join_reasons(missing: Iterable[Missing]) -> str:
    reasons = {gone.name: gone.reason for gone in missing}
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) + "."


def _default(runs: list[Run]) -> list[str]:
    """Return the artifacts of a study that names none."""
    artifacts: list[str] = []
    if any(run.methods for run in runs):
        artifacts += DEFAULT_ARTIFACTS
    elif any(run.questions for run in runs):
        artifacts += DEFAULT_QUESTION_ARTIFACTS
    if any(run.extraction for run in runs):
        artifacts += EXTRACTION_ARTIFACTS
    if any(run.given_back for run in runs):
        artifacts.append(BY_CHAT)
    return artifacts


def runs_by_pair(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Group runs by their model and benchmark."""
    pairs: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        pairs.setdefault((run.model, run.benchmark), []).append(run)
    return pairs


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
    shown: dict[str, Artifact] = {}
    for slug in given:
        own = given[slug] if isinstance(given, dict) else None
        if isinstance(own, list):
            place, keys = f"{where}.{slug}", WrittenArtifact(panels=own)
        else:
            place, keys = f"{where}.{slug}.panels", own or WrittenArtifact()
        if keys.renderer is None or keys.title is None:
            require_artifact(slug, registered, where)
        panels: list[Panel] = []
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
    ids = {run.id for run in runs} - {""}
    if panel.run not in ids:
        raise InputError(
            f"{where}.run: no run has the id '{panel.run}': {nearest(panel.run, ids)}"
        )
    by_pair = runs_by_pair(run for run in runs if run.id == panel.run)
    for place, key in enumerate(("model", "benchmark")):
        there = {pair[place] for pair in by_pair}
        for slug in _as_list(getattr(panel, key) or []):
            if slug not in there:
                raise InputError(
                    f"{where}.{key}: {panel.run} has no run of '{slug}': "
                    f"{nearest(slug, there)}"
                )
    panels = []
    for copy in panel.model_copy(update={"run": list(by_pair)}).expand(
        ("run", *PRODUCT)
    ):
        model, benchmark = cast("tuple[str, str]", copy.run)
        given = copy.set_fields()
        del given["run"]
        own = {"model": model, "benchmark": benchmark}
        # a product of lists has pairs that no run has
        if all(given.get(key, slug) == slug for key, slug in own.items()):
            of_runs = first_of_runs(by_pair[model, benchmark])
            panels.append(Panel(**of_runs | given | own))
    return panels


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
    if slug not in known:
        raise InputError(f"{where}: unknown artifact '{slug}': {nearest(slug, known)}")


def resolve_artifact(
    artifact: Artifact, known: Collection[str], runs: tuple[Run, ...], where: str
) -> Artifact:
    """Return the artifact with every panel filled in; `known` are the slugs of all
    artifacts.

    Raises:
        InputError: its renderer, options, methods or panels are unknown.
    """
    where, options = f"{where}.{artifact.slug}", artifact.options
    for named in options.artifacts:
        require_artifact(named, known, f"{where}.options.artifacts")
    read = runs_by_pair(runs)
    panels = artifact.panels or panels_of(
        _runs_shown(runs, artifact.needs, options.unit)
    )
    for number, panel in enumerate(panels):
        if (
            panel.pair not in read
            and artifact.needs != OF_BENCHMARKS
            and not artifact.unavailable
        ):
            raise InputError(
                f"{where}.panels.{number}: no run has model '{panel.model}' and "
                f"benchmark '{panel.benchmark}'; add one under runs, or use one of "
                f"{sorted(read)}."
            )
    if not artifact.unavailable:
        with error_place(where):
            check(artifact.renderer, options, artifact.metric)
            if not panels:
                raise InputError(
                    "it has no panel; give at least one model and benchmark under "
                    "panels"
                )
            _check_methods(artifact)
            _check_parameters(artifact.renderer, options)
    filled = []
    for panel in panels:
        defaults = first_of_runs(read.get(panel.pair, []))
        own = panel.model_fields_set
        missing = {key: value for key, value in defaults.items() if key not in own}
        filled.append(panel.model_copy(update=missing))
    return artifact.model_copy(update={"panels": filled})


class Choice(NamedTuple):
    """Values that a panel or an option names of its runs, and those that the runs
    offer; None: not known here."""

    key: str
    named: Iterable[Any]
    offered: Collection[Any] | None


def check_choices(
    artifact: Artifact, runs: Sequence[Run], benchmarks: Benchmarks, where: str
) -> None:
    """Check that the runs of each panel have what it and the artifact's options choose
    of them.

    Raises:
        InputError: names the first that no run has, and what they have.
    """
    if artifact.unavailable:
        return
    readers = runs_by_pair(runs)
    shown: list[Run] = []
    for pair in dict.fromkeys(panel.pair for panel in artifact.panels):
        shown += readers.get(pair, [])
    # once for all panels: a study may have thousands
    settings_shown = settings_scored(shown)
    for number, panel in enumerate(artifact.panels):
        own = readers.get(panel.pair, [])
        place = f"panels.{number}"
        choices = _parts_chosen(panel, place, own, benchmarks.entries[panel.benchmark])
        if own:
            choices += _choices_of_runs(artifact, panel, place, own, settings_shown)
        for choice in choices:
            _require_offered(choice, panel, where)


def _require_offered(choice: Choice, panel: Panel, where: str) -> None:
    """Raise `InputError` if a panel or option names what its runs do not have."""
    if choice.offered is None:
        return
    for name in choice.named:
        if name is not None and name not in choice.offered:
            raise InputError(
                f"{where}.{choice.key}: no run of {panel.model} on {panel.benchmark} "
                f"has {shorten(repr(name))}: {nearest(name, map(str, choice.offered))}"
            )


def _parts_chosen(
    panel: Panel, place: str, runs: Sequence[Run], entry: BenchmarkEntry
) -> list[Choice]:
    """Return the parts of its benchmark that a panel names, and its start token."""
    start_tokens = {run.start_token for run in runs} or None
    return [
        Choice(
            f"{place}.subset",
            {panel.subset} - {"", EACH},
            _parts_of(entry, "subsets", runs),
        ),
        Choice(f"{place}.length", [panel.length], _parts_of(entry, "lengths", runs)),
        Choice(f"{place}.start_token", [panel.start_token], start_tokens),
    ]


def _choices_of_runs(
    artifact: Artifact,
    panel: Panel,
    place: str,
    runs: Sequence[Run],
    settings_shown: "Settings",
) -> list[Choice]:
    """Return what a panel and the artifact's options name of the panel's runs.

    `settings_shown`: the settings of the runs of all panels. A method that only some of
    them compute leaves the other panels empty, with a reason.
    """
    options = artifact.options
    choices = []
    if panel.references:
        choices.append(
            Choice(f"{place}.references", panel.references, _references_offered(runs))
        )
    for key, names in options.across.items():
        choices.append(
            Choice(
                f"options.across.{key}",
                names,
                _offered_across(key, artifact.methods, runs),
            )
        )
    if options.draws:
        choices.append(Choice("options.draws", options.draws, _draws_offered(runs)))
    if options.x or options.y:
        parameters = set[str]().union(*_parameters_of(artifact.methods, settings_shown))
        choices.append(
            Choice("options.x", {*_as_list(options.x)} - {"", *X_PLACES}, parameters)
        )
        choices.append(Choice("options.y", {options.y} - {""}, parameters))
    method = options.method.partition(";")[0]
    if method:
        chosen = (panel.settings or options.settings).values()
        choices.append(Choice("options.method", [method], settings_shown))
        choices.append(
            Choice("options.settings", chosen, settings_scored(runs).get(method))
        )
    return choices


def _offered_across(
    key: str, methods: Sequence[str], runs: Sequence[Run]
) -> Collection[Any] | None:
    """Return what a key of `options.across` chooses among; None: not known here."""
    match key:
        case "view":
            return set[str]().union(*[run.views for run in runs])
        case "draw":
            return _draws_offered(runs)
        case "reference":
            return _references_offered(runs)
    return {
        setting.get("separator", "none")
        for setting in _parameters_of(methods, settings_scored(runs))
    }


def _references_offered(runs: Sequence[Run]) -> set[str] | None:
    """Return the inputs that runs name; None for answers from elsewhere, which name
    paraphrasers of their own."""
    if any(run.questions and run.paraphraser is None for run in runs):
        return None
    return set[str]().union(*references_of(runs))


def _draws_offered(runs: Sequence[Run]) -> set[int]:
    return set[int]().union(*[run.draws for run in runs])


def _parameters_of(
    named: Sequence[str], settings: "Settings"
) -> Iterator[dict[str, str]]:
    """Yield the parameters of each setting of the named methods, or of all if none is
    named."""
    for method in {name.partition(";")[0] for name in named or settings}:
        yield from settings.get(method, {}).values()


def methods_left_out(
    given: list[str] | dict[str, WrittenArtifact | Panels | None],
    artifacts: Iterable[Artifact],
    runs: Sequence[Run],
) -> dict[str, str]:
    """Return the methods that a study has an artifact show and that no run of its
    panels computes -> why not."""
    reasons = {}
    readers = runs_by_pair(runs)
    for artifact in artifacts:
        own: list[Run] = []
        for panel in artifact.panels:
            own += readers.get(panel.pair, [])
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


Settings = dict[str, dict[str, dict[str, str]]]
"""The parameters of settings, by method and the setting's name."""


def settings_scored(runs: Iterable[Run]) -> Settings:
    """Return every setting that runs compute."""
    scored: Settings = {}
    for run in runs:
        for item in (*run.methods, *run.questions):
            scored.setdefault(item.method, {}).update(item.settings)
    return scored


def _parts_of(entry: BenchmarkEntry, key: str, runs: Sequence[Run]) -> set[Any] | None:
    """Return the subsets or lengths of an entry that runs choose; None if only its
    files say them."""
    every = getattr(entry, key)
    if not every and entry.source in ("local", "answers"):
        return None
    chosen: set[Any] = set()
    for run in runs:
        chosen.update(getattr(run, key) or every)
    return chosen if runs else set(every)


def slugs_shown(artifact: Artifact) -> set[str]:
    """Return the slugs of models, benchmarks and corpora in an artifact's panels and
    options."""
    slugs: set[str | None] = set()
    for missing in artifact.missing:
        slugs |= {missing.name, missing.model, missing.benchmark, *missing.references}
    for panel in artifact.panels:
        slugs |= {
            panel.model,
            panel.benchmark,
            panel.view,
            panel.reference,
            *(panel.references or ()),
        }
    for key in ("reference", "view"):
        slugs.update(map(str, artifact.options.across.get(key, ())))
    return set(filter(None, slugs))


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
    return artifact.model_copy(update={"names": names, "panels": panels})


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
    artifact: Artifact, runs: tuple[Run, ...], models: Mapping[str, ModelEntry]
) -> list[str]:
    """Return cautions for an artifact that shows methods with a prefix on models that
    cannot test them.

    These models are trained here from random weights. With so few training tokens they
    hardly react to a prefix.
    """
    if not artifact.needs & {"metrics", "shift"}:
        return []
    named = {
        name.partition(";")[0]
        for key, name in _methods_named(artifact)
        if key != "baseline"
    }
    shown = PREFIXED & named if named else PREFIXED
    pairs = {panel.pair for panel in artifact.panels}
    prefixed = set()
    for run in runs:
        methods = {item.method for item in run.methods}
        if (run.model, run.benchmark) in pairs and shown & methods:
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


def _methods_named(artifact: Artifact) -> list[tuple[str, str]]:
    """Return (key, method) of each method that an artifact names."""
    single = {"baseline": artifact.baseline, "options.method": artifact.options.method}
    lists = [("methods", name) for name in artifact.methods]
    return lists + [(key, name) for key, name in single.items() if name]


def _check_methods(artifact: Artifact) -> None:
    """Check methods' ids and variants, `id;parameter=value`: a parameter off its
    default, outside the grid."""
    for key, name in _methods_named(artifact):
        id, _, variant = str(name).partition(";")
        if id not in METHODS:
            raise InputError(f"{key}: unknown method '{id}': {nearest(id, METHODS)}")
        fixed = METHODS[id].defaults.keys() - METHODS[id].grid.keys()
        for part in variant.split(";") if variant else []:
            parameter = part.partition("=")[0]
            if parameter not in fixed:
                raise InputError(
                    f"{key}: {id} has no variant '{part}': {nearest(parameter, fixed)}"
                )
        if not is_question(id):
            parse_setting(id, variant)


def _check_parameters(renderer: str, options: Options) -> None:
    """Check that the method that options name, or any method, has the parameters that
    they name."""
    chosen = options.method.partition(";")[0]
    methods = [METHODS[chosen]] if chosen else METHODS.values()
    parameters: set[str] = set()
    for method in methods:
        parameters.update(method.defaults)
    lines = renderer == "method_lines"
    if isinstance(options.x, list) and not lines:
        raise InputError(
            "options.x: a list where one parameter is needed; only method_lines takes "
            f"{options.x}"
        )
    places = parameters.union(X_PLACES) if lines else parameters
    for name in _as_list(options.x):
        _require_parameter("x", name, places)
    _require_parameter("y", options.y, parameters)


def _require_parameter(key: str, name: str, valid: set[str]) -> None:
    if name and name not in valid:
        raise InputError(
            f"options.{key}: no parameter is called {name!r}: {nearest(name, valid)}"
        )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _runs_shown(
    runs: tuple[Run, ...], needs: frozenset[str], unit: str
) -> tuple[Run, ...]:
    """Return the runs that score texts, or those that ask questions about documents, or
    cut texts into windows."""
    if "given_back" in needs:
        return tuple(run for run in runs if run.given_back)
    if needs & {"extraction", "windows"} and "audit" not in needs:
        return tuple(run for run in runs if run.extraction)
    if "published" in needs:
        return tuple(run for run in runs if run.questions or run.methods)
    return tuple(
        run for run in runs if (run.questions if unit == "document" else run.methods)
    )


def references_of(runs: Sequence[Run]) -> list[list[str]]:
    """Return the names that runs give of each kind of input, as corpora or reference
    models, and the paraphraser."""
    references = []
    for kind in INPUTS.values():
        named: list[str] = []
        for run in runs:
            named += (
                getattr(run, kind.key) if kind.key else run.inputs.get(kind.need, [])
            )
        references.append(list(dict.fromkeys(named)))
    asking = [run.paraphraser for run in runs if run.questions]
    if asking and asking[0]:
        references.append([asking[0]])
    return [names for names in references if names]


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


def panels_of(runs: tuple[Run, ...]) -> list[Panel]:
    """Return every (model, benchmark, subset, length) that the runs name, in their
    order."""
    parts: dict[tuple[str, str, str | None, int | None], None] = {}
    for run in runs:
        own = product(
            [run.model], [run.benchmark], run.subsets or (None,), run.lengths or (None,)
        )
        parts |= dict.fromkeys(own)
    panels = []
    for model, benchmark, subset, length in parts:
        panel: dict[str, Any] = {"model": model, "benchmark": benchmark}
        if subset is not None:
            panel["subset"] = subset
        if length is not None:
            panel["length"] = length
        panels.append(Panel.model_validate(panel))
    return panels
