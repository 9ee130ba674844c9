"""The renderers: where each one is, what it reads and which options it takes. Imports no pandas, no matplotlib."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from pretrace.evaluation.statistics import STATISTICS
from pretrace.runtime.errors import InputError, nearest

OF_A_PAIR = ("scores", "metrics", "tests", "placebos", "audit", "windows", "extraction", *STATISTICS)
"""Kinds of results that are a file of a study's own for each model and benchmark."""

KINDS = (*OF_A_PAIR, "passes", "times", "benchmarks", "training", "published")
"""What a renderer may read: `benchmarks` by benchmark, `training` by model, `published` by paper, all else by (model,
benchmark)."""

CHOICES = {
    "unit": ("text", "document"),
    "blocks": ("model", "length"),
    "average": ("model", "subset", "draw", "panel"),
}
"""Options that are one of a few words."""


class Options(BaseModel):
    """The keys under an artifact's `options`. Every renderer takes the first two, and those that it registers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: str = "text"
    across: dict[str, list[Any]] = {}
    artifacts: list[str] = []
    average: str = ""
    blocks: str = ""
    document: str = ""
    draws: list[int] = []
    every: bool = False
    method: str = ""
    metrics: list[str] = []
    published_test: bool = False
    runner_up: bool = False
    settings: dict[str, str] = {}
    x: str | list[str] = ""
    y: str = ""


@dataclass(frozen=True)
class Renderer:
    """A function (artifact, results) -> Table or Drawing: its place in this package, its `KINDS` and options."""

    path: str
    needs: frozenset[str]
    required: frozenset[str]
    options: frozenset[str]

    @property
    def name(self) -> str:
        return self.path.split(".")[-1]

    @property
    def kind(self) -> str:
        """Return `table` or `figure`."""
        return self.path.split(".")[0].removesuffix("s")

    def function(self) -> Callable[..., Any]:
        """Import the function: only here, because planning has no use for pandas and matplotlib."""
        module, _, name = self.path.rpartition(".")
        function: Callable[..., Any] = getattr(importlib.import_module(f"pretrace.render.{module}"), name)
        return function


RENDERERS: dict[str, Renderer] = {}
"""By name, which is that of the function."""


def register(path: str, *needs: str, options: str = "", required: str = "") -> None:
    """Add the function at `path`, as `tables.FILE.FUNCTION`, which reads `needs`; raises if a need is unknown.

    `options` and `required`: names of `Options`, with spaces between them.
    """
    for kind in needs:
        if kind not in KINDS:
            raise InputError(f"{path} needs '{kind}', which is unknown: {nearest(kind, KINDS)}")
    own = frozenset({"unit", "across", *options.split(), *required.split()})
    renderer = Renderer(path, frozenset(needs), frozenset(required.split()), own)
    RENDERERS[renderer.name] = renderer


register("figures.bars.ablation_bars", "metrics", required="method settings")
register("figures.bars.calibration_bars", "metrics")
register("figures.bars.letter_bars", "metrics", "letters", options="document")
register("figures.bars.position_bars", "metrics", "accuracy_by_order", options="document")
register("figures.curves.roc", "metrics", "roc")
register("figures.curves.score_densities", "metrics", "density")
register("figures.dots.document_accuracies", "metrics", "accuracy")
register("figures.dots.headline", "metrics", "tests", "placebos")
register("figures.dots.placebo_ranks", "metrics", "placebos")
register("figures.extraction.extraction_map", "windows", "benchmarks")
register("figures.heatmap.heatmap", "metrics", required="method x y")
register("figures.lines.loss_curves", "training")
register("figures.lines.method_lines", "metrics", options="metrics", required="x")
register("figures.lines.prefix_shifts", "shift", "benchmarks")
register("figures.scatter.entropy_scatter", "tokens", "benchmarks")
PUBLISHED = ("metrics", "tests", "letters", "benchmarks", "published")
register("figures.scatter.reproduction_scatter", *PUBLISHED, options="artifacts")
register("tables.audit.audit", "audit", "benchmarks")
register("tables.controls.blind_audit", "metrics", "tests", "placebos")
register("tables.corpus.corpus_test", "corpus", "corpus_size", "codec")
register("tables.extraction.extraction", "extraction", "benchmarks")
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
