"""Every example of the guides runs as it is written, in a copy of the project.

A guide's blocks, in order: after a line "File `path`:" the file's content, after
"Append to `path`:" what is added to one; `sh` is run, and so is `python` that no such
line precedes; a bare `text` block tells what was then printed. The folders books/ and
drafts/ are there.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from projects import ROOT, Project

from made_up_books import folders_of_books

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"(?:^(File|Append to) `([^`\n]+)`:\n\n)?^```(\w+)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
GUIDES = sorted(
    path.name
    for path in (ROOT / "docs").glob("*.md")
    if path.stem.startswith(
        ("add_", "audit", "canaries", "corpus", "extraction", "methods")
    )
    # it explains, and has no example
    and path.stem != "audit_details"
)


def blocks(guide: str) -> Iterator[tuple[str, str, str, str]]:
    """(File, Append to or nothing; path; language; content) of each block."""
    yield from BLOCK.findall((ROOT / "docs" / guide).read_text(encoding="utf-8"))


def run(command: list[str], project: Project) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=project.path, env=project.environment(PATH=path), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


@pytest.mark.full
@pytest.mark.parametrize("guide", GUIDES)
def test_the_example_of_a_guide_runs_as_it_is_written(guide: str, project: Project):
    folders_of_books(project.path)
    printed, ran = "", 0
    for where, path, language, content in blocks(guide):
        if where == "File":
            (project.path / path).write_text(content, encoding="utf-8")
        elif where == "Append to":
            with (project.path / path).open("a", encoding="utf-8") as file:
                file.write(f"\n\n{content}" if language == "python" else content)
        elif language in ("sh", "python"):
            shell = ["bash", "-euo", "pipefail", "-c", content]
            printed = run(
                shell if language == "sh" else [sys.executable, "-c", content], project
            )
            ran += 1
        else:
            for line in content.splitlines():
                assert line in printed, (
                    f"{guide} says that {line!r} is printed, and this was:\n{printed}"
                )
    assert ran


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }


PATH = re.compile(r"(?<![\w/.:{}~<>@$-])\.?[\w-]+/[\w./-]*\w")


def test_every_path_that_a_document_names_is_there():
    """A path begins with a folder of the project, or of the library:
    `evaluation/statistics.py`."""
    library = ROOT / "src" / "pretrace"
    folders = {
        path.name: ROOT
        for path in ROOT.iterdir()
        if path.is_dir() and path.name not in ("results", ".site", "site")
    }
    of_library = {path.parent.name: library for path in library.glob("*/__init__.py")}
    patterns = (
        "*.md",
        "docs/*.md",
        "config/**/*.md",
        "config/**/*.yaml",
        "envs/*.md",
        "results/*.md",
        "tests/bench/*.md",
    )
    documents = [
        path
        for pattern in (*patterns, "profiles/**/*.yaml")
        for path in ROOT.glob(pattern)
    ]
    missing = []
    for document in documents:
        text = document.read_text(encoding="utf-8")
        made = set(re.findall(r"^File `([^`]+)`:", text, re.MULTILINE))
        for named in set(PATH.findall(text)) - made:
            first = named.partition("/")[0]
            folder = folders.get(first) or (
                of_library.get(first) if named.endswith(".py") else None
            )
            is_placeholder = re.search("[A-Z]{4}", named.replace("README", ""))
            if (
                folder
                and not (folder / named).exists()
                and not is_placeholder
                and not first.startswith(".venv")
            ):
                missing.append(f"{document.relative_to(ROOT)}: {named}")
    assert PATH.findall("in `src/pretrace/studies/priorities.py`:") == [
        "src/pretrace/studies/priorities.py"
    ]
    assert missing == []


def test_every_guide_is_listed_and_every_link_leads_somewhere():
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md")):
        assert path.name == "README.md" or f"({path.name})" in listed, (
            f"docs/README.md does not list {path.name}"
        )
        assert f"docs/{path.name}\n" in site, (
            f"mkdocs.yml: nav does not list docs/{path.name}"
        )
    for pattern in ("*.md", "docs/*.md", "config/**/*.md", "envs/*.md", "results/*.md"):
        for path in ROOT.glob(pattern):
            for link, anchor in re.findall(
                r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8")
            ):
                leads = path.parent / link if link else path
                assert leads.exists(), f"{path.relative_to(ROOT)}: {link}"
                assert not anchor or anchor in anchors(leads), (
                    f"{path.relative_to(ROOT)}: {link}#{anchor}"
                )
    assert "docs/README.md" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.full
def test_the_audit_of_readme_is_planned(project: Project):
    folders_of_books(project.path)
    given = "study=audit texts=books/ known=drafts/ model=EleutherAI/pythia-1.4b"
    assert f".venv/bin/snakemake --cores all --config {given}\n" in README
    project.run("--dry-run", "--quiet", "rules", "--config", *given.split())


def test_the_study_of_readme_is_planned(project: Project):
    """Its models are of the hub, so that nothing of it runs here."""
    (study,) = re.findall(
        r"```yaml\n(# yaml-language-server: .*?)```", README, re.DOTALL
    )
    assert len(study.splitlines()) <= 10
    (project.path / "recall.yaml").write_text(study, encoding="utf-8")
    planned = project.run(
        "--dry-run", "--cores", "1", "--config", "study=recall.yaml"
    ).stdout
    assert re.search(r"^run_passes +2$", planned, re.MULTILINE), planned
