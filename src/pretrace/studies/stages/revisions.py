"""The revision that a fetching job asks the hub for, so that pinning what was fetched
runs nothing again."""

from pathlib import Path

from pretrace.models.entries import HubModel
from pretrace.runtime.hub import Pins, repositories_of
from pretrace.runtime.schema import OnHub
from pretrace.studies.registries import E


def entry_to_fetch(entry: E, record: str, pins: Pins, part: str = "texts") -> E:
    """Return the entry for its fetching job: with the pinned revision, or with the one
    that the last job fetched if `record` says that this gave the pinned commit.
    """
    repositories = entry.repositories() if isinstance(entry, OnHub) else {}
    has_own_views = part == "views" and "views_revision" in repositories
    key = "views_revision" if has_own_views else "revision"
    kind = "models" if isinstance(entry, HubModel) else "datasets"
    pin = pins.get(kind, {}).get(repositories.get(key, ""))
    if pin is None:
        return entry
    revision = _fetched_revision(Path(record), pin) or pin
    if revision == getattr(entry, key):
        return entry
    return entry.model_copy(update={key: revision})


def _fetched_revision(record: Path, pin: str) -> str | None:
    """Return the revision that the record of a fetch has for a pinned commit; None if
    it has another commit, or nothing was fetched."""
    if not record.is_file():
        return None
    for repository in repositories_of(record):
        if pin in (repository.commit, repository.revision):
            return repository.revision
    return None
