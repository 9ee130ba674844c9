"""The registries of config/, merged with a study's own entries, under the names of the shared stages."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pretrace.benchmarks import loaders as _loaders  # noqa: F401  (each registers itself)
from pretrace.benchmarks.loaders.archives import Archives
from pretrace.benchmarks.loaders.king_james import QuotedVerses
from pretrace.benchmarks.loaders.local import LocalEntry
from pretrace.benchmarks.sources import BENCHMARKS, BenchmarkEntry
from pretrace.corpora.sources import CORPORA, CorpusEntry
from pretrace.models.entries import (
    MODELS,
    AnswersModel,
    Api,
    ApiModel,
    GgufModel,
    HubModel,
    LocalModel,
    ModelEntry,
)
from pretrace.runtime.errors import InputError, nearest, shortened
from pretrace.runtime.schema import Downloaded, Sources, parse, parse_entries, read_yaml
from pretrace.studies.keys import Config, Server

SOURCES: dict[str, Sources] = {"models": MODELS, "benchmarks": BENCHMARKS, "corpora": CORPORA}

Entry = ModelEntry | BenchmarkEntry | CorpusEntry
E = TypeVar("E", ModelEntry, BenchmarkEntry, CorpusEntry)


@dataclass(frozen=True)
class Registry(Generic[E]):
    """Entries of one kind, keyed by the slug that a study file uses.

    `shared` maps a slug to its name in the shared stages: the slug itself, or `{study}~{slug}` for an entry that the
    study defines, so that two studies' entries of one slug never meet. `files` maps a slug to the file that its paths
    are relative to and the place of the entry in it, `overridden` has the slugs whose source `config` replaces.
    """

    kind: str
    entries: dict[str, E]
    shared: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    overridden: set[str] = field(default_factory=set)

    def require(self, slug: str, where: str) -> str:
        """Return the slug itself, if it is registered.

        Raises:
            InputError: it is not; names `where` and the nearest valid slug.
        """
        if slug not in self.entries:
            kind = self.kind.removesuffix("s") if self.kind != "corpora" else "corpus"
            raise InputError(f"{where}: unknown {kind} '{slug}': {self._hint(slug)}")
        return slug

    def _hint(self, wrong: str) -> str:
        """The name of the entry that has the id of the hub that `wrong` is, how to make one, or the nearest name."""
        hubs = {getattr(entry, "hub", None): slug for slug, entry in self.entries.items()}
        if wrong in hubs:
            return f"that id of the hub has the name '{hubs[wrong]}' here."
        if self.kind == "models" and re.fullmatch(r"[\w.-]+/[\w.-]+", wrong):
            name = wrong.rpartition("/")[2].lower()
            entry = f"models: {{{name}: {{source: hub, hub: {shortened(wrong)}}}}}"
            return f"to use a model of the hub, add {entry} to the study and name it {name} in the run."
        return nearest(wrong, self.entries)

    @property
    def titles(self) -> dict[str, str]:
        """The titles of the entries that have one, by slug."""
        return {slug: entry.title for slug, entry in self.entries.items() if entry.title is not None}

    def slug_of(self, name: str) -> str:
        """Return the slug of an entry, given by it or by the entry's name in the shared stages."""
        if name in self.entries:
            return name
        return next(slug for slug, shared in self.shared.items() if shared == name)


Models = Registry[ModelEntry]
Benchmarks = Registry[BenchmarkEntry]
Corpora = Registry[CorpusEntry]


def files_of(entry: BenchmarkEntry) -> list[Path]:
    """Return the user's own files of a benchmark's texts, the second one with known texts; none of other sources."""
    paths = (entry.path, entry.known) if isinstance(entry, LocalEntry) else ()
    return [Path(path) for path in paths if path is not None]


def path_of(entry: Entry) -> str | None:
    """Return the user's own file or folder that an entry is read from."""
    if isinstance(entry, ModelEntry):
        return entry.path if isinstance(entry, LocalModel | AnswersModel) else None
    return entry.path


_OF_WEIGHTS = {"remote_code", "dtype", "device_map", "quantise", "resources"}
"""Keys of a model's entry that do not apply to a model behind a server."""


def load_registry(
    kind: str, folder: Path, own: Mapping[str, Any], study_name: str, study_path: Path
) -> Registry[Any]:
    """Read the registry file of `kind` and the study's `own` entries; paths become relative to the working directory.

    Raises:
        InputError: an entry breaks its schema, a file is missing, or a study entry hides a registered slug.
    """
    path = folder / f"{kind}.yaml"
    registered = parse_entries(read_yaml(path), SOURCES[kind], str(path))
    written = parse_entries(own, SOURCES[kind], f"{study_path}: {kind}")
    if hidden := sorted(written.keys() & registered.keys()):
        raise InputError(f"{study_path}: {kind}.{hidden[0]} is already in {path}; give yours another slug.")
    entries = {slug: _located(entry, path) for slug, entry in registered.items()}
    entries |= {slug: _located(entry, study_path) for slug, entry in written.items()}
    shared = {slug: slug for slug in registered} | {slug: f"{study_name}~{slug}" for slug in written}
    places = {slug: f"{path}: {slug}" for slug in registered}
    places |= {slug: f"{study_path}: {kind}.{slug}" for slug in written}
    return Registry(kind, entries, shared, places)


