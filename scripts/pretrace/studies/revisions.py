"""Commits that stand for the revisions of the registries, so that a study reads again exactly what it once read."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pretrace.models.entries import HubModel
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.hub import Pins, repositories_of
from pretrace.runtime.schema import OnHub, parse, read_yaml
from pretrace.studies.keys import Revisions
from pretrace.studies.registries import E, Registry

KINDS = ("models", "datasets")


def load_revisions(path: str | None, registries: Iterable[Registry[Any]]) -> Pins:
    """Read the YAML file of pins at `path`; return nothing without a file.

    Raises `InputError` where the file breaks its schema, names a repository that no entry reads, or one that entries
    read at different revisions, since one commit cannot stand for both.
    """
    if path is None:
        return {}
    pins = parse(read_yaml(Path(path)), Revisions, path).to_json()
    entries: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in KINDS}
    for registry in registries:
        hubs = entries["models" if registry.kind == "models" else "datasets"]
        for slug, entry in registry.entries.items():
            for revision, hub in entry.repositories().items() if isinstance(entry, OnHub) else ():
                hubs.setdefault(hub, {}).setdefault(getattr(entry, revision), slug)
    for kind in KINDS:
        for hub in pins[kind]:
            _check_pin(f"{path}: {kind}.{hub}", hub, entries[kind])
    return pins


def _check_pin(where: str, hub: str, known: Mapping[str, Mapping[str, str]]) -> None:
    if hub not in known:
        raise InputError(f"{where}: no entry reads {hub}: {nearest(hub, known)}")
    if len(revisions := known[hub]) > 1:
        listed = ", ".join(f"{slug} ({revision})" for revision, slug in sorted(revisions.items()))
        raise InputError(
            f"{where}: entries read it at different revisions: {listed}. Leave it out here, and give each its commit "
            "as its revision."
        )


def asked_for(entry: E, record: str, pins: Pins, part: str = "texts") -> E:
    """Return the entry for its fetching job: with the pinned revision, or with the one that the job was last asked for
    if `record` says that this gave the pinned commit. So pinning what was fetched runs nothing again.
    """
    repositories = entry.repositories() if isinstance(entry, OnHub) else {}
    key = "views_revision" if part == "views" and "views_revision" in repositories else "revision"
    pin = pins.get("models" if isinstance(entry, HubModel) else "datasets", {}).get(repositories.get(key, ""))
    if pin is None:
        return entry
    fetched = repositories_of(Path(record)) if Path(record).is_file() else []
    revision = next((read.revision for read in fetched if pin in (read.commit, read.revision)), pin)
    return entry if revision == getattr(entry, key) else entry.model_copy(update={key: revision})


def yaml_of(repositories: Iterable[Mapping[str, str]], pins: Pins) -> tuple[str, list[str]]:
    """Return a file for `load_revisions`, and the repositories that it lacks, as they were read at several commits.

    It has the commits of `repositories` (`kind, hub, commit`) and, of others, the `pins`.
    """
    import yaml

    commits: dict[tuple[str, str], set[str]] = {}
    for repository in repositories:
        commits.setdefault((f"{repository['kind']}s", repository["hub"]), set()).add(repository["commit"])
    known = {
        kind: dict(pins.get(kind, {}))
        | {hub: min(read) for (its, hub), read in commits.items() if its == kind and len(read) == 1}
        for kind in KINDS
    }
    several = (hub for (kind, hub), read in commits.items() if kind in KINDS and len(read) > 1)
    return yaml.safe_dump(known), sorted(several)
