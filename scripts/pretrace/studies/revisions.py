"""Commits that stand for the revisions of the registries, so that a study reads again exactly what it once read."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.hub import Kind, Pins, repositories_of
from pretrace.runtime.schema import OnHub, parse, read_yaml
from pretrace.studies.keys import Revisions
from pretrace.studies.registries import E, Registry

_KEYS: dict[str, Kind] = {"models": "model", "datasets": "dataset"}


def load_revisions(path: str | None, registries: Iterable[Registry[Any]]) -> Pins:
    """Read kind -> id on the hub -> commit or tag from the YAML file at `path`; return nothing without a file.

    Raises `InputError` where the file breaks its schema, names a repository that no entry reads, or one that entries
    read at different revisions, since one commit cannot stand for both.
    """
    if path is None:
        return {}
    revisions = parse(read_yaml(Path(path)), Revisions, path)
    given = {"models": revisions.models, "datasets": revisions.datasets}
    entries: dict[Kind, dict[str, dict[str, str]]] = {"model": {}, "dataset": {}}
    for registry in registries:
        of_kind = entries["model" if registry.kind == "models" else "dataset"]
        for slug, entry in registry.entries.items():
            for revision, hub in entry.repositories().items() if isinstance(entry, OnHub) else ():
                of_kind.setdefault(hub, {}).setdefault(getattr(entry, revision), slug)
    for key, kind in _KEYS.items():
        for hub in given[key]:
            _check_pin(f"{path}: {key}.{hub}", hub, entries[kind])
    return {kind: given[key] for key, kind in _KEYS.items()}


def _check_pin(where: str, hub: str, known: Mapping[str, Mapping[str, str]]) -> None:
    if hub not in known:
        raise InputError(f"{where}: no entry reads {hub}: {nearest(hub, known)}")
    if len(revisions := known[hub]) > 1:
        listed = ", ".join(f"{slug} ({revision})" for revision, slug in sorted(revisions.items()))
        raise InputError(
            f"{where}: entries read it at different revisions: {listed}. Leave it out here, and give each its commit "
            "as its revision."
        )


def asked_for(entry: E, kind: Kind, record: str, pins: Pins, part: str = "texts") -> E:
    """Return the entry for its fetching job: with the pinned revision, or with the one that the job was last asked for
    if `record` says that this gave the pinned commit. So pinning what was fetched runs nothing again.
    """
    repositories = entry.repositories() if isinstance(entry, OnHub) else {}
    revision = "views_revision" if part == "views" and "views_revision" in repositories else "revision"
    pin = pins.get(kind, {}).get(repositories.get(revision, ""))
    if pin is None:
        return entry
    written = getattr(entry, revision)
    if Path(record).is_file():
        for repository in repositories_of(Path(record)):
            if pin in (repository.commit, repository.revision):
                fetched = repository.revision or written
                return entry if fetched == written else entry.model_copy(update={revision: fetched})
    return entry.model_copy(update={revision: pin})


def yaml_of(repositories: Iterable[Mapping[str, str]], pins: Pins) -> tuple[str, list[str]]:
    """Return a file for `load_revisions`, and the repositories that it lacks, as they were read at several commits.

    It has the commits of `repositories` (`kind, hub, commit`) and, of others, the `pins`.
    """
    import yaml

    commits: dict[tuple[str, str], set[str]] = {}
    for repository in repositories:
        commits.setdefault((repository["kind"], repository["hub"]), set()).add(repository["commit"])
    known = {
        key: dict(pins.get(kind, {}))
        | {hub: min(read) for (its, hub), read in commits.items() if its == kind and len(read) == 1}
        for key, kind in _KEYS.items()
    }
    several = (hub for (kind, hub), read in commits.items() if kind in _KEYS.values() and len(read) > 1)
    return yaml.safe_dump(known), sorted(several)
