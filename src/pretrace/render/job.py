"""What the job of a table or figure does: it draws its own, and a few that wait for
others."""

from collections import defaultdict
from itertools import islice
from pathlib import Path

from pretrace.render.artifact import Artifact, rendering_of
from pretrace.render.rendering import render
from pretrace.render.results import Results, UnmadeView
from pretrace.runtime.ahead import Ahead
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject
from pretrace.runtime.identity import identity_now
from pretrace.views.stored import unmade_reason

OTHERS = 9
"""Artifacts that a job draws for others at most: its own outputs wait for them."""


def draw(settings: JsonObject, folder: Path) -> JsonObject:
    """Draw the artifact of a job with these parameters into `folder`
    (results/{study}); return its record, as `artifact.rendering_of` does."""
    paths: dict[str, dict] = defaultdict(dict)
    for kind, model, benchmark, path in settings["reads"]:
        key = (model, benchmark) if model and benchmark else model or benchmark
        paths[kind][key] = Path(path)
    unmade = []
    for benchmark, view, path in settings["views"]:
        reason = unmade_reason(Path(path))
        if reason:
            unmade.append(UnmadeView(benchmark, view, path, reason))
    artifact = Artifact.model_validate(settings["artifact"])
    render(artifact, Results(paths, settings["entries"], unmade), folder)
    return rendering_of(artifact, folder)


def draw_ahead(ahead: Ahead, record: str) -> None:
    """Draw a few artifacts of other jobs, after the job with this first output has drawn
    its own.

    Whatever fails is left to its own job, which says why.
    """
    for job in islice(ahead.waiting(record), OTHERS):
        identity = identity_now(job.identity, job.settings)
        try:
            with ahead.keeping(identity) as folder:
                if draw(job.settings, folder)["failed"]:
                    raise InputError("its own job says why")
        except Exception:
            continue
