"""A study's artifacts, resolved: each with its panels, and the default choice of a panel."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, cast

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.evaluation.metrics import EACH
from pretrace.methods.registry import INPUTS
from pretrace.methods.settings import setting_name, settings, written_parameters
from pretrace.models.entries import ModelEntry, TrainedModel
from pretrace.questions.known import METHODS, is_question, parse_setting
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.catalogue import Options, check, renderer_of
from pretrace.render.names import PAPERS, joined
from pretrace.runtime.errors import InputError, located, nearest, shortened
from pretrace.runtime.schema import Slug, read_keys
from pretrace.studies.keys import Panels, WrittenArtifact, WrittenPanel
from pretrace.studies.registries import Benchmarks
from pretrace.studies.runs import Run, runs_by_pair

OF_BENCHMARKS = {"benchmarks"}
"""What renderers read that show texts and no model: a panel's benchmark need not be run."""

PLACES = {"model", "length", "subset"}
"""Values of a figure's x other than a parameter."""

PRODUCT = ("model", "benchmark", "subset", "length")
"""Keys of a panel that may be lists, which stand for their product."""

PREFIXED = {"recall", "con_recall"}
"""The methods that have a model read a text after a prefix."""


def shown_artifacts(
    given: list[str] | dict[str, WrittenArtifact | Panels | None],
    registered: Mapping[str, WrittenArtifact],
    runs: list[Run],
    where: str,
) -> dict[str, Artifact]:
    """Return the artifacts that a study names, registry and study merged; a list in place of keys is one of panels.

    Panels that name a run by its id, or that have lists, stand for several.
    """
    shown: dict[str, Artifact] = {}
    for slug in given:
        own = given[slug] if isinstance(given, dict) else None
        place = f"{where}.{slug}" if isinstance(own, list) else f"{where}.{slug}.panels"
        keys = WrittenArtifact(panels=own) if isinstance(own, list) else own or WrittenArtifact()
        if keys.renderer is None or keys.title is None:
            require_artifact(slug, registered, where)
        panels = [
            panel
            for number, written in enumerate(keys.panels or ())
            for panel in _panels(written, runs, f"{place}.{number}")
        ]
        shown[slug] = artifact_of(slug, registered.get(slug, keys), keys, panels, f"{where}.{slug}")
    return shown


def artifact_of(
    slug: str, entry: WrittenArtifact, own: WrittenArtifact, panels: list[Panel], where: str
) -> Artifact:
    """Return a registered entry with a study's `own` keys, and what follows from its slug: paper and evaluation set.

    A slug that begins with a paper's id and `_` is of that paper. Prefixes are Con-ReCall's: its texts, and those of
    what belongs to no paper, are without them; the other papers evaluate all.

    Raises:
        InputError: there is no such renderer.
    """
    paper = next((paper for paper in PAPERS if slug.startswith(f"{paper}_")), "")
    texts = "without_prefixes" if paper in ("con_recall", "") else "all"
    options = entry.options.model_copy(update=own.options.set_fields())
    keys = (
        {"evaluation_set": texts}
        | entry.set_fields()
        | own.set_fields()
        | {"options": options, "panels": panels}
    )
    with located(where):
        renderer_of(str(keys["renderer"]))
    return Artifact(slug=slug, paper=paper, **keys)


def _panels(written: WrittenPanel | str, runs: list[Run], where: str) -> list[Panel]:
    """Return the panels of a written one: of the runs with its id, with the start token and references of these."""
    panel = WrittenPanel(run=written) if isinstance(written, str) else written
    if panel.run is None:
        return [Panel(**copy.set_fields()) for copy in panel.expanded(PRODUCT)]
    ids = {run.id for run in runs} - {""}
    if panel.run not in ids:
        raise InputError(f"{where}.run: no run has the id '{panel.run}': {nearest(panel.run, ids)}")
    by_pair = runs_by_pair(run for run in runs if run.id == panel.run)
    for place, key in enumerate(("model", "benchmark")):
        there = {pair[place] for pair in by_pair}
        for slug in _listed(getattr(panel, key) or []):
            if slug not in there:
                raise InputError(f"{where}.{key}: {panel.run} has no run of '{slug}': {nearest(slug, there)}")
    every = panel.model_copy(update={"run": list(by_pair)}).expanded(("run", *PRODUCT))
    copies = [(cast("tuple[str, str]", copy.run), copy.set_fields()) for copy in every]
    return [
        Panel(
            **first_of_runs(by_pair[pair])
            | {key: value for key, value in given.items() if key != "run"}
            | {"model": pair[0], "benchmark": pair[1]}
        )
        for pair, given in copies
        if (given.get("model", pair[0]), given.get("benchmark", pair[1])) == pair
    ]


