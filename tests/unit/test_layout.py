"""What every file of the project may import, with which versions; benches start as
their docstrings say."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
LIBRARY = ROOT / "src" / "pretrace"

ROOMS = (
    "runtime",
    "documents",
    "benchmarks",
    "corpora",
    "models",
    "views",
    "passes",
    "methods",
    "questions",
    "evaluation",
    "render",
    "audit",
    "studies",
    "commands",
)
"""A file imports from its own room, from those before it, and `seeds`."""


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_those_before_it(room):
    allowed = {"seeds", *ROOMS[: ROOMS.index(room) + 1]}
    names = set()
    for path in (LIBRARY / room).rglob("*.py"):
        for name in imported(path):
            if name.startswith("pretrace."):
                names.add((path.relative_to(LIBRARY).as_posix(), name))
    assert names
    assert {
        (path, name) for path, name in names if name.split(".")[1] not in allowed
    } == set()


def test_every_room_has_its_place():
    assert {path.parent.name for path in LIBRARY.glob("*/__init__.py")} == set(ROOMS)


def test_the_room_that_no_digest_counts_draws_and_computes_nothing():
    names = set()
    for path in (LIBRARY / "runtime").rglob("*.py"):
        for name in imported(path):
            names.add(name.split(".")[0])
    assert not names & {"numpy", "random", "scipy", "sklearn", "torch"}
    for path in (LIBRARY / "runtime").rglob("*.py"):
        assert "pretrace.seeds" not in imported(path)


def test_the_library_never_sees_snakemake():
    names = set()
    for path in LIBRARY.rglob("*.py"):
        names.update(imported(path))
    assert not {name for name in names if name.split(".")[0] == "snakemake"}


NEEDS_MODELS = {"complete_openings", "convert_gguf", "train_model", "train_shadows"}
"""The scripts whose library code needs the extra `hf`; what others need of it they
import in functions."""

IMPORT_WITHOUT = """
import importlib
import sys

blocked, names = sys.argv[1].split(","), sys.argv[2:]

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Blocked())
for name in names:
    module, _, attribute = name.rpartition(".")
    if not hasattr(importlib.import_module(module), attribute):
        importlib.import_module(name)
"""


MODELS = "torch,transformers,accelerate,safetensors,gguf"
EVERY = {path.stem for path in SCRIPTS.glob("*.py")}
DRAWS = {"render_report"}


@pytest.mark.parametrize(
    ("packages", "scripts", "fewest"),
    [
        # of the drawing: a job of a second would take two
        (f"{MODELS},openai,matplotlib,scipy", EVERY - NEEDS_MODELS - DRAWS, 50),
        (f"{MODELS},openai", DRAWS, 1),
        pytest.param("openai", NEEDS_MODELS, 4, marks=pytest.mark.full),
    ],
    ids=["most", "report", "models"],
)
def test_scripts_import_without_the_packages_of_what_they_do_not_run(
    packages, scripts, fewest
):
    """What a script takes from the library, as its first lines do, is imported where
    these are not installed."""
    paths = [SCRIPTS / f"{name}.py" for name in sorted(scripts)]
    lines = []
    for path in paths:
        lines += ast.parse(path.read_text(encoding="utf-8")).body
    froms = []
    for line in lines:
        if isinstance(line, ast.ImportFrom) and "pretrace" in str(line.module):
            froms.append(line)
    names = sorted(
        {f"{line.module}.{alias.name}" for line in froms for alias in line.names}
    )
    assert len(names) >= fewest
    command = [sys.executable, "-c", IMPORT_WITHOUT, packages, *names]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, in functions too, and every name from one as
    `module.name`."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_library_that_is_installed_is_the_clones(tmp_path):
    """An editable install must not copy the library into site-packages, where it would
    hide the clone's."""
    command = [sys.executable, "-c", "import pretrace; print(pretrace.__file__)"]
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    shown = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(shown.stdout.strip()).parent.parent.name == "src"


def test_the_image_has_a_python_that_the_package_runs_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"FROM python:([\d.]+)-", dockerfile)[1] in SpecifierSet(
        project["requires-python"]
    )


