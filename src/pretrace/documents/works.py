"""The works of a folder: each document in it, and each folder in it, whose documents
are the parts of one work.

A work is read once: its text, and what is told of it while planning, are kept under
results/works by its content.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from pretrace.documents.formats import (
    DOCUMENT_FORMATS,
    PACKAGES,
    conversion_of,
    is_document,
    read_document,
)
from pretrace.documents.languages import guessed_language
from pretrace.documents.layout import (
    LaidOutText,
    LineEnds,
    line_ends_of,
    without_front_matter,
)
from pretrace.documents.typesetting import SignKind, typeset_shares
from pretrace.documents.unpacking import stem_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import (
    content_of,
    digest,
    files_in,
    kind_of,
    read_json,
    sha256_file,
    write_json,
    write_text,
)
from pretrace.runtime.names import check_encoding

KEPT = Path("results/works")


@dataclass(frozen=True)
class Work:
    """A work: its name, where it lies, and the files that are its parts, in the order
    of their names."""

    name: str
    path: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Report:
    """What is told of a work that was read; see `LaidOutText`. `letters` are characters
    without white space.

    `line_ends` and `typeset` (shares of its signs) say how it was set. A work of
    several files has no title, because theirs are those of its parts. `sha256` is the
    text's.
    """

    words: int
    letters: int
    language: str
    encoding: str
    removed: dict[str, int]
    left_out: dict[str, int]
    line_ends: LineEnds
    typeset: dict[SignKind, float]
    title: str
    author: str
    sha256: str


@dataclass(frozen=True)
class ReadWork:
    """A work's text, and what is told of it."""

    text: str
    report: Report


def are_works(path: Path) -> bool:
    """Return whether a path leads to works: a folder, or a document."""
    kind = kind_of(str(path))
    return kind == "folder" or (kind == "file" and is_document(path.name))


def works_in(path: Path, *, whole: bool = False) -> tuple[list[Work], list[Path]]:
    """Return the works of a folder, or the one of a document, and the files in the
    folder that are left out.

    With `whole`, a folder is one work. Files behind links are read. Hidden files, other
    formats and broken links are left out. Raises `InputError` if the folder has no
    document, if a name is not UTF-8, or if two works have one name.
    """
    if not path.is_dir():
        check_encoding(path)
        return [Work(stem_of(path), path, (path,))], []
    inside, left_out = files_in(path)
    works: dict[str, list[Path]] = {}
    for file in sorted(inside, key=lambda file: _natural(file, path)):
        parts = file.relative_to(path).parts
        if _is_hidden(file, path) or not is_document(file.name):
            left_out.append(file)
            continue
        check_encoding(file)
        is_alone = len(parts) == 1 and not whole
        folder = path.resolve().name if whole else parts[0]
        name = stem_of(file) if is_alone else folder
        if name in works and is_alone:
            raise InputError(
                f"{file}: a work '{name}' was given before, at {works[name][0]}; "
                "remove one of the two, or put the parts of a work in a folder of "
                "their own."
            )
        works.setdefault(name, []).append(file)
    if not works:
        raise InputError(
            f"{path}: the folder has no document; give files or folders of "
            f"{DOCUMENT_FORMATS}.{_first_conversion(left_out)}"
        )
    # hidden files, which programs make, come last
    left_out.sort(key=lambda file: _is_hidden(file, path))
    return [_work(name, files, path, whole) for name, files in works.items()], left_out


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _first_conversion(files: Iterable[Path]) -> str:
    """Say how the first of the files that can be converted is; "" if none can."""
    for file in files:
        way = conversion_of(file.name)
        if way:
            return f" {file.name}: {way}."
    return ""


def _work(name: str, files: list[Path], folder: Path, whole: bool) -> Work:
    """Return a work with the place that messages name: the folder, the file in it, or
    the folder of its parts."""
    if whole:
        return Work(name, folder, tuple(files))
    is_file = files[0].parent == folder
    return Work(name, files[0] if is_file else folder / name, tuple(files))


