"""A benchmark of a study: its table, its shots, and what its texts follow from."""

from pretrace.benchmarks.loaders.chinese import PatentMia
from pretrace.benchmarks.sources import BenchmarkEntry, FromHub, WithNeighbours
from pretrace.studies.priorities import FIRST
from pretrace.studies.stages.registered import File, Parameters, Texts


class Benchmark(Texts[BenchmarkEntry]):
    """A benchmark of a study."""

    kind = "benchmarks"

    @property
    def priority(self) -> int:
        """Texts come before models: a job that fills the store reads those that are
        ready."""
        return super().priority + FIRST - 2

    @property
    def table(self) -> str:
        return f"results/benchmarks/{self.name}.parquet"

    @property
    def prefixes(self) -> File:
        """The shots drawn from it, if its entry has any drawn."""
        if self.entry.prefix is None:
            return []
        return f"results/prefixes/{self.name}.parquet"

    @property
    def prefix(self) -> Parameters | None:
        return None if self.entry.prefix is None else self.entry.prefix.to_json()

    @property
    def split(self) -> str:
        """The benchmark whose draws it shares, so that a part of the texts is read
        after the same shots."""
        return self.entry.split or self.name

    @property
    def is_fetched(self) -> bool:
        """Whether its texts are fetched from the hub, or from the web."""
        from_hub = isinstance(self.entry, FromHub) and self.entry.hub is not None
        return from_hub or isinstance(self.entry, PatentMia)

    @property
    def fetches_views(self) -> bool:
        entry = self.entry
        if not isinstance(entry, WithNeighbours):
            return False
        return entry.neighbours is not None and entry.path is None

    @property
    def source(self) -> File:
        """The files with its texts: the user's own, fetched ones, or of a downloaded
        package."""
        if self.is_fetched and self.entry.path is None:
            return self.record("texts")
        return super().source

    def record(self, part: str) -> str:
        """Return the record of the files fetched for its `texts` or its `views`."""
        return f"results/downloads/{self.name}/{part}/files.json"

    def fetched(self, part: str) -> Parameters:
        """Return the keys of its entry for the job that fetches its `texts` or its
        `views`."""
        return self.fetching(self.record(part), part)