def registered_artifacts(path: Path) -> dict[str, WrittenArtifact]:
    """Read artifacts.yaml.

    Raises:
        InputError: an entry has no title, a renderer that there is not, or panels, which a study gives.
    """
    registered = read_keys(path, dict[Slug, WrittenArtifact])
    for slug, entry in registered.items():
        for key in ("title", "renderer"):
            if getattr(entry, key) is None:
                raise InputError(f"{path}: {slug}: missing key '{key}'")
        if entry.panels is not None:
            raise InputError(f"{path}: {slug}.panels: a study says what is shown; give the panels there.")
        artifact_of(slug, entry, entry, [], f"artifacts.{slug}")
    return registered


def require_artifact(slug: str, known: Collection[str], where: str) -> None:
    """Raise `InputError` with the nearest slug where there is no such artifact."""
    if slug not in known:
        raise InputError(f"{where}: unknown artifact '{slug}': {nearest(slug, known)}")


def resolve_artifact(
    artifact: Artifact, known: Collection[str], runs: tuple[Run, ...], where: str
) -> Artifact:
    """Return the artifact with every panel filled in; `known` are the slugs of all artifacts.

    Raises:
        InputError: its renderer, options, methods or panels are none that there are.
    """
    where, options = f"{where}.{artifact.slug}", artifact.options
    for named in options.artifacts:
        require_artifact(named, known, f"{where}.options.artifacts")
    read = runs_by_pair(runs)
    panels = artifact.panels or panels_of(_runs_shown(runs, artifact.needs, options.unit))
    for number, panel in enumerate(panels):
        if panel.pair not in read and artifact.needs != OF_BENCHMARKS and not artifact.unavailable:
            raise InputError(
                f"{where}.panels.{number}: no run has model '{panel.model}' and benchmark "
                f"'{panel.benchmark}'; add one under runs, or use one of {sorted(read)}."
            )
    panels = [
        panel.model_copy(update=first_of_runs(read.get(panel.pair, [])) | panel.set_fields())
        for panel in panels
    ]
    artifact = artifact.replaced(panels=panels)
    if not artifact.unavailable:
        check_artifact(artifact, where)
    return artifact


def check_choices(artifact: Artifact, runs: Sequence[Run], benchmarks: Benchmarks, where: str) -> None:
    """Check that the runs of each panel have what it and the artifact's options choose of them.

    Raises:
        InputError: names the first that no run has, and those that there are.
    """
    if artifact.unavailable:
        return
    readers = runs_by_pair(runs)
    shown = [run for panel in artifact.panels for run in readers.get(panel.pair, [])]
    for number, panel in enumerate(artifact.panels):
        own, entry = readers.get(panel.pair, []), benchmarks.entries[panel.benchmark]
        choices: list[tuple[str, Iterable[Any], set[Any] | None]] = [
            (f"panels.{number}.subset", {panel.subset} - {"", EACH}, _chosen(entry, "subsets", own)),
            (f"panels.{number}.length", [panel.length], _chosen(entry, "lengths", own)),
            (f"panels.{number}.start_token", [panel.start_token], {run.start_token for run in own} or None),
            *(_choices_of_runs(artifact, panel, own, number, shown) if own else ()),
        ]
        for key, names, offered in choices:
            for name in names:
                if offered is not None and name is not None and name not in offered:
                    raise InputError(f"{where}.{key}: no run of {panel.model} on {panel.benchmark} has "
                                     f"{shortened(repr(name))}: {nearest(name, map(str, offered))}")  # fmt: skip


def _choices_of_runs(
    artifact: Artifact, panel: Panel, runs: Sequence[Run], number: int, shown: Sequence[Run]
) -> Iterator[tuple[str, Iterable[Any], set[Any] | None]]:
    """Yield what a panel and the artifact's options name of runs, by key, and what the runs have.

    `shown`: the runs of all panels. A method that some of them compute leaves the others' panels empty, with a reason.
    """
    options, scored = artifact.options, settings_scored(runs)
    own = {name.partition(";")[0] for name in artifact.methods or scored}
    written = [written_parameters(name) for method in own & scored.keys() for name in scored[method]]
    everywhere = settings_scored(shown)
    parameters = {
        parameter
        for method in {name.partition(";")[0] for name in artifact.methods or everywhere} & everywhere.keys()
        for name in everywhere[method]
        for parameter in written_parameters(name)
    }
    # answers from elsewhere name paraphrasers of their own
    elsewhere = any(run.questions and run.paraphraser is None for run in runs)
    offered: dict[str, set[Any] | None] = {
        "view": {view for run in runs for view in run.views},
        "draw": {draw for run in runs for draw in run.draws},
        "reference": None if elsewhere else {name for names in references_of([*runs]) for name in names},
        "separator": {setting.get("separator", "none") for setting in written},
    }
    yield f"panels.{number}.references", panel.references or (), offered["reference"]
    yield from ((f"options.across.{key}", names, offered[key]) for key, names in options.across.items())
    yield "options.draws", options.draws, offered["draw"]
    yield "options.x", {*_listed(options.x)} - {"", *PLACES}, parameters
    yield "options.y", {options.y} - {""}, parameters
    if method := options.method.partition(";")[0]:
        yield "options.method", [method], {*everywhere}
        yield "options.settings", (panel.settings or options.settings).values(), scored.get(method)


