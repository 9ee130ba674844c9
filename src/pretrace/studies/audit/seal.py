"""A plan sealed before any score: what an audit will compute, hashed, so that a later
change shows."""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pretrace.benchmarks.loaders.local import texts_of
from pretrace.benchmarks.user_rows import given_rows
from pretrace.runtime.errors import InputError, count_noun, first_names
from pretrace.runtime.files import JsonObject, read_json, sha256_file
from pretrace.runtime.provenance import provenance, whole_code_digest

Seal = dict[str, Any]
"""`sha256` of the plan, `sealed` (UTC, to the second), `scores_existed` (whether the
study had any score then), `changes` since the seal before, and the `plan`."""

_KINDS = {
    "sha256": str,
    "sealed": str,
    "scores_existed": bool,
    "changes": list,
    "plan": dict,
}


def read_seals(path: Path) -> list[Seal]:
    """Read the seals of a study, [] if it has none.

    Raises:
        InputError: the file is damaged, or holds something else.
    """
    if not path.exists():
        return []
    try:
        seals = read_json(path)
    except InputError:
        seals = None
    if not isinstance(seals, list) or not all(map(_is_seal, seals)):
        raise InputError(
            f"{path} does not hold the seals that pretrace wrote there. Put a copy of "
            "it back, or delete it: then the plan is sealed once more, and the report "
            "says so if scores exist."
        )
    return seals


