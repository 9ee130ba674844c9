"""Methods against models and benchmarks, by their settings, against each other, and
what choosing settings adds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record, averaged_groups, averages_of
from pretrace.evaluation.metrics import marks_in
from pretrace.questions.method_facts import is_control
from pretrace.render.artifact import SELECTIONS, Artifact, Panel
from pretrace.render.estimates import (
    STAR_LEVEL,
    corrected,
    estimate_record,
    estimates,
    keys_of,
)
from pretrace.render.frames import long_frame, records_of
from pretrace.render.names import AT_EDGE, PARAMETER_LABELS, marked_label, method_label
from pretrace.render.phrases import (
    DASHES,
    OF_THIS_SIZE,
    brackets_and_dashes,
    conditions,
    multiplicity_note,
    other_texts_note,
    without_controls,
)
from pretrace.render.results import Results
from pretrace.render.tables.table import (
    Block,
    Cell,
    Table,
    best,
    beyond_chance,
    by_method,
    false_alarms_of,
    rows_of,
    runner_up,
    table_of,
    with_false_alarms,
    words_tell_apart,
)


def method_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method, a column a panel, a block each for held-out, default and
    best-on-test settings.

    Of `options`: `metrics`, in place of the artifact's one, are columns side by side;
    `blocks` (model, length, ...) puts panels that differ in it into blocks of their
    own; `average` (`catalogue.CHOICES`) adds the mean over panels that differ in that
    alone; of `draws` of shots each number is the mean. Bold is the highest method of a
    column, with `runner_up` the second is underlined, both only above chance
    (`beyond_chance`); a star says that a method beats the baseline by the paired
    bootstrap on held-out settings, Holm-corrected p <= 0.05.
    """
    options = artifact.options
    panels = results.panels(artifact)
    selections = [name for name in SELECTIONS if name in artifact.selections]
    shown = estimates(artifact, results, selections)
    column = ["selection", "panel", "average", "metric"]
    is_told = words_tell_apart(shown)
    is_beyond = also_in_parts(artifact, panels, shown, beyond_chance(shown, column))
    is_beyond &= ~is_told
    shown["bold"] = best(shown, column) & is_beyond
    if options.runner_up:
        is_null = shown["model"].isin(artifact.null_models)
        shown["runner_up"] = runner_up(shown, column) & is_beyond & ~is_null
    shown = with_false_alarms(artifact, shown)
    notes = _notes(artifact, panels, shown)
    if is_told.any():
        notes.append(TOLD_BY_WORDS)
    if options.unit == "document":
        cautions = [*without_controls(shown["method"]), *results.cautions(panels)]
        notes.append(" ".join(cautions))
    names = [_block_name(artifact, panel) for panel in panels]
    block_names = shown["panel"].map(names.__getitem__)
    blocks = []
    for name in dict.fromkeys(names):
        for selection in selections:
            own = shown[(shown["selection"] == selection) & (block_names == name)]
            title = SELECTION_TITLES[selection]
            if name:
                title = f"{name}. {title}"
            blocks += by_method(
                own, panels, artifact.metrics, title=title, block=options.blocks
            )
    return table_of(artifact, blocks, notes, shown)


TOLD_BY_WORDS = (
    "Nothing is bold in a column where the bag of words is above chance: there words "
    "tell the classes apart without the model."
)


def _lack_interval(frame: pd.DataFrame) -> "pd.Series[bool]":
    """Tell which rows are means without an interval."""
    return frame["average"].ne("") & frame["low"].isna()


def also_in_parts(
    artifact: Artifact,
    panels: Sequence[Panel],
    frame: pd.DataFrame,
    is_beyond: "pd.Series[bool]",
) -> "pd.Series[bool]":
    """Tell which values are beyond chance, a mean without an interval only if all
    values that it is of are."""
    options = artifact.options
    groups = averaged_groups(panels, options.average, options.blocks)
    keys = [frame[key] for key in ("selection", "method", "metric")]
    keys.append(frame["panel"].map(lambda place: groups.index(groups[place])))
    is_mean = frame["average"].ne("")
    of_all = (is_beyond | is_mean).groupby(keys).transform("all")
    return is_beyond & (of_all | ~_lack_interval(frame))


SELECTION_TITLES = {
    "held_out": "Held out (settings chosen on the other folds; the headline)",
    "default": "Default (each method's default setting)",
    "best_on_test": (
        "Best on test (settings chosen on the evaluated texts themselves, as papers "
        "report it; optimistic)"
    ),
}


