"""Methods against models and benchmarks, by their settings, against each other, and what choosing settings adds."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pretrace.evaluation.averages import Record
from pretrace.evaluation.metrics import EACH
from pretrace.evaluation.selection import LEAST_DOCUMENTS
from pretrace.methods.settings import written_parameters
from pretrace.questions.known import is_control
from pretrace.render.names import (
    AT_EDGE,
    METHOD_LABELS,
    SELECTION_LABELS,
    SELECTION_NOTES,
    method_label,
    ordered,
    panel_label,
    parameter_label,
    row_label,
)
from pretrace.render.phrases import (
    DASHES,
    INTERVALS,
    conditions,
    joined,
    multiplicity_note,
    other_texts_note,
)
from pretrace.render.registry import SELECTIONS, Artifact, table
from pretrace.render.results import CONDITIONS, Results, estimates, keys_of, metrics_of
from pretrace.render.rows import (
    STAR_LEVEL,
    Panel,
    by_parameter,
    in_grid,
    long_frame,
    number_record,
    records_of,
)
from pretrace.render.tables.table import (
    Cell,
    Placed,
    Table,
    best,
    by_method,
    by_panel,
    cell_of,
    column_of,
    lay_out,
    rows_of,
    table_of,
)


@table("method_table", needs=("metrics", "tests"), optional=("metrics", "blocks", "average", "draws"))
def method_table(artifact: Artifact, results: Results) -> Table:
    """One row a method, one column a panel, a block each for held-out, default and best-on-test settings.

    Of `options`: `metrics`, in place of the artifact's one, are columns side by side; `blocks` (model, length,
    ...) puts panels that differ in it into blocks of their own; `average` (`registry.CHOICES`) adds the mean over
    panels that differ in that alone; of `draws` of shots each number is the mean. Bold is the highest method of a
    column; a star says that a method beats the baseline by the paired bootstrap on held-out settings, Holm-corrected
    p <= 0.05.
    """
    options = artifact.get("options", {})
    selections = [one for one in SELECTIONS if one in artifact.get("selection", SELECTIONS)]
    panels = results.panels(artifact)
    shown = estimates(artifact, results, selections)
    shown["bold"] = best(shown, ["selection", "panel", "average", "metric"])
    notes = _notes(artifact, panels, shown)
    if options.get("unit") == "document":
        notes += results.cautions(panels)
    return table_of(artifact, lay_out(_cells(artifact, panels, shown, selections)), notes, shown)


def _cells(
    artifact: Artifact, panels: Sequence[Panel], frame: pd.DataFrame, selections: Sequence[str]
) -> list[Placed]:
    """A block for each value of `options.blocks` and each selection; columns of dashes of models that are missing."""
    key = artifact.get("options", {}).get("blocks", "")
    metrics = metrics_of(artifact)
    missing = [
        {name: value for name, value in panel.items() if (name, value) != ("subset", EACH)}
        for panel in artifact.get("missing", ())
    ]
    every = [*panels, *missing]
    names = [_block_name(panel, key) for panel in every]
    cells: list[Placed] = []
    for name in dict.fromkeys(names[: len(panels)]):
        for selection in selections:
            own = frame[(frame["selection"] == selection) & (frame["panel"].map(names.__getitem__) == name)]
            title = f"{SELECTION_LABELS[selection]} ({SELECTION_NOTES[selection]})"
            title = f"{name}. {title}" if name else title
            of_block = by_method(own, every, metrics, title=title, block=key)
            absent = [at for at in range(len(panels), len(every)) if names[at] == name]
            for record in (
                {"panel": at, "average": "", "metric": of} for at in absent for of in own["metric"].unique()
            ):
                column = column_of(record, every, metrics, key)
                of_block.append(Placed(title, of_block[0].row, column, Cell()))
            cells += of_block
    return cells


def _block_name(panel: Panel, key: str) -> str:
    value = panel.get(key, "") if key else ""
    return f"{value} words" if key == "length" else str(value)


def _notes(artifact: Artifact, panels: Sequence[Panel], frame: pd.DataFrame) -> list[str]:
    options = artifact.get("options", {})
    single = frame[frame["average"] == ""]
    notes = [*conditions(artifact, records_of(single)), INTERVALS]
    if frame["bold"].any():
        notes.append("Bold is the highest method of a column; rows without a model are not in contest.")
    if frame["star"].any():
        notes.append(
            f"* above {method_label(artifact['baseline'])} by the paired stratified bootstrap on held-out "
            f"settings, Holm-corrected over the column's methods, p ≤ {STAR_LEVEL:g}."
        )
        tested = single[single["difference"].notna()]
        notes += multiplicity_note(len(tested[["panel", "metric"]].drop_duplicates()))
    if draws := options.get("draws"):
        notes.append(
            f"Each number is the mean over {len(draws)} draws of shots with their standard deviation (±); a star holds "
            "in every draw."
        )
    notes += _selection_notes(panels, single, artifact.get("selection", SELECTIONS))
    return notes + ([AVERAGE_NOTES[over]] if (over := options.get("average")) else [])


AVERAGE_NOTES = {
    "draw": "Average: mean and standard deviation over the draws of prefixes.",
    "panel": "Average: mean and standard deviation over the columns.",
    "subset": "Average: over the subsets, which share no text; its interval takes their errors as independent.",
} | {
    over: f"Average: mean over the {over}s, which share their texts, and therefore without an interval."
    for over in ("model", "length", "view")
}


def _selection_notes(panels: Sequence[Panel], frame: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """What settings that were chosen make of the numbers, and which rest on other texts."""
    notes = []
    selections = set(frame["selection"])
    if "held_out" in selections and len(selections) > 1:
        pooled = [SELECTION_LABELS[name] for name in ("default", "best_on_test") if name in selections]
        notes.append(
            f"Held-out values are means over folds; {joined(pooled)} are of all texts at once, as papers publish them: "
            "even of one and the same setting the two differ."
        )
    notes += _few_documents(panels, frame) if "held_out" in wanted else []
    if frame["metric"].nunique() > 1 and selections - {"default"}:
        notes.append(
            "Settings are chosen for each metric by itself: the numbers of a row may be of different settings."
        )
    return [*notes, *other_texts_note(panels, frame)]


def _few_documents(panels: Sequence[Panel], frame: pd.DataFrame) -> list[str]:
    """Why documents have no held-out value."""
    of_documents = frame[(frame["unit"] == "document") & (frame["selection"] == "default")]
    counts = (of_documents["n_members"] + of_documents["n_nonmembers"]).groupby(of_documents["panel"]).last()
    few = [
        f"{panel_label(panels[at])} ({counts[at]})"
        for at in map(int, counts.index)
        if counts[at] < LEAST_DOCUMENTS
    ]
    text = f"No held-out value under {LEAST_DOCUMENTS} documents, since a fold has too few of them: {'; '.join(few)}."
    return [text] if few else []


@table("setting_table", needs=("metrics",), required=("method", "parameter"))
def setting_table(artifact: Artifact, results: Results) -> Table:
    """One row a panel, one column a value of `options.parameter`; every other parameter at its default.

    Bold is the best value of a row, chosen on the evaluated texts; the default is marked in its header. The last
    columns are the artifact's `methods`, controls without that parameter.
    """
    method, parameter = artifact["options"]["method"], artifact["options"]["parameter"]
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _of_panel(artifact, results, panel, at)]
    )
    defaults = set(frame.loc[frame["default"], "parameter_value"])
    order = list(METHOD_LABELS)
    cells = []
    for row in records_of(frame):
        value = row["parameter_value"]
        column: tuple[Any, str] = ((1, order.index(row["method"])), row_label(row["method"]))
        if value:
            column = ((0, float(value)), f"{value} (default)" if value in defaults else value)
        cells.append(Placed("", (row["panel"], panel_label(panels[row["panel"]])), column, cell_of(row)))
    notes = [
        f"{method_label(method)}, every other parameter at its default.",
        *conditions(artifact, records_of(frame[frame["selection"] == "grid"])),
        f"{INTERVALS} Bold is the highest value of a row, seen on the evaluated texts themselves.",
    ]
    return table_of(artifact, lay_out(cells, parameter_label(method, parameter)), notes, frame)


def _of_panel(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    """The method at each value of the parameter, and the artifact's methods at their default settings."""
    method, parameter = artifact["options"]["method"], artifact["options"]["parameter"]
    default = written_parameters(results.default_setting(artifact, panel, method))
    rows = by_parameter(results.grid(artifact, panel, method), parameter, default)
    best = max(rows, key=lambda value: (float(rows[value]["value"]), -float(value)))
    controls = results.selected(artifact, panel, "default") if "methods" in artifact else {}
    shown = [(method, parameter, value, rows[value]) for value in sorted(rows, key=float)]
    shown += [(name, "", "", row) for name, row in controls.items()]
    for name, of, value, row in shown:
        yield (
            keys_of(at, panel, {**row, "method": name})
            | {"selection": row["selection"], "parameter": of, "parameter_value": value}
            | {"metric": artifact.get("metric", "auc")} | number_record(row)
            | {"default": value in ("", default[parameter]), "bold": bool(value) and value == best}
        )  # fmt: skip


