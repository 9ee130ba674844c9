"""What models, benchmarks and corpora of a study have in common: an entry, a name in the
shared stages, and the files that the entry names."""

from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from pretrace.studies.priorities import priority
from pretrace.studies.registries import E, Entry, downloads_named, own_files
from pretrace.studies.stages.revisions import entry_to_fetch
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
        own = own_files(self.entry)
        if not own:
            return downloaded(self.study, self.entry)
        return own[0] if len(own) == 1 else own

    def fetching(self, record: str, part: str = "texts") -> Parameters:
        """Return the keys of its entry for the job that fetches a part of it and leaves
        a record."""
        entry = entry_to_fetch(self.entry, record, self.study.pins, part)
        return entry.to_json(*PRINTED_KEYS, defaults=False)


def downloaded(study: Study, entry: Entry) -> File:
    """Return the downloaded file that an entry reads, or several, or none."""
    slugs = dict.fromkeys(downloads_named(entry).values())
    files = [f"results/downloads/{study.downloads[slug].file}" for slug in slugs]
    return files[0] if len(files) == 1 else files
