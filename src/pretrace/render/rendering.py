"""The one way to render an artifact: what cannot be shown leaves the rest, and the
artifact says why."""

from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pandas as pd

from pretrace.questions.method_facts import METHODS
from pretrace.render.artifact import Artifact, ArtifactError, Panel, outputs
from pretrace.render.catalogue import RENDERERS, SHIPPED, renderer_of
from pretrace.render.names import join_words, method_label
from pretrace.render.results import Results, answer_notes
from pretrace.render.tables.table import table_of
from pretrace.runtime.errors import InputError, remedy
from pretrace.runtime.files import write_json
from pretrace.runtime.logs import log


@dataclass(frozen=True)
class NotShown:
    """A panel, or a whole artifact, that is not shown, and the error that says why."""

    name: str
    error: Exception

    @property
    def failed(self) -> bool:
        """Tell whether something went wrong; else the results have nothing for it."""
        return not (isinstance(self.error, ArtifactError) and self.error.is_empty)

    @property
    def reason(self) -> str:
        if isinstance(self.error, ArtifactError):
            return self.error.message
        if isinstance(self.error, InputError):
            return str(self.error)
        whose = _place_in_own_renderer(self.error) or "a defect of pretrace"
        return (
            f"{type(self.error).__name__}: {self.error} ({whose}; its job's log has "
            "the traceback)"
        )

    def __str__(self) -> str:
        panel = self.error.panel if isinstance(self.error, ArtifactError) else None
        name = panel.name if panel else self.name
        verb = "could not be shown" if self.failed else "is not shown"
        return f"{name} {verb}: {self.reason.rstrip('.')}."

    def log(self, artifact: str) -> None:
        """Log the sentence, and of a defect the traceback."""
        if not isinstance(self.error, InputError):
            log.error("%s", self.name, exc_info=self.error, extra={"file_only": True})
        say = log.error if self.failed else log.warning
        say("%s: %s", artifact, self)


