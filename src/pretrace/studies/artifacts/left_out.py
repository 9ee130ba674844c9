"""What a study cannot read: models, benchmarks and corpora, and the inputs of runs that
would come from them.

A run that lacks an input loses only what needs it: its methods that read the input, or
the view that the input is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from pretrace.methods import METHODS
from pretrace.questions.method_facts import QUESTION_METHODS
from pretrace.render.artifact import Artifact, Missing, PairSlugs, Panel
from pretrace.studies.keys import Config
from pretrace.studies.registries import Benchmarks, Models
from pretrace.studies.runs import Run, view_writer

INPUTS_OF_RUNS = ("views", "neighbours", "references", "shadows", "corpora")
"""Keys of runs that name what other models or corpora give."""

P = TypeVar("P", Run, Panel)


class LostInput(NamedTuple):
    """An input that a run cannot have, by the name that the run gives it; and the run's
    methods that would read it."""

    name: str
    reason: str
    methods: frozenset[str]


@dataclass(frozen=True)
class LeftOut:
    """The slugs of models, benchmarks and corpora that are not read -> why.

    `pairs`: models and benchmarks whose runs have nothing left to do without the inputs
    that they lack.
    """

    models: Mapping[str, str]
    benchmarks: Mapping[str, str]
    corpora: Mapping[str, str] = field(default_factory=dict)
    pairs: Mapping[PairSlugs, LostInput] = field(default_factory=dict)

    def missing_of(self, pair: Run | Panel) -> Missing | None:
        """Return what a run or panel lacks: its benchmark, its model or the inputs of
        its runs; None if it can be read."""
        if pair.benchmark in self.benchmarks:
            name, reason = pair.benchmark, self.benchmarks[pair.benchmark]
        elif pair.model in self.models:
            name, reason = pair.model, self.models[pair.model]
        elif pair.pair in self.pairs:
            name, reason, _ = self.pairs[pair.pair]
        else:
            return None
        return Missing(
            name=name,
            reason=reason,
            references=list(pair.references or ()),
            model=pair.model,
            benchmark=pair.benchmark,
        )

    def missing_among(self, pairs: Iterable[Run | Panel]) -> list[Missing]:
        """Return what the runs or panels lack that cannot be read."""
        return [*filter(None, map(self.missing_of, pairs))]

    def readable(self, pairs: Iterable[P]) -> list[P]:
        """Return the runs or panels that can be read."""
        return [pair for pair in pairs if not self.missing_of(pair)]

    def lost_inputs(self, run: Run, benchmarks: Benchmarks) -> list[LostInput]:
        """Return the inputs that a run names and cannot have."""
        gone = {}
        for model in (*run.references, *run.shadows):
            if model in self.models:
                gone[model] = self.models[model]
        for corpus in run.corpora:
            if corpus in self.corpora:
                gone[corpus] = self.corpora[corpus]
        views = [*run.views, *run.neighbours]
        if run.paraphraser is not None:
            views.append(run.paraphraser)
        for view in views:
            writer = view_writer(view, benchmarks.entries[run.benchmark])
            if writer in self.models:
                gone[view] = f"{writer}: {self.models[writer]}"
        lost = []
        for name, reason in gone.items():
            lost.append(LostInput(name, reason, _readers(run, name)))
        return lost


def left_out(
    models: Models, benchmarks: Benchmarks, corpora: Iterable[str], config: Config
) -> LeftOut:
    """Return the models, benchmarks and corpora that are gone or that the configuration
    leaves out, and the models larger than `max_parameters`."""
    most = config.max_parameters
    too_large = {}
    for slug, entry in models.entries.items():
        size = entry.parameters
        if most is not None and size is not None and size > most:
            too_large[slug] = (
                f"its {size:.2g} parameters are more than max_parameters={most:.2g}"
            )
    without = dict.fromkeys(config.without, "config.yaml or --config leaves it out")
    return LeftOut(
        too_large | _unavailable(models) | _only(without, models.entries),
        _unavailable(benchmarks) | _only(without, benchmarks.entries),
        _only(without, corpora),
    )


def narrow_runs(
    runs: Sequence[Run], out: LeftOut, benchmarks: Benchmarks
) -> tuple[list[Run], LeftOut, dict[PairSlugs, list[LostInput]]]:
    """Return the runs without the inputs that they cannot have, what is left out then,
    and the lost inputs of each model and benchmark.

    A run with nothing left to do is not returned, unless its pair has no other: then
    the pair is left out.
    """
    lost: dict[PairSlugs, list[LostInput]] = {}
    narrowed = []
    idle: dict[PairSlugs, list[Run]] = {}
    for run in runs:
        own = out.lost_inputs(run, benchmarks)
        if own:
            lost.setdefault(run.pair, []).extend(own)
        left = _without(run, own)
        has_work = left.methods or left.questions or left.extraction or left.given_back
        if own and not has_work:
            idle.setdefault(run.pair, []).append(run)
        else:
            narrowed.append(left)
    active = {run.pair for run in narrowed}
    pairs = {}
    for pair in idle:
        if pair not in active:
            pairs[pair] = lost[pair][0]
            narrowed += idle[pair]
    return narrowed, replace(out, pairs=pairs), lost


def without_lost(
    artifact: Artifact, lost: Mapping[PairSlugs, Sequence[LostInput]]
) -> Artifact:
    """Return an artifact without the views and references that the runs of its panels
    cannot have, which it then says; `lost`: these inputs by model and benchmark."""
    shown = {panel.pair for panel in artifact.panels} or set(lost)
    items: list[LostInput] = []
    for pair in sorted(shown & lost.keys()):
        items += lost[pair]
    if not items:
        return artifact
    inputs = {item.name for item in items}
    named = _names_shown(artifact)
    methods = {method.partition(";")[0] for method in artifact.methods}
    missing = {}
    for item in items:
        is_read = item.methods & methods if methods else item.methods
        if item.name in named or is_read:
            missing[item.name] = Missing(name=item.name, reason=item.reason)
    panels = _panels_without(artifact.panels, inputs)
    across = {}
    for key, values in artifact.options.across.items():
        across[key] = [value for value in values if value not in inputs]
    is_emptied = (artifact.panels and not panels) or not all(across.values())
    changes: dict[str, Any] = {"panels": panels}
    changes["missing"] = [*artifact.missing, *missing.values()]
    if is_emptied:
        reasons = [f"{item.name}: {item.reason}" for item in missing.values()]
        changes |= {"panels": artifact.panels, "unavailable": f"{'; '.join(reasons)}."}
    elif across:
        options = artifact.options.model_copy(update={"across": across})
        changes["options"] = options
    return artifact.replaced(**changes)


def _panels_without(panels: Iterable[Panel], inputs: set[str]) -> list[Panel]:
    """Return the panels that show none of these inputs alone, without them."""
    left = []
    for panel in panels:
        if panel.view in inputs or panel.reference in inputs:
            continue
        if panel.references is not None:
            names = [name for name in panel.references if name not in inputs]
            panel = panel.replaced(references=names)
        left.append(panel)
    return left


def _readers(run: Run, name: str) -> frozenset[str]:
    """Return the methods of a run that read an input of this name, beside the text."""
    readers = set()
    for chosen in run.methods:
        kind = METHODS[chosen.method].input
        if kind and kind.key and name in getattr(run, kind.key):
            readers.add(chosen.method)
    if name == run.paraphraser:
        readers |= _with_options(run)
    return frozenset(readers)


def _with_options(run: Run) -> set[str]:
    """Return the questions of a run whose options are paraphrases."""
    asked = set()
    for item in run.questions:
        if QUESTION_METHODS[item.method].options:
            asked.add(item.method)
    return asked


def _without(run: Run, lost: Sequence[LostInput]) -> Run:
    """Return a run without these inputs, and without the methods that need one of them
    and have no other."""
    if not lost:
        return run
    gone = {item.name: item.reason for item in lost}
    changes: dict[str, Any] = {}
    for key in INPUTS_OF_RUNS:
        changes[key] = [name for name in getattr(run, key) if name not in gone]
    reasons = {}
    for item in lost:
        for method in item.methods:
            reasons[method] = f"{item.name}: {item.reason}"
    unread = {}
    for chosen in run.methods:
        kind = METHODS[chosen.method].input
        is_left = changes["views"] and (
            chosen.method not in reasons or (kind and changes[kind.key])
        )
        if not is_left:
            unread[chosen.method] = reasons.get(chosen.method, lost[0].reason)
    if run.paraphraser in gone:
        for method in _with_options(run):
            unread[method] = reasons[method]
    for key in ("methods", "questions"):
        changes[key] = [item for item in getattr(run, key) if item.method not in unread]
    return run.model_copy(update=changes | {"left_out": run.left_out | unread})


def _names_shown(artifact: Artifact) -> set[Any]:
    """Return the views and references that an artifact's panels and options name."""
    named: set[Any] = set()
    for values in artifact.options.across.values():
        named.update(values)
    for panel in artifact.panels:
        named |= {panel.view, panel.reference, *(panel.references or ())}
    return named


def _unavailable(registry: Models | Benchmarks) -> dict[str, str]:
    reasons = {}
    for slug, entry in registry.entries.items():
        if entry.unavailable is not None:
            reasons[slug] = entry.unavailable
    return reasons


def _only(reasons: Mapping[str, str], slugs: Iterable[str]) -> dict[str, str]:
    known = {*slugs}
    return {slug: reason for slug, reason in reasons.items() if slug in known}
