"""The shared stages of a study: files of its models, benchmarks, corpora and stored
views, and parameters of jobs.

A file that is not needed is [], as an input of a rule takes it.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple

from pretrace.benchmarks.loaders.chinese import PatentMia
from pretrace.benchmarks.sources import BenchmarkEntry, FromHub, WithNeighbours
from pretrace.corpora.sources import CorpusEntry
from pretrace.models.entries import (
    AdapterModel,
    AnswersModel,
    ApiModel,
    HubModel,
    ModelEntry,
    TrainedModel,
    Training,
)
from pretrace.runtime.hub import Pins, repositories_of
from pretrace.runtime.schema import OnHub
from pretrace.studies.audit_study import POSITIVE_CONTROL
from pretrace.studies.registries import E, Entry, downloads_named, own_files, path_of
from pretrace.studies.study import Study
from pretrace.views import VIEWS

File = str | list[str]

PRINTED_KEYS = ("title", "unavailable", "caution", "rebuilt", "length_unit")
"""Keys of benchmarks and corpora that are printed and make no text: a reworded title
rereads nothing."""

LOADING = (
    "dtype",
    "max_length",
    "device_map",
    "quantise",
    "special_tokens",
    "tokenizer_from",
)
"""Keys of a model's entry that say how it is loaded."""

MEMORY, TRAINING_MEMORY = 4000, 8000
"""MB for a model's jobs, and for the training of a whole language model, if its entry
does not say."""

RUNTIME = 240
"""Minutes for a model's jobs if its entry does not say."""

FIRST = 1000
"""The priority of jobs that the study's first artifacts wait for; all others have 0."""


@cache
def before_first(study: Study) -> frozenset[tuple[str, str]]:
    """Return what the study's first artifacts wait for: (kind, slug) of models,
    benchmarks and corpora; pairs."""
    shown: set[tuple[str, str]] = set()
    pairs: set[tuple[str, str]] = set()
    for slug in study.first:
        artifact = study.artifacts[slug]
        shown.update(panel.pair for panel in artifact.panels)
        if artifact.renderer == "audit":
            pairs.update((panel.model, POSITIVE_CONTROL) for panel in artifact.panels)
    pairs &= study.runs_by_pair.keys()

    pairs |= shown
    corpora = set()
    for pair in shown:
        for run in study.runs_by_pair.get(pair, []):
            pairs.update((reference, run.benchmark) for reference in run.references)
            if run.calibrate_on:
                pairs.add((run.model, run.calibrate_on))
            corpora.update(run.corpora)

    models = {model for model, _ in pairs}
    benchmarks = {benchmark for _, benchmark in pairs}
    for model in sorted(models):
        entry = study.models.entries[model]
        if isinstance(entry, AdapterModel):
            models.add(entry.base)
        if isinstance(entry, TrainedModel):
            benchmarks.add(entry.training.benchmark)
            if entry.training.start:
                models.add(entry.training.start)
            if entry.training.tokenizer_corpus:
                corpora.add(entry.training.tokenizer_corpus)

    waited = set(pairs)
    for kind, slugs in (
        ("models", models),
        ("benchmarks", benchmarks),
        ("corpora", corpora),
    ):
        waited.update((kind, slug) for slug in slugs)
    return frozenset(waited)


def priority(study: Study, *waited: str) -> int:
    """Return `FIRST` if the study's first artifacts wait for `waited`: a pair's slugs,
    or (kind, slug)."""
    return FIRST * (waited in before_first(study))


class JobResources(NamedTuple):
    """What a scheduler reserves for a job; memory in MB, time in minutes."""

    threads: int = 1
    gpu: int = 0
    mem_mb: int = MEMORY
    runtime: int = RUNTIME


@dataclass(frozen=True)
class Registered(Generic[E]):
    """An entry of a study's registry `kind`, by its slug in the study; `name` is that
    in the shared stages."""

    study: Study
    slug: str
    kind: ClassVar[str]

    @property
    def entry(self) -> E:
        entries: dict[str, E] = getattr(self.study, self.kind).entries
        return entries[self.slug]

    @property
    def name(self) -> str:
        shared: dict[str, str] = getattr(self.study, self.kind).shared
        return shared[self.slug]

    @property
    def priority(self) -> int:
        return priority(self.study, self.kind, self.slug)


