"""Digest the code that a job runs, so that a changed formula reruns the job and a
changed comment does not.

Files are read by regular expressions, because every start of the workflow reads the
whole library: `ast` and `tokenize` take ten times as long.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).parents[1]
WITHOUT_FORMULAS = "runtime"
"""The room that moves, logs and checks files: it draws and computes nothing, so that no
number depends on it."""

# of a string and a comment, the one that begins first may hold the other's mark
_DOCSTRING = r'^[ \t]*r?"{3}.*?"{3}[ \t]*$'
_STRING = (
    r"""(?P<string>"{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
)
_PIECES = re.compile(rf"{_DOCSTRING}|{_STRING}|#[^\n]*", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(
    r"^[ \t]*(?:from (pretrace[\w.]*) import (\([^)]*\)|.*)|import (pretrace[\w.]*))",
    re.MULTILINE,
)
_ROOM = re.compile(r'room="(\w+)"')
_TEMPLATE = re.compile(r"[\w.]+\.jinja")
_WORD = re.compile(r"\w+")


def scripts_folder() -> Path:
    """Return the folder of the scripts that rules run: the clone's, or the one in an
    installed wheel."""
    inside = LIBRARY / "scripts"
    return inside if inside.is_dir() else LIBRARY.parents[1] / "scripts"


@cache
def code_digest(
    rule: str, registry: str = "", function: str = "", apart: str = ""
) -> str:
    """Return 16 hex digits of the code that a rule runs: its script, and all library
    code that the script imports.

    Comments, docstrings, blank lines and the room `runtime` do not count. Imports
    inside functions do.

    Args:
        rule: the name of a script, as `score_methods`.
        registry: a file, as `evaluation/statistics.py`, that registers many functions,
            while the job runs one: the others and their imports do not count.
        function: the name of that one.
        apart: a file, as `passes/filling.py`, whose code makes no output of the job: it
            and its imports do not count.
    """
    script = scripts_folder() / f"{rule}.py"
    only = {LIBRARY / registry: function} if registry else {}
    names = {}
    waiting = [script]
    while waiting:
        path = waiting.pop()
        name = script.name
        if path != script:
            name = path.relative_to(LIBRARY.parent).as_posix()
        if name not in names and path != LIBRARY / apart:
            names[name] = path
            waiting += _imports(path, only.get(path, ""))
    digest = hashlib.sha256()
    for name, path in sorted(names.items()):
        digest.update(f"{name}\n{_statements(path, only.get(path, ''))}\n".encode())
    return digest.hexdigest()[:16]


@cache
def _statements(path: Path, function: str) -> str:
    """Return a file without comments, docstrings and blank lines, and of functions with
    a decorator only one."""
    text = path.read_text(encoding="utf-8")
    if function:
        is_other = re.compile(rf"@.*\ndef (?!{function}\()", re.DOTALL)
        blocks = re.split(r"\n\n\n+", text)
        text = "\n".join(block for block in blocks if not is_other.match(block))
    if path.suffix == ".py":
        text = _PIECES.sub(lambda piece: piece["string"] or "", text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


@cache
def _imports(path: Path, function: str) -> set[Path]:
    """Return the library files that a file imports or renders: all beside and below it
    if it imports by name, and those of the rooms that it names."""
    if path.suffix != ".py":
        return set()
    code = _statements(path, function)
    files: set[Path] = set()
    for package, names, module in _IMPORT.findall(code):
        if module:
            files.update(_files_of(module))
        for word in _WORD.findall(names):
            files.update(_files_of(f"{package}.{word}"))
    for name in _TEMPLATE.findall(code):
        template = path.parent / name
        if template.is_file():
            files.add(template)
    if "importlib.import_module(" in code:
        files.update(path.parent.rglob("*.py"))
        for room in _ROOM.findall(code):
            files.update((LIBRARY / room).rglob("*.py"))
    return files


@cache
def _files_of(name: str) -> tuple[Path, ...]:
    """Return the file of a dotted name: a module's, or the package's from which a name
    is taken."""
    folder = LIBRARY
    for part in name.split(".")[1:]:
        module = folder / f"{part}.py"
        if module.is_file():
            break
        folder = folder / part if (folder / part).is_dir() else folder
    else:
        module = folder / "__init__.py"
    inside = module.relative_to(LIBRARY).parts[0] != WITHOUT_FORMULAS
    return (module,) if inside and module.is_file() else ()
