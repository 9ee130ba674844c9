"""What choosing hyperparameters on the evaluated texts adds: best-on-test minus held-out, per method."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.methods import METHODS
from pretrace.questions.known import is_control
from pretrace.render.names import (
    AT_EDGE,
    format_value,
    method_label,
    metric_label,
    ordered,
    panel_label,
    parse_setting,
    row_label,
)
from pretrace.render.phrases import DASHES, INTERVALS, conditions, signed
from pretrace.render.records import estimate, long_frame, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.by_panel import by_panel
from pretrace.render.tables.table import Block, Cell, Row, Table, said_once, signs_of

FEW = 4
"""Of as many panels, each has a block of its own."""

COLUMNS = ("Settings", "Best on test", "Held out", "Gap")


@table("selection_gap", needs=("metrics",))
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: settings in the grid, best on test, held out, and their difference.

    The two numbers rest on the same texts, so the gap has no interval. A method without a hyperparameter has
    one setting: its gap is what averaging over folds alone does. Of more than `FEW` panels, a block has the
    means of each method, another the gaps of each panel.
    """
    panels = results.panels(artifact)
    chosen = [
        {
            selection: results.selected(artifact, panel, selection)
            for selection in ("best_on_test", "held_out")
        }
        for panel in panels
    ]
    frames = [_gaps(artifact, results, panel, of) for panel, of in zip(panels, chosen, strict=True)]
    frame = pd.concat(frames, ignore_index=True)
    rows = [row for of in chosen for by_method in of.values() for row in by_method.values()]
    few = len(panels) <= FEW
    shown = _blocks_of_few(panels, frames) if few else _blocks_of_many(artifact, panels, frames)
    blocks, notes = said_once(shown)
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=tuple((column,) for column in COLUMNS),
        blocks=blocks,
        notes=(*conditions(artifact, rows), *_notes(few), *notes),
        frame=frame,
        reading=_reading(artifact, frame),
    )


def _notes(few: bool) -> list[str]:
    notes = [
        INTERVALS if few else DASHES,
        "Settings: how many the method could choose from. Gap: best on test minus held out, of the same texts and "
        "therefore without an interval. A method with one setting has nothing to choose: its gap is what averaging "
        "over folds does.",
    ]
    over = (
        "A row stands for all panels that have the method: Settings and Largest gap are of the panel where they are "
        "largest, the others means."
    )
    return notes if few else [*notes, over]


def _blocks_of_few(panels: Sequence[Panel], frames: Sequence[pd.DataFrame]) -> tuple[Block, ...]:
    return tuple(
        Block(panel_label(panel), tuple(map(_row, records_of(of))))
        for panel, of in zip(panels, frames, strict=True)
    )


def _blocks_of_many(
    artifact: Artifact, panels: Sequence[Panel], frames: Sequence[pd.DataFrame]
) -> tuple[Block, ...]:
    frame = pd.concat(frames, ignore_index=True)
    frame = frame[frame["gap"].notna()]
    of_methods = [(m, frame[frame["method"] == m]) for m in ordered(artifact, frame["method"])]
    means = [
        Row(
            row_label(method),
            (
                Cell(words=f"{len(of)}"),
                Cell(words=f"{of['settings'].max()}"),
                Cell(float(of["best_value"].mean())),
                Cell(float(of["held_out_value"].mean())),
                Cell(float(of["gap"].mean()), signed=True),
                Cell(float(of["gap"].max()), signed=True),
            ),
            control=is_control(method),
        )
        for method, of in of_methods
    ]
    columns = ("Panels", "Settings", "Best on test", "Held out", "Gap", "Largest gap")
    pairs = list(zip(panels, frames, strict=True))
    return (
        Block("Means over panels", tuple(means), columns=tuple((column,) for column in columns)),
        by_panel(artifact, pairs, "Gap of each panel", _marked_gap_cell),
    )


def _gap_cell(record: Record, *signs: str) -> Cell:
    return Cell() if pd.isna(record["gap"]) else Cell(float(record["gap"]), signed=True, signs=signs)


def _marked_gap_cell(record: Record) -> Cell:
    """The gap, marked where the held-out choice lies at an edge of its grid."""
    return _gap_cell(record, *signs_of(record["held_out_marks"], AT_EDGE))


