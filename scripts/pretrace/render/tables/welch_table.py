"""Do the mean scores of members and non-members differ? Welch's test on documents: DE-COP tables 1 and 11."""

from collections.abc import Iterable
from typing import Any

from pretrace.render.names import metric_label, ordered, panel_lines, row_label
from pretrace.render.phrases import DASHES, INTERVALS, MINUS, conditions
from pretrace.render.records import STAR_LEVEL, long_frame, multiplicity_note, number_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record
from pretrace.render.tables.accuracy_table import welch_tests_of, without_controls
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Cell, Place, Placed, Table, cell_of, lay_out, table_of

SMALLEST_P = 0.001
"""As printed; what is smaller is said to be."""

DIFFERENCE = "difference"
"""Of mean scores; stands beside the metrics."""


@table("welch_table", needs=("metrics", "tests"), optional=("metrics",))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a method at its default setting; of each panel `options.metrics`, the difference of means, its p.

    p is that of one test; a star says that it holds Holm's correction over the panel's methods.
    """
    metrics = list(artifact["options"].get("metrics", ()))
    panels = results.panels(artifact)
    records = [
        row for at, panel in enumerate(panels) for row in _of_panel(artifact, results, panel, at, metrics)
    ]
    methods = ordered(artifact, (row["method"] for row in records))
    heads = [*metrics, DIFFERENCE, "p"]
    cells = [
        Placed(
            "",
            Place(methods.index(row["method"]), (row_label(row["method"]),)),
            Place(
                (row["panel"], heads.index(head)), (*panel_lines(panels[row["panel"]]), metric_label(head))
            ),
            cell,
            row["control"],
        )
        for row in records
        for head, cell in _cells(row)
    ]
    untested = any(row["metric"] == DIFFERENCE and row["value"] is None for row in records)
    shown = [row for row in records if row["value"] is not None]
    notes = [
        *conditions({**artifact, "options": {"metrics": [*metrics, "difference of mean scores"]}}, shown),
        INTERVALS if metrics else DASHES,
        "Default settings. Difference: mean score of members minus that of non-members, in the "
        "method's own unit, with the interval of Welch's t-test, which p is of (two-sided, uncorrected); * where "
        f"Holm's correction over the methods leaves p ≤ {STAR_LEVEL:g}.",
        *multiplicity_note(len(panels), "panel"),
        *["No difference stands where every document has the same score: there is nothing to test."]
        * untested,
        *without_controls(methods),
        *results.cautions(panels),
    ]
    return table_of(artifact, lay_out(cells), notes, long_frame(shown))


def _of_panel(
    artifact: Artifact, results: Results, panel: Panel, at: int, metrics: list[str]
) -> Iterable[dict[str, Any]]:
    """The metrics of each method, and of each that has scores the difference of means, empty where it has no test."""
    tests = welch_tests_of(artifact, results, panel)
    for metric in metrics:
        for row in results.selected({**artifact, "metric": metric}, panel, "default").values():
            yield keys_of(at, panel, row) | {"metric": metric} | number_record(row)
    scored = results.selected({**artifact, "metric": "auc"}, panel, "default")
    for method, row in (scored | tests).items():
        test = tests.get(method)
        numbers = {**number_record(None), "setting": row["setting"]}
        if test is not None:
            numbers |= {"value": test["difference"], "p": test["p"], "p_holm": test["p_holm"]}
            numbers |= {"low": test["low"], "high": test["high"]}
        yield keys_of(at, panel, row) | {"metric": DIFFERENCE} | numbers


def _cells(row: Record) -> Iterable[tuple[str, Cell]]:
    """A metric's cell; of a difference two, itself in the method's own unit, and p."""
    if row["metric"] != DIFFERENCE:
        yield row["metric"], cell_of(row)
    elif row["value"] is None:
        yield DIFFERENCE, Cell()
        yield "p", Cell()
    else:
        value, low, high = (_in_own_unit(row[key]) for key in ("value", "low", "high"))
        p = f"{row['p']:.3f}" if row["p"] >= SMALLEST_P else f"< {SMALLEST_P:g}"
        yield DIFFERENCE, Cell(words=f"{value} [{low}, {high}]")
        yield "p", Cell(words=p, star=bool(row["p_holm"] <= STAR_LEVEL))


def _in_own_unit(value: float) -> str:
    """Two significant digits: units of methods differ by orders of magnitude."""
    return f"{value:+#.2g}".rstrip(".").replace("-", MINUS) if value else "0.0"
