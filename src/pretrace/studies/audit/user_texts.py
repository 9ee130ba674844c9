"""The texts of a study's benchmarks that lie in files of the user."""

from functools import lru_cache

from pretrace.benchmarks.loaders.local import check_texts
from pretrace.benchmarks.sources import Text
from pretrace.studies.pairs import Pair
from pretrace.studies.plan import Plan
from pretrace.studies.registries import cut_of, left_out_of, text_files_of


# an audit reads two benchmarks, of passages and of whole works, or of both sides: each
# once, because works take seconds
@lru_cache(maxsize=2)
def read_texts(plan: Plan, slug: str) -> list[Text]:
    """Return the texts of a benchmark's files, which are the user's, checked."""
    entry = plan.study.benchmarks.entries[slug]
    return check_texts(
        *text_files_of(entry),
        metrics=plan.needs_classes(slug),
        cut=cut_of(entry),
        left_out=left_out_of(entry),
    )


def texts_of_runs(plan: Plan, pair: Pair) -> list[Text]:
    """Return the texts of a benchmark's files that the runs of a pair read."""
    read = []
    for text in read_texts(plan, pair.benchmark_slug):
        if any(text.slice.is_among(run.subsets, run.lengths) for run in pair.runs):
            read.append(text)
    return read
