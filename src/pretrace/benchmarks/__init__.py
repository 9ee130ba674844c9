"""Read a source of texts, give the standard table of texts, labels and folds (one file
per loader, in `loaders/`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace.benchmarks.sources import (
    BENCHMARKS,
    LOADERS,
    VIEW_LOADERS,
    BenchmarkEntry,
    ReleasedVariant,
)
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import JsonObject
from pretrace.seeds import seed_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LOADERS", "benchmark_entry", "build", "released_view"]


def benchmark_entry(plain: JsonObject) -> BenchmarkEntry:
    """Return a benchmark's entry as the class of its source, from the plain values that
    a job has of it."""
    from pretrace.benchmarks import loaders  # noqa: F401  (each registers itself)

    return BENCHMARKS[plain["source"]].model_validate(plain)


def build(
    name: str, plain: JsonObject, sources: list[Path], seed: int = 0
) -> "pd.DataFrame":
    """Build the table of the benchmark `name` (columns: `table.TEXT_SCHEMA`) from
    `sources`, by its entry's loader.

    The same entry, files and seed give the same table; an entry with `split: other`
    draws what the benchmark `other` draws, so that a model trained on the one has the
    other's members. Another number of rows than `expected` says is warned of. Raises
    `InputError` on a source that is missing or broken.
    """
    from pretrace.benchmarks.table import finish, warn_of_counts

    entry = benchmark_entry(plain)
    texts = LOADERS[entry.source](
        entry, sources, seed_of("benchmark", entry.split or name, seed)
    )
    warn_of_counts(texts, entry.expected, name)
    return finish(texts, name=name, seed=seed_of("folds", name, seed))


def released_view(
    view: str, plain: JsonObject, sources: list[Path]
) -> Sequence[ReleasedVariant]:
    """Return the rows of a view that the benchmark's own source holds (`paraphrase` of
    arXivTection).

    Raises `InputError` if the source holds no such view.
    """
    from pretrace.benchmarks.columns import one_form

    entry = benchmark_entry(plain)
    views = (
        VIEW_LOADERS[entry.source](entry, sources)
        if entry.source in VIEW_LOADERS
        else {}
    )
    if view not in views:
        raise InputError(
            f"a benchmark with source '{entry.source}' has no view '{view}'. Give a "
            f"file of it under the entry's key views; {nearest(view, views)}"
        )
    return [
        variant._replace(text_id=one_form(variant.text_id)) for variant in views[view]
    ]
