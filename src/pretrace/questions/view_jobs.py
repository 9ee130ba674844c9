"""A stored view of a benchmark, made in any of the four ways: from a file, from data of
this machine, written by a model that is asked, or by a model that replaces words."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.benchmarks import benchmark_entry
from pretrace.questions.answerers import answerer_of
from pretrace.questions.written_views import ParaphrasePrompts, paraphrase
from pretrace.runtime.files import JsonObject
from pretrace.runtime.schema import read_keys
from pretrace.views import stored

if TYPE_CHECKING:
    import pandas as pd

WRITTEN = "paraphrase_by_"
"""How the view of a model's own paraphrases begins; its name follows."""


@dataclass(frozen=True)
class ViewJob:
    """A view to be made.

    name, benchmark          the view, and the name of the benchmark
    texts                    the benchmark's table
    entry                    the benchmark's entry for a view of a file, else what the
                             model's answers depend on
    source                   the file of the view, for the way `file`
    checkpoint, prompts      of the model that makes or writes it; empty without one
    threads, device          of the model's computations
    answering                further options of `answerer_of`
    """

    name: str
    benchmark: str
    texts: "pd.DataFrame"
    entry: JsonObject
    source: str
    checkpoint: str
    prompts: str
    threads: int
    device: str
    answering: JsonObject

    def make(self, way: str) -> "pd.DataFrame":
        """Make the view's table in one of the ways that `studies.stages.views` names:
        `file`, `data`, `prompts` or `model`."""
        match way:
            case "file":
                path = Path(self.source)
                if self.name in benchmark_entry(self.entry).views:
                    return stored.imported_view(self.name, self.texts, path)
                return stored.view_of_source(self.name, self.texts, self.entry, [path])
            case "data":
                return stored.computed_view(self.name, self.texts)
            case "prompts":
                return self._written()
            case "model":
                return self._replaced()
        raise ValueError(f"no view is made by '{way}'")

    def _written(self) -> "pd.DataFrame":
        """Have a model write three paraphrases of each passage."""
        writer = self.name.removeprefix(WRITTEN)
        about = f"paraphrases of {self.benchmark} by {writer}"
        prompts = read_keys(Path(self.prompts), ParaphrasePrompts)
        with answerer_of(
            self.entry,
            about,
            model=writer,
            checkpoint_json=self.checkpoint,
            threads=self.threads,
            device=self.device,
            **self.answering,
        ) as answerer:
            return paraphrase(self.texts, answerer, prompts, about)

    def _replaced(self) -> "pd.DataFrame":
        """Replace words of the texts by those that a model puts in their place."""
        from pretrace.models.devices import torch_settings

        with torch_settings(self.threads):
            return stored.make_view(
                self.name, self.texts, Path(self.checkpoint), device=self.device
            )