def _block_name(artifact: Artifact, panel: Panel) -> str:
    """Return what a panel's block is called; "" if all panels share one."""
    value = str(getattr(panel, artifact.options.blocks, ""))
    if artifact.options.blocks == "length":
        return f"{value} {panel.length_unit}"
    return artifact.title_of(value)


def _notes(
    artifact: Artifact, panels: Sequence[Panel], frame: pd.DataFrame
) -> list[str]:
    """Return what the numbers rest on, what bold and stars mean, and over what means
    are taken: a note each."""
    options = artifact.options
    single = frame[frame["average"] == ""]
    more = brackets_and_dashes(single)
    if any(metric.startswith("tpr") for metric in artifact.metrics):
        more += f" {OF_THIS_SIZE}"
    marked = []
    means = []
    if frame["bold"].any():
        second = ", the runner-up underlined" if options.runner_up else ""
        marked.append(
            f"Bold is the highest method of a column{second}, if it is above chance by "
            "an interval that pays for the choice among them (Bonferroni); rows "
            "without a model are not in contest."
        )
        if _lack_interval(frame).any():
            marked.append(
                "An average without an interval is bold only if the method is above "
                "chance in each of its columns."
            )
    if frame["star"].any():
        tested = single[single["difference"].notna()]
        marked.append(
            f"* above {method_label(artifact.baseline)} by the paired stratified "
            "bootstrap on held-out settings, Holm-corrected over the column's methods, "
            f"p ≤ {STAR_LEVEL:g}."
        )
        marked += multiplicity_note(len(tested[["panel", "metric"]].drop_duplicates()))
    if options.draws:
        means.append(
            f"Each number is the mean over {len(options.draws)} draws of shots with "
            "their standard deviation (±); a star holds in every draw."
        )
    means += other_texts_note(panels, single)
    if len(single) < len(frame):
        means.append(AVERAGE_NOTES[options.average])
    marked += false_alarms_of(frame)
    return [
        conditions(artifact, single, more),
        " ".join(marked),
        " ".join(means),
    ]


AVERAGE_NOTES = {
    "draw": "Average: mean and standard deviation over the draws of prefixes.",
    "panel": "Average: mean and standard deviation over the columns.",
    "subset": "Average: over the subsets, which share no text; its interval takes "
    "their "
    "errors as independent.",
    "model": "Average: mean over the models, which share their texts, and therefore "
    "without an interval.",
}


