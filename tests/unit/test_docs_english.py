"""Turns of phrase that readers had to read twice do not come back."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "config/**/*.md", "envs/*.md", "results/*.md")
    for path in ROOT.glob(pattern)
)
BETTER = {
    r"\bwhat of\b|\bof which\b|\bof whose\b|\ba table of none\b": "name the thing",
    r"\b(stands?|stood)\b(?! for\b|-in)": "is, has, or is shown",
    r"(?<!there )\b(is|are) no (?!longer\b|more\b|larger\b)[a-z]": "is not a",
    r"\bso many\b|\bso much\b": "the number, N, or this many",
    r"\bas far as (it|they) (is|are)\b": "where available",
    r"\bnobody (brings|has|may)\b": "say what is missing",
    r"\bnext to (no|nothing)\b|\ball but (with|the same)\b": "hardly, almost no",
    r"; nor\b|\bnor (does|do|is|are|has|have)\b": "neither does, or a sentence of its own",
    r"\boftener\b|\bturns? \w+ round\b|\bfor want of\b|\banew\b": "more often, reverses, without, again",
    r"\bbe it\b|\bas (it|he) has it\b|\bgoes by (it|its|the)\b": "uses it, as it is shown in",
}
"""A pattern -> what to write instead."""

CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^\|.*$", re.MULTILINE)


def prose(document: str) -> str:
    """A document without code; without the table of CONTRIBUTING.md that shows what not to write."""
    text = CODE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    return TABLE.sub("", text) if document == "CONTRIBUTING.md" else text


def complaints(where: str, text: str) -> list[str]:
    return [
        f"{where}: {match.group()!r} in {line.strip()!r}: write {better}"
        for line in text.splitlines()
        for pattern, better in BETTER.items()
        for match in re.finditer(pattern, line, re.IGNORECASE)
    ]


def test_documents_are_in_plain_english():
    met = [line for document in DOCUMENTS for line in complaints(document, prose(document))]
    assert not met, "\n".join(met)


def python_texts(path: Path) -> Iterator[str]:
    """The comments, docstrings, attribute texts and messages of a Python file."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_captions_messages_and_comments_are_in_plain_english():
    """Captions and rule files are read as they are; of Python, what is not code."""
    plain = [
        ROOT / "Snakefile",
        ROOT / "config" / "artifacts.yaml",
        *sorted((ROOT / "workflow").rglob("*.smk")),
    ]
    met = [line for path in plain for line in complaints(path.name, path.read_text(encoding="utf-8"))]
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        met += [line for text in python_texts(path) for line in complaints(path.name, text)]
    assert not met, "\n".join(met)
