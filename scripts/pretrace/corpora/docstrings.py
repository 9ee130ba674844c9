"""Docstrings of installed packages, one document a docstring, read without importing the packages."""

import ast
import functools
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from pretrace.corpora.sources import Entry, corpus_source, required
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@corpus_source("docstrings")
def docstrings(entry: Entry, sources: list[Path]) -> Iterator[str]:
    """The docstrings of modules, classes and functions of `packages` (import names), indentation taken off.

    Packages in the order of their names, files by path, docstrings as they stand in a file. A file that is
    not Python 3 is counted and reported. Raises `InputError` where a package is not installed.
    """
    folders = [_folder(name) for name in sorted(required(entry, "packages", "[numpy, scipy]"))]
    return chain.from_iterable(map(_documents, folders))


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


@functools.cache  # a fraction is chosen after a first reading, and parsing takes seconds
def _documents(folder: Path) -> tuple[str, ...]:
    texts: list[str] = []
    unread = 0
    for file in sorted(folder.rglob("*.py"), key=lambda file: file.relative_to(folder).parts):
        if "tests" in file.relative_to(folder).parts:
            continue
        try:
            texts += _docstrings_of(file)
        except (SyntaxError, ValueError, RecursionError):
            unread += 1
    log.info("%s: %d docstrings%s", folder, len(texts), f"; {unread} files not Python 3" if unread else "")
    return tuple(texts)


def _docstrings_of(file: Path) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(file.read_bytes())
    return [text for node in _documented(tree) if (text := ast.get_docstring(node))]


def _documented(node: ast.AST) -> Iterator[_Documented]:
    """The node and the classes and functions in it, in the order of the file, outside expressions."""
    if isinstance(node, _Documented):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _documented(child)