def _gaps(
    artifact: Artifact, results: Results, panel: Panel, chosen: Mapping[str, Mapping[str, Record]]
) -> pd.DataFrame:
    best, held_out = chosen["best_on_test"], chosen["held_out"]
    settings = _settings(results.rows(artifact, panel))
    records = []
    for method in ordered(artifact, [*best, *held_out]):
        record = panel_record(panel) | {"method": method, "control": is_control(method)}
        record |= {"metric": artifact.get("metric", "auc"), "settings": settings.get(method, 1)}
        record |= _named("best", best, method) | _named("held_out", held_out, method)
        both = method in best and method in held_out
        records.append(record | {"gap": record["best_value"] - record["held_out_value"] if both else None})
    return long_frame(records)


def _settings(rows: pd.DataFrame) -> dict[str, int]:
    """How many settings a method could choose from: those of the run that lie in the method's own grid."""
    grid = rows[rows["selection"] == "grid"]
    return {
        str(method): max(1, sum(_is_choice(str(method), setting) for setting in of["setting"].unique()))
        for method, of in grid.groupby("method")
    }


def _is_choice(method: str, setting: str) -> bool:
    values = METHODS[method].grid if method in METHODS else {}
    parsed = parse_setting(setting)
    return set(parsed) == set(values) and all(
        parsed[name] in map(format_value, values[name]) for name in parsed
    )


def _named(name: str, rows: Mapping[str, Record], method: str) -> dict[str, Any]:
    if method not in rows:
        numbers = dict.fromkeys(("value", "low", "high"))
        return {f"{name}_{key}": value for key, value in ({"setting": "", "marks": ""} | numbers).items()}
    value, low, high = estimate(rows[method])
    about = {"setting": rows[method]["setting"], "marks": rows[method]["marks"]}
    found = about | {"value": value, "low": low, "high": high}
    return {f"{name}_{key}": value for key, value in found.items()}


def _row(record: dict[str, Any]) -> Row:
    def cell(name: str) -> Cell:
        value = record[f"{name}_value"]
        if pd.isna(value):
            return Cell()
        low, high = (
            None if pd.isna(record[f"{name}_{end}"]) else record[f"{name}_{end}"] for end in ("low", "high")
        )
        return Cell(value, low, high, signs=signs_of(record[f"{name}_marks"], AT_EDGE))

    cells = (Cell(words=f"{record['settings']}"), cell("best"), cell("held_out"), _gap_cell(record))
    return Row(row_label(record["method"]), cells, control=record["control"])


def _reading(artifact: Artifact, frame: pd.DataFrame) -> str:
    tuned = frame[(frame["settings"] > 1) & frame["gap"].notna()]
    metric = metric_label(artifact.get("metric", "auc"))
    if tuned.empty:
        return "No method here has a hyperparameter to choose."
    largest = tuned.sort_values("gap", kind="stable").iloc[-1]
    fixed = frame[(frame["settings"] == 1) & frame["gap"].notna()]
    pairs = "pair of method and benchmark" if len(tuned) == 1 else "pairs of method and benchmark"
    sentences = [
        f"Choosing the setting on the evaluated texts changes the {metric} by "
        f"{signed(tuned['gap'].mean(), 3)} on average over {len(tuned)} {pairs}, by "
        f"{signed(largest['gap'], 3)} at most ({method_label(largest['method'])}, {_place(largest)})."
    ]
    if not fixed.empty:
        sentences.append(
            f"For methods with nothing to choose it changes by {signed(fixed['gap'].mean(), 3)}: folds alone."
        )
    sentences += _overturned(frame)
    return " ".join(sentences)


def _place(row: "pd.Series[Any]") -> str:
    length = "" if pd.isna(row["length"]) else f", {row['length']} words"
    return f"{row['model']} on {row['benchmark']}{f' {row.subset}' if row['subset'] else ''}{length}"


def _overturned(frame: pd.DataFrame) -> Sequence[str]:
    """On how many panels the best method changes when settings are chosen on the evaluated texts."""
    methods = frame[~frame["control"] & frame["gap"].notna()]
    places = [
        of for _, of in methods.groupby(["model", "benchmark", "subset", "length"], dropna=False, sort=False)
    ]
    changed = [of for of in places if of["best_value"].idxmax() != of["held_out_value"].idxmax()]
    if not changed:
        return ["The best method is the same either way."]
    return [f"It changes which method is best in {len(changed)} of {len(places)}."]
