"""The workflow as a module of another one, from a folder or an address, and run in
another folder."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from projects import ROOT, Project

from hub_server import Hub

SNAKEFILE = """
configfile: "config/config.yaml"


rule mine:
    input:
        "{table}",
    output:
        "mine.txt",
    shell:
        "wc -c {{input}} > {{output}}"


module pretrace:
    snakefile:
        "{entry}"
    config:
        config


use rule * from pretrace{renaming}


rule all:
    input:
        rules.mine.output,
"""
TABLE = "results/benchmarks/smoke~texts.parquet"


@pytest.fixture
def served(unrun):
    files = [path for path in unrun.path.rglob("*") if path.is_file()]
    with Hub() as server:
        server.pages |= {
            f"/{path.relative_to(unrun.path).as_posix()}": path.read_bytes()
            for path in files
        }
        yield server.url


@pytest.fixture
def elsewhere(unrun, tmp_path) -> Path:
    """A folder with the smoke study and none of the project's files; the project's own
    folder moves away."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.move(unrun.path / "smoke", folder / "smoke")
    return folder


def run_elsewhere(folder: Path, library: Project, *arguments: str) -> str:
    """What Snakemake says in `folder`, with the library of `library`."""
    return (
        Project(folder).smoke(*arguments, PYTHONPATH=str(library.path / "src")).stdout
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("source", "renaming", "prefix"),
    [("address", " as pre_*", "pre_"), ("folder", "", "")],
)
def test_a_workflow_that_uses_this_one_as_a_module_keeps_its_rules_and_local_rules(
    source, renaming, prefix, unrun, elsewhere, served
):
    entry = (
        f"{served}/workflow/Snakefile"
        if source == "address"
        else unrun.path / "workflow" / "Snakefile"
    )
    (elsewhere / "config").mkdir()
    (elsewhere / "config" / "config.yaml").write_text(
        "study: smoke/smoke.yaml\n", encoding="utf-8"
    )
    names = {"entry": entry, "renaming": renaming, "table": TABLE}
    snakefile = elsewhere / "Snakefile"
    snakefile.write_text(SNAKEFILE.format(**names), encoding="utf-8")
    run_elsewhere(elsewhere, unrun)
    assert (elsewhere / "mine.txt").is_file()
    cluster = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", "none"]
    whole = [f"{prefix}study", f"{prefix}all"][: 1 + bool(prefix)]
    planned = run_elsewhere(elsewhere, unrun, *whole, "--dry-run", "-j1", *cluster)
    assert f"rule {prefix}render_report:" in planned
    assert f"    rule {prefix}evaluate_methods:" in planned, "it is in a group"
    ran = run_elsewhere(elsewhere, unrun, f"{prefix}estimate", "-j1", *cluster)
    assert f"localrule {prefix}estimate:" in ran
    prefixed = SNAKEFILE.replace(
        "    config:\n", '    prefix:\n        "sub"\n    config:\n'
    )
    snakefile.write_text(prefixed.format(**names), encoding="utf-8")
    with pytest.raises(AssertionError, match="the module has a prefix"):
        run_elsewhere(elsewhere, unrun, "--dry-run")


def test_a_snakefile_elsewhere_runs_in_the_folder_that_directory_names(
    unrun, elsewhere
):
    said = unrun.run(
        "--cores",
        "1",
        "--snakefile",
        str(unrun.path / "Snakefile"),
        "--directory",
        str(elsewhere),
        TABLE,
        "--config",
        "study=smoke/smoke.yaml",
    ).stdout
    assert (elsewhere / TABLE).is_file(), said
    assert not (unrun.path / "results").exists()


@pytest.mark.full
def test_an_installed_wheel_brings_the_workflow_and_a_command(elsewhere, tmp_path):
    """Its build needs a package index."""
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "built", ROOT],
        check=True,
    )
    (wheel,) = (tmp_path / "built").iterdir()
    installed = tmp_path / "installed"
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", installed, wheel], check=True
    )
    command = [
        installed / "bin" / "pretrace",
        "--cores",
        "1",
        TABLE,
        "--config",
        "study=smoke/smoke.yaml",
    ]
    environment = Project(elsewhere).environment(PYTHONPATH=str(installed))
    subprocess.run(command, cwd=elsewhere, env=environment, check=True)
    assert (elsewhere / TABLE).is_file()
    assert (installed / "pretrace" / "envs" / "pretrace.yaml").is_file(), (
        "rules name it"
    )
    (elsewhere / "work.txt").write_text("one two three four five six", encoding="utf-8")
    cut = [
        installed / "bin" / "pretrace",
        "cut",
        "--words",
        "3",
        "--label",
        "0",
        "work.txt",
    ]
    done = subprocess.run(
        cut, cwd=elsewhere, env=environment, text=True, capture_output=True, check=True
    )
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == [
        "one two three",
        "four five six",
    ]


def test_the_library_is_used_from_python_as_the_document_says():
    document = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    code, printed = re.search(
        r"```python\n(import numpy.*?)```\n\n```text\n(.*?)```", document, re.S
    ).groups()
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=True
    )
    assert done.stdout == printed