CHANCE = "chance"


@table("pairwise_tests", needs=("metrics", "tests"))
def pairwise_tests(artifact: Artifact, results: Results) -> Table:
    """A block a panel: the row's method minus the column's, held-out settings, paired bootstrap.

    The first column is chance. A star: Holm-corrected over the methods against one baseline, p <= 0.05; the
    long data have every interval and p.
    """
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _tests(artifact, results, panel, at)]
    )
    records = records_of(frame)
    cells = []
    for at, panel in enumerate(panels):
        cells += _pair_cells(artifact, panel, [row for row in records if row["panel"] == at])
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
        for row in results.held_out_tests(artifact, panel, baseline).values():
            yield (
                keys_of(at, panel, row) | {"baseline": baseline, "metric": artifact.get("metric", "auc")}
                | {"test": "bootstrap", "selection": "held_out"}
                | {key: row[key] for key in ("difference", "low", "high", "p", "p_holm")}
                | {"significant": bool(row["p_holm"] <= STAR_LEVEL)}
            )  # fmt: skip


def _pair_cells(artifact: Artifact, panel: Panel, tests: list[Record]) -> list[Placed]:
    """The difference; where only the column's method is tested against the row's, the reverse."""
    differences = {(row["baseline"], row["method"]): (row, -1) for row in tests}
    differences |= {(row["method"], row["baseline"]): (row, 1) for row in tests}
    methods = ordered(artifact, (row["method"] for row in tests))
    baselines = [CHANCE] * any(row["baseline"] == CHANCE for row in tests) + methods

    def cell(method: str, baseline: str) -> Cell:
        row, sign = differences.get((method, baseline), ({}, 0))
        return Cell(sign * row["difference"], signed=True, star=row["significant"]) if row else Cell()

    rows = (
        (row_label(method), [(method_label(of), cell(method, of)) for of in baselines], is_control(method))
        for method in methods
    )
    return rows_of(panel_label(panel), rows)


