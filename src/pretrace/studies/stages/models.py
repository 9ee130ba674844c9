"""A model of a study: its checkpoint and tokenizer, how it is loaded and trained, and
what its jobs reserve."""

from pathlib import Path
from typing import NamedTuple

from pretrace.models.abilities import can
from pretrace.models.entries import (
    AdapterModel,
    AnswersModel,
    ApiModel,
    HubModel,
    ModelEntry,
    TrainedModel,
    Training,
)
from pretrace.studies.registries import path_of
from pretrace.studies.stages.benchmarks import Benchmark
from pretrace.studies.stages.corpora import Corpus
from pretrace.studies.stages.registered import (
    File,
    Parameters,
    Registered,
    downloaded,
    entry_to_fetch,
)

MEMORY, TRAINING_MEMORY = 4000, 8000
"""MB for a model's jobs, and for the training of a whole language model, if its entry
does not say."""

RUNTIME = 240
"""Minutes for a model's jobs if its entry does not say."""

LOADING = (
    "dtype",
    "max_length",
    "device_map",
    "quantise",
    "special_tokens",
    "tokenizer_from",
)
"""Keys of a model's entry that say how it is loaded."""


class JobResources(NamedTuple):
    """What a scheduler reserves for a job; memory in MB, time in minutes."""

    threads: int = 1
    gpu: int = 0
    mem_mb: int = MEMORY
    runtime: int = RUNTIME


class Model(Registered[ModelEntry]):
    """A model of a study."""

    kind = "models"

    @property
    def is_local(self) -> bool:
        """Whether its weights are read here."""
        return can(self.entry, "weights")

    @property
    def checkpoint(self) -> File:
        """The record of its weights, if they are read here."""
        return f"results/models/{self.name}/checkpoint.json" if self.is_local else []

    @property
    def tokenizer(self) -> File:
        """The checkpoint whose tokenizer reads texts: of a model behind an API, the one
        that its entry names."""
        slug = self.entry.tokenizer
        if self.is_local or slug is None:
            return self.checkpoint
        return Model(self.study, slug).checkpoint

    @property
    def counting(self) -> "Model":
        """The model whose tokenizer stands for this model's in reference counts: its
        own if `without` names the lender."""
        lender = self.entry.tokenizer
        is_left_out = lender in self.study.settings.without
        if lender is None or (is_left_out and can(self.entry, "own_tokenizer")):
            return self
        return Model(self.study, lender)

    @property
    def path(self) -> str | None:
        return path_of(self.entry)

    @property
    def files(self) -> list[str]:
        """The files of a checkpoint of the user's."""
        paths = Path(self.path or "").glob("*")
        return sorted(str(path) for path in paths if path.is_file())

    @property
    def column(self) -> str | None:
        """The model's name in the answers that DE-COP's authors released, if its
        answers are theirs."""
        return self.entry.column if isinstance(self.entry, AnswersModel) else None

    @property
    def released_scores(self) -> File:
        scores = self.entry.scores if isinstance(self.entry, AnswersModel) else None
        return scores or []

    @property
    def wheel(self) -> File:
        return downloaded(self.study, self.entry)

    @property
    def curve(self) -> File:
        """The loss curve of a model that is trained here."""
        if not isinstance(self.entry, TrainedModel):
            return []
        return f"results/models/{self.name}/training.parquet"

    @property
    def base(self) -> File:
        """The record of the model that an adapter changes."""
        entry = self.entry
        if not isinstance(entry, AdapterModel):
            return []
        return Model(self.study, entry.base).checkpoint

    @property
    def _training(self) -> Training:
        assert isinstance(self.entry, TrainedModel)
        return self.entry.training

    @property
    def training(self) -> Parameters:
        return self._training.to_json(defaults=False)

    @property
    def training_texts(self) -> str:
        return Benchmark(self.study, self._training.benchmark).table

    @property
    def reads_where_trained(self) -> bool:
        """Whether the job that trains it has it read texts: no training reserves
        GPUs."""
        return isinstance(self.entry, TrainedModel) and not self.resources.gpu

    @property
    def start(self) -> File:
        """The checkpoint whose weights a training starts from; [] for random
        weights."""
        slug = self._training.start
        return [] if slug is None else Model(self.study, slug).checkpoint

    @property
    def training_documents(self) -> list[str]:
        """The corpus of a tokenizer that is trained for the model; [] if it has another
        model's."""
        slug = self._training.tokenizer_corpus
        return [] if slug is None or self.start else Corpus(self.study, slug).documents

    @property
    def trained_tokenizer(self) -> File:
        slug = self._training.tokenizer_corpus
        if slug is None or self.start:
            return []
        return f"results/tokenizers/{Corpus(self.study, slug).name}-{self._training.vocabulary}.json"

    @property
    def fetched(self) -> Parameters:
        """Return the keys of its entry for the job that fetches it from the hub."""
        record = f"results/models/{self.name}/checkpoint.json"
        entry = entry_to_fetch(self.entry, record, self.study.pins)
        assert isinstance(entry, HubModel)
        return {
            "hub": entry.hub,
            "revision": entry.revision,
            "access": entry.access or "",
        }

    @property
    def may_run_code(self) -> bool:
        """Whether its own Python files may run: its entry and the configuration must
        both allow it."""
        return self.entry.remote_code and self.study.settings.trust_remote_code

    @property
    def encoding(self) -> Parameters:
        """The keys of its entry that say how its tokenizer reads texts."""
        return self._written("special_tokens", "tokenizer_from")

    @property
    def loading(self) -> Parameters:
        """The keys of its entry that say how it is loaded."""
        return self._written(*LOADING)

    def _written(self, *keys: str) -> Parameters:
        written = self.entry.to_json(defaults=False)
        return {key: written[key] for key in keys if key in written}

    @property
    def answering(self) -> Parameters:
        """The keys of its entry that its answers and what it writes depend on."""
        if not isinstance(self.entry, ApiModel):
            return self.loading
        return self.loading | {"api": self.entry.api.to_json(defaults=False)}

    @property
    def jobs(self) -> int:
        """The number of jobs that share the texts of a benchmark; an API is asked by
        one."""
        return self.entry.resources.jobs if self.is_local else 1

    @property
    def resources(self) -> JobResources:
        own = self.entry.resources
        threads = own.threads or self.study.settings.threads
        return JobResources(
            threads, own.gpu, own.mem_mb or MEMORY, own.runtime or RUNTIME
        )

    @property
    def training_resources(self) -> JobResources:
        if self.start:
            return self.resources._replace(
                mem_mb=self.entry.resources.mem_mb or TRAINING_MEMORY
            )
        # a small model gets one thread, so that every core trains one; the weights
        # depend on the number
        return self.resources._replace(threads=1)
