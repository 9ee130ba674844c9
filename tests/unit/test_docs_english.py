"""Turns of phrase that readers had to read twice do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "config/**/*.md", "envs/*.md", "results/*.md")
    for path in ROOT.glob(pattern)
)
BETTER = {
    r"\bwhat of (it|them)\b|\bof which\b|\bof whose\b": "name the thing",
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
    """A document without code; without the table of docs/contributing.md that shows what not to write."""
    text = CODE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    return TABLE.sub("", text) if document == "docs/contributing.md" else text


def complaints(where: str, text: str) -> list[str]:
    return [
        f"{where}: {match.group()!r} in {line.strip()!r}: write {better}"
        for line in text.splitlines()
        for pattern, better in BETTER.items()
        for match in re.finditer(pattern, line, re.IGNORECASE)
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_is_in_plain_english(document: str):
    met = complaints(document, prose(document))
    assert not met, "\n".join(met)


def test_captions_are_in_plain_english():
    artifacts = yaml.safe_load((ROOT / "config" / "artifacts.yaml").read_text(encoding="utf-8"))
    shown = ("title", "caption", "unavailable")
    met = [
        line
        for name, entry in artifacts.items()
        for key in shown
        for line in complaints(name, entry.get(key, ""))
    ]
    assert not met, "\n".join(met)


def messages(path: Path) -> Iterator[str]:
    """The strings of a module with more than one word, docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value if " " in node.value else ""


def test_messages_are_in_plain_english():
    paths = sorted((ROOT / "scripts").rglob("*.py"))
    met = [line for path in paths for text in messages(path) for line in complaints(path.name, text)]
    assert not met, "\n".join(met)