FEW = 4
"""Of as many panels, each has a block of its own."""


@table("selection_gap", needs=("metrics",))
def selection_gap(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: settings in the grid, best on test, held out, and their difference.

    The two numbers rest on the same texts, so the gap has no interval. A method without a hyperparameter has
    one setting: its gap is what averaging over folds alone does. Of more than `FEW` panels, a block has the
    means of each method, another the gaps of each panel.
    """
    panels = results.panels(artifact)
    frame = _gaps(artifact, results, panels)
    few = len(panels) <= FEW
    if few:
        blocks = []
        for at, panel in enumerate(panels):
            own = records_of(frame[frame["panel"] == at])
            rows = ((row_label(row["method"]), _each(row), row["control"]) for row in own)
            blocks += lay_out(rows_of(panel_label(panel), rows))
    else:
        both = frame[frame["gap"].notna()]
        means = (
            (row_label(str(method)), _means(own), is_control(str(method)))
            for method, own in both.groupby("method", sort=False)
        )
        gaps = by_panel(panels, frame, "Gap of each panel", _gap)
        blocks = [*lay_out(rows_of("Means over panels", means)), *lay_out(gaps, "Panel")]
    notes = [
        *conditions(artifact, records_of(frame)),
        INTERVALS if few else DASHES,
        "Settings: how many the method could choose from. Gap: best on test minus held out, of the same texts and "
        "therefore without an interval. A method with one setting has nothing to choose: its gap is what averaging "
        "over folds does.",
    ]
    if not few:
        notes.append(
            "A row stands for all panels that have the method: Settings and Largest gap are of the panel where they "
            "are largest, the others means."
        )
    return table_of(artifact, blocks, notes, frame)


def _each(row: Record) -> Iterable[tuple[str, Cell]]:
    """The cells of a method on a panel."""
    yield "Settings", Cell(words=f"{row['settings']}")
    for name, head in (("best", "Best on test"), ("held_out", "Held out")):
        yield head, cell_of({key: row[f"{name}_{key}"] for key in ("value", "low", "high", "marks")}, AT_EDGE)
    yield "Gap", cell_of({"value": row["gap"], "metric": "gap"})


def _means(own: pd.DataFrame) -> Iterable[tuple[str, Cell]]:
    """The cells of a method over all panels that have it."""
    yield "Panels", Cell(words=f"{len(own)}")
    yield "Settings", Cell(words=f"{own['settings'].max()}")
    yield "Best on test", Cell(float(own["best_value"].mean()))
    yield "Held out", Cell(float(own["held_out_value"].mean()))
    yield "Gap", Cell(float(own["gap"].mean()), signed=True)
    yield "Largest gap", Cell(float(own["gap"].max()), signed=True)


def _gap(row: Record) -> Cell:
    """The gap, marked where the held-out choice lies at an edge of its grid."""
    return cell_of({"value": row["gap"], "marks": row["held_out_marks"], "metric": "gap"}, AT_EDGE)


def _gaps(artifact: Artifact, results: Results, panels: Sequence[Panel]) -> pd.DataFrame:
    """A row a panel and method: how many settings it could choose from, both selections, and their difference."""
    chosen = estimates(artifact, results, ["best_on_test", "held_out"]).set_index(["panel", "method"])
    frame = chosen.loc[
        ~chosen.index.duplicated(), [*CONDITIONS, "model", "benchmark", "subset", "length", "control"]
    ]
    for name, selection in (("best", "best_on_test"), ("held_out", "held_out")):
        own = chosen[chosen["selection"] == selection]
        frame = frame.join(own[["setting", "marks", "value", "low", "high"]].add_prefix(f"{name}_"))
    marks = {f"{name}_{column}": "" for name in ("best", "held_out") for column in ("setting", "marks")}
    grids = [_grids(results.rows(artifact, panel)) for panel in panels]
    settings = [
        max(1, sum(in_grid(setting, method) for setting in grids[panel].get(method, ())))
        for panel, method in frame.index
    ]
    frame = frame.fillna(marks).assign(metric=artifact.get("metric", "auc"), settings=settings)
    return frame.assign(gap=frame["best_value"] - frame["held_out_value"]).reset_index()


def _grids(rows: pd.DataFrame) -> dict[str, Any]:
    """The settings that the run scored of each method."""
    return dict(rows[rows["selection"] == "grid"].groupby("method")["setting"].unique())