def methods_left_out(
    given: list[str] | dict[str, WrittenArtifact | Panels | None],
    artifacts: Iterable[Artifact],
    runs: Sequence[Run],
) -> dict[str, str]:
    """Return the methods that a study has an artifact show and that no run of its panels computes -> why not."""
    reasons = {}
    readers = runs_by_pair(runs)
    for artifact in artifacts:
        own = [run for panel in artifact.panels for run in readers.get(panel.pair, [])]
        scored = settings_scored(own)
        keys = given.get(artifact.slug) if isinstance(given, dict) else None
        named = keys.methods or () if isinstance(keys, WrittenArtifact) else ()
        absent = [name for name in named if name.partition(";")[0] not in scored]
        if absent and own and not any(run.questions for run in own):  # answers from elsewhere bring scores
            reasons[f"{', '.join(absent)} of {artifact.slug}"] = "no run of its panels has them"
    return reasons


def settings_scored(runs: Sequence[Run]) -> dict[str, set[str]]:
    """Return the methods that runs compute, each with the names of its settings."""
    scored: dict[str, set[str]] = {}
    for item in (item for run in runs for item in (*run.methods, *run.questions)):
        named = _setting_names(item.method, json.dumps(item.parameters, sort_keys=True))
        scored.setdefault(item.method, set()).update(named)
    return scored


@cache
def _setting_names(method: str, parameters: str) -> frozenset[str]:
    return frozenset(setting_name(method, values) for values in settings(method, json.loads(parameters)))


def _chosen(entry: BenchmarkEntry, key: str, runs: Sequence[Run]) -> set[Any] | None:
    """Return the subsets or lengths that runs choose of those of an entry; None if only its files say them."""
    every = getattr(entry, key)
    if not every and entry.source in ("local", "answers"):
        return None
    return {value for values in [getattr(run, key) for run in runs] or [every] for value in values or every}


def slugs_shown(artifact: Artifact) -> set[str]:
    """Return the slugs of models, benchmarks and corpora in an artifact's panels and options."""
    slugs: set[str | None] = set()
    for missing in artifact.missing:
        slugs |= {missing.name, missing.model, missing.benchmark, *missing.references}
    for panel in artifact.panels:
        slugs |= {panel.model, panel.benchmark, panel.view, panel.reference, *(panel.references or ())}
    across = artifact.options.across
    slugs |= {str(name) for key in ("reference", "view") for name in across.get(key, ())}
    return set(filter(None, slugs))


def with_names(
    artifact: Artifact, titles: Mapping[str, str], benchmarks: Mapping[str, BenchmarkEntry]
) -> Artifact:
    """Return the artifact with the titles of what it shows, and of the models in names of views; and units of lengths.

    Where two have one title, their slugs follow it.
    """
    shown = slugs_shown(artifact)
    shown |= {slug.partition("_by_")[2].rpartition("-")[0] for slug in shown if "_by_" in slug}
    called = {slug: titles[slug] for slug in sorted(shown & titles.keys())}
    several = Counter(called.values())
    names = {slug: title + f" ({slug})" * (several[title] > 1) for slug, title in called.items()}
    panels = [
        panel.replaced(names=names, length_unit=benchmarks[panel.benchmark].length_unit)
        for panel in artifact.panels
    ]
    return artifact.model_copy(update={"names": names, "panels": panels})


def null_models(artifact: Artifact, models: Mapping[str, ModelEntry]) -> list[str]:
    """Return the models that an artifact shows and that were trained on neither members nor non-members."""
    shown = {
        slug: models[slug] for slug in sorted({panel.model for panel in artifact.panels}) if slug in models
    }
    return [
        slug
        for slug, entry in shown.items()
        if isinstance(entry, TrainedModel) and not entry.training.members
    ]


def prefix_cautions(artifact: Artifact, runs: tuple[Run, ...], models: Mapping[str, ModelEntry]) -> list[str]:
    """Return cautions for an artifact that shows methods with a prefix on models that cannot test them.

    These models are trained here from random weights. With so few training tokens they hardly react to a prefix.
    """
    if not artifact.needs & {"metrics", "shift"}:
        return []
    named = {name.partition(";")[0] for key, name in _methods_named(artifact) if key != "baseline"}
    shown = PREFIXED & named if named else PREFIXED
    pairs = {panel.pair for panel in artifact.panels}
    prefixed = {
        run.model
        for run in runs
        if (run.model, run.benchmark) in pairs and shown & {item.method for item in run.methods}
    }
    trained = {slug: entry for slug in sorted(prefixed) if isinstance(entry := models[slug], TrainedModel)}
    small = [entry.title or slug for slug, entry in trained.items() if entry.training.start is None]
    if not small:
        return []
    return [
        f"These small models cannot test ReCall or Con-ReCall: {joined(small)}. They were trained here from random "
        "weights and hardly use what comes before a text."
    ]