class Model(Registered[ModelEntry]):
    """A model of a study."""

    kind = "models"

    @property
    def is_local(self) -> bool:
        """Whether its weights are read here."""
        return not isinstance(self.entry, AnswersModel | ApiModel)

    @property
    def checkpoint(self) -> File:
        """The record of its weights, if they are read here."""
        return f"results/models/{self.name}/checkpoint.json" if self.is_local else []

    @property
    def tokenizer(self) -> File:
        """The checkpoint whose tokenizer reads texts: of a model behind an API, the one
        that its entry names."""
        slug = self.entry.tokenizer
        return (
            self.checkpoint
            if self.is_local or slug is None
            else Model(self.study, slug).checkpoint
        )

    @property
    def counting(self) -> "Model":
        """The model whose tokenizer stands for this model's in reference counts."""
        return Model(self.study, self.entry.tokenizer or self.slug)

    @property
    def path(self) -> str | None:
        return path_of(self.entry)

    @property
    def files(self) -> list[str]:
        """The files of a checkpoint of the user's."""
        return sorted(
            str(path) for path in Path(self.path or "").glob("*") if path.is_file()
        )

    @property
    def column(self) -> str | None:
        """The model's name in the answers that DE-COP's authors released, if its
        answers are theirs."""
        return self.entry.column if isinstance(self.entry, AnswersModel) else None

    @property
    def released_scores(self) -> File:
        return (isinstance(self.entry, AnswersModel) and self.entry.scores) or []

    @property
    def wheel(self) -> File:
        return downloaded(self.study, self.entry)

    @property
    def curve(self) -> File:
        """The loss curve of a model that is trained here."""
        trained = isinstance(self.entry, TrainedModel)
        return f"results/models/{self.name}/training.parquet" if trained else []

    @property
    def base(self) -> File:
        """The record of the model that an adapter changes."""
        entry = self.entry
        return (
            Model(self.study, entry.base).checkpoint
            if isinstance(entry, AdapterModel)
            else []
        )

    @property
    def _training(self) -> Training:
        assert isinstance(self.entry, TrainedModel)
        return self.entry.training

    @property
    def training(self) -> dict[str, Any]:
        return self._training.to_json(defaults=False)

    @property
    def training_texts(self) -> str:
        return Benchmark(self.study, self._training.benchmark).table

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
    def fetched(self) -> dict[str, Any]:
        """Return the keys of its entry for the job that fetches it from the hub."""
        record = f"results/models/{self.name}/checkpoint.json"
        entry = asked_for(self.entry, record, self.study.pins)
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
    def encoding(self) -> dict[str, Any]:
        """The keys of its entry that say how its tokenizer reads texts."""
        return self._written("special_tokens", "tokenizer_from")

    @property
    def loading(self) -> dict[str, Any]:
        """The keys of its entry that say how it is loaded."""
        return self._written(*LOADING)

    def _written(self, *keys: str) -> dict[str, Any]:
        written = self.entry.to_json(defaults=False)
        return {key: written[key] for key in keys if key in written}

    @property
    def answering(self) -> dict[str, Any]:
        """The keys of its entry that its answers and what it writes depend on."""
        api = (
            {"api": self.entry.api.to_json(defaults=False)}
            if isinstance(self.entry, ApiModel)
            else {}
        )
        return self.loading | api

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
    def longest_attempt(self) -> int:
        """The most minutes that a job of its passes or answers asks for; it goes on in
        the next attempt."""
        return min(self.resources.runtime, self.study.settings.max_runtime)

    @property
    def training_resources(self) -> JobResources:
        if self.start:
            return self.resources._replace(
                mem_mb=self.entry.resources.mem_mb or TRAINING_MEMORY
            )
        # a small model gets one thread, so that every core trains one; the weights
        # depend on the number
        return self.resources._replace(threads=1)


class Benchmark(Registered[BenchmarkEntry]):
    """A benchmark of a study."""

    kind = "benchmarks"

    @property
    def table(self) -> str:
        return f"results/benchmarks/{self.name}.parquet"

    @property
    def building(self) -> dict[str, Any]:
        """The keys of its entry that its texts follow from."""
        return self.entry.to_json(*PRINTED_KEYS, "access", defaults=False)

    @property
    def prefixes(self) -> File:
        """The shots drawn from it, if its entry has any drawn."""
        return (
            [] if self.entry.prefix is None else f"results/prefixes/{self.name}.parquet"
        )

    @property
    def prefix(self) -> dict[str, Any] | None:
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
        return (
            isinstance(entry, WithNeighbours)
            and entry.neighbours is not None
            and entry.path is None
        )

    @property
    def source(self) -> File:
        """The files with its texts: the user's own, fetched ones, or of a downloaded
        package."""
        if self.is_fetched and self.entry.path is None:
            return self.record("texts")
        return source(self.study, self.entry)

    def record(self, part: str) -> str:
        """Return the record of the files fetched for its `texts` or its `views`."""
        return f"results/downloads/{self.name}/{part}/files.json"

    def fetched(self, part: str) -> dict[str, Any]:
        """Return the keys of its entry for the job that fetches its `texts` or its
        `views`."""
        return asked_for(self.entry, self.record(part), self.study.pins, part).to_json(
            *PRINTED_KEYS, defaults=False
        )


