"""The registries of config/ as a study reads them: with its own entries and the
run-wide settings, checked."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pretrace.benchmarks import loaders as _loaders  # noqa: F401  (each registers itself)
from pretrace.benchmarks.loaders.archives import Archives
from pretrace.benchmarks.loaders.king_james import QuotedVerses
from pretrace.benchmarks.loaders.local import LocalEntry
from pretrace.benchmarks.sources import BENCHMARKS, BenchmarkEntry
from pretrace.corpora.sources import CORPORA, CorpusEntry
from pretrace.documents.passages import Cut
from pretrace.documents.works import are_works, files_of_works
from pretrace.models.abilities import can, require_ability
from pretrace.models.adapters import read_adapter
from pretrace.models.entries import (
    MODELS,
    AdapterModel,
    AnswersModel,
    Api,
    ApiModel,
    HubModel,
    LocalModel,
    ModelEntry,
    TrainedModel,
    Training,
)
from pretrace.render.names import READ_NEITHER
from pretrace.runtime.errors import InputError, nearest, require_name, shorten
from pretrace.runtime.files import JsonObject, kind_of
from pretrace.runtime.hub import Pins
from pretrace.runtime.names import check_path
from pretrace.runtime.schema import (
    Downloaded,
    OnHub,
    Slug,
    Sources,
    parse,
    parse_entries,
    read_keys,
    read_yaml,
)
from pretrace.studies.keys import Config, Download, Revisions, Server, StudyFile

SOURCES: dict[str, Sources] = {
    "models": MODELS,
    "benchmarks": BENCHMARKS,
    "corpora": CORPORA,
}

Entry = ModelEntry | BenchmarkEntry | CorpusEntry
E = TypeVar("E", ModelEntry, BenchmarkEntry, CorpusEntry)


@dataclass(frozen=True)
class Registry(Generic[E]):
    """Entries of one kind, keyed by the slug that a study file uses.

    `shared` maps a slug to its name in the shared stages: the slug itself, or
    `{study}~{slug}` for an entry that the study defines, so that two studies' entries
    of one slug never meet. `files` maps a slug to the file that its paths are relative
    to and the place of the entry in it, `overridden` has the slugs whose source
    `config` replaces.
    """

    kind: str
    entries: dict[str, E]
    shared: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    overridden: set[str] = field(default_factory=set)

    def require(self, slug: str, where: str) -> E:
        """Return the entry of a slug; `InputError` names `where` and the nearest valid
        slug if it is unknown."""
        if slug not in self.entries:
            kind = self.kind.removesuffix("s") if self.kind != "corpora" else "corpus"
            raise InputError(f"{where}: unknown {kind} '{slug}': {self._hint(slug)}")
        return self.entries[slug]

    def _hint(self, wrong: str) -> str:
        """The name of the entry that has the id of the hub that `wrong` is, how to make
        one, or the nearest name."""
        for slug, known in reversed(self.entries.items()):
            if getattr(known, "hub", None) == wrong:
                return f"that id of the hub has the name '{slug}' here."
        if self.kind == "models" and re.fullmatch(r"[\w.-]+/[\w.-]+", wrong):
            name = wrong.rpartition("/")[2].lower()
            entry = f"models: {{{name}: {{source: hub, hub: {shorten(wrong)}}}}}"
            return (
                f"to use a model of the hub, add {entry} to the study and name it "
                f"{name} in the run."
            )
        return nearest(wrong, self.entries)

    @property
    def titles(self) -> dict[str, str]:
        """The names in print, by slug, of entries that have a title, and of null
        models, which say what they are."""
        titles = {}
        for slug, entry in self.entries.items():
            if isinstance(entry, TrainedModel) and entry.is_null:
                titles[slug] = f"{entry.title or slug} ({READ_NEITHER})"
            elif entry.title is not None:
                titles[slug] = entry.title
        return titles

    def slug_of(self, name: str) -> str:
        """Return the slug of an entry, given by it or by the entry's name in the shared
        stages."""
        return name if name in self.entries else self._slugs[name]

    @cached_property
    def _slugs(self) -> dict[str, str]:
        """The slugs by their names in the shared stages: rules look one up for each
        input and parameter of each job."""
        return {name: slug for slug, name in self.shared.items()}


Models = Registry[ModelEntry]
Benchmarks = Registry[BenchmarkEntry]
Corpora = Registry[CorpusEntry]


def cut_of(entry: BenchmarkEntry) -> Cut | None:
    """Return how the user's own works are cut into passages."""
    return entry.cut if isinstance(entry, LocalEntry) else None


def left_out_of(entry: BenchmarkEntry) -> list[str]:
    """Return the names of the user's own works that are not read."""
    return entry.left_out if isinstance(entry, LocalEntry) else []


