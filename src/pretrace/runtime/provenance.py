"""The versions, files and machines behind a study's numbers."""

import os
import platform
import subprocess
import sys
import zlib
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from pretrace.runtime.code import LIBRARY, scripts_folder
from pretrace.runtime.files import JsonObject, digest, sha256_file
from pretrace.runtime.hub import repositories_of
from pretrace.runtime.schema import read_yaml

PACKAGES = (
    "datasets", "gguf", "huggingface_hub", "jieba", "matplotlib", "numpy", "openai",
    "pandas", "pyarrow", "safetensors",
    "scikit-learn", "scipy", "snakemake", "tokenizers", "torch", "transformers",
)  # fmt: skip


def provenance(config: dict[str, Any], **seeds: int) -> dict[str, Any]:
    """Record commit, versions, platform, processor, the configuration with its digest,
    named seeds.

    Versions and processor are this machine's; a pass's manifest says what the pass ran
    on. The commit is that of the project's own folder, null outside a git checkout,
    with `-dirty` if tracked files differ from it; an absent package is null.
    """
    return {
        "commit": _commit(Path(__file__).parent),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": processor(),
        "cpus": os.cpu_count(),
        # builds of zlib (zlib-ng) compress to other sizes, which the method zlib reads
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "packages": {name: _version(name) for name in PACKAGES},
        "config": config,
        "config_digest": digest(config),
        "seeds": dict(sorted(seeds.items())),
    }


def citation(file: Path) -> str:
    """Return how to cite what a CITATION.cff is of: authors, title, version."""
    about = read_yaml(file)
    authors = ", ".join(author["name"] for author in about["authors"])
    return f'{authors}, "{about["title"]}", version {about["version"]}'


def whole_code_digest() -> str:
    """Return the SHA-256 of the project's own code, which shows an edit without a
    commit, and outside a checkout."""
    digests = {}
    for folder in (LIBRARY, scripts_folder()):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".jinja"):
                name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
                digests[name] = sha256_file(path)
    return digest(digests)


def passes(manifests: Iterable[JsonObject]) -> list[dict[str, Any]]:
    """List the devices of each manifest's forward passes, and their numbers of texts
    and tokens.

    `gpu`: the names of the GPUs that computed them, also in an earlier run or for
    another study, "" without one. `texts` and `truncated`: a text that is read past the
    context, in stretches, counts once and is not truncated.
    """
    about = (
        "model", "benchmark", "checkpoint", "dtype", "device", "engine", "batch_tokens",
        "threads",
    )  # fmt: skip
    rows = []
    for manifest in manifests:
        views = manifest["views"]
        row = {key: manifest[key] for key in about}
        gpus = {view["gpu"] for view in views if view.get("gpu")}
        row["gpu"] = ", ".join(sorted(gpus))
        row |= _totals(views)
        row["start_token"] = ", ".join(manifest["starts"].values())
        row["remarks"] = [*manifest["remarks"], *_lost_shots(views)]
        rows.append(row)
    return rows


def _totals(views: Sequence[JsonObject]) -> dict[str, int]:
    """Add up what is counted of views and slices: texts, skipped, truncated, tokens."""
    read_on = {_texts_read(view) for view in views if view["past_context"]}
    totals = {"texts": 0, "skipped": 0, "truncated": 0, "tokens": 0}
    for view in views:
        totals["tokens"] += view["tokens"]
        totals["skipped"] += view["skipped"]
        if not view["past_context"]:
            totals["texts"] += view["texts"]
            is_read_on = not view["prefix"] and _texts_read(view) in read_on
            totals["truncated"] += 0 if is_read_on else view["truncated"]
    return totals


def _texts_read(view: JsonObject) -> tuple[Any, ...]:
    form = view["view"], view["altered"], view["start_token"]
    return *form, view["subset"], view["length"]


def _lost_shots(views: Iterable[JsonObject]) -> list[str]:
    """Say of each subset and length which prefixes have fewer shots than asked for, in
    the draw that has the fewest."""
    used: dict[tuple[str, int], int] = {}
    for view in views:
        fit = view.get("shots_used")
        if fit is None or fit >= view["shots"]:
            continue
        shots = view["shots"]
        parts = [view["subset"]] if view["subset"] else []
        if view["length"]:
            parts.append(f"{view['length']} words")
        key = (", ".join(parts) or "all texts", shots)
        used[key] = min(used.get(key, fit), fit)
    sentences = []
    for (place, shots), fit in sorted(used.items()):
        shown = "are marked" if fit else "have a dash"
        sentences.append(
            f"{place}: {fit} of {shots} shots fit into the model's context, so methods "
            f"with {shots} shots {shown}"
        )
    return sentences


def repositories(records: Iterable[Path]) -> list[dict[str, str]]:
    """List the commit of every repository of the hub that was read, each once: `kind,
    hub, commit`.

    `records`: checkpoint.json of the models, files.json of the benchmarks, a file a
    shard of the corpora.
    """
    read = set()
    for path in records:
        for source in repositories_of(path):
            read.add((source.kind, source.hub, source.commit))
    listed = []
    for kind, hub, commit in sorted(read):
        listed.append({"kind": kind, "hub": hub, "commit": commit})
    return listed


def processor() -> str:
    """Name this machine's processor: Linux says it in /proc/cpuinfo, elsewhere
    `platform` may know."""
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _commit(folder: Path) -> str | None:
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=folder, capture_output=True, text=True, check=True, timeout=20,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
