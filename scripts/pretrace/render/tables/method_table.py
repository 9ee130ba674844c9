"""Methods against models and benchmarks: DC-PDD tables 2 and 3, Con-ReCall tables 2 to 4, 7, 8, SURP tables."""

from collections.abc import Sequence
from itertools import groupby

from pretrace.evaluation.selection import LEAST_DOCUMENTS
from pretrace.questions.known import is_control
from pretrace.render.names import (
    SELECTION_LABELS,
    SELECTION_NOTES,
    method_label,
    ordered,
    panel_label,
    row_label,
)
from pretrace.render.phrases import INTERVALS, conditions, joined
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    is_starred,
    multiplicity_note,
    other_texts_note,
)
from pretrace.render.registry import SELECTIONS, Artifact, table
from pretrace.render.results import Results
from pretrace.render.tables.averages import note as average_note
from pretrace.render.tables.method_columns import (
    Average,
    Column,
    columns_of,
    headers,
    long_frame_of,
    missing_columns,
)
from pretrace.render.tables.method_reading import reading
from pretrace.render.tables.table import Block, Cell, Row, Table, bold_best, said_once, signs_of

Group = tuple[str, Sequence[Column | Average]]
"""What a block of the table shows, by its name."""


@table("method_table", needs=("metrics", "tests"), optional=("average", "blocks", "draws", "metrics"))
def render(artifact: Artifact, results: Results) -> Table:
    """One row a method, one column a panel, a block each for held-out, default and best-on-test settings.

    Of `options`: `metrics`, in place of the artifact's one, are columns side by side; `blocks` (model, length,
    ...) puts panels that differ in it into blocks of their own; `average` (`registry.CHOICES`) adds the mean over
    neighbouring panels that differ in that alone; of `draws` of shots each number is the mean. Bold is the highest
    method of a column; a star says that a method beats the baseline by the paired bootstrap on held-out settings,
    Holm-corrected p <= 0.05.
    """
    selections = [one for one in SELECTIONS if one in artifact.get("selection", SELECTIONS)]
    groups = _groups(artifact, columns_of(artifact, results, selections))
    every = [column for _, columns in groups for column in columns]
    shown = [column for column in every if isinstance(column, Column)]
    groups = _with_missing(artifact, groups, missing_columns(artifact, selections))
    methods = ordered(artifact, {m for column in shown for rows in column.selected.values() for m in rows})
    places = [(_of_selection(group, selection), selection) for group in groups for selection in selections]
    blocks, notes = said_once([_block(artifact, *place, methods) for place in places])
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=blocks[0].columns or (),
        blocks=blocks,
        notes=(*_notes(artifact, shown, blocks), *_cautions(artifact, results, shown), *notes),
        frame=long_frame_of(
            blocks, [(selection, group[1], _there(group, methods)) for group, selection in places]
        ),
        reading=" ".join(reading(artifact, [one for one in shown if one.metric == shown[0].metric])),
    )


def _groups(artifact: Artifact, columns: Sequence[Column]) -> list[Group]:
    key = artifact.get("options", {}).get("blocks", "")
    average = artifact.get("options", {}).get("average", "")
    names = list(dict.fromkeys(_block_name(column, key) for column in columns))
    groups: list[Group] = []
    for name in names:
        own = [column for column in columns if _block_name(column, key) == name]
        groups.append((name, _with_averages(own, average) if average else own))
    return groups


def _with_missing(artifact: Artifact, groups: Sequence[Group], missing: Sequence[Column]) -> list[Group]:
    """The groups, each with the columns of its models that could not be asked behind the others."""
    key = artifact.get("options", {}).get("blocks", "")
    return [(name, [*of, *(one for one in missing if _block_name(one, key) == name)]) for name, of in groups]


def _block_name(column: Column, key: str) -> str:
    value = column.panel.get(key, "") if key else ""
    return f"{value} words" if key == "length" else str(value)


def _with_averages(columns: Sequence[Column], over: str) -> list[Column | Average]:
    """The columns, and behind each group of two or more panels their averages, one a metric."""
    found: list[Column | Average] = []
    for _, members in groupby(columns, key=lambda column: column.group(over)):
        group = list(members)
        found += group
        for metric in dict.fromkeys(column.metric for column in group):
            averaged = tuple(column for column in group if column.metric == metric)
            found += [Average(averaged, over)] if len(averaged) > 1 else []
    return found


