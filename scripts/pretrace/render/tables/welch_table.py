"""Do the mean scores of members and non-members differ? Welch's test on documents: DE-COP tables 1 and 11."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pretrace.questions.known import is_control
from pretrace.render.names import (
    method_label,
    metric_label,
    ordered,
    panel_label,
    panel_lines,
    row_label,
)
from pretrace.render.phrases import DASHES, INTERVALS, MINUS, conditions, joined
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    long_frame,
    multiplicity_note,
    number_record,
    panel_record,
)
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record
from pretrace.render.tables.accuracy_table import welch_tests_of, without_controls
from pretrace.render.tables.table import Block, Cell, Columns, Row, Table, said_once, signs_of

SMALLEST_P = 0.001
"""As printed; what is smaller is said to be."""


@dataclass(frozen=True)
class Tested:
    """A panel's default metrics rows by metric and method, its tests by method, and whatever has scores."""

    panel: Panel
    rows: dict[str, dict[str, Record]]
    tests: dict[str, Record]
    methods: frozenset[str]


@table("welch_table", needs=("metrics", "tests"), optional=("metrics",))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a method at its default setting; of each panel `options.metrics`, the difference of means, its p.

    p is that of one test; a star says that it holds Holm's correction over the panel's methods.
    """
    metrics = list(artifact["options"].get("metrics", ()))
    panels = [
        Tested(
            panel,
            {
                metric: results.selected({**artifact, "metric": metric}, panel, "default")
                for metric in metrics
            },
            welch_tests_of(artifact, results, panel),
            frozenset(results.selected({**artifact, "metric": "auc"}, panel, "default")),
        )
        for panel in results.panels(artifact)
    ]
    methods = ordered(artifact, (method for one in panels for method in {*one.methods, *one.tests}))
    rows = [
        Row(row_label(m), tuple(cell for one in panels for cell in _cells(one, m)), is_control(m))
        for m in methods
    ]
    blocks, notes = said_once([Block("", tuple(rows), columns=_columns(panels, metrics))])
    every = [row for one in panels for of in one.rows.values() for row in of.values()]
    every += [row for one in panels for row in one.tests.values()]
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=blocks[0].columns or (),
        blocks=blocks,
        notes=(
            *conditions({**artifact, "options": {"metrics": [*metrics, "difference of mean scores"]}}, every),
            INTERVALS if metrics else DASHES,
            "Default settings. Difference: mean score of members minus that of non-members, in the "
            "method's own unit, with the interval of Welch's t-test, which p is of (two-sided, uncorrected); * where "
            f"Holm's correction over the methods leaves p ≤ {STAR_LEVEL:g}.",
            *multiplicity_note(len(panels), "panel"),
            *_untested(panels),
            *without_controls(methods),
            *results.cautions([one.panel for one in panels]),
            *notes,
        ),
        frame=long_frame([record for one in panels for record in _records(one, methods)]),
        reading=" ".join(_reading(one) for one in panels),
    )


def _cells(one: Tested, method: str) -> list[Cell]:
    cells = []
    for of in one.rows.values():
        cells.append(
            Cell(*estimate(of[method]), signs=signs_of(of[method]["marks"])) if method in of else Cell()
        )
    test = one.tests.get(method)
    if test is None:
        return [*cells, Cell(), Cell()]
    value, low, high = (_in_own_unit(test[key]) for key in ("difference", "low", "high"))
    return [*cells, Cell(words=f"{value} [{low}, {high}]"), Cell(words=_p(test["p"]), star=_holds(test))]


def _untested(panels: Sequence[Tested]) -> list[str]:
    if all(one.methods <= set(one.tests) for one in panels):
        return []
    return ["No difference stands where every document has the same score: there is nothing to test."]


def _in_own_unit(value: float) -> str:
    """Two significant digits: units of methods differ by orders of magnitude."""
    return f"{value:+#.2g}".rstrip(".").replace("-", MINUS) if value else "0.0"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= SMALLEST_P else f"< {SMALLEST_P:g}"


def _holds(test: Record) -> bool:
    return bool(test["p_holm"] <= STAR_LEVEL)


def _columns(panels: Sequence[Tested], metrics: Sequence[str]) -> Columns:
    names = [*map(metric_label, metrics), "difference", "p"]
    return tuple((*panel_lines(one.panel), name) for one in panels for name in names)


def _records(one: Tested, methods: Sequence[str]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for method in methods:
        keys = panel_record(one.panel) | {"method": method, "control": is_control(method)}
        records += [
            keys | {"metric": metric} | number_record(of[method])
            for metric, of in one.rows.items()
            if method in of
        ]
        if method in one.tests:
            test = one.tests[method]
            numbers = {"value": test["difference"], "low": test["low"], "high": test["high"]}
            tested = {"p": test["p"], "p_holm": test["p_holm"]}
            records.append(keys | {"metric": "difference", "setting": test["setting"]} | numbers | tested)
    return records


def _reading(one: Tested) -> str:
    """Whose means differ, of the methods and of the controls."""
    parts = []
    for kind, control in (("methods", False), ("controls", True)):
        tested = [m for m in one.tests if is_control(m) == control]
        found = [m for m in tested if _holds(one.tests[m])]
        if tested:
            names = f" ({joined([_direction(one, method) for method in found])})" if found else ""
            parts.append(f"{len(found)} of {len(tested)} {kind}{names}")
    return (
        f"On {panel_label(one.panel)}, members and non-members differ in their mean score by Welch's test, "
        f"Holm-corrected, for {joined(parts)}."
    )


def _direction(one: Tested, method: str) -> str:
    return method_label(method) + (", members lower" if one.tests[method]["difference"] < 0 else "")
