"""The paper study against a hub on loopback: its registries' addresses, its data sets,
and how it is started."""

from collections.abc import Callable
from typing import Any

import yaml
from projects import Project

import hub_datasets as made
from hub_server import Hub

Entry = dict[str, Any]


def change_registry(
    project: Project, name: str, change: Callable[[str, Entry], Entry]
) -> None:
    """Write a registry of the project again, with every entry as `change` returns it
    for its slug and entry."""
    path = project.path / "config" / f"{name}.yaml"
    registry = yaml.safe_load(path.read_text(encoding="utf-8"))
    changed = {slug: change(slug, entry) for slug, entry in registry.items()}
    path.write_text(
        yaml.safe_dump(changed, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )


def read_elsewhere(project: Project, hub: Hub, books: int) -> None:
    """Have the benchmarks that do not lie on the hub read its pages; `books` of each
    class of Dolma-Book."""

    def change(slug: str, entry: Entry) -> Entry:
        if "url" in entry:
            entry = entry | {"url": f"{hub.url}/data.zip"}
        if "gutenberg" in entry:
            entry = entry | {"gutenberg": hub.url, "documents": books}
        return entry

    change_registry(project, "benchmarks", change)


def hub_models(project: Project) -> dict[str, Entry]:
    """Return the entries of the registry's models that lie on the hub."""
    models = yaml.safe_load(
        (project.path / "config" / "models.yaml").read_text(encoding="utf-8")
    )
    return {slug: entry for slug, entry in models.items() if entry["source"] == "hub"}


def command(*arguments: str, settings: tuple[str, ...] = ()) -> list[str]:
    """Return the arguments of Snakemake that run the study on two cores, and without
    GPUs."""
    return [
        "--cores",
        "2",
        *arguments,
        "--config",
        "study=paper",
        "threads=1",
        "device=cpu",
        *settings,
    ]


def environment(project: Project, hub: Hub) -> dict[str, str]:
    """Return what makes the study's jobs use the hub, as an account that MIMIR lets in,
    and the project's WordNet."""
    words = str(project.path / "nltk")
    return hub.environment(project.path / "hub") | {
        "HF_TOKEN": made.MIMIR_TOKEN,
        "NLTK_DATA": words,
    }