def path_of(entry: Entry) -> str | None:
    """Return the user's own file or folder that an entry is read from."""
    return getattr(entry, "path", None)


def own_files(entry: Entry) -> list[str]:
    """Return the files or folders of the user's that an entry is read from, a second
    file of known texts last."""
    known = entry.known if isinstance(entry, LocalEntry) else None
    return [path for path in (path_of(entry), known) if path is not None]


def text_files_of(entry: BenchmarkEntry) -> list[Path]:
    """Return the user's own files of a benchmark's texts, the second one with known
    texts; none of other sources."""
    return [*map(Path, own_files(entry))] if isinstance(entry, LocalEntry) else []


_OF_WEIGHTS = {"remote_code", "dtype", "device_map", "quantise", "resources"}
"""Keys of a model's entry that do not apply to a model behind a server."""


class Registries(NamedTuple):
    """What a study can name: models, benchmarks, corpora, downloads, and commits in
    place of entries' revisions."""

    models: Models
    benchmarks: Benchmarks
    corpora: Corpora
    downloads: dict[str, Download]
    pins: Pins


def load_registries(
    file: StudyFile, path: Path, config: Config, folder: Path
) -> Registries:
    """Read the registries in `folder`, add the entries of the study file at `path`, and
    apply `config` to both.

    Raises:
        InputError: an entry breaks its schema, hides a registered one or names
            something that is not there; or `config` names no entry.
    """
    pins = {}
    if config.revisions is not None:
        pins = read_keys(Path(config.revisions), Revisions).to_json()
    own = {}
    for kind, sources in SOURCES.items():
        own[kind] = parse_entries(getattr(file, kind), sources, f"{path}: {kind}")
    models, benchmarks, corpora = (
        _load(kind, folder, own[kind], file.study, path) for kind in SOURCES
    )
    check_pins(pins, (models, benchmarks, corpora), f"{config.revisions}")
    override(models, benchmarks, corpora, config)
    downloads = read_keys(folder / "downloads.yaml", dict[Slug, Download])
    registries = Registries(models, benchmarks, corpora, downloads, pins)
    for registry in (models, benchmarks, corpora):
        _check_files(registry, downloads)
    for slug, model in models.entries.items():
        _check_model(slug, model, registries)
    for slug, benchmark in benchmarks.entries.items():
        if benchmark.split is not None:
            benchmarks.require(benchmark.split, f"{benchmarks.places[slug]}.split")
    return registries


def _load(
    kind: str, folder: Path, written: JsonObject, study: str, study_path: Path
) -> Registry[Any]:
    """Read the registry file of `kind`, add the entries `written` in the study, and
    make paths relative to the cwd."""
    path = folder / f"{kind}.yaml"
    registered = parse_entries(read_yaml(path), SOURCES[kind], str(path))
    if hidden := sorted(written.keys() & registered.keys()):
        raise InputError(
            f"{study_path}: {kind}.{hidden[0]} is already in {path}; give yours "
            "another slug."
        )
    registry: Registry[Any] = Registry(kind, {})
    for slug, entry in registered.items():
        registry.entries[slug] = _with_paths(entry, path)
        registry.shared[slug] = slug
        registry.places[slug] = f"{path}: {slug}"
    for slug, entry in written.items():
        registry.entries[slug] = _with_paths(entry, study_path)
        registry.shared[slug] = f"{study}~{slug}"
        registry.places[slug] = f"{study_path}: {kind}.{slug}"
    return registry


def _with_paths(entry: Entry, file: Path) -> Entry:
    """Return the entry with its paths relative to the working directory instead of to
    the file that names them."""

    def located(path: str) -> str:
        return os.path.normpath(file.parent / path)

    changes: dict[str, Any] = {}
    for key, value in entry.set_fields().items():
        if key in ("known", "path", "scores"):
            changes[key] = located(value)
    if isinstance(entry, BenchmarkEntry) and entry.views:
        changes["views"] = {view: located(path) for view, path in entry.views.items()}
    return entry.model_copy(update=changes) if changes else entry


def downloads_named(entry: Entry) -> dict[str, str]:
    """Return the slugs of downloads.yaml that an entry names, by the key that names
    each."""
    slugs = {}
    if isinstance(entry, Archives):
        for number, text in enumerate(entry.files):
            slugs[f"files.{number}.download"] = text.download
    if isinstance(entry, Downloaded):
        slugs["download"] = entry.download
    if isinstance(entry, QuotedVerses):
        slugs["quoted_by"] = entry.quoted_by
    return slugs