def _is_seal(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if not all(isinstance(value.get(key), kind) for key, kind in _KINDS.items()):
        return False
    for key in ("files", "checkpoints", "versions"):
        if not isinstance(value["plan"].get(key), dict):
            return False
    return "pretrace" in value["plan"]["versions"]


def digest_of(plan: JsonObject) -> str:
    """Return the SHA-256 of a plan as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(
    seals: Sequence[Seal], plan: JsonObject, *, time: str, scores_existed: bool
) -> list[Seal]:
    """Return the seals with one for `plan` at the end; unchanged if the last one is of
    the same plan."""
    sha256 = digest_of(plan)
    if seals and seals[-1]["sha256"] == sha256:
        return list(seals)
    changes = changed(seals[-1]["plan"], plan) if seals else []
    seal = {
        "sha256": sha256,
        "sealed": time,
        "scores_existed": scores_existed,
        "changes": changes,
        "plan": dict(plan),
    }
    return [*seals, seal]


PACKAGES_SEALED = ("torch", "transformers", "tokenizers", "numpy")
"""The packages whose versions a seal holds."""


def completed(
    plan: JsonObject,
    texts: Iterable[Path],
    checkpoints: Mapping[str, JsonObject],
) -> dict[str, Any]:
    """Return a plan (`Plan.sealed`) with its files, the marks of its texts, checkpoints
    and versions.

    `texts`: the user's files of texts; `checkpoints`: the record of each by its name.
    """
    files = {name: sha256_file(path) for name, path in short_names(texts).items()}
    known: dict[str, dict[str, Any]] = {}
    for name, record in checkpoints.items():
        known[name] = {}
        for key in ("hub", "commit", "digest"):
            if key in record:
                known[name][key] = record[key]
    environment = provenance({})
    versions = {name: environment["packages"][name] for name in PACKAGES_SEALED}
    versions |= {"pretrace": environment["commit"], "code": whole_code_digest()}
    return {
        **plan,
        "files": files,
        "marks": marks_of(texts_in_question(plan["benchmarks"])),
        "checkpoints": known,
        "versions": versions,
    }


def short_names(paths: Iterable[Path]) -> dict[str, Path]:
    """Return the paths by name; where two files have one name, with as many folders as
    tell them apart."""
    paths = sorted(set(paths))
    for parts in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        names = {"/".join(path.parts[-parts:]): path for path in paths}
        if len(names) == len(paths):
            return names
    return {}


def changed(before: Any, after: Any, where: str = "") -> list[str]:
    """Return the places in which two plans differ, as `settings.seed`."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        places = []
        for key in sorted(before.keys() | after.keys()):
            places += changed(
                before.get(key), after.get(key), f"{where}.{key}".lstrip(".")
            )
        return places
    are_lists = isinstance(before, list) and isinstance(after, list)
    if are_lists and len(before) == len(after):
        places = []
        for number, value in enumerate(before):
            places += changed(value, after[number], f"{where}.{number}")
        return places
    return [] if before == after else [where]


def edited(seals: Sequence[Seal], code: str) -> list[str]:
    """Return warnings beside the answer: `code` (SHA-256) differs from what was sealed,
    or no commit held that."""
    versions = seals[-1]["plan"]["versions"]
    warnings = []
    if versions.get("code", code) != code:
        warnings.append(
            "pretrace's code was edited after the plan was sealed: the answer may "
            "follow from the edit."
        )
    if str(versions.get("pretrace")).endswith("-dirty"):
        warnings.append(
            "The plan was sealed with code that no commit holds, so that nobody else "
            "can run the same."
        )
    return warnings


def sealed_again(seals: Sequence[Seal]) -> list[str]:
    """Return a warning beside the answer if the plan was sealed more than once: the
    last one is that of the answer."""
    if len(seals) == 1:
        return []
    first, last = seals[0]["plan"]["files"], seals[-1]["plan"]["files"]
    changed_texts = []
    for name in sorted(first.keys() | last.keys()):
        if first.get(name) != last.get(name):
            changed_texts.append(name)
    about = "the texts are the same"
    if changed_texts:
        names = first_names(changed_texts)
        about = f"the texts changed after the first seal ({names})"
    is_late = any(seal["scores_existed"] for seal in seals[1:])
    late = ", once scores existed" if is_late else ""
    return [
        f"{len(seals)} plans were sealed for this model and these texts{late}: "
        f"{about}. The answer is that of the last."
    ]


def cover_of_seal(
    seals: Sequence[Seal], citation: str, date: str
) -> list[tuple[str, str]]:
    """Return what the first page of an audit says: (heading, text) of models, the last
    seal, the page, its citation."""
    commit = seals[-1]["plan"]["versions"]["pretrace"]
    code = f"commit {commit}" if commit else "installed, without a commit"
    return [
        ("Model", _models_of(seals[-1]["plan"])),
        ("Sealed plan", _sentence_of(seals[-1])),
        ("This page", f"made on {date} (UTC)"),
        ("Cite as", f"{citation}, {code}"),
    ]


def _models_of(plan: JsonObject) -> str:
    """Return the models with what tells their version: the commit on the hub, or the
    digest of their files."""
    models = []
    for model, about in sorted(plan["checkpoints"].items()):
        # a study's own model has its name in shared stages
        name = model.rpartition("~")[2]
        parts = [f"{name}:" if about.get("hub") else name, about.get("hub", "")]
        if commit := about.get("commit"):
            parts.append(f"commit {commit}")
        elif digest := about.get("digest"):
            parts.append(f"SHA-256 of its files {digest}")
        models.append(" ".join(filter(None, parts)))
    for model, entry in sorted(plan.get("models", {}).items()):
        if api := entry.get("api"):
            models.append(f"{model}: {api['model']} at {api['base_url']}")
    return "; ".join(models)


RUN_OF_WORDS, ONE_RUN_IN = 8, 256
"""Words of a run by which texts are known again, and of how many runs one is kept."""

FEWEST_SHARED, LEAST_SHARED = 3, 0.1
"""Runs that two audits share if they have the same works, and the share of the fewer
runs of the two."""

FEWEST_NAMES, LEAST_NAMES = 3, 0.5
"""The same of names of documents."""


def marks_of(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return by what works are known again however they are cut, of (document, text):
    `documents` and `runs`.

    `runs` are hashes of a few runs of words, the same ones in a whole work and in its
    passages.
    """
    documents = set()
    runs = set()
    for document, text in texts:
        documents.add(document)
        words = re.findall(r"\w+", text.casefold())
        for place in range(len(words) - RUN_OF_WORDS + 1):
            mark = zlib.crc32(" ".join(words[place : place + RUN_OF_WORDS]).encode())
            if mark % ONE_RUN_IN == 0:
                runs.add(f"{mark:08x}")
    return {"documents": sorted(documents - {""}), "runs": sorted(runs)}


def texts_in_question(
    benchmarks: Mapping[str, JsonObject],
) -> Iterator[tuple[str, str]]:
    """Yield (document, text) of the user's own texts in question, of entries of
    benchmarks; works are whole."""
    for entry in benchmarks.values():
        if entry["source"] != "local":
            continue
        given = given_rows(Path(entry["path"]), None, entry.get("left_out", ()))
        for text in texts_of(given):
            if text.label != 0:
                yield text.document, text.text


def repeats(seals: Sequence[Seal], others: Mapping[str, Sequence[Seal]]) -> list[str]:
    """Return how many `others` (seals by study) audited the same texts or model: the
    best of many does not count."""
    plan = seals[-1]["plan"]
    texts = set()
    models = set()
    for name, own in others.items():
        for seal in own:
            if _has_same_works(plan, seal["plan"]):
                texts.add(name)
            if _shared(plan, seal["plan"], "checkpoints"):
                models.add(name)
    if not texts | models:
        return []
    audits = count_noun(len(texts | models), "other audit")
    return [
        f"{audits} in results/ with texts ({len(texts)}) or the model ({len(models)}) "
        "of this one. Of twenty audits of unread texts, one has a p of 0.05: report all "
        "of them, not the best."
    ]


def _has_same_works(plan: JsonObject, other: JsonObject) -> bool:
    """Return whether two plans have an equal file, or works in question that are the
    same, however they are cut."""
    if _shared(plan, other, "files"):
        return True
    marks, others = plan.get("marks", {}), other.get("marks", {})
    for key, fewest, least in (
        ("runs", FEWEST_SHARED, LEAST_SHARED),
        ("documents", FEWEST_NAMES, LEAST_NAMES),
    ):
        own, theirs = set(marks.get(key, ())), set(others.get(key, ()))
        if len(own & theirs) >= max(fewest, least * min(len(own), len(theirs))):
            return True
    return False


def _shared(plan: JsonObject, other: JsonObject, key: str) -> bool:
    """Return whether two plans hold an equal file, or an equal checkpoint."""
    for value in plan[key].values():
        if value and value in other[key].values():
            return True
    return False


def lines_of_seals(seals: Sequence[Seal]) -> list[tuple[str, str]]:
    """Return what a page says of a study's seals: (heading, text), every seal in order
    with its own SHA-256."""
    plan = seals[-1]["plan"]
    lines = []
    if any(seal["scores_existed"] for seal in seals[1:]):
        lines.append(("Warning", "plan changed after scores"))
    elif seals[0]["scores_existed"]:
        lines.append(("Warning", "plan sealed after scores"))
    for number, seal in enumerate(seals, 1):
        heading = f"Seal {number}" if len(seals) > 1 else "Seal"
        lines.append((heading, _sentence_of(seal)))
    texts = []
    for name, sha256 in sorted(plan["files"].items()):
        texts.append(f"{name}: SHA-256 {sha256}")
    versions = []
    for name, version in sorted(plan["versions"].items()):
        versions.append(f"{name} {version}")
    lines.append(("Texts", "; ".join(texts)))
    lines.append(("Models", _models_of(plan)))
    lines.append(("Versions", ", ".join(versions)))
    return lines


def _sentence_of(seal: Seal) -> str:
    """Say a seal's own hash, its time, whether scores existed, and what changed since
    the seal before."""
    whole = digest_of(seal["plan"]) == seal["sha256"]
    sha256 = (
        f"SHA-256 {seal['sha256']}"
        if whole
        else "the SHA-256 does not fit: seals.json was edited"
    )
    when = "after scores existed" if seal["scores_existed"] else "before any score"
    changes = f"; changed: {', '.join(seal['changes'])}" if seal["changes"] else ""
    return f"{sha256}; sealed {seal['sealed']} (UTC), {when}{changes}"
