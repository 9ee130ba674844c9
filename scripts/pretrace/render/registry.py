"""The renderers by name, what each reads, and the one way to run one. No pandas, no matplotlib here."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.runtime.errors import InputError, nearest

if TYPE_CHECKING:
    from pretrace.render.results import Results

Artifact = Mapping[str, Any]
"""An artifact as a study resolves it.

Its keys: `artifact, title, renderer, panels` and, each optional, `paper, caption, metric, evaluation_set,
start_token, selection, baseline, methods, options, inferred, unavailable`. A panel has `model, benchmark` and, each
optional, `subset, length, start_token, references, label, settings`; without
subset or length it stands for every one there is. `missing` has the panels of models that could not be asked, each
with its `reason`; `cautions` are sentences that must stand under it.
"""

SUFFIXES = {"table": ("csv", "md", "tex"), "figure": ("pdf", "png", "svg", "csv")}
SELECTIONS = ("held_out", "default", "best_on_test")
COMMON_OPTIONS = frozenset({"references", "view", "draw", "unit", "across"})
METRICS = (
    "auc",
    *(f"tpr_at_{percent}_fpr{strict}" for strict in ("", "_strict") for percent in (1, 5, 10)),
    "auc_as_published",
    "accuracy_members",
    "accuracy_nonmembers",
)
"""What may be printed: of texts and documents, and the last three of documents alone."""

CHOICES = {
    "unit": ("text", "document"),
    "blocks": ("model", "benchmark", "subset", "length", "view", "draw", "reference"),
    "average": ("model", "subset", "length", "view", "draw", "panel"),
}
"""Options that are one of a few words."""

KINDS = (
    "metrics",
    "tests",
    "placebos",
    "scores",
    "passes",
    "answers",
    "calibration",
    "times",
    "audit",
    "benchmarks",
    "prefixes",
    "training",
    "published",
)
"""What a renderer may read: nine by (model, benchmark), two by benchmark, one by model, one by paper."""


@dataclass(frozen=True)
class Renderer:
    """What a renderer reads and takes.

    `needs` is a subset of `KINDS`; `required` and `optional` are its own keys under `options`, beside
    `COMMON_OPTIONS`.
    """

    name: str
    kind: str
    needs: frozenset[str]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def module(self) -> str:
        return f"pretrace.render.{self.name}"

    @property
    def suffixes(self) -> tuple[str, ...]:
        return SUFFIXES[self.kind]


def _renderers(*renderers: Renderer) -> dict[str, Renderer]:
    return {renderer.name: renderer for renderer in renderers}


RENDERERS = _renderers(
    Renderer("headline", "figure", frozenset({"metrics", "tests", "placebos"})),
    Renderer("benchmark_statistics", "table", frozenset({"benchmarks"})),
    Renderer(
        "method_table",
        "table",
        frozenset({"metrics", "tests"}),
        optional=frozenset({"metrics", "blocks", "average", "draws"}),
    ),
    Renderer("setting_table", "table", frozenset({"metrics"}), frozenset({"method", "parameter"})),
    Renderer("blind_audit", "table", frozenset({"metrics", "tests", "placebos"})),
    Renderer("placebo_ranks", "figure", frozenset({"metrics", "placebos"})),
    Renderer("selection_gap", "table", frozenset({"metrics"})),
    Renderer("pairwise_tests", "table", frozenset({"metrics", "tests"})),
    Renderer("null_audit", "table", frozenset({"metrics", "tests"})),
    Renderer("audit", "table", frozenset({"audit", "benchmarks"})),
    Renderer("audit_power", "figure", frozenset({"scores", "benchmarks", "prefixes"})),
    Renderer("pass_costs", "table", frozenset({"passes"})),
    Renderer("accuracy_table", "table", frozenset({"metrics", "tests"}), optional=frozenset({"average"})),
    Renderer("welch_table", "table", frozenset({"metrics", "tests"}), optional=frozenset({"metrics"})),
    Renderer("calibration_table", "table", frozenset({"metrics", "calibration"})),
    Renderer(
        "document_accuracies", "figure", frozenset({"metrics", "answers"}), optional=frozenset({"documents"})
    ),
    Renderer("calibration_bars", "figure", frozenset({"metrics"})),
    Renderer(
        "position_bars",
        "figure",
        frozenset({"metrics", "answers"}),
        frozenset({"permutations"}),
        optional=frozenset({"document"}),
    ),
    Renderer(
        "letter_bars", "figure", frozenset({"metrics", "calibration"}), optional=frozenset({"document"})
    ),
    Renderer("document_times", "table", frozenset({"passes", "times", "benchmarks"})),
    Renderer(
        "reproduction",
        "table",
        frozenset({"metrics", "tests", "benchmarks", "published"}),
        optional=frozenset({"artifacts", "evaluation_sets"}),
    ),
    Renderer(
        "reproduction_scatter",
        "figure",
        frozenset({"metrics", "tests", "benchmarks", "published"}),
        optional=frozenset({"artifacts", "evaluation_sets"}),
    ),
    Renderer("loss_curves", "figure", frozenset({"training"})),
    Renderer(
        "method_lines",
        "figure",
        frozenset({"metrics"}),
        frozenset({"x"}),
        optional=frozenset({"metrics", "vertical"}),
    ),
    Renderer("ablation_bars", "figure", frozenset({"metrics"}), frozenset({"method", "settings"})),
    Renderer("roc", "figure", frozenset({"metrics", "scores", "benchmarks", "prefixes"})),
    Renderer("score_densities", "figure", frozenset({"metrics", "scores", "benchmarks", "prefixes"})),
    Renderer("prefix_shifts", "figure", frozenset({"passes", "benchmarks", "prefixes"})),
    Renderer("heatmap", "figure", frozenset({"metrics"}), frozenset({"method", "x", "y"})),
    Renderer(
        "entropy_scatter",
        "figure",
        frozenset({"passes", "benchmarks"}),
        optional=frozenset({"eps", "percentile"}),
    ),
)


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
    given: list[tuple[str, Any, Sequence[str]]] = []
    given += [("selection", one, SELECTIONS) for one in artifact.get("selection", ())]
    given += [
        ("metric", one, METRICS) for one in [artifact.get("metric", "auc"), *_listed(options, "metrics")]
    ]
    given += [(f"option {key}", options[key], valid) for key, valid in CHOICES.items() if key in options]
    for key, value, valid in given:
        if value not in valid:
            raise InputError(f"artifact {name}: unknown {key} '{value}': {nearest(value, valid)}")
    return chosen


def _listed(options: Mapping[str, Any], key: str) -> Sequence[Any]:
    """The values of an option that may be a list of them or one."""
    value = options.get(key, ())
    return value if isinstance(value, list | tuple) else (value,)


def outputs(artifact: Artifact, folder: Path) -> dict[str, Path]:
    """The files an artifact becomes under the study's folder, by suffix, and its `reading`."""
    chosen = renderer(artifact["renderer"])
    name = artifact["artifact"]
    files = {suffix: folder / f"{chosen.kind}s" / f"{name}.{suffix}" for suffix in chosen.suffixes}
    return files | {"reading": folder / "readings" / f"{name}.md"}


def render(artifact: Artifact, results: "Results", folder: Path) -> dict[str, Path]:
    """Draw an artifact and write all its `outputs` under `folder` (results/{study}); equal data, equal bytes.

    Raises `InputError` where nothing in the results matches, naming artifact, panel and what is there.
    """
    module = importlib.import_module(check(artifact).module)
    files = outputs(artifact, folder)
    notes = [*inferred_notes(artifact), *missing_notes(artifact), *artifact.get("cautions", ())]
    module.render(artifact, results).noted(notes).write(files)
    return files


def inferred_notes(artifact: Artifact) -> list[str]:
    """What the paper does not say of its table or figure, and is guessed in its place."""
    return [f"Inferred, not printed in the paper: {artifact['inferred']}"] if "inferred" in artifact else []


def missing_notes(artifact: Artifact) -> list[str]:
    """A sentence for each model whose panels are missing, with the reason."""
    if "published" in renderer(artifact["renderer"]).needs:
        return []  # it says so itself, number by number
    reasons = {panel["model"]: panel["reason"] for panel in artifact.get("missing", ())}
    return [f"{model} is left out: {reason}." for model, reason in reasons.items()]