def override(
    models: Models, benchmarks: Benchmarks, corpora: Corpora, config: Config
) -> None:
    """Put what `config` says about entries into them: `paths`, `servers`, `available`
    and `trust_remote_code`.

    A model of the hub with a path is a local checkpoint; benchmarks and corpora keep
    their loader. With a path, or where it is listed as available, a model or benchmark
    becomes available; a model with code of its own is, until `trust_remote_code` allows
    that code to run. A model with a server is one behind an API.

    Raises:
        InputError: no registry has the slug, or a server is named for a model without
            weights.
    """
    slugs = {*models.entries, *benchmarks.entries, *corpora.entries}
    hubs = {}
    for slug, entry in models.entries.items():
        if isinstance(entry, HubModel):
            hubs[slug] = entry.hub
    for slug, path in config.paths.items():
        require_name(slug, slugs, f"config: paths.{slug}: no entry has that name")
        for registry in (models, benchmarks, corpora):
            if slug in registry.entries:
                _set_path(registry, slug, path)
    entries = models.entries
    for slug, server in config.servers.items():
        require_name(slug, entries, f"config: servers.{slug}: no model has that name")
        entries[slug] = _as_served(slug, entries[slug], server, hubs.get(slug))
        models.overridden.add(slug)
    for key in ("available", "without"):
        for slug in getattr(config, key):
            require_name(slug, slugs, f"config: {key}: no entry has the name '{slug}'")
    readable: tuple[dict[str, Any], ...] = (entries, benchmarks.entries)
    for slug in config.available:
        for known in readable:
            if slug in known:
                known[slug] = known[slug].model_copy(update={"unavailable": None})
    for slug, entry in entries.items():
        if (
            entry.remote_code
            and entry.unavailable is None
            and not config.trust_remote_code
        ):
            why = (
                "it runs code of its own, which trust_remote_code of config.yaml "
                "forbids"
            )
            entries[slug] = entry.model_copy(update={"unavailable": why})
        start = entry.training.start if isinstance(entry, TrainedModel) else None
        if start in models.overridden and not can(entries[start], "weights"):
            why = (
                f"its training starts with the weights of {start}, which config.yaml "
                "replaces by a server or answers"
            )
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
    given = _keys_of_any(entry) | {"path": path}
    given.pop("unavailable", None)
    if Path(path).is_file() and not isinstance(entry, LocalModel):
        registry.entries[slug] = AnswersModel(**given | {"source": "answers"})
    else:
        registry.entries[slug] = LocalModel(**given | {"source": "local"})


def _as_served(
    slug: str, entry: ModelEntry, server: Server, hub: str | None
) -> ModelEntry:
    """Return the entry of a model that the user's server answers for."""
    where = f"config: servers.{slug}"
    require_ability("server", slug, entry, where)
    name = server.model or hub
    if name is None:
        raise InputError(
            f"{where}: missing key 'model', the model's name on the server."
        )
    echo = (
        server.endpoint == "completions" and entry.tokenizer is not None
        if server.echo is None
        else server.echo
    )
    api = {
        "top_logprobs": 20,
        "price": {"input": 0.0, "output": 0.0},
        **server.set_fields(),
        "model": name,
    }
    api |= {"endpoint": server.endpoint, "echo": echo}
    given = _keys_of_any(entry) | {"source": "openai", "api": parse(api, Api, where)}
    for key in _OF_WEIGHTS:
        given.pop(key, None)
    return parse(given, ApiModel, "config: servers", slug)


def _keys_of_any(entry: ModelEntry) -> dict[str, Any]:
    """Return the keys of an entry that models of every source have."""
    common = entry.model_fields_set & ModelEntry.model_fields.keys()
    return {key: getattr(entry, key) for key in common}


def check_pins(pins: Pins, registries: Iterable[Registry[Any]], path: str) -> None:
    """Check that entries read each pinned repository, all at one revision: one commit
    cannot stand for two."""
    read: dict[str, dict[str, dict[str, str]]] = {"models": {}, "datasets": {}}
    for registry in registries:
        hubs = read["models" if registry.kind == "models" else "datasets"]
        for slug, entry in registry.entries.items():
            if not isinstance(entry, OnHub):
                continue
            for revision, hub in entry.repositories().items():
                slugs = hubs.setdefault(hub, {})
                slugs.setdefault(getattr(entry, revision), slug)
    for kind, pinned in pins.items():
        known = read[kind]
        for hub in pinned:
            where = f"{path}: {kind}.{hub}"
            require_name(hub, known, f"{where}: no entry reads {hub}")
            revisions = known[hub]
            if len(revisions) > 1:
                readers = []
                for revision, slug in sorted(revisions.items()):
                    readers.append(f"{slug} ({revision})")
                listed = ", ".join(readers)
                raise InputError(
                    f"{where}: entries read it at different revisions: {listed}. Leave "
                    "it out here, and give each its commit as its revision."
                )


OF_RANDOM_WEIGHTS = {"members", "tokenizer_corpus", "vocabulary", "width", "layers"}
"""Keys of a training that starts with random weights."""


