"""A view of a benchmark that is a stored table: where it comes from, and who makes
it."""

from dataclasses import dataclass
from typing import Literal

from pretrace.studies.stages.benchmarks import Benchmark
from pretrace.studies.stages.models import JobResources, Model
from pretrace.studies.stages.registered import File, Parameters
from pretrace.views import VIEWS


@dataclass(frozen=True)
class StoredView:
    """A view of a benchmark that is a stored table, by its name in the shared
    stages."""

    benchmark: Benchmark
    name: str

    @property
    def path(self) -> str:
        """Its benchmark and itself, in the shared stages."""
        return f"{self.benchmark.name}/{self.name}"

    @property
    def writer(self) -> Model | None:
        """The model that makes or writes it; None if it is in a file of the user's or
        of the texts."""
        if self.name in self.benchmark.entry.views or self.is_computed:
            return None
        study = self.benchmark.study
        name = VIEWS[self.name].model or self.name.partition("_by_")[2]
        return Model(study, study.models.slug_of(name)) if name else None

    @property
    def file(self) -> str:
        return f"results/views/{self.path}.parquet"

    @property
    def is_computed(self) -> bool:
        """Whether it is a function of the texts and of data of this machine."""
        return VIEWS[self.name].source == "data"

    @property
    def way(self) -> Literal["file", "data", "prompts", "model"]:
        """Where it comes from: a file, data of this machine, the prompts to a model
        that writes it, or a model."""
        if self.is_computed:
            return "data"
        if self.writer is None:
            return "file"
        return "prompts" if self.prompts else "model"

    @property
    def source(self) -> File:
        """The file that has it: its own, a fetched one, or the one with the texts."""
        if self.writer or self.is_computed:
            return []
        if self.name in self.benchmark.entry.views:
            return self.benchmark.entry.views[self.name]
        if self.benchmark.fetches_views:
            return self.benchmark.record("views")
        return self.benchmark.source

    @property
    def prompts(self) -> File:
        """The instructions to a model that writes paraphrases."""
        if self.writer and VIEWS[self.name].family == "paraphrase":
            return str(self.benchmark.study.folder / "prompts" / "paraphrase.yaml")
        return []

    @property
    def entry(self) -> Parameters:
        """What makes it: the benchmark's entry for an imported view, else what a
        model's answers depend on."""
        if self.is_computed:
            return {}
        return self.writer.answering if self.writer else self.benchmark.building

    @property
    def resources(self) -> JobResources:
        if self.writer is None:
            return JobResources()
        own = self.writer.resources
        return own if self.writer.is_local else own._replace(threads=1)
