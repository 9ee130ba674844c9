"""The registries of config/, merged with a study's own entries, under the names of the shared stages."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pretrace.benchmarks import loaders as _loaders  # noqa: F401  (each registers itself)
from pretrace.benchmarks.sources import BENCHMARKS
from pretrace.corpora.sources import CORPORA
from pretrace.models.entries import MODELS, Api
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.schema import check, check_entries, read_yaml

SOURCES = {"models": MODELS, "benchmarks": BENCHMARKS, "corpora": CORPORA}


@dataclass(frozen=True)
class Registry:
    """Entries of one kind, keyed by the slug that a study file uses.

    `shared` maps a slug to its name in the shared stages: the slug itself, or `{study}~{slug}` for an entry that the
    study defines, so that two studies' entries of one slug never meet.
    """

    kind: str
    entries: dict[str, dict[str, Any]]
    shared: dict[str, str] = field(default_factory=dict)

    def require(self, slug: str, where: str) -> str:
        """The slug itself, if it is registered.

        Raises:
            InputError: it is not; names `where` and the nearest valid slug.
        """
        if slug not in self.entries:
            kind = self.kind.removesuffix("s") if self.kind != "corpora" else "corpus"
            raise InputError(f"{where}: unknown {kind} '{slug}': {nearest(slug, self.entries)}")
        return slug

    def files_of(self, slug: str) -> list[Path]:
        """The user's own files of a benchmark's texts: one, or a second one with known texts; none of other sources."""
        entry = self.entries[slug]
        return [Path(entry[key]) for key in ("path", "known") if key in entry and entry["source"] == "local"]

    def by_shared_name(self) -> dict[str, dict[str, Any]]:
        return {self.shared[slug]: entry for slug, entry in self.entries.items()}


_OF_WEIGHTS = {
    "hub", "revision", "remote_code", "path", "download", "member", "dtype", "device_map", "quantise", "resources",
}  # fmt: skip
"""Keys of a model's entry that do not apply to a model behind a server."""


def load_registry(kind: str, folder: Path, study: dict[str, Any], study_path: Path) -> Registry:
    """The registry file of `kind` and the study's own entries; paths become relative to the working directory.

    Raises:
        InputError: an entry breaks its schema, a file is missing, or a study entry hides a registered slug.
    """
    path = folder / f"{kind}.yaml"
    registered = read_yaml(path)
    check_entries(registered, SOURCES[kind], str(path))
    own = study.get(kind, {})
    check_entries(own, SOURCES[kind], f"{study_path}: {kind}")
    if hidden := sorted(set(own) & set(registered)):
        raise InputError(f"{study_path}: {kind}.{hidden[0]} is already in {path}; give yours another slug.")
    entries = {slug: _located(entry, path, f"{path}: {slug}") for slug, entry in registered.items()}
    entries |= {
        slug: _located(entry, study_path, f"{study_path}: {kind}.{slug}") for slug, entry in own.items()
    }
    shared = {slug: slug for slug in registered} | {slug: f"{study['study']}~{slug}" for slug in own}
    return Registry(kind, entries, shared)


def downloads_named(entry: dict[str, Any]) -> dict[str, str]:
    """The key of an entry -> the slug of downloads.yaml that it names."""
    archived = entry["files"] if entry.get("source") == "archives" else []
    found = {f"files.{number}.download": text["download"] for number, text in enumerate(archived)}
    return found | {key: entry[key] for key in ("download", "quoted_by") if key in entry}


def override(registries: tuple[Registry, ...], config: dict[str, Any]) -> None:
    """Put what `config` says about entries into them: `paths`, `servers`, `available` and `trust_remote_code`.

    A model of the hub with a path is a local checkpoint; benchmarks and corpora keep their loader. With a path, or
    where it is listed as available, a model is no longer unavailable; one with code of its own is, until
    `trust_remote_code` allows that code to run. A model with a server is one behind an API.

    Raises:
        InputError: no registry has the slug, or a server is named for a model without weights.
    """
    entries = {slug: entry for registry in registries for slug, entry in registry.entries.items()}
    for slug, path in config.get("paths", {}).items():
        if slug not in entries:
            raise InputError(f"config: paths.{slug}: no entry has that name: {nearest(slug, entries)}")
        for registry in registries:
            if slug in registry.entries:
                _set_path(registry.entries[slug], path, f"config: paths.{slug}", registry.kind)
    models = registries[0].entries
    for slug, server in config.get("servers", {}).items():
        if slug not in models:
            raise InputError(f"config: servers.{slug}: no model has that name: {nearest(slug, models)}")
        _set_server(models[slug], server, f"config: servers.{slug}")
    for slug in config.get("available", []):
        if slug not in entries:
            raise InputError(f"config: available: no entry has the name '{slug}': {nearest(slug, entries)}")
        entries[slug].pop("unavailable", None)
    for entry in entries.values():
        if entry.get("remote_code") and not config.get("trust_remote_code"):
            entry["unavailable"] = "it runs code of its own, which trust_remote_code of config.yaml forbids"


def is_overridden(entry: dict[str, Any]) -> bool:
    """Whether a path or server of `config` replaces the source in the entry."""
    return str(entry.get("where", "")).startswith("config: ")


def _set_path(entry: dict[str, Any], path: str, where: str, kind: str) -> None:
    entry |= {"path": path, "where": where}
    entry.pop("unavailable", None)
    if kind == "models" and entry["source"] != "local":
        entry["source"] = "answers" if Path(path).is_file() else "local"
        entry.pop("api", None)


def _set_server(entry: dict[str, Any], server: dict[str, Any], where: str) -> None:
    if entry["source"] not in ("hub", "local", "gguf_wheel"):
        raise InputError(
            f"{where}: the model's source is {entry['source']}; a server answers for models with weights of their own "
            "(source: hub, local or gguf_wheel)."
        )
    name = server.get("model", entry.get("hub"))
    if name is None:
        raise InputError(f"{where}: missing key 'model', the model's name on the server.")
    for key in _OF_WEIGHTS & entry.keys():
        del entry[key]
    endpoint = server.get("endpoint", "completions")
    usual = {"endpoint": endpoint, "top_logprobs": 20, "price": {"input": 0, "output": 0}}
    api = {**usual, "echo": endpoint == "completions", **server, "model": name}
    check(api, Api, where)
    entry |= {"source": "openai", "api": api, "where": where}


def _located(entry: dict[str, Any], file: Path, where: str) -> dict[str, Any]:
    """Its files seen from the working directory instead of from the file that names them, and `where` for errors."""

    def located(path: str) -> str:
        return os.path.normpath(path if Path(path).is_absolute() else file.parent / path)

    found = dict(entry)
    for key in ("known", "path"):
        if key in entry:
            found |= {key: located(entry[key]), "where": f"{where}.{key}"}
    if "views" in entry:
        found["views"] = {view: located(path) for view, path in entry["views"].items()}
    return found
