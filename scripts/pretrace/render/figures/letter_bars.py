"""Mean probability of each letter before and after calibration: DE-COP figure 9."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pretrace.questions.answering import LETTERS
from pretrace.questions.calibration import DELTAS, MEANS
from pretrace.render.figures.drawing import Drawing
from pretrace.render.figures.paired_bars import EVEN, Bars, figure_of, mean_of_groups
from pretrace.render.names import CALIBRATION_LABELS, panel_label, panel_lines, where
from pretrace.render.phrases import Estimate, joined
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import seed_of

Found = Mapping[str, Mapping[str, Estimate]]
"""Mean probabilities by calibration, then by letter."""


@figure("letter_bars", needs=("metrics", "calibration"), optional=("document",))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: the letters of one document (`options.document`), or of all non-members with intervals."""
    panels = results.panels(artifact)
    document = artifact["options"].get("document", "")
    found = [_means(artifact, results, panel, document) for panel in panels]
    subject = document.replace("_", " ") or "non-members"
    facets = [
        Bars("\n".join([*panel_lines(panel), subject]), of, EVEN)
        for panel, of in zip(panels, found, strict=True)
    ]
    records: list[dict[str, Any]] = [
        panel_record(panel)
        | {"document": document, "calibration": name, "letter": letter}
        | {"value": value, "low": low, "high": high}
        for panel, of in zip(panels, found, strict=True)
        for name, letters in of.items()
        for letter, (value, low, high) in letters.items()
    ]
    reading = [_reading(panel, of, subject) for panel, of in zip(panels, found, strict=True)]
    return Drawing(
        figure=figure_of(facets, f"mean probability of the letter{'' if document else ', 95 % interval'}"),
        frame=long_frame(records),
        reading=" ".join([*reading, *results.cautions(panels)]),
    )


def _means(artifact: Artifact, results: Results, panel: Panel, document: str) -> Found:
    table = results.calibrations(artifact, panel)
    names = table["id"].str.split("|").str[0]
    chosen = table[names == document] if document else table[table["label"].eq(0).fillna(False)]
    if chosen.empty:
        hint = nearest(document, names.unique()) if document else "no non-member has answers"
        raise InputError(f"{where(artifact, panel)}: unknown options.document '{document}': {hint}")
    found = {}
    for name, label in CALIBRATION_LABELS.items():
        of = chosen[chosen["calibration"] == name]
        if len(of):
            after = of[MEANS].to_numpy(np.float64) + of[DELTAS].to_numpy(np.float64)
            found[label] = {
                letter: mean_of_groups(values, of["id"].to_numpy(str), seed_of(panel["model"], name, letter))
                for letter, values in zip(LETTERS, after.T, strict=True)
            }
    return found


def _reading(panel: Panel, found: Found, subject: str) -> str:
    parts = []
    for name, of in found.items():
        values = {letter: one[0] for letter, one in of.items()}
        most, least = max(values, key=lambda one: values[one]), min(values, key=lambda one: values[one])
        parts.append(f"{name} from {values[least]:.3f} ({least}) to {values[most]:.3f} ({most})")
    return (
        f"On {panel_label(panel)}, the mean probabilities of the letters ({subject}) range {joined(parts)}."
    )
