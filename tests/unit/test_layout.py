"""What every file of the project may import."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "scripts" / "pretrace"

ROOMS = (
    "runtime",
    "benchmarks",
    "corpora",
    "models",
    "views",
    "passes",
    "methods",
    "questions",
    "evaluation",
    "render",
    "studies",
)
"""A file imports from its own room and from those before it."""


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_those_before_it(room):
    allowed = ROOMS[: ROOMS.index(room) + 1]
    imported = {
        (path.relative_to(LIBRARY).as_posix(), of)
        for path in (LIBRARY / room).rglob("*.py")
        for of in rooms_imported(path)
    }
    assert imported
    assert {(path, of) for path, of in imported if of not in allowed} == set()


def test_every_room_has_its_place():
    assert {path.parent.name for path in LIBRARY.glob("*/__init__.py")} == set(ROOMS)


def test_the_library_never_sees_snakemake():
    imports = {module for path in LIBRARY.rglob("*.py") for module in modules_imported(path)}
    assert not {module for module in imports if module.split(".")[0] == "snakemake"}


def rooms_imported(path: Path) -> Iterator[str]:
    return (name.split(".")[1] for name in modules_imported(path) if name.startswith("pretrace."))


def modules_imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, in functions too; a name from `pretrace` itself as a module of it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "pretrace":
            yield from (f"pretrace.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