def _place_in_own_renderer(error: Exception) -> str:
    """Return the file and line of the user's own renderer that an error passed through;
    "" if it is none of theirs."""
    own = {RENDERERS[name].module for name in RENDERERS.keys() - SHIPPED}
    frames = list(walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        if frame.f_globals.get("__name__") in own:
            return f"an error in your file {frame.f_code.co_filename}, line {line}"
    return ""


def render(artifact: Artifact, results: Results, folder: Path) -> dict[str, Path]:
    """Draw an artifact of some `results.Results` and write its `outputs` under `folder`
    (results/{study}).

    A panel that fails or has nothing to show is left out, and an artifact without a
    panel says why. The file `record` lists both: `failed` and `empty` are sentences,
    `shown` tells whether there is a panel, `unmade` has the files of views that could
    not be made. Equal data give equal bytes.
    """
    files = outputs(artifact, folder)
    unmade = _unmade_views(artifact, results)
    answered = answer_notes(artifact, results)
    is_shown = True
    try:
        drawn, not_shown = _draw_panels(artifact, results)
        missing = [*unmade, *map(str, not_shown)]
        drawn = drawn.with_notes([*_notes(artifact), *answered])
        drawn.with_missing(missing).write(files)
    except Exception as error:
        if remedy(error):  # the machine's fault, as a full disk
            raise
        is_shown = False
        whole = NotShown(f"This {artifact.kind}", error)
        not_shown = [whole]
        frame = pd.DataFrame([{"not_shown": artifact.slug, "reason": whole.reason}])
        if artifact.kind == "table":
            page: Any = table_of(artifact, [], [], frame)
        else:
            # not at the top: a third of the time of a table is the import of matplotlib
            from pretrace.render.figures.drawing import LINE, PAGE, Drawing, sheet

            with sheet(PAGE, LINE) as figure:
                page = Drawing(figure, frame)
        page = page.with_notes(answered)
        page.with_missing([*unmade, str(whole)]).write(files)
    failed = [f"{artifact.slug}: {sentence}" for sentence in unmade]
    empty: list[str] = []
    for panel in not_shown:
        panel.log(artifact.slug)
        sentences = failed if panel.failed else empty
        sentences.append(f"{artifact.slug}: {panel}")
    for sentence in unmade:
        log.error("%s: %s", artifact.slug, sentence)
    record = {
        "shown": is_shown,
        "unmade": [view.path for view in results.unmade],
        "failed": failed,
        "empty": empty,
    }
    write_json(files["record"], record)
    return files


def _notes(artifact: Artifact) -> list[str]:
    """Return what is said under an artifact whatever it shows: limits, what it lacks,
    cautions."""
    notes = []
    if artifact.inferred:
        notes.append(f"Inferred, not printed in the paper: {artifact.inferred}")
    if artifact.limits:
        notes.append(artifact.limits)
    # the reproduction says so itself, number by number
    if "published" not in artifact.needs:
        reasons = {missing.name: missing.reason for missing in artifact.missing}
        for name, reason in reasons.items():
            notes.append(f"{artifact.title_of(name)} is left out: {reason}.")
    return [*notes, *artifact.cautions]


def _unmade_views(artifact: Artifact, results: Results) -> list[str]:
    """Return a sentence for each view that could not be made."""
    sentences = []
    for unmade in results.unmade:
        view = f"{artifact.title_of(unmade.view)} of"
        benchmark = artifact.title_of(unmade.benchmark)
        reason = unmade.reason.rstrip(".")
        sentences.append(
            f"{view} {benchmark} could not be made, so nothing of it is shown: "
            f"{reason}."
        )
    return sentences


def _draw_panels(artifact: Artifact, results: Results) -> tuple[Any, list[NotShown]]:
    """Return the drawn artifact without the panels that cannot be drawn; raises if none
    can be."""
    try:
        return _draw(artifact, results), []
    except Exception as first:
        if remedy(first) or "published" in artifact.needs:
            raise
        shown, not_shown = _try_panels(artifact, results)
        if not shown or not not_shown:
            raise
        return _draw(artifact.replaced(panels=shown), results), not_shown


def _try_panels(
    artifact: Artifact, results: Results
) -> tuple[list[Panel], list[NotShown]]:
    """Draw each panel alone; return those that can be shown, and those that cannot."""
    waiting = list(artifact.panels)
    shown = []
    not_shown = []
    while waiting:
        panel = waiting.pop(0)
        try:
            _draw(artifact.replaced(panels=[panel]), results)
        except Exception as error:
            at_fault = error.panel if isinstance(error, ArtifactError) else panel
            # one length or subset of several: each is tried by itself
            if at_fault and at_fault != panel:
                places = results.expand(panel)
                if at_fault in places:
                    waiting = [*places, *waiting]
                    continue
            if at_fault:
                not_shown.append(NotShown(panel.name, error))
                continue
            # else the artifact as a whole is at fault: some need two panels
        shown.append(panel)
    return shown, not_shown


def _draw(artifact: Artifact, results: Results) -> Any:
    """Return what the renderer draws, and which draws of shots its numbers are of."""
    draw = renderer_of(artifact.renderer).function()
    return draw(artifact, results).with_notes(shots_notes(artifact, results))


OVER_ALL_DRAWS = ("headline", "blind_audit")
"""Renderers that show the mean over all draws of shots (`beside_controls`); others show
one draw."""


def shots_notes(artifact: Artifact, results: Results) -> list[str]:
    """Say of methods that were evaluated in several draws of shots whether the first
    draw is shown, or the mean."""
    options = artifact.options
    shows_metrics = "metrics" in artifact.needs and "published" not in artifact.needs
    if not shows_metrics or options.draws:
        return []
    methods = artifact.methods
    if not methods and options.method:
        methods = [options.method]
    by_draws: dict[int, dict[str, None]] = {}
    for panel in results.panels(artifact):
        for method in methods or METHODS:
            draws = len(results.draws_of(panel, method))
            if draws > 1:
                by_draws.setdefault(draws, {})[method_label(method)] = None
    shown = "mean over all" if artifact.renderer in OVER_ALL_DRAWS else "the first of"
    notes = []
    for draws, labels in by_draws.items():
        notes.append(f"{join_words([*labels])}: {shown} {draws} draws of shots.")
    return notes
