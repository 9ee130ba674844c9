"""Write what is told of the keys of config/: the JSON schemas for editors, and the
tables of docs/keys.md.

python .ci/write_keys.py [ROOT]
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from pretrace.benchmarks.sources import BENCHMARKS, BenchmarkEntry
from pretrace.corpora.sources import CORPORA, CorpusEntry
from pretrace.evaluation.metrics import SHOWN_METRICS
from pretrace.models.abilities import ABILITIES
from pretrace.models.entries import MODELS, Api, ModelEntry, Training
from pretrace.questions.method_facts import METHODS
from pretrace.render.catalogue import RENDERERS
from pretrace.render.published import Paper
from pretrace.runtime.schema import Keys, Slug, Sources, adapter, key_texts, read_yaml
from pretrace.studies.keys import (
    Config,
    Download,
    Extraction,
    GivenBack,
    StudyFile,
    WrittenArtifact,
    WrittenPanel,
    WrittenRun,
)


def kinds_of(sources: Sources) -> dict[type[Keys], list[str]]:
    """Return the classes of a registry's entries with the sources of each."""
    kinds: dict[type[Keys], list[str]] = {}
    for source, kind in sources.items():
        kinds.setdefault(kind, []).append(source)
    return kinds


REGISTRIES: dict[str, tuple[type[Keys], Sources]] = {
    "models": (ModelEntry, MODELS),
    "benchmarks": (BenchmarkEntry, BENCHMARKS),
    "corpora": (CorpusEntry, CORPORA),
}
"""The registries whose entries have a `source`: the keys of every entry, and the class
of each source."""
FILES: dict[str, Any] = {
    "config": Config,
    "study": StudyFile,
    "artifacts": dict[Slug, WrittenArtifact],
    "downloads": dict[Slug, Download],
    "papers": dict[Slug, Paper],
}
for name, (_, sources) in REGISTRIES.items():
    of_any_source = reduce(or_, kinds_of(sources))
    FILES[name] = dict[Slug, of_any_source]  # type: ignore
"""The type of each file of config/."""

CONFIG = Path(__file__).parents[1] / "config"
_KINDS = (
    Config,
    StudyFile,
    WrittenArtifact,
    WrittenPanel,
    WrittenRun,
    Extraction,
    GivenBack,
    Training,
    Api,
)
TABLES: dict[str, dict[type[Keys], list[str]]] = {
    base.__name__: {base: []}
    | {
        kind: [f"`{source}`" for source in of_kind]
        for kind, of_kind in kinds_of(sources).items()
        if kind != base
    }
    for base, sources in REGISTRIES.values()
}
TABLES |= {kind.__name__: {kind: []} for kind in _KINDS}
"""The tables of docs/keys.md, each between `<!-- keys: NAME -->` and `<!-- end -->`."""