def setting_table(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a value of the parameter `options.x`, every other parameter at its
    default; a column a panel.

    Bold is the best value of a column if it is above chance (`beyond_chance`). The last
    rows are the artifact's methods without the parameter.
    """
    parameter = str(artifact.options.x)
    panels = results.panels(artifact)
    records = []
    for place, panel in enumerate(panels):
        defaults = results.by("method", artifact, panel, selection="default")
        for value, method, row in results.along_parameter(artifact, panel, parameter):
            record = estimate_record(
                place,
                panel,
                row,
                selection=row["selection"],
                metric=artifact.metric,
                parameter=parameter if value else "",
                parameter_value=value,
            )
            record["default"] = row["setting"] == defaults[method]["setting"]
            records.append(record)
    frame = long_frame(records)
    numbers = pd.to_numeric(frame["parameter_value"], errors="coerce")
    frame = frame.loc[numbers.sort_values(kind="stable").index]
    varied = frame[frame["parameter"] != ""]
    column = ["panel", "method"]
    is_told = words_tell_apart(frame).reindex(varied.index)
    bold = best(varied, column) & beyond_chance(varied, column) & ~is_told
    frame = frame.assign(bold=bold.reindex(frame.index, fill_value=False))
    by = ("method", "parameter_value")
    blocks = by_method(frame, panels, artifact.metrics, label=_value_label, by=by)
    told = brackets_and_dashes(frame)
    notes = [
        conditions(artifact, varied, told),
        "Every other parameter is at its default. Bold is the highest value of a "
        "column, if it is above chance by an interval that pays for the choice "
        "(Bonferroni).",
    ]
    if is_told.any():
        notes.append(TOLD_BY_WORDS)
    return table_of(artifact, blocks, notes, frame)


def _value_label(row: Record) -> str:
    if not row["parameter"]:
        return marked_label(row["method"])
    parameter = PARAMETER_LABELS.get(row["parameter"], row["parameter"])
    label = f"{method_label(row['method'])}, {parameter} = {row['parameter_value']}"
    return f"{label} (default)" if row["default"] else label


CHANCE = "chance"


def pairwise_tests(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a panel: the row's method minus the column's, held-out settings,
    paired bootstrap.

    The first column is chance. A star: Holm-corrected over the column's methods, p <=
    0.05; the long data have every interval and p.
    """
    panels = results.panels(artifact)
    keys: dict[str, Any] = {"selection": "held_out", "test": "bootstrap"}
    if artifact.methods:
        keys["baseline"] = [*artifact.methods, CHANCE]
    rows = []
    for place, panel in enumerate(panels):
        tests = results.rows(artifact, panel, "tests", **keys)
        for row in records_of(tests.sort_values("baseline", kind="stable")):
            numbers = {key: row[key] for key in TEST_COLUMNS}
            rows.append(keys_of(place, panel, row) | numbers)
    frame = long_frame(rows)
    frame["p_holm"] = corrected(frame, ("panel", "baseline"))
    frame["significant"] = frame["p_holm"] <= STAR_LEVEL
    blocks = []
    for place, panel in enumerate(panels):
        own = records_of(frame[frame["panel"] == place])
        blocks += _pairs(artifact, panel, own)
    families = len(frame[["panel", "baseline"]].drop_duplicates())
    chance = " ".join(multiplicity_note(families))
    notes = [
        conditions(artifact, frame, "Intervals and p are in the CSV."),
        "Each cell is the row's method minus the column's, at held-out settings; a "
        "dash where the two have no test, as of a method against itself.",
        "* significantly different by the paired stratified bootstrap, Holm-corrected "
        f"over the column's methods, p ≤ {STAR_LEVEL:g}. {chance}".rstrip(),
    ]
    return table_of(artifact, blocks, notes, frame)


TEST_COLUMNS = (
    "baseline", "metric", "test", "selection", "difference", "low", "high", "p",
)  # fmt: skip


def _pairs(artifact: Artifact, panel: Panel, tests: list[Record]) -> list[Block]:
    """Return a panel's differences; if only the column's method is tested against the
    row's, with the other sign."""
    cells_of = {}
    for row in tests:
        reverse = -row["difference"]
        cell = Cell(reverse, signed=True, star=row["significant"])
        cells_of[row["baseline"], row["method"]] = cell
    for row in tests:
        cell = Cell(row["difference"], signed=True, star=row["significant"])
        cells_of[row["method"], row["baseline"]] = cell
    methods = artifact.order_methods(row["method"] for row in tests)
    baselines = methods
    if any(row["baseline"] == CHANCE for row in tests):
        baselines = [CHANCE, *methods]
    rows = []
    for method in methods:
        cells = []
        for baseline in baselines:
            cell = cells_of.get((method, baseline), Cell())
            cells.append((method_label(baseline), cell))
        rows.append((marked_label(method), cells, is_control(method)))
    return rows_of(panel.name, rows)


def selection_gap(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a method, a column a panel, and their mean: the best value on test
    minus the held-out one.

    The two rest on the same texts, so the gap has no interval; a method with one
    setting has no gap. A mark says that the held-out choice lies at an edge of its
    grid.
    """
    panels = results.panels(artifact)
    chosen = estimates(artifact, results, ["best_on_test", "held_out"])
    gaps = records_of(_gaps(chosen))
    averages = averages_of(gaps, panels, "panel")
    frame = long_frame([*gaps, *averages])
    notes = [
        conditions(artifact, frame, DASHES),
        "Gap: best on test minus held out, of the same texts and therefore without an "
        "interval; 0 for a method with one setting. Average: mean and standard "
        "deviation over the columns.",
    ]
    return table_of(artifact, by_method(frame, panels, ["gap"]), notes, frame)


def _gaps(chosen: pd.DataFrame) -> pd.DataFrame:
    """Return the held-out rows with the metric `gap`, and both settings and values that
    it comes from."""
    named = {"setting": "held_out_setting", "value": "held_out_value"}
    held_out = chosen[chosen["selection"] == "held_out"].rename(columns=named)
    keys = ["panel", "method"]
    best = chosen[chosen["selection"] == "best_on_test"].set_index(keys)
    best = best[["setting", "value"]].add_prefix("best_")
    frame = held_out.join(best, on=keys)
    gap = frame["best_value"] - frame["held_out_value"]
    marks = []
    for own in frame["marks"]:
        marks.append(AT_EDGE if AT_EDGE in marks_in(own) else "")
    frame = frame.assign(metric="gap", setting="", value=gap)
    return frame.assign(low=np.nan, high=np.nan, marks=marks)