def _natural(file: Path, folder: Path) -> list[list[tuple[int, str]]]:
    """Return what sorts part 2 before part 10."""
    keys = []
    for part in file.relative_to(folder).parts:
        key = []
        for piece in re.split(r"(\d+)", part):
            key.append((int(piece) if piece.isdecimal() else 0, piece))
        keys.append(key)
    return keys


def read_work(work: Work) -> ReadWork:
    """Read the parts of a work as one text. Raises `InputError` if it has no words, or
    at a part that is not read."""
    parts = [read_document(file) for file in work.files]
    encodings = dict.fromkeys(part.encoding for part in parts)
    authors = dict.fromkeys(part.author for part in parts if part.author)
    together = "\n\n".join(part.text for part in parts)
    joined = LaidOutText(together, ", ".join(encodings))
    for part in parts:
        joined.removed += part.removed
        joined.left_out += part.left_out
    whole = without_front_matter(joined)
    text = whole.text
    if not text.strip():
        removed = ""
        for what, count in (+whole.removed).items():
            removed += f" without its {count} {what}"
        raise InputError(
            f"{work.path}: the document has no words{removed}; fill it, or leave it "
            "out."
        )
    # past prefaces, which may be in another language; enough letters to tell a script
    # by
    middle = text[len(text) // 4 :][:20000]
    report = Report(
        words=len(text.split()),
        letters=len("".join(text.split())),
        language=guessed_language(middle),
        encoding=whole.encoding,
        removed=dict(+whole.removed),
        left_out=dict(+whole.left_out),
        line_ends="print" if "PDF" in encodings else line_ends_of(text),
        typeset=typeset_shares(text),
        title=parts[0].title if len(parts) == 1 else "",
        author=", ".join(authors),
        sha256=_sha256(text),
    )
    return ReadWork(text, report)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def stored_work(work: Work) -> ReadWork:
    """Return a work as it was read before, if its files and the readers are the same;
    else read it and keep it.

    What is kept is believed if its digests are right: a text that was edited there is
    read from its files again.
    """
    contents = [[file.suffix.lower(), content_of(str(file))] for file in work.files]
    place = KEPT / f"{digest([contents, *_readers()])[:32]}.json"
    kept = _kept(place)
    if kept is not None:
        return kept
    read = read_work(work)
    report = asdict(read.report)
    write_text(place.with_suffix(".txt"), read.text)
    write_json(place, {"report": report, "sha256": digest(report)})
    return read


def _kept(place: Path) -> ReadWork | None:
    """Return the work that is kept at a place; None without one, or if it was changed
    there."""
    try:
        kept = read_json(place)
        if kept["sha256"] != digest(kept["report"]):
            return None
        report = Report(**kept["report"])
        text = place.with_suffix(".txt").read_bytes().decode()  # as written: "\r" stays
    except (OSError, ValueError, TypeError, KeyError, InputError):
        return None
    return ReadWork(text, report) if _sha256(text) == report.sha256 else None


def stored_works(
    path: Path, left_out: Sequence[str]
) -> Iterator[tuple[Work, ReadWork]]:
    """Yield the works of a folder, or the one of a document, as they were read; not
    those whose names are left out."""
    works, _ = works_in(path)
    for work in works:
        if work.name not in left_out:
            yield work, stored_work(work)


def unreadable_works(paths: Iterable[Path]) -> dict[str, str]:
    """Return the works of folders or documents that cannot be read: name -> what is
    wrong, and what to do."""
    errors = {}
    for path in paths:
        works, _ = works_in(path)
        for work in works:
            try:
                report_of(work)
            except InputError as error:
                errors[work.name] = str(error)
    return errors


@cache
def report_of(work: Work) -> Report:
    """Return what is told of a work, which is checked once by a process."""
    return stored_work(work).report


@cache
def _readers() -> list[str]:
    """Return what a text depends on besides its files: the code and the versions of the
    readers."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(version(package))
        except PackageNotFoundError:
            versions.append("")
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return versions + [sha256_file(file) for file in files]


def files_of_works(path: Path) -> Sequence[Path]:
    works, _ = works_in(path)
    return list(chain.from_iterable(work.files for work in works))