@dataclass(frozen=True)
class StoredView:
    """A view of a benchmark that is a stored table, by its name in the shared
    stages."""

    benchmark: Benchmark
    name: str

    @property
    def path(self) -> str:
        """Its benchmark and itself, in the shared stages."""
        return f"{self.benchmark.name}/{self.name}"

    @property
    def writer(self) -> Model | None:
        """The model that makes or writes it; None if it is in a file of the user's or
        of the texts."""
        if self.name in self.benchmark.entry.views or self.is_computed:
            return None
        study = self.benchmark.study
        name = VIEWS[self.name].model or self.name.partition("_by_")[2]
        return Model(study, study.models.slug_of(name)) if name else None

    @property
    def file(self) -> str:
        return f"results/views/{self.path}.parquet"

    @property
    def is_computed(self) -> bool:
        """Whether it is a function of the texts and of data of this machine."""
        return VIEWS[self.name].source == "data"

    @property
    def way(self) -> Literal["file", "data", "prompts", "model"]:
        """Where it comes from: a file, data of this machine, the prompts to a model
        that writes it, or a model."""
        if self.is_computed:
            return "data"
        if self.writer is None:
            return "file"
        return "prompts" if self.prompts else "model"

    @property
    def source(self) -> File:
        """The file that has it: its own, a fetched one, or the one with the texts."""
        if self.writer or self.is_computed:
            return []
        if self.name in self.benchmark.entry.views:
            return self.benchmark.entry.views[self.name]
        return (
            self.benchmark.record("views")
            if self.benchmark.fetches_views
            else self.benchmark.source
        )

    @property
    def prompts(self) -> File:
        """The instructions to a model that writes paraphrases."""
        if self.writer and VIEWS[self.name].family == "paraphrase":
            return str(self.benchmark.study.folder / "prompts" / "paraphrase.yaml")
        return []

    @property
    def entry(self) -> dict[str, Any]:
        """What makes it: the benchmark's entry for an imported view, else what a
        model's answers depend on."""
        if self.is_computed:
            return {}
        return self.writer.answering if self.writer else self.benchmark.building

    @property
    def resources(self) -> JobResources:
        if self.writer is None:
            return JobResources()
        own = self.writer.resources
        return own if self.writer.is_local else own._replace(threads=1)


class Corpus(Registered[CorpusEntry]):
    """A reference corpus of a study."""

    kind = "corpora"

    @property
    def building(self) -> dict[str, Any]:
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
        from_hub = self.entry.source == "hub"
        return (
            [self.record(shard) for shard in range(self.entry.shards)]
            if from_hub
            else []
        )

    def record(self, shard: int | str) -> str:
        return f"results/corpora/{self.name}/commits/{shard}.json"

    def fetched(self, shard: str) -> dict[str, Any]:
        """Return the keys of its entry for the job that fetches a shard from the
        hub."""
        return asked_for(self.entry, self.record(shard), self.study.pins).to_json(
            *PRINTED_KEYS, defaults=False
        )

    def counts(self, tokenizer: str) -> str:
        """Return its counts by the tokenizer of a model, given by the model's shared
        name."""
        return f"results/corpora/{self.name}/counts/{tokenizer}.parquet"


def source(study: Study, entry: Entry) -> File:
    """Return the user's own files that an entry names, or else the downloaded ones."""
    own = own_files(entry)
    return downloaded(study, entry) if not own else own[0] if len(own) == 1 else own


def downloaded(study: Study, entry: Entry) -> File:
    """Return the downloaded file that an entry reads, or several, or none."""
    slugs = dict.fromkeys(downloads_named(entry).values())
    files = [f"results/downloads/{study.downloads[slug].file}" for slug in slugs]
    return files[0] if len(files) == 1 else files


def asked_for(entry: E, record: str, pins: Pins, part: str = "texts") -> E:
    """Return the entry for its fetching job: with the pinned revision, or with the one
    that the job was last asked for if `record` says that this gave the pinned commit.
    So pinning what was fetched runs nothing again.
    """
    repositories = entry.repositories() if isinstance(entry, OnHub) else {}
    key = (
        "views_revision"
        if part == "views" and "views_revision" in repositories
        else "revision"
    )
    kind = "models" if isinstance(entry, HubModel) else "datasets"
    pin = pins.get(kind, {}).get(repositories.get(key, ""))
    if pin is None:
        return entry
    revision = pin
    if Path(record).is_file():
        of_pin = [
            read.revision
            for read in repositories_of(Path(record))
            if pin in (read.commit, read.revision)
        ]
        revision = of_pin[0] if of_pin else pin
    if revision == getattr(entry, key):
        return entry
    return entry.model_copy(update={key: revision})
