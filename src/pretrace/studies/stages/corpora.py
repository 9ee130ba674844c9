"""A reference corpus of a study: its documents and its counts by the tokenizers of
models."""

from pretrace.corpora.sources import CorpusEntry
from pretrace.studies.stages.registered import (
    PRINTED_KEYS,
    File,
    Parameters,
    Registered,
    source,
)
from pretrace.studies.stages.revisions import entry_to_fetch


class Corpus(Registered[CorpusEntry]):
    """A reference corpus of a study."""

    kind = "corpora"

    @property
    def building(self) -> Parameters:
        """The keys of its entry that its texts follow from."""
        return self.entry.to_json(*PRINTED_KEYS, "access", defaults=False)

    @property
    def source(self) -> File:
        return source(self.study, self.entry)

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
        entry = entry_to_fetch(self.entry, self.record(shard), self.study.pins)
        return entry.to_json(*PRINTED_KEYS, defaults=False)

    def counts(self, tokenizer: str) -> str:
        """Return its counts by the tokenizer of a model, given by the model's shared
        name."""
        return f"results/corpora/{self.name}/counts/{tokenizer}.parquet"
