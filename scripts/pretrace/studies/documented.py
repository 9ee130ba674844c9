"""Write what is told of the keys of config/: the JSON schemas for editors, and the tables of config/README.md.

python -m pretrace.studies.documented [ROOT]    (with scripts/ on PYTHONPATH)
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from typing_extensions import get_type_hints, is_typeddict

from pretrace.benchmarks.sources import BENCHMARKS, BenchmarkEntry
from pretrace.corpora.sources import CORPORA, CorpusEntry
from pretrace.models.entries import MODELS, Api, ModelEntry, Training
from pretrace.render.names_file import NamesFile
from pretrace.runtime.schema import json_schema, key_texts
from pretrace.studies.keys import (
    REGISTRIES,
    ArtifactEntry,
    Config,
    Download,
    Revisions,
    StudyFile,
    WrittenArtifact,
    WrittenPanel,
    WrittenRun,
)

SCHEMAS = REGISTRIES | {"config": Config, "study": StudyFile, "revisions": Revisions, "published": NamesFile}
TABLES: dict[str, list[Any]] = {
    "config": [Config],
    "study": [StudyFile],
    "artifacts of a study": [WrittenArtifact],
    "panels": [WrittenPanel],
    "runs": [WrittenRun],
    "models": [ModelEntry, *MODELS],
    "training": [Training],
    "api": [Api],
    "benchmarks": [BenchmarkEntry, *BENCHMARKS],
    "corpora": [CorpusEntry, *CORPORA],
    "artifacts": [ArtifactEntry],
    "downloads": [Download],
}
"""The tables of config/README.md, each between `<!-- keys: NAME -->` and `<!-- end -->`."""


def schemas() -> dict[str, str]:
    """File name -> its JSON schema."""
    return {
        f"{name}.schema.json": json.dumps(json_schema(kind), ensure_ascii=False) + "\n"
        for name, kind in SCHEMAS.items()
    }


def with_tables(readme: str) -> str:
    """The text of config/README.md, with its tables as the keys have it."""
    for name, kinds in TABLES.items():
        begin, end = f"<!-- keys: {name} -->\n", "<!-- end -->\n"
        before, _, rest = readme.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"config/README.md has no place for the keys of {name}: {begin}{end}")
        readme = before + begin + "".join(f"{line}\n" for line in _table(kinds)) + end + after
    return readme


def _table(kinds: list[Any]) -> Iterable[str]:
    """Lines of Markdown: the keys of the first kind, and those of each of the others with its source."""
    yield "| key | what it sets |"
    yield "|---|---|"
    common = key_texts(kinds[0])
    kinds = [kind if is_typeddict(kind) else get_args(kind)[0] for kind in kinds]
    own: dict[tuple[str, str], list[str]] = {}
    if kinds[1:]:
        told = [f"`{_source(kind)}`: {_sentence(kind.__doc__)}" for kind in kinds[1:]]
        yield f"| `source` | {'; '.join(told)} |"
    for kind in kinds[1:]:
        for key, text in key_texts(kind).items():
            if key not in (*common, "source"):
                own.setdefault((key, text), []).append(f"`{_source(kind)}`")
    rows: list[tuple[str, str, list[str]]] = [(key, text, []) for key, text in common.items()] + [
        (*key, of) for key, of in own.items()
    ]
    for key, text, sources in rows:
        said = f"{', '.join(sources)}: {_sentence(text)}" if sources else _sentence(text)
        yield f"| `{key}` | {said.replace('|', chr(92) + '|')} |"


def _source(kind: Any) -> str:
    return str(get_args(get_type_hints(kind)["source"])[0])


def _sentence(text: str) -> str:
    """The words of a text, small at the beginning and without the point at the end."""
    small = text[0].lower() + text[1:] if re.match(r"[A-Z]([a-z]| )", text) else text
    return small.removesuffix(".")


def main(root: Path) -> None:
    for name, text in schemas().items():
        (root / "workflow" / "schemas" / name).write_text(text, encoding="utf-8")
    readme = root / "config" / "README.md"
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
