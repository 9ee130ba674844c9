"""Every method against every other: differences and whether they are significant."""

from collections.abc import Iterable
from typing import Any

from pretrace.questions.known import is_control
from pretrace.render.names import method_label, ordered, panel_label, row_label
from pretrace.render.phrases import conditions
from pretrace.render.records import STAR_LEVEL, long_frame, multiplicity_note
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Cell, Place, Placed, Table, lay_out, table_of

CHANCE = "chance"


@table("pairwise_tests", needs=("metrics", "tests"))
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel: the row's method minus the column's, held-out settings, paired bootstrap.

    The first column is chance. A star: Holm-corrected over the methods against one baseline, p <= 0.05; the
    long data have every interval and p.
    """
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _tests(artifact, results, panel, at)]
    )
    records = records_of(frame)
    cells = [
        one
        for at, panel in enumerate(panels)
        for one in _cells(artifact, panel, [row for row in records if row["panel"] == at])
    ]
    notes = [
        *conditions(artifact, records),
        "Each cell is the row's method minus the column's, at held-out settings; a dash where the two have "
        "no test, as of a method against itself.",
        f"* significantly different by the paired stratified bootstrap, Holm-corrected over the methods "
        f"against one baseline, p ≤ {STAR_LEVEL:g}. Intervals and p are in the CSV.",
        *multiplicity_note(len({(row["panel"], row["baseline"]) for row in records})),
    ]
    return table_of(artifact, lay_out(cells), notes, frame)


def _tests(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    rows = results.rows(artifact, panel, what="tests")
    rows = rows[(rows["selection"] == "held_out") & (rows["test"] == "bootstrap")]
    if "methods" in artifact:
        rows = rows[rows["baseline"].isin([*artifact["methods"], CHANCE])]
    for baseline in sorted(rows["baseline"].unique()):
        for row in results.bootstrap_tests(artifact, panel, baseline).values():
            yield (
                keys_of(at, panel, row) | {"baseline": baseline, "metric": artifact.get("metric", "auc")}
                | {"test": "bootstrap", "selection": "held_out"}
                | {key: row[key] for key in ("difference", "low", "high", "p", "p_holm")}
                | {"significant": bool(row["p_holm"] <= STAR_LEVEL)}
            )  # fmt: skip


def _cells(artifact: Artifact, panel: Panel, tests: list[Record]) -> Iterable[Placed]:
    """The difference; where only the column's method is tested against the row's, the reverse."""
    by_pair = {(row["method"], row["baseline"]): row for row in tests}
    methods = ordered(artifact, (row["method"] for row in tests))
    baselines = [CHANCE] * any(row["baseline"] == CHANCE for row in tests) + methods
    for at, method in enumerate(methods):
        for column, baseline in enumerate(baselines):
            straight, reverse = by_pair.get((method, baseline)), by_pair.get((baseline, method))
            row, sign = (straight, 1) if straight else (reverse, -1)
            yield Placed(
                panel_label(panel),
                Place(at, (row_label(method),)),
                Place(column, (method_label(baseline),)),
                Cell(sign * float(row["difference"]), signed=True, star=row["significant"])
                if row
                else Cell(),
                is_control(method),
            )