class _Described(GenerateJsonSchema):
    """JSON schemas with the text under each key as its description."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        if "description" in made:
            # the docstring, whose lines are broken for its file
            made["description"] = re.sub(r"(?<!\n)\n(?!\n)", " ", made["description"])
        for key, text in key_texts(schema["cls"]).items():
            if text:
                made["properties"][key]["description"] = text
        return made

    def default_schema(self, schema: Any) -> dict[str, Any]:
        if schema.get("default", ()) in (None, (), "", [], {}):
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(kind: Any) -> dict[str, Any]:
    return adapter(kind).json_schema(schema_generator=_Described)


def json_schema_of(name: str) -> dict[str, Any]:
    """Return the JSON schema of a file of config/ for editors.

    An entry of a registry is of the class of its source. What several classes have is
    described once; a study's own entries are described by the schemas of the
    registries, beside this one.
    """
    schema = json_schema(FILES[name])
    kinds = schema.get("$defs", {})
    if name == "study":
        for registry in REGISTRIES:
            told = schema["properties"][registry]["description"]
            schema["properties"][registry] = {
                "description": told,
                "$ref": f"{registry}.schema.json",
            }
        _propose_names(schema)
    if name in REGISTRIES:
        base, sources = REGISTRIES[name]
        common = json_schema(base)
        kinds = schema["$defs"] = (
            common.pop("$defs", {}) | {base.__name__: common} | kinds
        )
        for kind, of_kind in kinds_of(sources).items():
            source = common["properties"]["source"] | {"enum": of_kind}
            kinds[kind.__name__]["properties"] = kinds[kind.__name__]["properties"] | {
                "source": source
            }
    places: dict[str, str] = {}
    for kind, described in kinds.items():
        for key, node in described.get("properties", {}).items():
            own = f"#/$defs/{kind}/properties/{key}"
            first = places.setdefault(json.dumps(node), own)
            described["properties"][key] = node if first == own else {"$ref": first}
    return {"$schema": GenerateJsonSchema.schema_dialect} | schema


NAMES = {
    "WrittenRun": {
        "model": "models", "benchmark": "benchmarks", "for": "artifacts",
        "references": "models",
        "shadows": "models", "corpora": "corpora", "methods": "methods",
    },
    "WrittenPanel": {"model": "models", "benchmark": "benchmarks"},
    "WrittenArtifact": {"renderer": "renderers", "metric": "metrics",
                        "methods": "methods", "baseline": "methods"},
    "StudyFile": {"first": "artifacts", "artifacts": "artifacts"},
}  # fmt: skip
"""The kind of name that a key of a study file takes, for an editor to propose."""


def _propose_names(schema: dict[str, Any]) -> None:
    """Add the names that there are to the keys of a study file; others are allowed,
    because a study has its own."""
    registered = {
        name: [*read_yaml(CONFIG / f"{name}.yaml")]
        for name in (*REGISTRIES, "artifacts")
    }
    names = registered | {
        "methods": [*METHODS],
        "renderers": [*RENDERERS],
        "metrics": [*SHOWN_METRICS],
    }
    kinds = schema["$defs"]
    for kind, keys in NAMES.items():
        described = schema if kind == "StudyFile" else kinds[kind]
        for key, of_kind in keys.items():
            described["properties"][key] = _with_names(
                described["properties"][key], of_kind
            )
    for kind, words in names.items():
        kinds[kind] = {"anyOf": [{"enum": words}, {"type": "string"}]}
    choices = kinds["WrittenRun"]["properties"]["methods"]["items"]["anyOf"]
    (narrowed,) = (choice for choice in choices if choice.get("type") == "object")
    narrowed["properties"] = {
        name: _parameters(method.defaults) for name, method in METHODS.items()
    }
    (mapped,) = (
        choice
        for choice in schema["properties"]["artifacts"]["anyOf"]
        if choice.get("type") == "object"
    )
    kinds["ShownArtifact"] = mapped["additionalProperties"]
    mapped["additionalProperties"] = {"$ref": "#/$defs/ShownArtifact"}
    mapped["properties"] = dict.fromkeys(
        names["artifacts"], mapped["additionalProperties"]
    )


def _with_names(node: Any, kind: str) -> Any:
    """Return a node of a schema whose texts are names of this kind."""
    if not isinstance(node, dict):
        return node
    if node.get("type") == "string":
        about = {key: value for key, value in node.items() if key == "description"}
        return about | {"$ref": f"#/$defs/{kind}"}
    changed = dict(node)
    for key in ("items", "additionalProperties"):
        if key in node and node.get("type") == "array":
            changed[key] = _with_names(node[key], kind)
    if "anyOf" in node:
        changed["anyOf"] = [_with_names(choice, kind) for choice in node["anyOf"]]
    return changed


def _parameters(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the parameters of a method, each with its default."""
    return {
        "properties": {
            name: {"description": f"default, {value}"}
            for name, value in defaults.items()
        }
    }


def with_tables(page: str) -> str:
    """Return the text of docs/keys.md with its tables written from the keys."""

    def table(marker: re.Match[str]) -> str:
        kinds = TABLES.get(marker[2])
        lines = _table_of_abilities() if kinds is None else _table(kinds)
        return marker[1] + "".join(f"{line}\n" for line in lines)

    return re.sub(
        r"(<!-- (?:keys: (\w+)|abilities) -->\n).*?(?=<!-- end -->)",
        table,
        page,
        flags=re.DOTALL,
    )


