"""What an artifact is, what it may not be, and the one way to render one. Imports no pandas, no matplotlib."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from pretrace.evaluation.metrics import SHOWN_METRICS
from pretrace.render.catalogue import CHOICES, RENDERERS, Renderer
from pretrace.runtime.errors import InputError, nearest


class Panel(TypedDict, total=False):
    """One panel or column of an artifact; without subset or length it shows every one.

    `reason`: why there is nothing, for a panel of a model that could not be asked.
    """

    model: str
    benchmark: str
    subset: str
    length: int | None
    start_token: str
    references: list[str]
    label: str
    settings: dict[str, str]
    size: bool
    view: str
    draw: int
    reference: str
    separator: str
    name: str
    reason: str


class Artifact(TypedDict, total=False):
    """An artifact as a study resolves it: registry and study merged.

    `missing` has the panels of models and benchmarks that are left out, by `name` and `reason`; `cautions` are
    sentences that are printed under it.
    """

    artifact: str
    title: str
    renderer: str
    kind: str
    panels: list[Panel]
    paper: str
    caption: str
    metric: str
    evaluation_set: str
    selection: list[str]
    baseline: str
    methods: list[str]
    options: dict[str, Any]
    inferred: str
    unavailable: str
    missing: list[Panel]
    cautions: list[str]


SUFFIXES = {"table": ("csv", "md", "tex", "html"), "figure": ("pdf", "png", "svg", "csv", "txt")}
"""The files of an artifact; html is a table's part of the report, txt what must be read with a figure."""
SELECTIONS = ("held_out", "default", "best_on_test")


def renderer_of(artifact: Artifact) -> Renderer:
    """Return an artifact's renderer; an unknown one is an error that names the nearest."""
    name = artifact["renderer"]
    if name not in RENDERERS:
        raise InputError(f"unknown renderer '{name}': {nearest(name, RENDERERS)}")
    return RENDERERS[name]


def check(artifact: Artifact) -> Renderer:
    """Return an artifact's renderer if the artifact's options and panels are what that renderer takes.

    Raises `InputError` naming the artifact and the key.
    """
    renderer, options = renderer_of(artifact), artifact.get("options", {})
    for message in _faults(artifact, renderer, options):
        raise InputError(f"artifact {artifact['artifact']}: {message}")
    return renderer


def _faults(artifact: Artifact, renderer: Renderer, options: dict[str, Any]) -> Iterator[str]:
    known = renderer.options.names()
    for key in sorted(options.keys() - known):
        yield f"{renderer.name} has no option '{key}': {nearest(key, known)}"
    for key in sorted(renderer.options.required() - options.keys()):
        yield f"{renderer.name} needs the option '{key}' under options"
    if not artifact.get("panels"):
        yield "it has no panel; give at least one model and benchmark under panels"
    words: list[tuple[str, str, tuple[str, ...]]] = []
    words += [("selection", selection, SELECTIONS) for selection in artifact.get("selection", ())]
    metrics = [artifact.get("metric", "auc"), *options.get("metrics", ())]
    words += [("metric", metric, SHOWN_METRICS) for metric in metrics]
    words += [(f"option {key}", options[key], valid) for key, valid in CHOICES.items() if key in options]
    for key, word, valid in words:
        if word not in valid:
            yield f"unknown {key} '{word}': {nearest(word, valid)}"


def outputs(artifact: Artifact, folder: Path) -> dict[str, Path]:
    """Return the paths of an artifact's files under the study's folder, by suffix."""
    kind = renderer_of(artifact).kind
    return {suffix: folder / f"{kind}s" / f"{artifact['artifact']}.{suffix}" for suffix in SUFFIXES[kind]}


def render(artifact: Artifact, results: Any, folder: Path) -> dict[str, Path]:
    """Draw an artifact of some `results.Results` and write its `outputs` under `folder` (results/{study}).

    Equal data give equal bytes.
    Raises `InputError` where nothing in the results matches, naming artifact, panel and what is there.
    """
    renderer, files = check(artifact), outputs(artifact, folder)
    notes = [f"Inferred, not printed in the paper: {artifact['inferred']}"] if "inferred" in artifact else []
    if "published" not in renderer.needs:  # the reproduction says so itself, number by number
        reasons = {panel["name"]: panel["reason"] for panel in artifact.get("missing", ())}
        notes += [f"{name} is left out: {reason}." for name, reason in reasons.items()]
    shown = renderer.function()(artifact, results)
    shown.noted([*notes, *artifact.get("cautions", ())]).write(files)
    return files
