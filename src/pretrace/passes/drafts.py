"""The draft of a manifest: what a job that filled the store leaves for the job of the
pair, which then reads no text and imports no torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pretrace.passes.cost import cost_of
from pretrace.passes.store import Store
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, read_json, write_json
from pretrace.runtime.identity import Identity, identity_to_be
from pretrace.runtime.logs import log

Draft = dict[str, Any]
"""A manifest whose rows have the `chunks` of a pass by their keys, in order, in place
of files and costs."""

STORED = "%s%s: %d passes in %d chunks, %d of them stored"
"""The line of a log: pair, share, and numbers."""


def _draft_file(manifest: str | Path) -> Path:
    return Path(manifest).with_suffix(".draft.json")


def write_draft(manifest: str | Path, identity: Identity, draft: Draft) -> None:
    """Write the draft of a manifest beside it, with what it is made from."""
    write_json(_draft_file(manifest), {"of": identity._asdict(), "draft": draft})


def is_filled(manifest: str | Path, identity: Identity, store: Path) -> bool:
    """Return whether there is a draft that is made from the same, and the store has all
    its chunks."""
    return _records_of(_read_draft(manifest, identity), store) is not None


def _read_draft(manifest: str | Path, identity: Identity | None) -> Draft | None:
    try:
        written = read_json(_draft_file(manifest))
        is_same = identity is not None and written["of"] == identity._asdict()
        return dict(written["draft"]) if is_same else None
    except (FileNotFoundError, InputError, KeyError, TypeError):
        return None


def _records_of(draft: Draft | None, store: Path) -> dict[str, JsonObject] | None:
    if draft is None:
        return None
    records: dict[str, JsonObject] = {}
    for row in draft["views"]:
        for key in row["chunks"]:
            record = records.get(key) or Store(store).record(key)
            if record is None:
                return None
            records[key] = record
    return records


def finished(draft: Draft, record_of: Callable[[str], JsonObject]) -> JsonObject:
    """Return the manifest of a draft: each pass with its files in order, and what its
    chunks took together by the records that `record_of` gives by key."""
    views = []
    for row in draft["views"]:
        view = dict(row)
        records = {key: record_of(key) for key in view.pop("chunks")}
        files = []
        for key, record in records.items():
            files.append({"file": f"{key}.parquet", "sha256": record["sha256"]})
        view["files"] = files
        views.append(view | cost_of([*records.values()]))
    return draft | {"views": views}


def finish_filled(manifest: str, settings: JsonObject, store: Path) -> bool:
    """Write the manifest of a running job from its draft, which is removed; return
    whether there was one that is made from the same, with all its chunks stored."""
    draft = _read_draft(manifest, identity_to_be(manifest, settings))
    records = _records_of(draft, store)
    if draft is None or records is None:
        return False
    name = f"{draft['model']}/{draft['benchmark']}"
    for remark in draft["remarks"]:
        log.warning("%s: %s", name, remark)
    passes, count = len(draft["views"]), len(records)
    log.info(STORED, name, "", passes, count, count)
    write_json(manifest, finished(draft, records.__getitem__))
    _draft_file(manifest).unlink()
    return True
