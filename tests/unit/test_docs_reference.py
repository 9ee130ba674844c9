"""The reference of the documentation names what there is: nothing less, nothing
else."""

import json
import re
import runpy
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from pretrace.benchmarks.sources import BENCHMARKS
from pretrace.evaluation.metrics import SHOWN_METRICS
from pretrace.methods import METHODS
from pretrace.questions import method_facts
from pretrace.questions.method_facts import QUESTION_METHODS
from pretrace.render.catalogue import RENDERERS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def rows(header: str) -> list[list[str]]:
    """The cells of the table whose first column has this header."""
    _, _, after = TEXT.partition(f"\n| {header} |")
    lines = after.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def tried(values: Sequence[Any], *, costly: bool) -> str:
    steps = {round(later - earlier, 9) for earlier, later in pairwise(values)}
    if len(values) > 5 and len(steps) == 1:
        listed = f"{values[0]:g} to {values[-1]:g} by {steps.pop():g}"
    else:
        listed = ", ".join(map(written, values))
    return f"{listed}, if listed" if costly else listed


def parameters_of(methods: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for id, method in methods.items():
        for name, default in method.defaults.items():
            costly = name in getattr(method, "costly", ())
            values = method.grid.get(name, ())
            yield (id, name, written(default), tried(values, costly=costly))
        if not method.defaults:
            yield id, "", "", ""


def test_the_methods_have_these_parameters_defaults_and_grids():
    told = []
    for ids, parameters, default, grid, _ in rows("method"):
        for id in names(ids):
            for name in names(parameters) or [""]:
                told.append((id, name, default, grid))
    assert sorted(told) == sorted(
        [*parameters_of(METHODS), *parameters_of(QUESTION_METHODS)]
    )


def test_the_schemas_and_tables_of_keys_are_as_the_keys_have_them(tmp_path):
    """Where this fails: python .ci/write_keys.py"""
    written = [
        Path("docs/keys.md"),
        *(path.relative_to(ROOT) for path in SCHEMAS.glob("*.json")),
    ]
    for path in written:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    runpy.run_path(str(ROOT / ".ci" / "write_keys.py"))["main"](tmp_path)
    for path in [path.relative_to(tmp_path) for path in tmp_path.rglob("*.*")]:
        assert (ROOT / path).read_text(encoding="utf-8") == (tmp_path / path).read_text(
            encoding="utf-8"
        ), path


SCHEMAS = ROOT / "workflow" / "schemas"
READ = {
    path.name: json.loads(path.read_text(encoding="utf-8"))
    for path in SCHEMAS.glob("*.json")
}
REGISTRY = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in READ.items()
)
PROMPTS = {
    f"prompts/{name}.yaml"
    for name in ("con_recall_zero_access", "de_cop", "given_back", "paraphrase")
}
NO_SCHEMA = {"studies/audit.yaml"} | PROMPTS
"""The command line gives the study audit its model; whoever changes a prompt copies one
that is there."""
LINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


def faults(folder: Path, text: str) -> list[str]:
    """Return what the schema that the first line of a YAML text names, seen from
    `folder`, finds wrong in it."""
    path = folder / LINE.match(text)[1]
    assert path.resolve().parent == SCHEMAS
    given = yaml.safe_load(text)
    # of a loader that the guide adds there is none
    if path.name == "study.schema.json":
        entries = given.get("benchmarks", {}).items()
        given["benchmarks"] = {
            slug: entry for slug, entry in entries if entry["source"] in BENCHMARKS
        }
    return [
        error.message
        for error in Draft202012Validator(
            READ[path.name], registry=REGISTRY
        ).iter_errors(given)
    ]


def test_an_editor_proposes_the_names_that_a_study_may_use_and_allows_others():
    kinds = READ["study.schema.json"]["$defs"]
    for kind, names in {
        "methods": method_facts.METHODS,
        "renderers": RENDERERS,
        "metrics": SHOWN_METRICS,
    }.items():
        assert kinds[kind]["anyOf"][0]["enum"] == [*names]
    for kind in ("models", "benchmarks", "corpora", "artifacts"):
        path = ROOT / "config" / f"{kind}.yaml"
        assert kinds[kind]["anyOf"][0]["enum"] == [
            *yaml.safe_load(path.read_text(encoding="utf-8"))
        ]
    run, *_ = (
        choice
        for choice in kinds["WrittenRun"]["properties"]["methods"]["items"]["anyOf"]
        if "properties" in choice
    )
    named = {}
    for name, parameters in run["properties"].items():
        named[name] = [*parameters["properties"]]
    assert named == {
        name: [*method.defaults] for name, method in method_facts.METHODS.items()
    }
    own = (
        "# yaml-language-server: $schema=workflow/schemas/study.schema.json\nstudy: "
        "mine\nruns:\n"
    )
    own += (
        "  - {model: [my-own], benchmark: mine, methods: [my_own, my_own: {k: "
        "[1]}]}\nartifacts: [my_table]\n"
    )
    assert faults(ROOT, own) == []


def test_an_editor_that_reads_the_schemas_finds_nothing_wrong_in_the_project():
    files = {}
    for path in (ROOT / "config").rglob("*.yaml"):
        files[path.relative_to(ROOT / "config").as_posix()] = path
    for name in files.keys() - NO_SCHEMA:
        assert (
            faults(files[name].parent, files[name].read_text(encoding="utf-8")) == []
        ), name
    studies = []
    for path in (
        ROOT / "README.md",
        ROOT / "config" / "README.md",
        *(ROOT / "docs").glob("*.md"),
    ):
        for block in re.findall(
            r"^```yaml\n(.*?)^```$",
            path.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        ):
            if re.search(r"^study:", block, re.MULTILINE) and "runs:" in block:
                studies.append((path.name, block))
    assert len(studies) > 12
    for name, study in studies:
        assert faults(ROOT, study) == [], name
