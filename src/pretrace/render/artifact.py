"""What an artifact is and what it may not be. Imports no pandas, no matplotlib."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import field_serializer

from pretrace.questions.method_facts import is_control
from pretrace.render.catalogue import Options, renderer_of
from pretrace.render.names import chance_level, in_order, view_label
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import read_json
from pretrace.runtime.schema import Keys, Maybe

SUFFIXES = {
    "table": ("csv", "md", "tex", "html"),
    "figure": ("pdf", "png", "svg", "csv", "txt"),
}
"""The files of an artifact; html is a table's part of the report, txt what must be read
with a figure."""
SELECTIONS = ("held_out", "default", "best_on_test")
ACROSS = {
    "view": "{}",
    "draw": "draw {}",
    "reference": "{}",
    "separator": "separator {}",
}
"""Keys that tell a panel apart from others of one model, benchmark, subset and length,
and how they are printed."""


PairSlugs = tuple[str, str]
"""The slugs of a model and a benchmark."""


class Panel(Keys):
    """One panel or column of an artifact; without subset or length it shows every
    one."""

    model: str
    benchmark: str
    subset: Maybe[str] = None
    length: Maybe[int] = None
    start_token: Maybe[str] = None
    references: Maybe[list[str]] = None
    label: Maybe[str] = None
    settings: Maybe[dict[str, str]] = None
    view: Maybe[str] = None
    draw: Maybe[int] = None
    reference: Maybe[str] = None
    separator: Maybe[str] = None
    length_unit: str = "words"
    names: dict[str, str] = {}
    """What its slugs are called in print; a slug without a name is printed as it is."""

    def title_of(self, slug: str) -> str:
        """Return what a model, benchmark or corpus is called in print."""
        return self.names.get(slug, slug)

    @property
    def pair(self) -> PairSlugs:
        return self.model, self.benchmark

    @property
    def record(self) -> dict[str, Any]:
        """Return the columns that name the panel in an artifact's data."""
        return {
            "model": self.model,
            "benchmark": self.benchmark,
            "subset": self.subset or "",
            "length": self.length,
            **self._across,
        }

    @property
    def across(self) -> list[str]:
        """Return what tells the panel apart from others of one model, benchmark, subset
        and length."""
        printed = []
        for key, value in self._across.items():
            printed.append(ACROSS[key].format(view_label(str(value), self.names)))
        return printed

    @property
    def _across(self) -> dict[str, Any]:
        values = {key: getattr(self, key) for key in ACROSS}
        return {key: value for key, value in values.items() if value is not None}

    @property
    def fixed(self) -> dict[str, list[Any]]:
        """Return the values that columns of results may have in a panel, beside its
        subset and length."""
        fixed: dict[str, list[Any]] = {
            "view": [self.view or "original"],
            "draw": [self.draw or 0],
            "separator": [self.separator or "none"],
        }
        references = self.references if self.reference is None else [self.reference]
        if references is not None:
            fixed["reference"] = references
        if self.start_token is not None:
            fixed["start_token"] = [self.start_token]
        return fixed

    @property
    def lines(self) -> tuple[str, ...]:
        """Return a column's header lines: model, benchmark, subset, length and the
        rest; or the panel's own label."""
        if self.label is not None:
            return self.label, *self.across
        # a header without a key that its block names has this key empty
        named = self.title_of(self.model), self.title_of(self.benchmark)
        parts = [part for part in (*named, self.subset, self._length) if part]
        return *parts, *self.across

    @property
    def _length(self) -> str:
        return "" if self.length is None else f"{self.length} {self.length_unit}"

    @property
    def place(self) -> str:
        """Return subset, length and what else tells a panel apart: `, arxiv, 64 words,
        deletion 10 %`."""
        text = ""
        for part in (self.subset, self._length, *self.across):
            if part:
                text += f", {part}"
        return text

    @property
    def name(self) -> str:
        """Name the panel in running text: `Pythia-2.8B on WikiMIA, 64 words`."""
        if self.label is not None:
            return ", ".join([self.label, *self.across])
        benchmark = f"{self.title_of(self.benchmark)}{self.place}"
        return f"{self.title_of(self.model)} on {benchmark}"

    @property
    def heading(self) -> str:
        """Name the panel by its label, or else as `WikiMIA, 64 words, Pythia-2.8B`."""
        if self.label is not None:
            return self.name
        benchmark = f"{self.title_of(self.benchmark)}{self.place}"
        return f"{benchmark}, {self.title_of(self.model)}"


