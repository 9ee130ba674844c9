"""Every method against every other: differences and whether they are significant."""

from collections.abc import Mapping, Sequence

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.names import method_label, metric_label, ordered, panel_label, row_label
from pretrace.render.phrases import conditions, joined, signed_interval
from pretrace.render.records import STAR_LEVEL, long_frame, multiplicity_note, number, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record
from pretrace.render.tables.table import Block, Cell, Row, Table

CHANCE = "chance"

Tests = Mapping[tuple[str, str], Record]
"""Tests by method and baseline."""


@table("pairwise_tests", needs=("metrics", "tests"))
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel: the row's method minus the column's, held-out settings, paired bootstrap.

    The first column is chance. A star: Holm-corrected over the methods against one baseline, p <= 0.05; the
    long data have every interval and p.
    """
    panels = results.panels(artifact)
    tests = [_tests(artifact, results, panel) for panel in panels]
    rows = [row for of in tests for row in of.values()]
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=(),
        blocks=tuple(_block(artifact, panel, of) for panel, of in zip(panels, tests, strict=True)),
        notes=(
            *conditions(artifact, rows),
            "Each cell is the row's method minus the column's, at held-out settings; a dash where the two have "
            "no test, as of a method against itself.",
            f"* significantly different by the paired stratified bootstrap, Holm-corrected over the methods "
            f"against one baseline, p ≤ {STAR_LEVEL:g}. Intervals and p are in the CSV.",
            *multiplicity_note(len({(at, baseline) for at, of in enumerate(tests) for _, baseline in of})),
        ),
        frame=_long(artifact, panels, tests),
        reading=" ".join(_reading(artifact, panel, of) for panel, of in zip(panels, tests, strict=True)),
    )


def _tests(artifact: Artifact, results: Results, panel: Panel) -> Tests:
    rows = results.rows(artifact, panel, what="tests")
    rows = rows[(rows["selection"] == "held_out") & (rows["test"] == "bootstrap")]
    if "methods" in artifact:
        rows = rows[rows["baseline"].isin([*artifact["methods"], CHANCE])]
    baselines = sorted(rows["baseline"].unique())
    return {
        (method, baseline): row
        for baseline in baselines
        for method, row in results.bootstrap_tests(artifact, panel, baseline).items()
    }


def _is_different(row: Record) -> bool:
    return bool(row["p_holm"] <= STAR_LEVEL)


def _block(artifact: Artifact, panel: Panel, tests: Tests) -> Block:
    methods = ordered(artifact, (method for method, _ in tests))
    baselines = [CHANCE] * any(baseline == CHANCE for _, baseline in tests) + methods
    rows = [
        Row(
            row_label(method),
            tuple(_cell(tests, method, baseline) for baseline in baselines),
            control=is_control(method),
        )
        for method in methods
    ]
    columns = tuple((method_label(baseline),) for baseline in baselines)
    return Block(panel_label(panel), tuple(rows), columns=columns)


def _cell(tests: Tests, method: str, baseline: str) -> Cell:
    """The difference; where a method has several rows, and only it is tested against the other, the reverse."""
    for key, sign in (((method, baseline), 1), ((baseline, method), -1)):
        if key in tests:
            row = tests[key]
            return Cell(sign * float(row["difference"]), signed=True, star=_is_different(row))
    return Cell()


def _long(artifact: Artifact, panels: Sequence[Panel], tests: Sequence[Tests]) -> pd.DataFrame:
    keys = ("difference", "low", "high", "p", "p_holm")
    records = [
        panel_record(panel)
        | {"method": method, "baseline": baseline, "metric": artifact.get("metric", "auc")}
        | {"test": "bootstrap", "selection": "held_out"}
        | {key: row[key] for key in keys}
        | {"significant": _is_different(row)}
        for panel, of in zip(panels, tests, strict=True)
        for (method, baseline), row in of.items()
    ]
    return long_frame(records)


def _reading(artifact: Artifact, panel: Panel, tests: Tests) -> str:
    """Who differs from chance, how many pairs of methods differ, and the largest significant difference."""
    shown = [(*key, row) for key, row in tests.items() if not any(map(is_control, key))]
    against_chance = [
        (method, row) for method, baseline, row in shown if baseline == CHANCE and _is_different(row)
    ]
    named = []
    for sign, where in ((1, "above"), (-1, "below")):
        who = [method_label(method) for method, row in against_chance if row["difference"] * sign > 0]
        named += (
            [f"{joined(who)} {'is' if len(who) == 1 else 'are'} significantly {where} chance"] if who else []
        )
    start = " and ".join(named) if named else "no method differs significantly from chance"
    pairs = [((method, other), row) for method, other, row in shown if other != CHANCE]
    different = [(pair, row) for pair, row in pairs if _is_different(row)]
    text = (
        f"On {panel_label(panel)}, {start}; {len({frozenset(pair) for pair, _ in different})} of "
        f"{len({frozenset(pair) for pair, _ in pairs})} pairs of methods differ significantly in "
        f"{metric_label(artifact.get('metric', 'auc'))}"
    )
    if different:
        (method, other), row = max(different, key=lambda item: float(item[1]["difference"]))
        found = float(row["difference"]), number(row["low"]), number(row["high"])
        text += f", the most {method_label(method)} from {method_label(other)}, by {signed_interval(found)}"
    return f"{text}."
