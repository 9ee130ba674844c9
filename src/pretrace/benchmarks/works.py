"""The works of a folder: each document in it, and each folder in it, whose documents are the parts of one work.

A work is read once: its text, and what is told of it while planning, are kept under results/works by its content.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pretrace.benchmarks.documents import DOCUMENT_FORMATS, is_document, read_document
from pretrace.benchmarks.languages import language_of
from pretrace.benchmarks.layout import LaidOutText, is_wrapped, without_front_matter
from pretrace.benchmarks.rows import stem_of
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import content_of, digest, kind_of, read_json, sha256_file, write_json, write_text

KEPT = Path("results/works")


@dataclass(frozen=True)
class Work:
    """A work: its name, where it lies, and the files that are its parts, in the order of their names."""

    name: str
    path: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Report:
    """What is told of a work that was read; see `documents.Reading`. `letters` are characters without white space.

    A work of several files has no title, because theirs are those of its parts.
    """

    words: int
    letters: int
    language: str
    encoding: str
    removed: dict[str, int]
    left_out: dict[str, int]
    wrapped: bool
    title: str
    author: str


def are_works(path: Path) -> bool:
    """Return whether a path leads to works: a folder, or a document."""
    kind = kind_of(str(path))
    return kind == "folder" or (kind == "file" and is_document(path.name))


def works_in(path: Path, *, whole: bool = False) -> tuple[list[Work], list[Path]]:
    """Return the works of a folder, or the one of a document, and the files in the folder that are left out.

    With `whole`, a folder is one work. Hidden files and other formats are left out. Raises `InputError` if
    the folder has no document, or if two works have one name.
    """
    if not path.is_dir():
        return [Work(stem_of(path), path, (path,))], []
    inside = sorted(
        (file for file in path.rglob("*") if file.is_file()), key=lambda file: _natural(file, path)
    )
    shown = {file: file.relative_to(path).parts for file in inside}
    documents = [
        file for file, parts in shown.items()
        if is_document(file.name) and not any(part.startswith(".") for part in parts)
    ]  # fmt: skip
    if not documents:
        raise InputError(f"{path}: the folder has no document; give files or folders of {DOCUMENT_FORMATS}.")
    works: dict[str, list[Path]] = {}
    for file in documents:
        alone = len(shown[file]) == 1
        name = path.resolve().name if whole else stem_of(file) if alone else shown[file][0]
        if name in works and alone and not whole:
            raise InputError(
                f"{file}: a work '{name}' was given before, at {works[name][0]}; remove one of the two, or put the "
                "parts of a work in a folder of their own."
            )
        works.setdefault(name, []).append(file)
    left_out = [file for file in inside if file not in {*documents}]
    return [
        Work(name, path if whole else files[0] if files[0].parent == path else path / name, tuple(files))
        for name, files in works.items()
    ], left_out


def _natural(file: Path, folder: Path) -> list[list[tuple[int, str]]]:
    """Return what sorts part 2 before part 10."""
    return [
        [(int(piece or 0) if piece.isdecimal() else 0, piece) for piece in re.split(r"(\d+)", part)]
        for part in file.relative_to(folder).parts
    ]


def read_work(work: Work) -> tuple[str, Report]:
    """Read the parts of a work as one text. Raises `InputError` if it has no words, or at a part that is not read."""
    parts = [read_document(file) for file in work.files]
    joined = LaidOutText(
        "\n\n".join(part.text for part in parts), ", ".join(dict.fromkeys(part.encoding for part in parts))
    )
    for part in parts:
        joined.removed += part.removed
        joined.left_out += part.left_out
    whole = without_front_matter(joined)
    text = whole.text
    if not text.strip():
        raise InputError(f"{work.path}: the document has no words; fill it, or leave it out.")
    # past prefaces, which may be in another language; enough letters to tell a script by
    middle = text[len(text) // 4 :][:20000]
    letters = len("".join(text.split()))
    counts = {key: count for key, count in whole.removed.items() if count}
    left_out = {key: count for key, count in whole.left_out.items() if count}
    words, title = len(text.split()), parts[0].title if len(parts) == 1 else ""
    author = ", ".join(dict.fromkeys(part.author for part in parts if part.author))
    return text, Report(
        words, letters, language_of(middle), whole.encoding, counts, left_out, is_wrapped(text), title, author
    )


@cache
def report_of(work: Work) -> Report:
    """Return what is told of a work, read now or, if its files and the readers are the same, before."""
    kept = _kept(work)
    if not kept.exists():
        text, report = read_work(work)
        write_text(kept.with_suffix(".txt"), text)
        write_json(kept, asdict(report))
    return Report(**read_json(kept))


def text_of(work: Work) -> str:
    """Return the text of a work, as `report_of`."""
    report_of(work)
    return _kept(work).with_suffix(".txt").read_text(encoding="utf-8")


def _kept(work: Work) -> Path:
    contents = [[file.suffix.lower(), content_of(str(file))] for file in work.files]
    return KEPT / f"{digest([contents, *_readers()])[:32]}.json"


@cache
def _readers() -> list[str]:
    """Return what a text depends on besides its files: the code and the versions of the readers."""
    versions = []
    for package in ("pypdf", "python-docx", "beautifulsoup4", "charset-normalizer"):
        try:
            versions.append(version(package))
        except PackageNotFoundError:
            versions.append("")
    return [
        *versions,
        *(sha256_file(Path(__file__).with_name(file)) for file in ("documents.py", "layout.py", "works.py")),
    ]


def about_work(work: Work) -> dict[str, str]:
    """Return the columns that name a work in a row of a `local` benchmark."""
    report = report_of(work)
    return {"document": work.name, "title": report.title, "author": report.author}


def work_rows(path: Path) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the works of a folder, or a document, whole: each with its place, as a row of a `local` benchmark."""
    for work in works_in(path)[0]:
        yield str(work.path), {"id": work.name, "text": text_of(work), "label": None, **about_work(work)}


def files_of_works(path: Path) -> Sequence[Path]:
    return [file for work in works_in(path)[0] for file in work.files]
