"""Docstrings of installed packages, one document a docstring, read without importing the packages."""

import ast
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from pretrace.corpora.sources import Entry, corpus_source, required
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@corpus_source("docstrings")
def docstrings(entry: Entry, sources: list[Path]) -> Iterator[str]:
    """The docstrings of modules, classes and functions of `packages` (import names), indentation taken off.

    Packages in the order of their names, files by path, docstrings as they stand in a file. A file that is
    not Python 3 is counted and reported. Raises `InputError` where a package is not installed.
    """
    folders = {name: _folder(name) for name in sorted(required(entry, "packages", "[numpy, scipy]"))}
    return _read(folders)


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        installed = importlib.metadata.packages_distributions()
        hint = nearest(package, _import_names(package, installed) or installed)
        raise InputError(
            f"packages: '{package}' is not an installed Python package; {hint} "
            "(names as in an import statement; or install it and run again)"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _import_names(distribution: str, installed: Mapping[str, list[str]]) -> list[str]:
    return [name for name, distributions in installed.items() if distribution in distributions]


def _read(folders: dict[str, Path]) -> Iterator[str]:
    for package, folder in folders.items():
        unread = found = 0
        for file in sorted(folder.rglob("*.py"), key=lambda file: file.relative_to(folder).parts):
            try:
                texts = _docstrings_of(file)
            except (SyntaxError, ValueError, RecursionError):
                unread += 1
                continue
            found += len(texts)
            yield from texts
        log.info("docstrings of %s: %d%s", package, found, f"; {unread} files not Python 3" if unread else "")


def _docstrings_of(file: Path) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(file.read_bytes())
    found = ((node.lineno if not isinstance(node, ast.Module) else 0, ast.get_docstring(node))
             for node in ast.walk(tree) if isinstance(node, _DOCUMENTED))  # fmt: skip
    return [text for _, text in sorted((line, text) for line, text in found if text)]
