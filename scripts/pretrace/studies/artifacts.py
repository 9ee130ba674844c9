"""A study's artifacts, resolved: each with its panels, and what a panel shows where several could stand."""

from typing import Any

from pretrace.render.registry import RENDERERS
from pretrace.runtime.errors import InputError, nearest

Run = dict[str, Any]
Artifact = dict[str, Any]
Panel = dict[str, Any]

OF_BENCHMARKS = {"benchmarks"}
"""What renderers read that show texts and no model: a panel's benchmark need not be run."""


def artifact_map(given: list[str] | dict[str, Artifact | None]) -> dict[str, Artifact]:
    """A study's artifacts by slug, each with its own keys."""
    if isinstance(given, list):
        return {slug: {} for slug in given}
    return {slug: own or {} for slug, own in given.items()}


def require_artifact(slug: str, registered: dict[str, Artifact], where: str) -> Artifact:
    """The registered artifact; raises `InputError` with the nearest slug where there is none."""
    if slug not in registered:
        raise InputError(f"{where}: unknown artifact '{slug}': {nearest(slug, registered)}")
    return registered[slug]


def resolve_artifact(
    slug: str, own: Artifact, registered: dict[str, Artifact], runs: tuple[Run, ...], where: str
) -> Artifact:
    """The registry's entry with the study's keys and every panel filled in."""
    entry = require_artifact(slug, registered, where)
    if entry["renderer"] not in RENDERERS:
        hint = nearest(entry["renderer"], RENDERERS)
        raise InputError(f"artifacts.{slug}.renderer: unknown '{entry['renderer']}': {hint}")
    needs = RENDERERS[entry["renderer"]].needs
    ran = {(run["model"], run["benchmark"]) for run in runs}
    if needs == {"passes"}:
        ran |= {(reference, run["benchmark"]) for run in runs for reference in run["references"]}
    options = entry.get("options", {}) | own.get("options", {})
    panels = own.get("panels") or panels_of(_runs_with(runs, options.get("unit", "text")))
    for number, panel in enumerate(panels):
        pair = (panel["model"], panel["benchmark"])
        if pair not in ran and needs != OF_BENCHMARKS and "unavailable" not in own:
            raise InputError(
                f"{where}.{slug}.panels.{number}: no run has model '{panel['model']}' and benchmark "
                f"'{panel['benchmark']}'; add one under runs, or use one of {sorted(ran)}."
            )
    read = _runs_by_reader(runs)
    panels = [first_of_runs(read.get((panel["model"], panel["benchmark"]), [])) | panel for panel in panels]
    return entry | own | {"artifact": slug, "panels": panels, "options": options}


def _runs_with(runs: tuple[Run, ...], unit: str) -> tuple[Run, ...]:
    """The runs that score texts, or those that ask questions about documents."""
    return tuple(run for run in runs if run["questions" if unit == "document" else "methods"])


def _runs_by_reader(runs: tuple[Run, ...]) -> dict[tuple[str, str], list[Run]]:
    """The runs of a model on a benchmark; of one that only others refer to theirs, whose passes it has."""
    own: dict[tuple[str, str], list[Run]] = {}
    referring: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        own.setdefault((run["model"], run["benchmark"]), []).append(run)
        for model in run["references"]:
            referring.setdefault((model, run["benchmark"]), []).append(run)
    return referring | own


def first_of_runs(own: list[Run]) -> Artifact:
    """What a panel shows where several could stand: the start token, corpus and reference model that its runs name
    first.
    """
    if not own:
        return {}
    corpora = [slug for run in own for slug in run["corpora"]][:1]
    models = [slug for run in own for slug in run["references"]][:1]
    neighbours = [view for run in own for view in run["neighbours"]][:1]
    shown = {"start_token": own[0]["start_token"], "references": corpora + models + neighbours}
    paraphrasers = [run["paraphraser"] for run in own if run["questions"]][:1]
    if paraphrasers == [None]:  # those of answers from elsewhere, whatever they are called
        return {"start_token": shown["start_token"]}
    return shown | {"references": shown["references"] + paraphrasers}


def panels_of(runs: tuple[Run, ...]) -> list[Panel]:
    """Every (model, benchmark, subset, length) that the runs name, in their order."""
    cells = dict.fromkeys(
        (run["model"], run["benchmark"], subset, length)
        for run in runs
        for subset in run["subsets"] or [None]
        for length in run["lengths"] or [None]
    )
    names = ("model", "benchmark", "subset", "length")
    return [
        {name: value for name, value in zip(names, cell, strict=True) if value is not None} for cell in cells
    ]
