"""Where a score's inputs come from: passes of the model and of reference models, the benchmark, its views and
prefixes, corpus counts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace.methods.plan import Cell
from pretrace.methods.statistics import Floats
from pretrace.methods.tables import Beside, Walk, walk
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import log
from pretrace.views.prefixes import shots
from pretrace.views.stored import StoredView, viewed

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Sources:
    """Where texts, statistics and frequencies come from, and how many texts a method could not score for lack
    of them."""

    manifest: dict[str, Any]
    store: Path
    benchmark: "pd.DataFrame"
    references: Mapping[str, dict[str, Any]]
    counts: Mapping[str, Path]
    shadows: Mapping[str, Path]
    language: str
    prefixes: "pd.DataFrame | None"
    views: Mapping[str, StoredView]
    unscored: Counter[tuple[str, str]] = field(default_factory=Counter)
    _frequencies: dict[str, Floats] = field(default_factory=dict)
    _under_shadows: dict[str, dict[str, tuple[Floats, Floats]]] = field(default_factory=dict)
    _walks: dict[tuple[Cell, Beside, str], Walk] = field(default_factory=dict)
    _texts: dict[Cell, "pd.DataFrame"] = field(default_factory=dict)

    def rows(self, cell: Cell, beside: Beside | None = None, *, reference: str = "") -> Walk:
        """A pass over the cell's texts, which `step` moves on; one for all who ask for it."""
        beside = beside or Beside()
        if (cell, beside, reference) not in self._walks:
            manifest = self.references.get(reference) if reference else self.manifest
            found = Walk(iter(())) if manifest is None else walk(manifest, self.store, cell, beside)
            self._walks[cell, beside, reference] = found
        return self._walks[cell, beside, reference]

    def step(self, last: str) -> None:
        """Move every pass on to the texts up to the id `last`."""
        for one in self._walks.values():
            one.step(last)

    def leave(self) -> None:
        """Close the passes: a cell is done."""
        self._walks.clear()

    def frequencies(self, corpus: str) -> Floats | None:
        """[V] ln q of each token id, V the size of the model's output layer; None without counts of that
        corpus."""
        from pretrace.corpora import log_frequencies

        if corpus in self.counts and corpus not in self._frequencies:
            self._frequencies[corpus] = log_frequencies(self.counts[corpus], self.manifest["vocabulary"])
        return self._frequencies.get(corpus)

    def under_shadows(self, model: str) -> dict[str, tuple[Floats, Floats]]:
        """Text id -> its log-likelihoods under the shadow models of a model: trained on it, and not."""
        if model in self.shadows and model not in self._under_shadows:
            table = read_parquet(self.shadows[model])
            within, without = (
                dict(table["log_likelihood"][table["in"].eq(side)].groupby(table["text_id"]).agg(np.array))
                for side in (True, False)
            )
            self._under_shadows[model] = {id: (within[id], without[id]) for id in within}
        return self._under_shadows.get(model, {})

    def texts(self, cell: Cell) -> "pd.DataFrame":
        """The benchmark's rows of a cell by text id; `text` as the cell's view has it, "" where it has none."""
        if cell not in self._texts:
            frame = self.benchmark
            length = (
                frame["length"].isna()
                if cell.length is None
                else frame["length"].eq(cell.length).fillna(False)
            )
            frame = frame[frame["subset"].eq(cell.subset) & length.astype(bool)].sort_values("text_id")
            if cell.view != "original":
                seen = dict(viewed(cell.view, frame["text_id"].tolist(), frame["text"].tolist(), self.views))
                frame = frame.assign(text=[seen.get(id, "") for id in frame["text_id"]])
            self._texts[cell] = frame
        return self._texts[cell]

    def shots(self, cell: Cell, draw: int, prefix: str, count: int) -> tuple[str, ...]:
        """The texts of the first `count` shots of a draw."""
        assert self.prefixes is not None
        drawn = shots(self.prefixes, self.benchmark, draw, cell.subset, cell.length, prefix, count)
        return tuple(drawn)

    def stream(self) -> tuple[str, ...]:
        """What a model trained on the benchmark's members reads in an epoch."""
        from pretrace.models.training.stream import training_stream

        return tuple(training_stream(self.benchmark, {}))

    def log_unscored(self) -> None:
        for (method, reason), texts in sorted(self.unscored.items()):
            log.info("%s: no score for %d texts of %s: %s", method, texts, self.manifest["benchmark"], reason)
