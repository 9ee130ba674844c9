"""Checks of what an artifact names: methods, parameters, and what the runs of its
panels must have."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.evaluation.metrics import EACH
from pretrace.questions.method_facts import METHODS, is_question, parse_setting
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.catalogue import X_PLACES, Options
from pretrace.runtime.errors import InputError, nearest, require_name, shorten
from pretrace.studies.keys import Panels, WrittenArtifact
from pretrace.studies.registries import Benchmarks
from pretrace.studies.runs import Run, draws_of, references_of, runs_by_pair

Settings = dict[str, dict[str, dict[str, str]]]
"""The parameters of settings, by method and the setting's name."""


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
    by_pair = runs_by_pair(runs)
    shown = []
    for pair in dict.fromkeys(panel.pair for panel in artifact.panels):
        shown += by_pair.get(pair, [])
    # once for all panels: a study may have thousands
    settings_shown = settings_scored(shown)
    for number, panel in enumerate(artifact.panels):
        own = by_pair.get(panel.pair, [])
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
    subsets = _parts_of(entry, "subsets", runs)
    lengths = _parts_of(entry, "lengths", runs)
    start_tokens = {run.start_token for run in runs} or None
    return [
        Choice(f"{place}.subset", {panel.subset} - {"", EACH}, subsets),
        Choice(f"{place}.length", [panel.length], lengths),
        Choice(f"{place}.start_token", [panel.start_token], start_tokens),
    ]


def _parts_of(entry: BenchmarkEntry, key: str, runs: Sequence[Run]) -> set[Any] | None:
    """Return the subsets or lengths of an entry that runs choose; None if only its
    files say them."""
    every = getattr(entry, key)
    if not every and entry.source in ("local", "answers"):
        return None
    chosen = set()
    for run in runs:
        chosen.update(getattr(run, key) or every)
    return chosen if runs else set(every)


def _choices_of_runs(
    artifact: Artifact,
    panel: Panel,
    place: str,
    runs: Sequence[Run],
    settings_shown: Settings,
) -> list[Choice]:
    """Return what a panel and the artifact's options name of the panel's runs.

    `settings_shown`: the settings of the runs of all panels. A method that only some of
    them compute leaves the other panels empty, with a reason.
    """
    options = artifact.options
    methods = artifact.methods
    choices = []
    if panel.references:
        references = _references_offered(runs)
        choices.append(Choice(f"{place}.references", panel.references, references))
    for key, names in options.across.items():
        offered = _offered_across(key, methods, runs)
        choices.append(Choice(f"options.across.{key}", names, offered))
    if options.draws:
        choices.append(Choice("options.draws", options.draws, draws_of(runs)))
    if options.x or options.y:
        parameters: set[str] = set()
        for setting in _parameters_of(methods, settings_shown):
            parameters.update(setting)
        x_named = {*_as_list(options.x)} - {"", *X_PLACES}
        choices.append(Choice("options.x", x_named, parameters))
        choices.append(Choice("options.y", {options.y} - {""}, parameters))
    method = options.method.partition(";")[0]
    if method:
        chosen = (panel.settings or options.settings).values()
        settings = settings_scored(runs).get(method)
        choices.append(Choice("options.method", [method], settings_shown))
        choices.append(Choice("options.settings", chosen, settings))
    return choices


def _offered_across(
    key: str, methods: Sequence[str], runs: Sequence[Run]
) -> Collection[Any] | None:
    """Return what a key of `options.across` chooses among; None: not known here."""
    match key:
        case "view":
            views = set()
            for run in runs:
                views.update(run.views)
            return views
        case "draw":
            return draws_of(runs)
        case "reference":
            return _references_offered(runs)
    settings = _parameters_of(methods, settings_scored(runs))
    return {setting.get("separator", "none") for setting in settings}


def _references_offered(runs: Sequence[Run]) -> set[str] | None:
    """Return the inputs that runs name; None for answers from elsewhere, which name
    paraphrasers of their own."""
    if any(run.questions and run.paraphraser is None for run in runs):
        return None
    offered = set()
    for names in references_of(runs):
        offered.update(names)
    return offered


def _parameters_of(
    named: Sequence[str], settings: Settings
) -> Iterator[dict[str, str]]:
    """Yield the parameters of each setting of the named methods, or of all if none is
    named."""
    for method in {name.partition(";")[0] for name in named or settings}:
        yield from settings.get(method, {}).values()


def settings_scored(runs: Iterable[Run]) -> Settings:
    """Return every setting that runs compute."""
    scored: Settings = {}
    for run in runs:
        for item in (*run.methods, *run.questions):
            scored.setdefault(item.method, {}).update(item.settings)
    return scored


def methods_named(artifact: Artifact) -> list[tuple[str, str]]:
    """Return (key, method) of each method that an artifact names."""
    named = [("methods", name) for name in artifact.methods]
    if artifact.baseline:
        named.append(("baseline", artifact.baseline))
    if artifact.options.method:
        named.append(("options.method", artifact.options.method))
    return named


def check_names(artifact: Artifact) -> None:
    """Check the methods and the parameters that an artifact names.

    Raises:
        InputError: one is unknown.
    """
    _check_methods(artifact)
    _check_parameters(artifact.renderer, artifact.options)


def _check_methods(artifact: Artifact) -> None:
    """Check methods' ids and variants, `id;parameter=value`: a parameter off its
    default, outside the grid."""
    for key, name in methods_named(artifact):
        id, _, variant = str(name).partition(";")
        require_name(id, METHODS, f"{key}: unknown method '{id}'")
        fixed = METHODS[id].defaults.keys() - METHODS[id].grid.keys()
        for part in variant.split(";") if variant else []:
            parameter = part.partition("=")[0]
            require_name(parameter, fixed, f"{key}: {id} has no variant '{part}'")
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
    """Return a key's list, or its one value as a list."""
    return value if isinstance(value, list) else [value]


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
        own = []
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
