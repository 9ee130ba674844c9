"""Whether the tests notice a fault: lines of the library, drawn with a seed, are spoiled
one at a time, and the tests of their file run.

python tests/bench/mutants.py [--commit HEAD] [--count 40] [--seed 0] [--out mutants.json]
    [--again mutants.json] [--seconds 300]

A mutant has a comparison flipped, a constant changed, a condition negated or a statement
removed. It survives if the tests that tests/README.md names for its file pass (those
that import the file, where any does). `--again` spoils a line of each function that an
earlier run spoiled, as far as the commit still has it.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

FLIPPED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
    ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
AUDIT = ("studies_audit", "benchmarks_audit_checks", "evaluation_audit", "render_audit")


def spoil(node: ast.AST) -> str:
    """Change a node, and say what was done; "" if there is nothing to change."""
    match node:
        case ast.Compare():
            node.ops[0] = FLIPPED[type(node.ops[0])]()
            return "comparison flipped"
        case ast.Constant(value=bool()):
            node.value = not node.value
            return "constant changed"
        case ast.Constant(value=int() | float()):
            node.value += 1
            return "constant changed"
        case ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)
            return "condition negated"
        case ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call()):
            node.__class__ = ast.Pass
            return "statement removed"
    return ""


def places(file: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (function, line, number of the node in a walk of the file) of all that can
    be spoiled in a file's functions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    numbers = {node: number for number, node in enumerate(ast.walk(tree))}
    for outer in numbers:
        for function in ast.iter_child_nodes(outer):
            is_inner = isinstance(outer, ast.FunctionDef)
            if isinstance(function, ast.FunctionDef) and not is_inner:
                name = f"{getattr(outer, 'name', '')}.{function.name}".lstrip(".")
                for node in ast.walk(function):
                    if spoil(copy.deepcopy(node)):
                        yield name, node.lineno, numbers[node]


def tests_of(file: Path, root: Path) -> list[str]:
    """Return the test files that tests/README.md names for a file of the library."""
    room = file.relative_to(root / "src" / "pretrace").with_suffix("").parts[0]
    module = ".".join(file.relative_to(root / "src").with_suffix("").parts)
    unit = root / "tests" / "unit"
    own = sorted(unit.glob(f"test_{'benchmarks' if room == 'documents' else room}*.py"))
    if room == "audit":
        own = [unit / f"test_{name}.py" for name in AUDIT]
    package, _, name = module.rpartition(".")
    imports = (f"{module} ", f"{module}.", f"from {package} import {name}")
    near = []
    for test in own:
        if any(words in test.read_text(encoding="utf-8") for words in imports):
            near.append(test)
    return [str(test) for test in near or own]


def first_failure(tests: Sequence[str], root: Path, seconds: float) -> list[str]:
    """Return the first test that fails, [] if all pass; all of them if they take too
    long, as in an endless loop."""
    options = ["-q", "-x", "-n", "0", "-rfE", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return [*tests]
    said = done.stdout.decode()
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    return failed[:1] if failed or not done.returncode else [*tests]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--out", type=Path, default=Path("mutants.json"))
    parser.add_argument("--again", type=Path)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        archive = subprocess.run(
            ["git", "archive", given.commit], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", root], input=archive.stdout, check=True)
        every = []
        for file in sorted((root / "src" / "pretrace").rglob("*.py")):
            for place in places(file):
                every.append((str(file.relative_to(root)), *place))
        drawn = rng.sample(every, given.count)
        if given.again:
            drawn = []
            for mutant in json.loads(given.again.read_text()):
                of_function = [place for place in every if [*place[:2]] == mutant[:2]]
                drawn += rng.sample(of_function, min(1, len(of_function)))
        mutants = []
        for name, function, line, number in drawn:
            file = root / name
            text = file.read_text(encoding="utf-8")
            tree = ast.parse(text)
            done = spoil([*ast.walk(tree)][number])
            whole = ast.unparse(ast.fix_missing_locations(tree))
            file.write_text(whole, encoding="utf-8")
            failed = first_failure(tests_of(file, root), root, given.seconds)
            file.write_text(text, encoding="utf-8")
            state = "dies" if failed else "SURVIVES"
            if failed and first_failure(failed, root, given.seconds):
                state = f"unknown: {failed[0]} fails without it, or is too slow"
            words = text.splitlines()[line - 1].strip()
            mutants.append([name, function, line, done, words, state])
            print(f"{state}: {name}:{line} {function}: {done}: {words}", flush=True)
            given.out.write_text(json.dumps(mutants, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