def _of_selection(group: Group, selection: str) -> Group:
    """The group without the columns of a metric that no method has in the selection."""
    name, columns = group
    metrics = {column.metric for column in columns if column.selected[selection]}
    return name, [column for column in columns if column.metric in metrics] if metrics else columns


def _there(group: Group, methods: Sequence[str]) -> list[str]:
    """The methods that some column of the group has."""
    found = {method for column in group[1] for rows in column.selected.values() for method in rows}
    return [method for method in methods if method in found]


def _block(artifact: Artifact, group: Group, selection: str, methods: Sequence[str]) -> Block:
    name, columns = group
    rows = [
        Row(
            label=row_label(method),
            cells=tuple(_cell(column, method, selection) for column in columns),
            control=is_control(method),
        )
        for method in _there(group, methods)
    ]
    title = f"{SELECTION_LABELS[selection]} ({SELECTION_NOTES[selection]})"
    return Block(
        f"{name}. {title}" if name else title,
        bold_best(rows),
        columns=headers(columns, artifact.get("options", {}).get("blocks", "")),
    )


def _cell(column: Column | Average, method: str, selection: str) -> Cell:
    if isinstance(column, Average):
        found = column.of(method, selection)
        if found is None:
            return Cell()
        return Cell(*found[0], spread=found[1], signs=signs_of(column.marks(method, selection)))
    rows = column.selected[selection]
    if method not in rows:
        return Cell()
    value, low, high = estimate(rows[method])
    return Cell(
        value=value,
        low=low,
        high=high,
        spread=rows[method].get("sd"),
        star=selection == "held_out" and not is_control(method) and is_starred(column.tests, method),
        signs=signs_of(rows[method]["marks"]),
    )


def _cautions(artifact: Artifact, results: Results, columns: Sequence[Column]) -> list[str]:
    if artifact.get("options", {}).get("unit") != "document":
        return []
    return results.cautions([column.panel for column in columns])


def _notes(artifact: Artifact, columns: Sequence[Column], blocks: Sequence[Block]) -> list[str]:
    rows = [row for column in columns for rows in column.selected.values() for row in rows.values()]
    cells = [cell for block in blocks for row in block.rows for cell in row.cells]
    notes = [*conditions(artifact, rows), INTERVALS]
    if any(cell.bold for cell in cells):
        notes.append("Bold is the highest method of a column; rows without a model are not in contest.")
    if any(cell.star for cell in cells):
        notes.append(
            f"* above {method_label(artifact['baseline'])} by the paired stratified bootstrap on held-out "
            f"settings, Holm-corrected over the column's methods, p ≤ {STAR_LEVEL:g}."
        )
        notes += multiplicity_note(sum(bool(column.tests) for column in columns))
    over = artifact.get("options", {}).get("average", "")
    if draws := artifact.get("options", {}).get("draws"):
        notes.append(
            f"Each number is the mean over {len(draws)} draws of shots with their standard deviation (±); a star holds "
            "in every draw."
        )
    return [*notes, *_selection_notes(columns), *([average_note(over)] if over else [])]


def _few_documents(columns: Sequence[Column]) -> list[str]:
    """Why documents have no held-out value."""
    counts = {
        panel_label(column.panel): int(row["n_members"]) + int(row["n_nonmembers"])
        for column in columns
        if "held_out" in column.selected and not column.selected["held_out"]
        for row in column.selected.get("default", {}).values()
        if row["unit"] == "document"
    }
    few = [f"{panel} ({count})" for panel, count in counts.items() if count < LEAST_DOCUMENTS]
    return (
        [
            f"No held-out value under {LEAST_DOCUMENTS} documents, of which a fold has a handful: {'; '.join(few)}."
        ]
        if few
        else []
    )


def _selection_notes(columns: Sequence[Column]) -> list[str]:
    """What settings that were chosen make of the numbers, and which rest on other texts."""
    notes = []
    selections = {selection for column in columns for selection, rows in column.selected.items() if rows}
    if "held_out" in selections and len(selections) > 1:
        pooled = [name for name in ("default", "best_on_test") if name in selections]
        notes.append(
            f"Held-out values are means over folds; {joined([SELECTION_LABELS[one] for one in pooled])} are of all "
            "texts at once, as papers publish them: even of one and the same setting the two differ."
        )
    notes += _few_documents(columns)
    if len({column.metric for column in columns}) > 1 and selections - {"default"}:
        notes.append(
            "Settings are chosen for each metric by itself: the numbers of a row may be of different settings."
        )
    return [*notes, *other_texts_note((one.panel, rows) for one in columns for rows in one.selected.values())]
