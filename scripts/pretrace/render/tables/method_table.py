"""Methods against models and benchmarks: DC-PDD tables 2 and 3, Con-ReCall tables 2 to 4, 7, 8, SURP tables."""

from collections.abc import Sequence

import pandas as pd

from pretrace.evaluation.selection import LEAST_DOCUMENTS
from pretrace.render.names import SELECTION_LABELS, SELECTION_NOTES, method_label, panel_label
from pretrace.render.phrases import INTERVALS, conditions, joined
from pretrace.render.records import STAR_LEVEL, multiplicity_note, other_texts_note
from pretrace.render.registry import SELECTIONS, Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import EACH, Panel, records_of
from pretrace.render.tables.estimates import bolded, column_of, estimates, metrics_of, placed, with_averages
from pretrace.render.tables.table import Cell, Placed, Table, lay_out, table_of


@table("method_table", needs=("metrics", "tests"), optional=("metrics", "blocks", "average", "draws"))
def render(artifact: Artifact, results: Results) -> Table:
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
    frame = estimates(artifact, results, selections)
    shown = with_averages(frame, panels, options.get("average", ""), options.get("blocks", ""))
    shown = bolded(shown)
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
            of_block = placed(own, every, metrics, title=f"{name}. {title}" if name else title, block=key)
            cells += of_block
            for at in range(len(panels), len(every)):
                for metric in own["metric"].unique() if names[at] == name else ():
                    column = column_of({"panel": at, "average": "", "metric": metric}, every, metrics, key)
                    cells.append(Placed(of_block[0].block, of_block[0].row, column, Cell()))
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
    counts = {
        panel_label(panels[row["panel"]]): int(row["n_members"]) + int(row["n_nonmembers"])
        for row in records_of(of_documents)
    }
    few = [f"{panel} ({count})" for panel, count in counts.items() if count < LEAST_DOCUMENTS]
    text = f"No held-out value under {LEAST_DOCUMENTS} documents, of which a fold has a handful: {'; '.join(few)}."
    return [text] if few else []
