"""Accuracy with and without calibration, of non-members and of members: DE-COP figure 6."""

from collections.abc import Mapping, Sequence

from pretrace.evaluation.averages import difference
from pretrace.evaluation.documents import ACCURACIES
from pretrace.questions.registry import parse_question_setting
from pretrace.render.figures.drawing import Drawing
from pretrace.render.figures.paired_bars import EVEN, Bars, figure_of
from pretrace.render.names import CALIBRATION_LABELS, method_label, panel_label, panel_lines
from pretrace.render.phrases import joined, signed_interval, with_interval
from pretrace.render.records import estimate, long_frame, number_record, panel_record
from pretrace.render.registry import Artifact, figure
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of

CLASSES = {"accuracy_members": "members", "accuracy_nonmembers": "non-members"}
CONTROLS = ("longest_option", "odd_one_out")

Found = Mapping[str, Mapping[str, Record]]
"""The rows of each class by calibration, or by control."""


@figure("calibration_bars", needs=("metrics",))
def render(artifact: Artifact, results: Results) -> Drawing:
    """A facet a panel: a group of bars a class, a bar a calibration, and the controls beside them."""
    panels = results.panels(artifact)
    found = [_found(artifact, results, panel) for panel in panels]
    facets = [_facet(panel, of) for panel, of in zip(panels, found, strict=True)]
    records = [
        panel_record(panel) | {"metric": metric, "series": name} | number_record(row)
        for panel, of in zip(panels, found, strict=True)
        for metric, rows in of.items()
        for name, row in rows.items()
    ]
    reading = [_reading(panel, of) for panel, of in zip(panels, found, strict=True)]
    return Drawing(
        figure=figure_of(facets, "share of right answers, 95 % interval"),
        frame=long_frame(records),
        reading=" ".join([*reading, *results.cautions(panels)]),
    )


def _found(artifact: Artifact, results: Results, panel: Panel) -> Found:
    wanted = {**artifact, "methods": ["de_cop", *CONTROLS]}
    found = {}
    for metric in CLASSES:
        rows = results.rows({**wanted, "metric": metric}, panel)
        grid = {_name(row): row for row in records_of(rows[rows["selection"] == "grid"])}
        order = [*CALIBRATION_LABELS.values(), *map(_without_model, CONTROLS)]
        found[metric] = {name: grid[name] for name in order if name in grid}
    return found


def _name(row: Record) -> str:
    if row["method"] in CONTROLS:
        return _without_model(row["method"])
    return CALIBRATION_LABELS[str(parse_question_setting("de_cop", row["setting"])["calibration"])]


def _without_model(control: str) -> str:
    return f"{method_label(control)} (no model)"


def _facet(panel: Panel, found: Found) -> Bars:
    names = list(found[ACCURACIES[0]])
    series = {
        name: {CLASSES[metric]: estimate(rows[name]) for metric, rows in found.items() if name in rows}
        for name in names
    }
    return Bars("\n".join(panel_lines(panel)), series, EVEN)


def _reading(panel: Panel, found: Found) -> str:
    plain = CALIBRATION_LABELS["none"]
    parts = []
    for metric, label in CLASSES.items():
        of = found[metric]
        changes = [
            f"{name} {with_interval(estimate(row))}, {signed_interval(difference(estimate(row), estimate(of[plain])))}"
            for name, row in of.items()
            if name in CALIBRATION_LABELS.values() and name != plain
        ]
        parts.append(_sentence(label, with_interval(estimate(of[plain])), changes))
    return f"On {panel_label(panel)}, of {joined(parts)} (changes as if the two were independent)."


def _sentence(label: str, plain: str, changes: Sequence[str]) -> str:
    return f"{label} {plain} of the answers are right as asked" + (
        f" ({'; '.join(changes)})" if changes else ""
    )