class Missing(Keys):
    """A model or benchmark that cannot be read, by its slug, and why; with the panel
    that is left out for it."""

    name: str
    reason: str
    model: Maybe[str] = None
    benchmark: Maybe[str] = None
    references: list[str] = []


class Artifact(Keys):
    """A table or figure as a study resolves it: the keys of
    `studies.keys.WrittenArtifact`, registry and study merged.

    Without panels, there is one for each run. `cautions` are sentences that are printed
    under it, `null_models` those of its models that saw neither class, `names` what
    slugs are called in print.
    """

    slug: str
    title: str
    renderer: str
    paper: str = ""
    caption: str = ""
    metric: str = "auc"
    evaluation_set: str = "all"
    selection: list[str] = []
    baseline: str = ""
    methods: list[str] = []
    options: Options = Options()
    inferred: str = ""
    limits: str = ""
    unavailable: str = ""
    ablations: list[str] = []
    panels: list[Panel] = []
    missing: list[Missing] = []
    cautions: list[str] = []
    null_models: list[str] = []
    names: dict[str, str] = {}

    @field_serializer("options")
    def _options_given(self, options: Options) -> dict[str, Any]:
        return options.to_json(defaults=False)

    @property
    def kind(self) -> str:
        """Return `table` or `figure`."""
        return renderer_of(self.renderer).kind

    @property
    def needs(self) -> frozenset[str]:
        """Return the kinds of results that its renderer reads."""
        return renderer_of(self.renderer).needs

    def title_of(self, slugs: str) -> str:
        """Return what models, benchmarks, corpora or views, joined by commas, are
        called in print."""
        return ", ".join(view_label(slug, self.names) for slug in slugs.split(", "))

    @property
    def metrics(self) -> list[str]:
        """Return the metrics shown side by side, or the artifact's one."""
        return self.options.metrics or [self.metric]

    @property
    def selections(self) -> list[str]:
        return self.selection or [*SELECTIONS]

    @property
    def one_setting(self) -> str:
        """Return the first selection that gives a method one setting (`default` if the
        artifact names none).

        Raises `InputError` for `held_out`, which may have a setting a fold.
        """
        selection = self.selection[0] if self.selection else "default"
        if selection == "held_out":
            raise self.error(
                "selection 'held_out' has a setting for each fold, which this figure "
                "does not draw; use default or best_on_test"
            )
        return selection

    @property
    def chance(self) -> float:
        """Return the chance level of the metric; raises `InputError` if it has none."""
        level = chance_level(self.metric)
        if level is None:
            raise self.error(f"{self.metric} has no chance level")
        return level

    def order_methods(self, methods: Iterable[str]) -> list[str]:
        """Return distinct methods in the artifact's own order if it names them, else
        `in_order`; controls last."""
        there = in_order(methods)
        if self.methods:
            there = [method for method in self.methods if method in there]
        return sorted(there, key=is_control)

    def error(self, message: str, panel: Panel | None = None) -> "ArtifactError":
        """Return an error that names the artifact, and the panel if there is one."""
        return ArtifactError(self.slug, message, panel)

    def empty(self, message: str, panel: Panel | None = None) -> "ArtifactError":
        """Return the error of an artifact or a panel for which the results have
        nothing, which is nobody's fault."""
        return ArtifactError(self.slug, message, panel, is_empty=True)


class ArtifactError(InputError):
    """An artifact, or one panel of it, cannot be shown. `is_empty`: the results have
    nothing for it."""

    def __init__(
        self,
        artifact: str,
        message: str,
        panel: Panel | None,
        *,
        is_empty: bool = False,
    ) -> None:
        place = f", panel {panel.name}" if panel else ""
        super().__init__(f"artifact {artifact}{place}: {message}")
        self.message = message
        self.panel = panel
        self.is_empty = is_empty


def outputs(artifact: Artifact, folder: Path) -> dict[str, Path]:
    """Return the paths of an artifact's files under the study's folder, by suffix, and
    of the `record` of rendering."""
    kind = artifact.kind
    files = {"record": folder / "rendered" / f"{artifact.slug}.json"}
    for suffix in SUFFIXES[kind]:
        files[suffix] = folder / f"{kind}s" / f"{artifact.slug}.{suffix}"
    return files


def rendering_of(artifact: Artifact, folder: Path) -> dict[str, Any]:
    """Return what `rendering.render` recorded: `shown`, and sentences of what `failed`
    and what was `empty`."""
    if artifact.unavailable:
        return {"shown": False, "failed": [], "empty": []}
    return read_json(outputs(artifact, folder)["record"])
