"""The renderers: where each one is, what it reads and which options it takes. Imports
no pandas, no matplotlib."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from pretrace.evaluation.metrics import SHOWN_METRICS
from pretrace.evaluation.statistics import STATISTICS
from pretrace.runtime.errors import InputError, nearest, require_name
from pretrace.runtime.schema import Keys, Some, Unique

OF_A_PAIR = (
    "scores",
    "metrics",
    "tests",
    "placebos",
    "audit",
    "windows",
    "extraction",
    "given_back",
    *STATISTICS,
)
"""Kinds of results that are a file of a study's own for each model and benchmark."""

READ_KINDS = (*OF_A_PAIR, "passes", "times", "benchmarks", "training", "published")
"""What a renderer may read: `benchmarks` by benchmark, `training` by model, `published`
by paper, all else by (model, benchmark)."""

X_PLACES = ("model", "length", "subset")
"""Values of a figure's x other than a parameter."""

NOT_GIVEN: Any = ""


class Options(Keys):
    """The keys under an artifact's `options`. Every renderer takes the first two, and
    those that it registers."""

    unit: Literal["text", "document"] = "text"
    """Scores of texts or of documents."""
    across: dict[
        Literal["view", "draw", "reference", "separator"], Some[Unique[str | int]]
    ] = {}
    """Each panel is shown once for each of these values, as `{view: [original,
    delete-10]}`."""
    artifacts: list[str] = []
    """Artifacts whose published numbers are compared (default, the study's)."""
    average: Literal["model", "subset", "draw", "panel"] = NOT_GIVEN
    """Add the mean over these."""
    blocks: Literal["model", "length"] = NOT_GIVEN
    """One block of panels for each value."""
    document: str = ""
    """One document instead of all."""
    draws: Unique[Annotated[int, Field(ge=0)]] = []
    """Draws of shots, as `[0, 1, 2]`: each number is their mean."""
    every: bool = False
    """List every number that was measured."""
    method: str = ""
    """The method whose settings are shown."""
    metrics: Unique[str] = []
    """Metrics side by side, in place of `metric`."""
    published_test: bool = False
    """Mark the methods above `baseline` by the test that DC-PDD's stars probably
    are."""
    runner_up: bool = False
    """Underline the second highest method of a column."""
    settings: dict[str, str] = {}
    """Label of a bar -> its setting, as `{CLD: a=0.01;upper_bound=false}`."""
    splits: bool = False
    """Panels of one label are splits of one kind: show the mean over them."""
    x: str | Some[list[str]] = ""
    """A parameter; in `method_lines` also `model` or `length`, or a list of these."""
    y: str = ""
    """A second parameter."""


@dataclass(frozen=True)
class Renderer:
    """A function (artifact, results) -> Table or Drawing: its place in its `room`, its
    `READ_KINDS` and options."""

    path: str
    needs: frozenset[str]
    required: frozenset[str]
    options: frozenset[str]
    room: str = "render"

    @property
    def name(self) -> str:
        return self.path.split(".")[-1]

    @property
    def module(self) -> str:
        return f"pretrace.{self.room}.{self.path.rpartition('.')[0]}"

    @property
    def kind(self) -> str:
        """Return `table` or `figure`."""
        return self.path.split(".")[0].removesuffix("s")

    def function(self) -> Callable[..., Any]:
        """Import the function: only here, because planning has no use for pandas and
        matplotlib."""
        return getattr(importlib.import_module(self.module), self.name)


RENDERERS: dict[str, Renderer] = {}
"""By name, which is that of the function."""


def renderer_of(name: str) -> Renderer:
    """Return the renderer of this name; an unknown one is an error that names the
    nearest."""
    require_name(name, RENDERERS, f"renderer: unknown renderer '{name}'")
    return RENDERERS[name]


def check(name: str, options: Options, metric: str) -> Renderer:
    """Return the renderer of this name if it takes these options and metrics; raises
    `InputError` with the key."""
    renderer = renderer_of(name)
    given = options.model_fields_set
    for key in sorted(given - renderer.options):
        hint = nearest(key, renderer.options)
        raise InputError(f"options.{key}: {name} has no such option: {hint}")
    for key in sorted(renderer.required - given):
        raise InputError(f"options: {name} needs the option '{key}'")
    require_name(metric, SHOWN_METRICS, f"metric: unknown metric '{metric}'")
    for word in options.metrics:
        require_name(word, SHOWN_METRICS, f"options.metrics: unknown metric '{word}'")
    return renderer


def register(
    path: str,
    *needs: str,
    options: str = "",
    required: str = "",
    room: str = "render",
) -> None:
    """Add the function at `path` in a room, as `tables.FILE.FUNCTION`, which reads
    `needs`; raises if a need is unknown.

    `options` and `required`: names of `Options`, with spaces between them.
    """
    for kind in needs:
        require_name(kind, READ_KINDS, f"{path} needs '{kind}', which is unknown")
    needed = frozenset(required.split())
    own = needed | {"unit", "across", *options.split()}
    renderer = Renderer(path, frozenset(needs), needed, own, room)
    RENDERERS[renderer.name] = renderer


register("figures.bars.ablation_bars", "metrics", required="method settings")
register("figures.bars.calibration_bars", "metrics")
register("figures.bars.letter_bars", "metrics", "letters", options="document")
register(
    "figures.bars.position_bars", "metrics", "accuracy_by_order", options="document"
)
register("figures.curves.roc", "metrics", "roc")
register("figures.curves.score_densities", "metrics", "density")
register("figures.dots.document_accuracies", "metrics", "accuracy", options="document")
OF_SPLITS = ("metrics", "scores", "benchmarks")
register("figures.dots.headline", *OF_SPLITS, "tests", "placebos", options="splits")
register("figures.dots.placebo_ranks", "metrics", "placebos")
register("figures.extraction.extraction_map", "windows", "extraction", "benchmarks")
register("figures.heatmap.heatmap", "metrics", required="method x y")
register("figures.lines.loss_curves", "training")
register("figures.lines.method_lines", "metrics", options="metrics", required="x")
register("figures.lines.prefix_shifts", "shift", "benchmarks")
register("figures.scatter.entropy_scatter", "tokens", "benchmarks")
PUBLISHED = ("metrics", "tests", "letters", "benchmarks", "published")
register("figures.scatter.reproduction_scatter", *PUBLISHED, options="artifacts")
register("tables.audit.audit", "audit", "extraction", "benchmarks", room="audit")
register("tables.controls.blind_audit", "metrics", "tests", "placebos")
register("tables.controls.split_table", *OF_SPLITS)
register("tables.extraction.extraction", "extraction", "benchmarks")
register(
    "tables.given_back.given_back_by_chat", "given_back", "benchmarks", room="audit"
)
register("tables.material.benchmark_statistics", "benchmarks")
register("tables.material.document_times", "passes", "times", "benchmarks")
register(
    "tables.methods.method_table",
    "metrics",
    "tests",
    options="metrics blocks average draws published_test runner_up",
)
register("tables.methods.pairwise_tests", "metrics", "tests")
register("tables.methods.selection_gap", "metrics")
register("tables.methods.setting_table", "metrics", required="x")
register("tables.questions.accuracy_table", "metrics", options="average")
register("tables.questions.calibration_table", "metrics", "letters")
register("tables.questions.welch_table", "metrics", "tests", options="metrics")
register("tables.reproduction.reproduction", *PUBLISHED, options="artifacts every")

SHIPPED = frozenset(RENDERERS)
"""The renderers of pretrace; those that are registered below are the user's own."""
