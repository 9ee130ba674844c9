"""Where a score's inputs come from: passes of the model and of reference models, the benchmark, corpus
counts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.methods.plan import Cell
from pretrace.methods.statistics import Floats
from pretrace.methods.tables import PassRow, read_rows
from pretrace.runtime.logs import log

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
    language: str
    unscored: Counter[tuple[str, str]] = field(default_factory=Counter)
    _frequencies: dict[str, Floats] = field(default_factory=dict)

    def rows(self, cell: Cell, *, companion: str = "", reference: str = "") -> dict[str, PassRow]:
        manifest = self.references.get(reference) if reference else self.manifest
        if manifest is None:
            return {}
        return read_rows(manifest, self.store, cell, companion=companion)

    def frequencies(self, corpus: str) -> Floats | None:
        """[V] ln q of each token id, V the size of the model's output layer; None without counts of that
        corpus."""
        from pretrace.corpora import log_frequencies

        if corpus in self.counts and corpus not in self._frequencies:
            self._frequencies[corpus] = log_frequencies(self.counts[corpus], self.manifest["vocabulary"])
        return self._frequencies.get(corpus)

    def texts(self, cell: Cell) -> "pd.DataFrame":
        """The benchmark's rows of a cell."""
        frame = self.benchmark
        length = (
            frame["length"].isna() if cell.length is None else frame["length"].eq(cell.length).fillna(False)
        )
        return frame[frame["subset"].eq(cell.subset) & length.astype(bool)]

    def log_unscored(self) -> None:
        for (method, reason), texts in sorted(self.unscored.items()):
            log.info("%s: no score for %d texts of %s: %s", method, texts, self.manifest["benchmark"], reason)
