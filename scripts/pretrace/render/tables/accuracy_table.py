"""Share of right answers, of members and of non-members: DE-COP table 3."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from pretrace.evaluation.documents import ACCURACIES, MEAN_SCORE
from pretrace.questions.known import is_control
from pretrace.questions.registry import CONTROLS, QUESTION_METHODS, parse_question_setting
from pretrace.render.names import method_label, metric_label, panel_label, panel_lines, row_label
from pretrace.render.phrases import (
    INTERVALS,
    Estimate,
    conditions,
    contains,
    difference,
    signed_interval,
    with_interval,
)
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
from pretrace.render.selecting import Panel, Record, named_variant, records_of
from pretrace.render.tables.table import Block, Cell, Columns, Row, Table, bold_best, said_once, signs_of
from pretrace.runtime.errors import InputError

Line = tuple[str, str]
"""A method with its variant, and a setting."""


@dataclass(frozen=True)
class Accuracies:
    """A panel's metrics rows by metric and line, and its Welch tests by method."""

    panel: Panel
    rows: dict[str, dict[Line, Record]]
    tests: dict[str, Record]

    def gap(self, line: Line) -> Estimate | None:
        """Accuracy of members minus that of non-members."""
        there = [self.rows[metric].get(line) for metric in ACCURACIES]
        return None if None in there else difference(*(estimate(row) for row in there if row is not None))


@table("accuracy_table", needs=("metrics", "tests"), optional=("average",))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a question method and setting; of each panel the accuracy of members, of non-members, and the gap.

    A star says that the two differ by Welch's test on the documents, Holm-corrected p <= 0.05. Bold is the
    widest gap. `options.average: panel` adds the means over the panels.
    """
    panels = [_accuracies(artifact, results, panel) for panel in results.panels(artifact)]
    shown = [*panels, *(_average(panels) if "average" in artifact["options"] else [])]
    lines = _lines([line for one in panels for line in one.rows[ACCURACIES[0]]])
    if not lines:
        raise InputError(f"artifact {artifact['artifact']}: its panels have no answers to questions")
    rows = [
        Row(_label(line), tuple(cell for one in shown for cell in _cells(one, line)), is_control(line[0]))
        for line in lines
    ]
    blocks, notes = said_once([Block("", _bold_gaps(rows), columns=_columns(shown))])
    every = [row for one in panels for of in one.rows.values() for row in of.values()]
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=blocks[0].columns or (),
        blocks=blocks,
        notes=(
            *conditions({**artifact, "options": {"metrics": ACCURACIES}}, every),
            f"{INTERVALS} Gap: members minus non-members; bold is the widest, * is one that Welch's test on the "
            f"documents finds, Holm-corrected over the methods, p ≤ {STAR_LEVEL:g}. Chance is no fixed share: what the "
            "controls reach without a model is what the options give away.",
            *multiplicity_note(len(panels), "panel"),
            *without_controls(line[0] for line in lines),
            *results.cautions([one.panel for one in panels]),
            *notes,
        ),
        frame=long_frame([record for one in shown for record in _records(one)]),
        reading=" ".join(_reading(one) for one in panels),
    )


def _average(panels: Sequence[Accuracies]) -> list[Accuracies]:
    """The means of what every panel has, if there are several; models share the questions, so without intervals."""
    if len(panels) < 2:
        return []
    rows: dict[str, dict[Line, Record]] = {
        metric: {
            line: {**row, "value": mean(float(one.rows[metric][line]["value"]) for one in panels)}
            | {"low": None, "high": None, "marks": ""}
            for line, row in of.items()
            if all(line in one.rows[metric] for one in panels)
        }
        for metric, of in panels[0].rows.items()
    }
    panel = {"model": "average", "benchmark": "", "label": "average"}
    return [Accuracies(panel, rows, {})]


def _accuracies(artifact: Artifact, results: Results, panel: Panel) -> Accuracies:
    rows: dict[str, dict[Line, Record]] = {
        metric: {
            (named_variant(row["method"], row["setting"]), row["setting"]): row
            for row in records_of(results.rows({**artifact, "metric": metric}, panel))
            if row["selection"] == "grid" and row["method"] in QUESTION_METHODS
        }
        for metric in ACCURACIES
    }
    methods = sorted({method for of in rows.values() for method, _ in of})
    return Accuracies(panel, rows, welch_tests_of({**artifact, "methods": methods}, results, panel))


def welch_tests_of(artifact: Artifact, results: Results, panel: Panel) -> dict[str, Record]:
    """Welch's test of each method's default setting, and of each variant's."""
    tests = results.rows({**artifact, "metric": MEAN_SCORE}, panel, what="tests")
    return {str(row["method"]): row for row in records_of(tests[tests["test"] == "welch"])}


