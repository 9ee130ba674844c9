"""Read a source of texts, give the standard table of texts, labels and folds (one file per loader, in `loaders/`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.benchmarks.sources import LOADERS, VIEW_LOADERS, BenchmarkEntry
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import seed_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LOADERS", "build", "imported"]


def build(name: str, entry: BenchmarkEntry, sources: list[Path], seed: int = 0) -> "pd.DataFrame":
    """The table of the benchmark `name` (columns: `table.SCHEMA`), read from `sources` by its entry's loader.

    The same entry, files and seed give the same table; an entry with `split: other` draws what the benchmark
    `other` draws, so that a model trained on the one has the other's members. Another number of rows than
    `expected` says is warned of. Raises `InputError` on a source that is missing or broken.
    """
    from pretrace.benchmarks import loaders  # noqa: F401  (each registers itself)
    from pretrace.benchmarks.table import finish, warn_of_counts

    texts = LOADERS[entry.source](entry, sources, seed_of("benchmark", entry.split or name, seed))
    warn_of_counts(texts, entry.expected, name)
    return finish(texts, name=name, seed=seed_of("folds", name, seed))


def imported(view: str, entry: BenchmarkEntry, sources: list[Path]) -> Mapping[str, list[str]]:
    """Text id -> its variants of a view that the benchmark's own source holds (`paraphrase` of arXivTection).

    Raises `InputError` where the source holds no such view.
    """
    from pretrace.benchmarks import loaders  # noqa: F401  (each registers itself)

    views = VIEW_LOADERS[entry.source](entry, sources) if entry.source in VIEW_LOADERS else {}
    if view not in views:
        raise InputError(
            f"a benchmark with source '{entry.source}' has no view '{view}'. Give a file of it under the "
            f"entry's key views; {nearest(view, views)}"
        )
    return views[view]
