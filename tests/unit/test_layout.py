"""What every file of the project may import."""

import ast
import re
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
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


def test_no_imports_go_in_a_circle():
    paths = {
        ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts): path
        for path in LIBRARY.rglob("*.py")
    }
    files = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    graph = {name: {of for of in files_imported(path, files) if of != name} for name, path in files.items()}
    assert graph["pretrace.methods.surp"] == {"pretrace.methods.registry", "pretrace.methods.statistics"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def files_imported(path: Path, files: Collection[str]) -> Iterator[str]:
    """Every file of the library that a file imports: of a package that it imports a name from, the package's own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (
                of for name in names for of in ([name] if name in files else [node.module]) if of in files
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)


def test_every_room_has_its_place():
    assert {path.parent.name for path in LIBRARY.glob("*/__init__.py")} == set(ROOMS)


def test_the_library_never_sees_snakemake():
    imports = {module for path in LIBRARY.rglob("*.py") for module in modules_imported(path)}
    assert not {module for module in imports if module.split(".")[0] == "snakemake"}


STATISTICS = {
    "random",
    "default_rng",
    "quantile",
    "nanquantile",
    "percentile",
    "std",
    "var",
    "rank",
    "polyfit",
}


def test_render_selects_and_lays_out_and_computes_no_statistic():
    """Nothing there draws random numbers, fits, ranks or tests: what is shown, `evaluation` computes."""
    for path in (LIBRARY / "render").rglob("*.py"):
        of_libraries = {module.split(".")[0] for module in modules_imported(path)}
        assert not of_libraries & {"scipy", "sklearn", "random"}, path
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {node.func.attr for node in ast.walk(tree) if is_call_of_attribute(node)}
        imported = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        assert not (called | imported) & {*STATISTICS, "stdev"}, path


def is_call_of_attribute(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


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


def test_the_way_of_one_text_names_files_that_are_there_at_most_25():
    told = (ROOT / "docs" / "one_text.md").read_text(encoding="utf-8")
    files = re.findall(r"\| `(\w+/[\w/]+\.py)`", told)
    assert f"These are {len(files)} files" in told
    assert len(files) <= 25
    assert not [file for file in files if not (LIBRARY / file).is_file()]
