"""Docstrings of installed packages, read without importing the packages."""

import ast
import functools
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.logs import log

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache  # a corpus of a fraction is read twice, and parsing takes seconds
def docstrings_of(package: str) -> Mapping[str, tuple[str, ...]]:
    """A map from module (as `numpy.linalg`) to the docstrings of the module, its classes and functions, without
    indentation.

    `package` is an import name. Modules are sorted by path, docstrings are in the file's order. Modules without
    docstrings and folders called tests are left out. A file that is not Python 3 is counted and reported. Raises
    `InputError` if the package is not installed.
    """
    folder = _folder(package)
    found: dict[str, tuple[str, ...]] = {}
    unread = 0
    for file in sorted(folder.rglob("*.py"), key=lambda file: file.relative_to(folder).parts):
        parts = file.relative_to(folder).with_suffix("").parts
        if "tests" in parts:
            continue
        try:
            texts = _docstrings_of(file)
        except (SyntaxError, ValueError, RecursionError):
            unread += 1
            continue
        if texts:
            found[".".join((package, *parts)).removesuffix(".__init__")] = texts
    log.info(
        "%s: %d docstrings%s",
        folder, sum(map(len, found.values())), f"; {unread} files not Python 3" if unread else "",
    )  # fmt: skip
    return found


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        installed = importlib.metadata.packages_distributions()
        meant = [name for name, distributions in installed.items() if package in distributions]
        hint = nearest(package, meant or installed)
        raise InputError(
            f"packages: '{package}' is not an installed Python package; {hint} "
            "(names as in an import statement; or install it and run again)"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _docstrings_of(file: Path) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(file.read_bytes())
    return tuple(text for node in _documented(tree) if (text := ast.get_docstring(node)))


def _documented(node: ast.AST) -> Iterator[_Documented]:
    """The node and the classes and functions in it, in the order of the file, outside expressions."""
    if isinstance(node, _Documented):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _documented(child)