BENCHES = sorted((ROOT / "tests" / "bench").glob("*.py"))


@pytest.mark.full
@pytest.mark.parametrize("bench", BENCHES, ids=lambda path: path.stem)
def test_a_bench_says_how_it_is_run_and_starts(bench):
    path = bench.relative_to(ROOT).as_posix()
    assert re.search(
        rf"^ *python {path}", bench.read_text(encoding="utf-8"), re.MULTILINE
    )
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    done = subprocess.run(
        [sys.executable, path, "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_, TEXT_WAY, FIGURE_WAY, WALKS = re.split(
    r"\n##+ (?:The way of one text|The way of one figure|Counted by a trace)\n",
    CONTRIBUTING.partition("\n## Code\n")[0],
)
walks_of_a_figure = runpy.run_path(str(ROOT / "tests" / "bench" / "walks.py"))[
    "walks_of_a_figure"
]


@pytest.mark.parametrize(
    ("way", "folder"), [(TEXT_WAY, LIBRARY), (FIGURE_WAY, ROOT)], ids=["text", "figure"]
)
def test_a_way_names_files_that_are_there_at_most_20(way, folder):
    files = re.findall(r"\| `([\w./]+/\w+\.\w+)`", way)
    assert f"These are {len(files)} files" in way
    assert 15 < len(files) <= 20
    assert not [file for file in files if not (folder / file).is_file()]


BESIDE = {
    "src/pretrace/render/frames.py",
    "src/pretrace/render/phrases.py",
    "src/pretrace/studies/artifacts/checks.py",
    "src/pretrace/studies/audit/study.py",
    "src/pretrace/studies/registries.py",
}
"""Files of the two rooms on the way that check, or turn rows into records and numbers
into words, and decide nothing about the figure."""


def test_the_way_of_one_figure_names_every_file_that_decides_about_it(tmp_path):
    """The trace of the calls has further files, which check, read and write: the table
    of CONTRIBUTING.md counts them."""
    walks = [walk for _, walk in walks_of_a_figure(tmp_path)]
    passed = set()
    for walk in walks:
        passed |= {f"src/pretrace/{file}" for file in walk.files}
    rooms = ("src/pretrace/studies/", "src/pretrace/render/")
    decide = {path for path in passed if path.startswith(rooms)} - BESIDE
    decide = {path for path in decide if not path.endswith("__init__.py")}
    assert len(decide) > 12
    assert {path for path in decide if f"`{path}`" not in FIGURE_WAY} == set()


@pytest.mark.full
def test_the_walks_that_the_page_counts_are_those_of_a_trace():
    """In a process of its own, where nothing was read before. Where this fails: python
    tests/bench/walks.py"""
    command = [sys.executable, "tests/bench/walks.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    counted = re.findall(r"^\| `[^|]*\| \d+ \|", done.stdout, re.MULTILINE)
    assert len(counted) > 7
    # the stays of a run follow its memory, too
    assert [row for row in counted if row not in WALKS] == []


def test_every_script_runs_in_the_frame_that_marks_its_outputs():
    """A script without it would be run again by each plan."""
    scripts = sorted((ROOT / "scripts").glob("*.py"))
    assert len(scripts) > 30
    assert [
        path.name
        for path in scripts
        if "run_job(snakemake)" not in path.read_text(encoding="utf-8")
    ] == []


def test_no_test_takes_what_a_widespread_plugin_calls_its_own():
    """pytest-benchmark ends a run in which an argument `benchmark` is not its
    fixture."""
    taking = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name.startswith(
                "test_"
            ):
                names = {argument.arg for argument in function.args.args}
                taking += [f"{path.name}: {function.name}"] * ("benchmark" in names)
    assert not taking


def test_the_identity_is_the_last_input_of_every_rule_that_has_one():
    """The function that gives it leaves the last input out."""
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        rules = path.read_text(encoding="utf-8")
        after = re.findall(
            r"        identity=identity\([^=]*?(?:code=\([^)]*\),?\s*)?\),\n( *)\S",
            rules,
        )
        assert len(after) == rules.count("        identity=identity(")
        assert {len(indent) for indent in after} <= {4}, path
