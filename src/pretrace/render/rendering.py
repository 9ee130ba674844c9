"""The one way to render an artifact: what cannot be shown leaves the rest, and the
artifact says why."""

from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pandas as pd

from pretrace.render.artifact import Artifact, ArtifactError, outputs
from pretrace.render.catalogue import RENDERERS, SHIPPED, renderer_of
from pretrace.render.results import Results, shots_notes
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
        verb = "could not be shown" if self.failed else "is not shown"
        return (
            f"{panel.name if panel else self.name} {verb}: {self.reason.rstrip('.')}."
        )

    def log(self, artifact: str) -> None:
        """Log the sentence, and of a defect the traceback."""
        if not isinstance(self.error, InputError):
            log.error("%s", self.name, exc_info=self.error, extra={"file_only": True})
        (log.error if self.failed else log.warning)("%s: %s", artifact, self)


def _place_in_own_renderer(error: Exception) -> str:
    """Return the file and line of the user's own renderer that an error passed through;
    "" if it is none of theirs."""
    own = {RENDERERS[name].module for name in RENDERERS.keys() - SHIPPED}
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
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
    files, is_shown = outputs(artifact, folder), True
    notes = (
        [f"Inferred, not printed in the paper: {artifact.inferred}"]
        if artifact.inferred
        else []
    )
    notes += [artifact.limits] * bool(artifact.limits)
    # the reproduction says so itself, number by number
    if "published" not in artifact.needs:
        reasons = {missing.name: missing.reason for missing in artifact.missing}
        notes += [
            f"{artifact.title_of(name)} is left out: {reason}."
            for name, reason in reasons.items()
        ]
    lacking = [
        f"{artifact.title_of(view.view)} of {artifact.title_of(view.benchmark)} could "
        f"not be made, so nothing of it is shown: {view.reason.rstrip('.')}."
        for view in results.unmade
    ]
    try:
        drawn, not_shown = _draw_panels(artifact, results)
        missing = [*lacking, *map(str, not_shown)]
        drawn.with_notes([*notes, *artifact.cautions]).with_missing(missing).write(
            files
        )
    except Exception as error:
        if remedy(error):  # the machine's fault, as a full disk
            raise
        not_shown, is_shown = [NotShown(f"This {artifact.kind}", error)], False
        frame = pd.DataFrame(
            [{"not_shown": artifact.slug, "reason": not_shown[0].reason}]
        )
        nothing = (
            table_of(artifact, [], [], frame)
            if artifact.kind == "table"
            else _empty_figure(frame)
        )
        nothing.with_missing([*lacking, str(not_shown[0])]).write(files)
    for panel in not_shown:
        panel.log(artifact.slug)
    said = {
        key: [
            f"{artifact.slug}: {panel}" for panel in not_shown if panel.failed == failed
        ]
        for key, failed in (("failed", True), ("empty", False))
    }
    for sentence in lacking:
        log.error("%s: %s", artifact.slug, sentence)
    said["failed"] = [
        *[f"{artifact.slug}: {sentence}" for sentence in lacking],
        *said["failed"],
    ]
    write_json(
        files["record"],
        {"shown": is_shown, "unmade": [view.path for view in results.unmade]} | said,
    )
    return files


def _empty_figure(frame: pd.DataFrame) -> Any:
    # not at the top: a third of the time of a table is the import of matplotlib
    from pretrace.render.figures.drawing import LINE, PAGE, Drawing, sheet

    with sheet(PAGE, LINE) as figure:
        return Drawing(figure, frame)


def _draw_panels(artifact: Artifact, results: Results) -> tuple[Any, list[NotShown]]:
    """Return the drawn artifact without the panels that cannot be drawn; raises if none
    can be."""
    try:
        return _draw(artifact, results), []
    except Exception as first:
        if remedy(first) or "published" in artifact.needs:
            raise
        waiting, others, not_shown = [*artifact.panels], [], []
        while waiting:
            panel = waiting.pop(0)
            try:
                _draw(artifact.replaced(panels=[panel]), results)
            except Exception as error:
                about = error.panel if isinstance(error, ArtifactError) else panel
                if (
                    about
                    and about != panel
                    and about in (places := results.expand(panel))
                ):
                    waiting = [*places, *waiting]  # one length or subset of several
                    continue
                if about:
                    not_shown.append(NotShown(panel.name, error))
                    continue
                # else the artifact as a whole is at fault: some need two panels
            others.append(panel)
        if not others or not not_shown:
            raise
        return _draw(artifact.replaced(panels=others), results), not_shown


def _draw(artifact: Artifact, results: Results) -> Any:
    """Return what the renderer draws, and which draws of shots its numbers are of."""
    draw = renderer_of(artifact.renderer).function()
    return draw(artifact, results).with_notes(shots_notes(artifact, results))
