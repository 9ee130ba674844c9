"""The renderers by name, what each reads, and the one way to run one. No pandas, no matplotlib here."""

import ast
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from pretrace.evaluation.metrics import SHOWN_METRICS
from pretrace.evaluation.statistics import STATISTICS
from pretrace.runtime.errors import InputError, nearest

F = TypeVar("F", bound=Callable[..., Any])


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
    reason: str


class Artifact(TypedDict, total=False):
    """An artifact as a study resolves it: registry and study merged.

    `missing` has the panels of models that could not be asked; `cautions` are sentences that are printed under it.
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
COMMON_OPTIONS = frozenset({"unit", "across"})
CHOICES = {
    "unit": ("text", "document"),
    "blocks": ("model", "length"),
    "average": ("model", "subset", "draw", "panel"),
}
"""Options that are one of a few words."""

OF_A_PAIR = ("scores", "metrics", "tests", "placebos", "audit", "windows", "extraction", *STATISTICS)
"""Kinds of results that are a file of a study's own for each model and benchmark."""

KINDS = (*OF_A_PAIR, "passes", "times", "benchmarks", "training", "published")
"""What a renderer may read: `benchmarks` by benchmark, `training` by model, `published` by paper, all else by (model,
benchmark)."""


@dataclass(frozen=True)
class Renderer:
    """What a renderer reads and takes, and the function that draws (`module`, `function`).

    `needs` is a subset of `KINDS`; `required` and `optional` are its own keys under `options`, beside
    `COMMON_OPTIONS`.
    """

    name: str
    kind: str
    needs: frozenset[str]
    required: frozenset[str]
    optional: frozenset[str]
    module: str
    function: str


def figure(
    name: str,
    *,
    needs: Sequence[str],
    required: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Callable[[F], F]:
    """Register a function (artifact, results) -> Drawing, or as `table` -> Table. Every argument is a literal.

    `RENDERERS` reads the decorator in the file's source and does not import the file, which needs pandas.
    """
    return lambda function: function


table = figure

_DECORATED = re.compile(r"^@(table|figure)\((.*?)\)\ndef (\w+)", re.MULTILINE | re.DOTALL)
"""A decorated function: parsing whole files would take half of what planning a study takes."""


def _renderers() -> dict[str, Renderer]:
    """Every function under tables/ and figures/ that is decorated by `table` or `figure`, by its renderer's name."""
    found: dict[str, Renderer] = {}
    for kind in SUFFIXES:
        for path in sorted((Path(__file__).parent / f"{kind}s").glob("*.py")):
            for name, arguments, function in _DECORATED.findall(path.read_text(encoding="utf-8")):
                if name == kind:
                    decorator = ast.parse(f"_({arguments})", mode="eval").body
                    assert isinstance(decorator, ast.Call)
                    one = _registered(kind, path, function, decorator)
                    found[one.name] = one
    return found


def _registered(kind: str, path: Path, function: str, decorator: ast.Call) -> Renderer:
    name = ast.literal_eval(decorator.args[0])
    given = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in decorator.keywords}
    keys = {key: frozenset(given.get(key, ())) for key in ("needs", "required", "optional")}
    if unknown := sorted(keys["needs"] - {*KINDS}):
        raise InputError(
            f"{path}: {name} needs '{unknown[0]}', which is unknown: {nearest(unknown[0], KINDS)}"
        )
    return Renderer(name, kind, **keys, module=f"pretrace.render.{kind}s.{path.stem}", function=function)


RENDERERS = _renderers()


def renderer(name: str) -> Renderer:
    """The renderer of that name; an unknown one is an error that names the nearest."""
    if name not in RENDERERS:
        raise InputError(f"unknown renderer '{name}': {nearest(name, RENDERERS)}")
    return RENDERERS[name]


def check(artifact: Artifact) -> Renderer:
    """The artifact's renderer, once its options and panels are what that renderer takes.

    Raises `InputError` naming the artifact and the key.
    """
    name = artifact["artifact"]
    chosen = renderer(artifact["renderer"])
    options = artifact.get("options", {})
    known = chosen.required | chosen.optional | COMMON_OPTIONS
    for key in sorted(set(options) - known):
        raise InputError(f"artifact {name}: {chosen.name} has no option '{key}': {nearest(key, known)}")
    for key in sorted(chosen.required - set(options)):
        raise InputError(f"artifact {name}: {chosen.name} needs the option '{key}' under options")
    if not artifact.get("panels"):
        raise InputError(
            f"artifact {name}: it has no panel; give at least one model and benchmark under panels"
        )
    metrics = [artifact.get("metric", "auc"), *options.get("metrics", ())]
    given: list[tuple[str, Any, Sequence[str]]] = []
    given += [("selection", one, SELECTIONS) for one in artifact.get("selection", ())]
    given += [("metric", one, SHOWN_METRICS) for one in metrics]
    given += [(f"option {key}", options[key], valid) for key, valid in CHOICES.items() if key in options]
    for key, value, valid in given:
        if value not in valid:
            raise InputError(f"artifact {name}: unknown {key} '{value}': {nearest(value, valid)}")
    return chosen


def outputs(artifact: Artifact, folder: Path) -> dict[str, Path]:
    """The files an artifact becomes under the study's folder, by suffix."""
    kind = renderer(artifact["renderer"]).kind
    return {suffix: folder / f"{kind}s" / f"{artifact['artifact']}.{suffix}" for suffix in SUFFIXES[kind]}


def render(artifact: Artifact, results: Any, folder: Path) -> dict[str, Path]:
    """Draw an artifact of some `results.Results` and write its `outputs` under `folder` (results/{study}).

    Equal data give equal bytes.
    Raises `InputError` where nothing in the results matches, naming artifact, panel and what is there.
    """
    chosen = check(artifact)
    draw = getattr(importlib.import_module(chosen.module), chosen.function)
    files = outputs(artifact, folder)
    notes = [f"Inferred, not printed in the paper: {artifact['inferred']}"] if "inferred" in artifact else []
    if "published" not in chosen.needs:  # which say so themselves, number by number
        reasons = {panel["model"]: panel["reason"] for panel in artifact.get("missing", ())}
        notes += [f"{model} is left out: {reason}." for model, reason in reasons.items()]
    draw(artifact, results).noted([*notes, *artifact.get("cautions", ())]).write(files)
    return files