def _located(entry: Entry, file: Path) -> Entry:
    """Return the entry with its paths relative to the working directory instead of to the file that names them."""

    def located(path: str) -> str:
        return os.path.normpath(path if Path(path).is_absolute() else file.parent / path)

    given = {
        key: located(value) for key, value in entry.set_fields().items() if key in ("known", "path", "scores")
    }
    views: dict[str, Any] = {}
    if isinstance(entry, BenchmarkEntry) and entry.views:
        views = {"views": {view: located(path) for view, path in entry.views.items()}}
    return entry.model_copy(update=given | views) if given or views else entry


def downloads_named(entry: Entry) -> dict[str, str]:
    """Return the slugs of downloads.yaml that an entry names, by the key that names each."""
    archived = entry.files if isinstance(entry, Archives) else []
    slugs = {f"files.{number}.download": text.download for number, text in enumerate(archived)}
    if isinstance(entry, Downloaded):
        slugs["download"] = entry.download
    return slugs | ({"quoted_by": entry.quoted_by} if isinstance(entry, QuotedVerses) else {})


def override(models: Models, benchmarks: Benchmarks, corpora: Corpora, config: Config) -> None:
    """Put what `config` says about entries into them: `paths`, `servers`, `available` and `trust_remote_code`.

    A model of the hub with a path is a local checkpoint; benchmarks and corpora keep their loader. With a path, or
    where it is listed as available, a model or benchmark is no longer unavailable; a model with code of its own is,
    until `trust_remote_code` allows that code to run. A model with a server is one behind an API.

    Raises:
        InputError: no registry has the slug, or a server is named for a model without weights.
    """
    slugs = {*models.entries, *benchmarks.entries, *corpora.entries}
    hubs = {slug: entry.hub for slug, entry in models.entries.items() if isinstance(entry, HubModel)}
    for slug, path in config.paths.items():
        if slug not in slugs:
            raise InputError(f"config: paths.{slug}: no entry has that name: {nearest(slug, slugs)}")
        for registry in (models, benchmarks, corpora):
            if slug in registry.entries:
                _set_path(registry, slug, path)
    entries = models.entries
    for slug, server in config.servers.items():
        if slug not in entries:
            raise InputError(f"config: servers.{slug}: no model has that name: {nearest(slug, entries)}")
        entries[slug] = _served(entries[slug], server, hubs.get(slug), f"config: servers.{slug}")
        models.overridden.add(slug)
    for slug in config.available:
        if slug not in slugs:
            raise InputError(f"config: available: no entry has the name '{slug}': {nearest(slug, slugs)}")
        readable: tuple[dict[str, Any], ...] = (entries, benchmarks.entries)
        for known in readable:
            if slug in known:
                known[slug] = known[slug].model_copy(update={"unavailable": None})
    for slug, entry in entries.items():
        if entry.remote_code and entry.unavailable is None and not config.trust_remote_code:
            why = "it runs code of its own, which trust_remote_code of config.yaml forbids"
            entries[slug] = entry.model_copy(update={"unavailable": why})


def _set_path(registry: Registry[Any], slug: str, path: str) -> None:
    """Let the user's path replace the source of an entry."""
    entry = registry.entries[slug]
    registry.places[slug] = f"config: paths.{slug}"
    registry.overridden.add(slug)
    if not isinstance(entry, ModelEntry):
        available = {"unavailable": None} if isinstance(entry, BenchmarkEntry) else {}
        registry.entries[slug] = entry.model_copy(update={"path": path} | available)
        return
    kind = AnswersModel if Path(path).is_file() and not isinstance(entry, LocalModel) else LocalModel
    common = entry.model_fields_set & ModelEntry.model_fields.keys() - {"unavailable"}
    given = {key: getattr(entry, key) for key in common}
    source = "answers" if kind is AnswersModel else "local"
    registry.entries[slug] = kind(**given | {"path": path, "source": source})


def _served(entry: ModelEntry, server: Server, hub: str | None, where: str) -> ModelEntry:
    """Return the entry of a model that the user's server answers for."""
    if not isinstance(entry, HubModel | LocalModel | GgufModel):
        raise InputError(
            f"{where}: the model's source is {entry.source}; a server answers for models with weights of their own "
            "(source: hub, local or gguf_wheel)."
        )
    name = server.model or hub
    if name is None:
        raise InputError(f"{where}: missing key 'model', the model's name on the server.")
    if server.top40 and entry.tokenizer is None:
        raise InputError(
            f"{where}.top40: token ids are sent, so that the model's entry needs a tokenizer: a local model that has "
            "the same one, as its smaller sibling."
        )
    api = {"top_logprobs": 20, "price": {"input": 0.0, "output": 0.0}, **server.set_fields(), "model": name}
    api |= {"endpoint": server.endpoint, "echo": server.echo_offered}
    common = entry.model_fields_set & ModelEntry.model_fields.keys() - _OF_WEIGHTS
    given = {key: getattr(entry, key) for key in common}
    return ApiModel(**given | {"source": "openai", "api": parse(api, Api, where)})