def check_artifact(artifact: Artifact, where: str) -> None:
    """Check that an artifact's options are what its renderer takes, and that its methods and parameters exist.

    Raises:
        InputError: names the first that is not.
    """
    with located(where):
        check(artifact.renderer, artifact.options, artifact.metric)
        if not artifact.panels:
            raise InputError("it has no panel; give at least one model and benchmark under panels")
        for key, name in _methods_named(artifact):
            _check_method(key, name)
        _check_parameters(artifact.renderer, artifact.options)


def _methods_named(artifact: Artifact) -> list[tuple[str, str]]:
    """Return (key, method) of each method that an artifact names."""
    single = {"baseline": artifact.baseline, "options.method": artifact.options.method}
    lists = [("methods", name) for name in artifact.methods]
    return lists + [(key, name) for key, name in single.items() if name]


def _check_method(key: str, name: str) -> None:
    """Check a method's id, or `id;parameter=value` of a variant: a parameter off its default, outside the grid."""
    id, _, variant = str(name).partition(";")
    if id not in METHODS:
        raise InputError(f"{key}: unknown method '{id}': {nearest(id, METHODS)}")
    fixed = METHODS[id].defaults.keys() - METHODS[id].grid.keys()
    for part in variant.split(";") if variant else []:
        if part.partition("=")[0] not in fixed:
            raise InputError(f"{key}: {id} has no variant '{part}': {nearest(part.partition('=')[0], fixed)}")
    if not is_question(id):
        parse_setting(id, variant)


def _check_parameters(renderer: str, options: Options) -> None:
    """Check that the parameters that options name are those of the method that they name, or of any."""
    chosen = options.method.partition(";")[0]
    methods = [METHODS[chosen]] if chosen else METHODS.values()
    parameters = {name for method in methods for name in method.defaults}
    lines = renderer == "method_lines"
    if isinstance(options.x, list) and not lines:
        raise InputError(
            f"options.x: a list where one parameter is needed; only method_lines takes {options.x}"
        )
    for key, names, valid in (("x", _listed(options.x), parameters | (PLACES if lines else set())),
                              ("y", [options.y], parameters)):  # fmt: skip
        for name in filter(None, names):
            if name not in valid:
                raise InputError(f"options.{key}: no parameter is called {name!r}: {nearest(name, valid)}")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _runs_shown(runs: tuple[Run, ...], needs: frozenset[str], unit: str) -> tuple[Run, ...]:
    """Return the runs that score texts, or those that ask questions about documents, or cut texts into windows."""
    if needs & {"extraction", "windows"} and "audit" not in needs:
        return tuple(run for run in runs if run.extraction)
    if "published" in needs:
        return tuple(run for run in runs if run.questions or run.methods)
    return tuple(run for run in runs if (run.questions if unit == "document" else run.methods))


def references_of(runs: list[Run]) -> list[list[str]]:
    """Return the names that runs give of each kind of input, as corpora or reference models, and the paraphraser."""
    keys = [dict(run) for run in runs]
    named = [[*dict.fromkeys(name for run in keys for name in kind.names(run))] for kind in INPUTS.values()]
    paraphrasers = [run.paraphraser for run in runs if run.questions][:1]
    return [names for names in [*named, [*filter(None, paraphrasers)]] if names]


def first_of_runs(runs: list[Run]) -> dict[str, Any]:
    """Return a panel's default start token, and the first of each kind of reference that its runs name."""
    if not runs:
        return {}
    first: dict[str, Any] = {"start_token": runs[0].start_token}
    if [run.paraphraser for run in runs if run.questions][:1] != [
        None
    ]:  # answers from elsewhere have any paraphraser
        first["references"] = [names[0] for names in references_of(runs)]
    return first


def panels_of(runs: tuple[Run, ...]) -> list[Panel]:
    """Return every (model, benchmark, subset, length) that the runs name, in their order."""
    parts: dict[tuple[str, str, str | None, int | None], None] = {}
    for run in runs:
        own = product([run.model], [run.benchmark], run.subsets or (None,), run.lengths or (None,))
        parts |= dict.fromkeys(own)
    panels = (dict(zip(PRODUCT, part, strict=True)) for part in parts)
    return [
        Panel.model_validate({key: value for key, value in panel.items() if value is not None})
        for panel in panels
    ]