def without_controls(methods: Iterable[str]) -> list[str]:
    """What a table of questions says where nobody could tell what its options give away."""
    if any(method in CONTROLS for method in methods):
        return []
    return [
        "No control stands here: longest option and odd one out need the texts of the options, which these answers "
        "do not bring. How much of an accuracy the options give away is unknown."
    ]


def _lines(found: Sequence[Line]) -> list[Line]:
    """In the order of the registry, controls last; the method as it is before its variants."""
    order = list(QUESTION_METHODS)

    def place(line: Line) -> tuple[Any, ...]:
        method = line[0].split(";")[0]
        values = [str(value) for value in parse_question_setting(method, line[1]).values()]
        return is_control(method), order.index(method), line[0] != method, values

    return sorted(set(found), key=place)


def _label(line: Line) -> str:
    method, setting = line
    given = parse_question_setting(method.split(";")[0], setting).get("k")
    return f"{row_label(method)}, {given} tokens given" if given else row_label(method)


def _cells(one: Accuracies, line: Line) -> list[Cell]:
    cells = []
    for metric in ACCURACIES:
        row = one.rows[metric].get(line)
        cells.append(Cell(*estimate(row), signs=signs_of(row["marks"])) if row else Cell())
    gap = one.gap(line)
    test = one.tests.get(line[0])
    star = bool(test and test["setting"] == line[1] and test["p_holm"] <= STAR_LEVEL)
    return [*cells, Cell(*gap, signed=True, star=star) if gap else Cell()]


def _bold_gaps(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Bold where the gap, the last of each panel's cells, is widest and, as printed, above 0."""
    return tuple(
        replace(row, cells=tuple(replace(cell, bold=cell.bold and _is_gap(cell)) for cell in row.cells))
        for row in bold_best(rows)
    )


def _is_gap(cell: Cell) -> bool:
    return cell.signed and round(cell.value or 0.0, 3) > 0


def _columns(panels: Sequence[Accuracies]) -> Columns:
    names = [*map(metric_label, ACCURACIES), "gap"]
    return tuple((*panel_lines(one.panel), name) for one in panels for name in names)


def _records(one: Accuracies) -> list[dict[str, Any]]:
    return [
        panel_record(one.panel)
        | {"method": row["method"], "control": is_control(row["method"]), "metric": metric}
        | number_record(row)
        | _test(one.tests.get(line[0]), line[1])
        for metric, of in one.rows.items()
        for line, row in of.items()
    ]


def _test(test: Record | None, setting: str) -> dict[str, Any]:
    keys = ("p", "p_holm")
    return {key: test[key] if test and test["setting"] == setting else None for key in keys}


def _reading(one: Accuracies) -> str:
    """What each method finds in members and in non-members, and what the controls do."""
    gaps = {line: gap for line in one.rows[ACCURACIES[0]] if (gap := one.gap(line)) is not None}
    shown = {line: gap for line, gap in gaps.items() if not is_control(line[0])}
    if not shown:
        return f"On {panel_label(one.panel)} only controls answered."
    line = max(shown, key=lambda at: shown[at][0])
    accuracies = [estimate(one.rows[metric][line]) for metric in ACCURACIES]
    found = round(shown[line][0], 3) > 0
    verdict = (
        f"{_label(line)} has the widest gap"
        if found
        else f"no gap is above 0, the widest that of {_label(line)}"
    )
    text = (
        f"On {panel_label(one.panel)}, {verdict}: {with_interval(accuracies[0])} of "
        f"the answers about members are right, {with_interval(accuracies[1])} about non-members, "
        f"{signed_interval(shown[line])}{', which may be nothing' if found and contains(shown[line], 0.0) else ''}"
    )
    controls = [
        f"{method_label(at[0])} {with_interval(estimate(one.rows[ACCURACIES[0]][at]))} and "
        f"{with_interval(estimate(one.rows[ACCURACIES[1]][at]))}"
        for at in gaps
        if is_control(at[0])
    ]
    return f"{text}. Without any model: {'; '.join(controls)}." if controls else f"{text}."