def _conditions(keys: Sequence[str]) -> str:
    """Return a cell of the table: the keys of an entry that a source needs."""
    conditions = []
    for key in keys:
        word = "without" if key.startswith("no ") else "with"
        conditions.append(f"{word} `{key.removeprefix('no ')}`")
    return " or ".join(conditions) or "no"


def _table_of_abilities() -> list[str]:
    """Return lines of Markdown: what models can do, by their sources."""
    sources = " | ".join(f"`{source}`" for source in MODELS)
    lines = [f"| can it | {sources} |", f"|---|{'---|' * len(MODELS)}"]
    for ability in ABILITIES.values():
        cells = [ability.verb]
        for source in MODELS:
            keys = ability.keys.get(source, ())
            cells.append("yes" if source in ability.sources else _conditions(keys))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _table(kinds: dict[type[Keys], list[str]]) -> Iterable[str]:
    """Return lines of Markdown: the keys of the first kind, then those that others add,
    with their sources."""
    rows: dict[tuple[str, ...], list[str]] = {}
    common: set[str] = set()
    for kind, sources in kinds.items():
        schema, texts = json_schema(kind), key_texts(kind)
        required = schema.get("required", ())
        for key in sorted(
            texts.keys() - common,
            key=lambda key: (key not in required, [*texts].index(key)),
        ):
            name = f"`{key}`{' (required)' if key in required else ''}"
            told = _sentence(texts[key]) + _default(
                schema["properties"][key], texts[key]
            )
            rows.setdefault(
                (name, _values(schema["properties"][key]), told), []
            ).extend(sources)
        common = common or {*texts}
    yield "| key | values | what it sets |"
    yield "|---|---|---|"
    for (name, values, told), sources in rows.items():
        cells = (name, values, f"{', '.join(sources)}: {told}" if sources else told)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _values(schema: dict[str, Any]) -> str:
    """Return the values that a JSON schema allows, in words: `auto`, `float32`; list:
    text; whole number from 1."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_values, schema["anyOf"])))
    if words := schema.get("enum") or [
        schema[key] for key in ("const",) if key in schema
    ]:
        return ", ".join(f"`{word}`" for word in words)
    match schema.get("type"):
        case "boolean":
            return "`true`, `false`"
        case "array":
            return f"list: {_values(schema['items'])}"
        case "string":
            return "text"
        case "null":
            return "null"
        case "integer" | "number" as kind:
            name = "whole number" if kind == "integer" else "number"
            return f"{name} {_bounds(schema)}".rstrip()
        case _:
            return "map"


def _bounds(schema: dict[str, Any]) -> str:
    words = {
        "minimum": "from",
        "exclusiveMinimum": "above",
        "maximum": "to",
        "multipleOf": "in steps of",
    }
    return " ".join(
        f"{word} {schema[key]:g}" for key, word in words.items() if key in schema
    )


def _default(schema: dict[str, Any], text: str) -> str:
    """Return the default of a JSON schema in words, "" if the text says what it follows
    from."""
    default = schema.get("default")
    if default is None or isinstance(default, dict) or "(default, " in text:
        return ""
    if isinstance(default, bool):
        return f" (default, {str(default).lower()})"
    values = default if isinstance(default, list) else [default]
    return (
        " (default, "
        f"{', '.join(f'`{value}`' if isinstance(value, str) else f'{value:g}' for value in values)})"
    )


def _sentence(text: str) -> str:
    """Return the words of a text, small at the beginning and without the point at the
    end."""
    small = text[0].lower() + text[1:] if re.match(r"[A-Z]([a-z]| )", text) else text
    return small.removesuffix(".")


def main(root: Path) -> None:
    for name in FILES:
        path = root / "workflow" / "schemas" / f"{name}.schema.json"
        path.write_text(
            json.dumps(json_schema_of(name), ensure_ascii=False, indent=1) + "\n",
            encoding="utf-8",
        )
    page = root / "docs" / "keys.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