def _check_model(slug: str, model: ModelEntry, registries: Registries) -> None:
    """Check that the model's tokenizer and training texts exist and fit."""
    place = registries.models.places[slug]
    if model.tokenizer is not None:
        lender = registries.models.require(model.tokenizer, f"{place}.tokenizer")
        for key in ("special_tokens", "tokenizer_from"):
            own, other = getattr(model, key), getattr(lender, key)
            if own != other:
                raise InputError(
                    f"{place}.{key} is {own or 'not set'}, and that of "
                    f"{model.tokenizer}, which has the same tokenizer, is "
                    f"{other or 'not set'}; give both entries the same."
                )
    if isinstance(model, AdapterModel):
        base = registries.models.require(model.base, f"{place}.base")
        require_ability("base", model.base, base, f"{place}.base")
    if isinstance(model, TrainedModel):
        _check_training(model.training, f"{place}.training", registries)
        if model.shadows is not None and (
            model.training.start or not model.training.members
        ):
            raise InputError(
                f"{place}.shadows: shadow models repeat a training from random weights "
                "(no training.from) and on members (no training.members: false); "
                "remove shadows."
            )


def _check_training(training: Training, where: str, registries: Registries) -> None:
    registries.benchmarks.require(training.benchmark, f"{where}.benchmark")
    if training.start is not None:
        if given := sorted(OF_RANDOM_WEIGHTS & training.model_fields_set):
            raise InputError(
                f"{where}.{given[0]}: a model that is trained further has the weights "
                f"and the tokenizer of {training.start} and learns members; remove "
                "this key, or remove from."
            )
        start = registries.models.require(training.start, f"{where}.from")
        # where config.yaml replaces the weights, the model is unavailable
        if training.start not in registries.models.overridden:
            require_ability("start", training.start, start, f"{where}.from")
        return
    if lacking := OF_RANDOM_WEIGHTS - {"members"} - training.model_fields_set:
        raise InputError(
            f"{where}: missing key {', '.join(map(repr, sorted(lacking)))}"
        )
    registries.corpora.require(
        str(training.tokenizer_corpus), f"{where}.tokenizer_corpus"
    )


def _check_files(registry: Registry[Any], downloads: Mapping[str, Download]) -> None:
    for slug, entry in registry.entries.items():
        where = registry.places[slug]
        for place, download in downloads_named(entry).items():
            require_name(
                download, downloads, f"{where}.{place}: unknown download '{download}'"
            )
        for own in _own_paths(entry):
            is_overridden = own.key == "path" and slug in registry.overridden
            place = where if is_overridden else f"{where}.{own.key}"
            _check_kind(place, own)
            for path in own.inputs:
                check_path(path, place)


class OwnPath(NamedTuple):
    """A path of the user's in an entry: its key, and what it must lead to.

    `needed` is a `file`, a `folder`, `either`, a `checkpoint`, the folder of a model,
    an `adapter`, the folder of one, or `works`: a file of texts, or works of the
    user's.
    """

    key: str
    path: str
    needed: str

    @property
    def inputs(self) -> list[Path]:
        """The path, and the files in it that are inputs of a rule, too."""
        own = Path(self.path)
        if self.needed in ("checkpoint", "adapter"):
            return [own, *(path for path in own.glob("*") if path.is_file())]
        if self.needed == "works" and are_works(own):
            return [own, *files_of_works(own)]
        return [own]


def _own_paths(entry: Entry) -> Iterator[OwnPath]:
    """Yield the paths of the user's that an entry has."""
    if (path := path_of(entry)) is not None:
        yield OwnPath("path", path, entry.path_is)
    if isinstance(entry, LocalEntry) and entry.known is not None:
        yield OwnPath("known", entry.known, entry.path_is)
    if isinstance(entry, AnswersModel) and entry.scores is not None:
        yield OwnPath("scores", entry.scores, "file")
    if isinstance(entry, BenchmarkEntry):
        for view, path in entry.views.items():
            yield OwnPath(f"views.{view}", path, "file")


def _check_kind(where: str, own: OwnPath) -> None:
    """Raise `InputError` unless the path leads to what is needed."""
    path = own.path
    needed = own.needed
    kind = kind_of(path)
    if not kind:
        raise InputError(
            f"{where}: {shorten(path)} does not exist; paths are relative to that file."
        )
    if needed == "checkpoint" and not kind_of(f"{path}/config.json"):
        raise InputError(
            f"{where}: {path} has no config.json; name the folder with config.json, "
            "the weights and the tokenizer."
        )
    if needed == "adapter":
        read_adapter(Path(path))
    if needed in ("file", "folder") and kind != needed:
        raise InputError(f"{where}: {path} is a {kind}; give a {needed}.")
