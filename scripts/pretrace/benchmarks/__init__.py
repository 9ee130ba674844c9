"""Read a source of texts, give the standard table of texts, labels and folds (one file per loader)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrace.benchmarks import local, peoples_daily, sotu, sotu_segments, sotu_split
from pretrace.benchmarks.loaders import LOADERS
from pretrace.runtime.files import seed_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LOADERS", "build", "local", "peoples_daily", "sotu", "sotu_segments", "sotu_split"]


def build(name: str, entry: Mapping[str, Any], sources: list[Path], seed: int = 0) -> "pd.DataFrame":
    """The table of the benchmark `name` (columns: `table.SCHEMA`), read from `sources` by its entry's loader.

    The same entry, files and seed give the same table; an entry with `split: other` draws what the benchmark
    `other` draws, so that a model trained on the one has the other's members. Raises `InputError` on a source
    that is missing or broken.
    """
    from pretrace.benchmarks.table import finish

    texts = LOADERS[entry["source"]](entry, sources, seed_of("benchmark", entry.get("split", name), seed))
    return finish(texts, name=name, seed=seed_of("folds", name, seed))
