"""Accuracy where the true text stands at one letter and at another: DE-COP figure 8."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pretrace.render.figures.drawing import Drawing
from pretrace.render.figures.paired_bars import EVEN, Bars, figure_of, mean_of_groups
from pretrace.render.names import panel_label, panel_lines, where
from pretrace.render.phrases import Estimate, joined, with_interval
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.runtime.errors import InputError, nearest
from pretrace.runtime.files import seed_of

CLASSES = {1: "members", 0: "non-members"}

Found = Mapping[str, Mapping[str, Estimate]]
"""Accuracies by position, then by class."""


@figure("position_bars", needs=("metrics", "answers"), required=("permutations",), optional=("document",))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: of each class the accuracy in the orders `options.permutations`, as many bars.

    The same passages stand behind each bar; intervals by bootstrap of documents, each of equal weight. Of one
    document (`options.document`) the bars are its own, and intervals by bootstrap of its passages.
    """
    panels = results.panels(artifact)
    found = [_accuracies(artifact, results, panel) for panel in panels]
    subject = artifact["options"].get("document", "").replace("_", " ")
    facets = [
        Bars("\n".join([*panel_lines(panel), *([subject] if subject else [])]), of, EVEN)
        for panel, of in zip(panels, found, strict=True)
    ]
    return Drawing(
        figure=figure_of(facets, "share of right answers, 95 % interval"),
        frame=long_frame(
            [one for panel, of in zip(panels, found, strict=True) for one in _records(panel, of)]
        ),
        reading=" ".join(
            [
                *(_reading(panel, of, subject) for panel, of in zip(panels, found, strict=True)),
                *results.cautions(panels),
            ]
        ),
    )


def _accuracies(artifact: Artifact, results: Results, panel: Panel) -> Found:
    answers = results.answers_of(artifact, panel)
    document = artifact["options"].get("document", "")
    if document:
        there = answers["document"].unique()
        answers = answers[answers["document"] == document]
        if answers.empty:
            raise InputError(
                f"{where(artifact, panel)}: unknown options.document '{document}': {nearest(document, there)}"
            )
    found: dict[str, dict[str, Estimate]] = {}
    for permutation in artifact["options"]["permutations"]:
        of = answers[answers["permutation"] == permutation]
        letters = sorted(of["true_answer"].unique())
        if len(letters) != 1:
            raise InputError(
                f"{where(artifact, panel)}: in permutation {permutation} the true text stands at "
                f"{', '.join(letters) or 'no letter'}; it must stand at one"
            )
        found[f"true text at {letters[0]}"] = {
            name: mean_of_groups(
                rows["correct"].to_numpy(np.float64),
                rows["passage" if document else "document"].to_numpy(str),
                seed_of(panel["model"], panel["benchmark"], permutation, label),
            )
            for label, name in CLASSES.items()
            if len(rows := of[of["label"] == label])
        }
    return found


def _records(panel: Panel, found: Found) -> list[dict[str, Any]]:
    return [
        panel_record(panel) | {"position": position, "class": name, "value": value, "low": low, "high": high}
        for position, of in found.items()
        for name, (value, low, high) in of.items()
    ]


def _reading(panel: Panel, found: Found, subject: str) -> str:
    parts: Sequence[str] = [
        f"{joined([f'{with_interval(of[name])} with the {position}' for position, of in found.items() if name in of])} "
        f"for {name}"
        for name in CLASSES.values()
        if any(name in of for of in found.values())
    ]
    of_one = f" of {subject}" if subject else ""
    return f"On {panel_label(panel)} the same passages{of_one} are answered rightly {'; '.join(parts)}."
