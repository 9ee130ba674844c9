"""A reference corpus of a study: its documents and its counts by the tokenizers of
models."""

from pretrace.corpora.sources import CorpusEntry
from pretrace.studies.stages.registered import Parameters, Texts


class Corpus(Texts[CorpusEntry]):
    """A reference corpus of a study."""

    kind = "corpora"

    @property
    def documents(self) -> list[str]:
        return [
            f"results/corpora/{self.name}/documents/{shard}.parquet"
            for shard in range(self.entry.shards)
        ]

    @property
    def records(self) -> list[str]:
        """The records of its files on the hub, if it is read from there."""
        if self.entry.source != "hub":
            return []
        return [self.record(shard) for shard in range(self.entry.shards)]

    def record(self, shard: int | str) -> str:
        return f"results/corpora/{self.name}/commits/{shard}.json"

    def fetched(self, shard: str) -> Parameters:
        """Return the keys of its entry for the job that fetches a shard from the
        hub."""
        return self.fetching(self.record(shard))

    def counts(self, tokenizer: str) -> str:
        """Return its counts by the tokenizer of a model, given by the model's shared
        name."""
        return f"results/corpora/{self.name}/counts/{tokenizer}.parquet"
