"""The renderers: where each one is, what it reads and which options it takes. Imports no pandas, no matplotlib."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from pretrace.evaluation.statistics import STATISTICS
from pretrace.runtime.errors import InputError, nearest

OF_A_PAIR = (
    "scores", "metrics", "tests", "placebos", "audit", "windows", "extraction", *STATISTICS,
)  # fmt: skip
"""Kinds of results that are a file of a study's own for each model and benchmark."""

KINDS = (*OF_A_PAIR, "passes", "times", "benchmarks", "training", "published")
"""What a renderer may read: eleven by (model, benchmark), `benchmarks` by benchmark, `training` by model,
`published` by paper."""

CHOICES = {
    "unit": ("text", "document"),
    "blocks": ("model", "length"),
    "average": ("model", "subset", "draw", "panel"),
}
"""Options that are one of a few words; "" is none of them."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The keys under an artifact's `options` that every renderer takes; a field without a default is required."""

    unit: str = "text"
    across: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def names(cls) -> set[str]:
        """Return the names of all options."""
        return {option.name for option in fields(cls)}

    @classmethod
    def required(cls) -> set[str]:
        """Return the names of the options without a default."""
        return {
            option.name
            for option in fields(cls)
            if option.default is MISSING and option.default_factory is MISSING
        }


@dataclass(frozen=True, kw_only=True)
class MethodTable(Options):
    metrics: Sequence[str] = ()
    blocks: str = ""
    average: str = ""
    draws: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class AccuracyTable(Options):
    average: str = ""


@dataclass(frozen=True, kw_only=True)
class WelchTable(Options):
    metrics: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class SettingTable(Options):
    x: str


@dataclass(frozen=True, kw_only=True)
class MethodLines(Options):
    x: str | Sequence[str]
    metrics: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class AblationBars(Options):
    method: str
    settings: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Heatmap(Options):
    method: str
    x: str
    y: str


@dataclass(frozen=True, kw_only=True)
class DocumentBars(Options):
    document: str = ""


@dataclass(frozen=True, kw_only=True)
class Reproduction(Options):
    artifacts: Sequence[str] = ()
    evaluation_sets: Sequence[str] = ()


@dataclass(frozen=True)
class Renderer:
    """A function (artifact, results) -> Table or Drawing: its place in this package, its `KINDS` and options."""

    path: str
    needs: frozenset[str]
    options: type[Options]

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


def register(path: str, *needs: str, options: type[Options] = Options) -> None:
    """Add the function at `path`, as `tables.FILE.FUNCTION`, which reads `needs`; raises if a need is unknown."""
    for kind in needs:
        if kind not in KINDS:
            raise InputError(f"{path} needs '{kind}', which is unknown: {nearest(kind, KINDS)}")
    renderer = Renderer(path, frozenset(needs), options)
    RENDERERS[renderer.name] = renderer


register("figures.bars.ablation_bars", "metrics", options=AblationBars)
register("figures.bars.calibration_bars", "metrics")
register("figures.bars.letter_bars", "metrics", "letters", options=DocumentBars)
register("figures.bars.position_bars", "metrics", "accuracy_by_order", options=DocumentBars)
register("figures.curves.roc", "metrics", "roc")
register("figures.curves.score_densities", "metrics", "density")
register("figures.dots.document_accuracies", "metrics", "accuracy")
register("figures.dots.placebo_ranks", "metrics", "placebos")
register("figures.extraction.extraction_map", "windows", "benchmarks")
register("figures.familiarity.familiar_texts", "metrics", "scores", "benchmarks")
register("figures.dots.headline", "metrics", "tests", "placebos")
register("figures.heatmap.heatmap", "metrics", options=Heatmap)
register("figures.lines.audit_power", "power")
register("figures.lines.corpus_power", "corpus_power")
register("figures.lines.loss_curves", "training")
register("figures.lines.method_lines", "metrics", options=MethodLines)
register("figures.lines.prefix_shifts", "shift", "benchmarks")
register("figures.scatter.entropy_scatter", "tokens", "benchmarks")
register(
    "figures.scatter.reproduction_scatter", "metrics", "tests", "benchmarks", "published", options=Reproduction
)  # fmt: skip
register("tables.audit.audit", "audit", "benchmarks")
register("tables.controls.blind_audit", "metrics", "tests", "placebos")
register("tables.controls.null_audit", "metrics", "tests")
register("tables.corpus.corpus_test", "corpus", "corpus_size", "codec")
register("tables.extraction.extraction", "extraction", "benchmarks")
register("tables.material.benchmark_statistics", "benchmarks")
register("tables.material.document_times", "passes", "times", "benchmarks")
register("tables.material.pass_costs", "passes")
register("tables.methods.method_table", "metrics", "tests", options=MethodTable)
register("tables.methods.pairwise_tests", "metrics", "tests")
register("tables.methods.selection_gap", "metrics")
register("tables.methods.setting_table", "metrics", options=SettingTable)
register("tables.questions.accuracy_table", "metrics", options=AccuracyTable)
register("tables.questions.calibration_table", "metrics", "letters")
register("tables.questions.welch_table", "metrics", "tests", options=WelchTable)
register(
    "tables.reproduction.reproduction", "metrics", "tests", "benchmarks", "published", options=Reproduction
)
