"""What models, benchmarks and corpora of a study have in common: an entry, a name in the
shared stages, and the files that the entry names.

A fetching job asks the hub for the revision that `entry_to_fetch` gives, so that pinning
what was fetched runs nothing again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic

from pretrace.models.entries import HubModel
from pretrace.runtime.hub import Pins, repositories_of
from pretrace.runtime.schema import OnHub
from pretrace.studies.priorities import priority
from pretrace.studies.registries import E, Entry, downloads_named, own_files
from pretrace.studies.study import Study

File = str | list[str]
"""A file; [] for one that is not needed, as an input of a rule takes it."""

Parameters = dict[str, Any]
"""Parameters of a job: plain JSON values."""

PRINTED_KEYS = ("title", "unavailable", "caution", "rebuilt", "length_unit")
"""Keys of benchmarks and corpora that are printed and make no text: a reworded title
rereads nothing."""


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


class Texts(Registered[E]):
    """A benchmark or a corpus of a study."""

    @property
    def building(self) -> Parameters:
        """The keys of its entry that its texts follow from."""
        return self.entry.to_json(*PRINTED_KEYS, "access", defaults=False)

    @property
    def source(self) -> File:
        """The user's own files that the entry names, or else the downloaded ones."""
        return source(self.study, self.entry)

    def fetching(self, record: str, part: str = "texts") -> Parameters:
        """Return the keys of its entry for the job that fetches a part of it and leaves
        a record."""
        entry = entry_to_fetch(self.entry, record, self.study.pins, part)
        return entry.to_json(*PRINTED_KEYS, defaults=False)


def source(study: Study, entry: Entry) -> File:
    """Return the user's own files that an entry names, or else the downloaded ones."""
    own = own_files(entry)
    if not own:
        return downloaded(study, entry)
    return own[0] if len(own) == 1 else own


def downloaded(study: Study, entry: Entry) -> File:
    """Return the downloaded file that an entry reads, or several, or none."""
    slugs = dict.fromkeys(downloads_named(entry).values())
    files = [f"results/downloads/{study.downloads[slug].file}" for slug in slugs]
    return files[0] if len(files) == 1 else files


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
