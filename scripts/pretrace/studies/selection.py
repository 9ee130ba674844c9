"""Which part of a study runs: what the configuration selects of it, less the models that cannot be asked."""

from collections.abc import Iterable, Mapping
from typing import Any

from pretrace.render.registry import RENDERERS
from pretrace.runtime.errors import InputError, nearest
from pretrace.studies.artifacts import OF_BENCHMARKS, Artifact, Panel, require_artifact
from pretrace.studies.registries import Registry
from pretrace.studies.runs import Run

Pair = tuple[str, str]


def select(
    runs: list[Run],
    artifacts: dict[str, Artifact],
    registered: dict[str, Artifact],
    models: Registry,
    config: Mapping[str, Any],
    where: str,
) -> tuple[tuple[Run, ...], dict[str, Artifact]]:
    """The runs and artifacts of a study that `config` selects by `papers`, `only` and `max_parameters`.

    A run stays where it serves (its key `for`) an artifact that stays; without that key, where the panels of one name
    its model and benchmark. Panels of models that cannot be asked are `missing` from a paper's artifact, each with the
    reason, and an artifact without any other panel is `unavailable`. Artifacts of no paper show what is left.

    Raises:
        InputError: an unknown artifact, nothing is selected, or no model is left.
    """
    for slug in {slug for run in runs for slug in run.serves} | artifacts.keys():
        require_artifact(slug, registered, where)
    out = left_out(models, config)
    chosen = _chosen(artifacts, registered, config, where)
    narrowed = chosen.keys() != artifacts.keys()
    kept = [run for run in runs if run.model not in out]
    if not kept:
        gone: list[Panel] = [{"model": run.model, "reason": out[run.model]} for run in runs]
        raise InputError(f"{where}: none of its models can be asked: {_reasons(gone)}")
    if narrowed:
        kept = _serving(kept, chosen, registered)
    ran = {pair for run in kept for pair in _pairs(run)}
    shown: dict[str, Artifact] = {}
    for slug, own in chosen.items():
        if "published" in RENDERERS[registered[slug]["renderer"]].needs:
            shown[slug] = _with_papers(own, [one for one in chosen if "paper" in registered[one]], out)
        elif _shows_texts(registered[slug]) or "panels" not in own:
            shown[slug] = own
        elif "paper" in registered[slug]:
            shown[slug] = _of_paper(own, out)
        elif panels := [
            one for one in own["panels"] if _pair(one) in ran or not (narrowed or one["model"] in out)
        ]:
            shown[slug] = own | {"panels": panels}
    return tuple(kept), shown


def left_out(models: Registry, config: Mapping[str, Any]) -> dict[str, str]:
    """Models that are not asked -> why: their access ended, or they are larger than `max_parameters`."""
    most = config.get("max_parameters")
    out = {
        slug: f"its {entry['parameters']:.2g} parameters are more than max_parameters={most:.2g}"
        for slug, entry in models.entries.items()
        if most is not None and entry.get("parameters", 0) > most
    }
    return out | {
        slug: entry["unavailable"] for slug, entry in models.entries.items() if "unavailable" in entry
    }


def _chosen(
    artifacts: dict[str, Artifact], registered: dict[str, Artifact], config: Mapping[str, Any], where: str
) -> dict[str, Artifact]:
    only, papers = config.get("only", []), config.get("papers", [])
    if not artifacts:
        raise InputError(
            f"{where}: artifacts is empty, so that nothing would be shown. Name tables and figures of "
            "config/artifacts.yaml, as artifacts: [results_auc], or leave the key out for the default ones."
        )
    for slug in only:
        if slug not in artifacts:
            raise InputError(f"config: only: {where} has no artifact '{slug}': {nearest(slug, artifacts)}")
    chosen = {
        slug: own
        for slug, own in artifacts.items()
        if (not only or slug in only) and (not papers or registered[slug].get("paper") in (None, *papers))
    }
    if not chosen or (papers and not only and not any("paper" in registered[slug] for slug in chosen)):
        raise InputError(
            f"config: no artifact of {where} is selected by papers and only; change one of them."
        )
    return chosen


def _serving(runs: list[Run], chosen: dict[str, Artifact], registered: dict[str, Artifact]) -> list[Run]:
    """The runs that the chosen artifacts need; those of no paper need none, where there are others."""
    wanted = {slug: own for slug, own in chosen.items() if "paper" in registered[slug]} or chosen
    named = {slug for run in runs for slug in run.serves}
    reading = {slug: own for slug, own in wanted.items() if not _shows_texts(registered[slug])}
    every = any(
        "panels" not in own and "unavailable" not in registered[slug] for slug, own in reading.items()
    )
    pairs = {
        _pair(panel) for slug, own in reading.items() if slug not in named for panel in own.get("panels", [])
    }
    return [run for run in runs if wanted.keys() & set(run.serves) or pairs & _pairs(run) or every]


def _pair(panel: Panel) -> Pair:
    return panel["model"], panel["benchmark"]


def _pairs(run: Run) -> set[Pair]:
    """The models that read a run's benchmark."""
    return {(model, run.benchmark) for model in (run.model, *run.references)}


def _shows_texts(entry: Artifact) -> bool:
    return RENDERERS[entry["renderer"]].needs == OF_BENCHMARKS


def _with_papers(own: Artifact, of_papers: list[str], out: Mapping[str, str]) -> Artifact:
    """An artifact about the papers' numbers: those of the artifacts shown beside it; and the models that are not."""
    missing: list[Panel] = [{"model": model, "reason": reason} for model, reason in out.items()]
    return {**own, "options": {"artifacts": of_papers} | own.get("options", {}), "missing": missing}


def _of_paper(own: Artifact, out: Mapping[str, str]) -> Artifact:
    missing: list[Panel] = [
        {**panel, "reason": out[panel["model"]]} for panel in own["panels"] if panel["model"] in out
    ]
    panels = [panel for panel in own["panels"] if panel["model"] not in out]
    if not missing:
        return own
    left: Artifact = {"panels": panels} if panels else {"unavailable": _reasons(missing)}
    return {**own, "missing": missing, **left}


def _reasons(missing: Iterable[Panel]) -> str:
    reasons = {panel["model"]: panel["reason"] for panel in missing}
    return "; ".join(f"{model}: {reason}" for model, reason in reasons.items()) + "."
