"""How evenly clean documents choose among the letters, before and after calibration: DE-COP table 12."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from pretrace.questions.answering import LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, RANGE
from pretrace.render.names import CALIBRATION_LABELS, panel_label
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, records_of
from pretrace.render.tables.table import Cell, Table, cell_of, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

CLASSES = {0: "non-members", 1: "members"}


@table("calibration_table", needs=("metrics", "estimates"))
def render(artifact: Artifact, results: Results) -> Table:
    """A row a panel, class and calibration: mean probability of each letter, what is added, share in range."""
    panels = results.panels(artifact)
    found = [_records(artifact, results, panel) for panel in panels]
    cells = [
        one
        for panel, records in zip(panels, found, strict=True)
        for one in rows_of(panel_label(panel), ((_label(row), _cells(row), False) for row in records))
    ]
    notes = [
        f"In range: every letter's mean probability over the document's answers lies within {RANGE[0]:g} and "
        f"{RANGE[1]:g}. Brackets hold 95 % intervals of a share (Wilson). Added: mean over documents; "
        "cross-fitted, each gets what the non-members of other folds say. Longest option and odd one out choose "
        "without probabilities, so that they cannot stand here; their accuracies stand beside DE-COP's.",
        *results.cautions(panels),
    ]
    frame = long_frame([record for records in found for record in records])
    return table_of(artifact, lay_out(cells, "Documents"), notes, frame)


def _records(artifact: Artifact, results: Results, panel: Panel) -> list[dict[str, Any]]:
    table = results.estimates_of(artifact, panel, "in_range", "letter_probability", "letter_added")
    table = table[table["label"].notna() & (table["document"] == "")]
    if not table["label"].eq(0).any():
        raise InputError(f"artifact {artifact['artifact']}, panel {panel_label(panel)}: no clean document")
    records = []
    for kind, name in product(CLASSES, CALIBRATION_LABELS):
        of = table[(table["label"] == kind) & (table["calibration"] == name)]
        if len(of):
            records.append(_record(of, kind, name) | panel_record(panel))
    return records


def _record(of: pd.DataFrame, kind: int, calibration: str) -> dict[str, Any]:
    values = of.set_index(["quantity", "letter"])["value"].to_dict()
    means = {mean: values["letter_probability", letter] for letter, mean in zip(LETTERS, MEANS, strict=True)}
    deltas = {delta: values["letter_added", letter] for letter, delta in zip(LETTERS, DELTAS, strict=True)}
    (share,) = records_of(of[of["quantity"] == "in_range"])
    within = round(share["value"] * share["n"])
    counts = {"documents": share["n"], "in_range": within} | {
        key: share[key] for key in ("value", "low", "high")
    }
    return {"class": CLASSES[kind], "calibration": calibration} | means | deltas | counts


def _label(record: Mapping[str, Any]) -> str:
    return f"{record['class']}, {CALIBRATION_LABELS[record['calibration']]}"


def _cells(record: Mapping[str, Any]) -> Iterable[tuple[tuple[str, str], Cell]]:
    plain = record["calibration"] == "none"
    for letter, mean in zip(LETTERS, MEANS, strict=True):
        yield ("mean probability", letter), Cell(record[mean])
    for letter, delta in zip(LETTERS, DELTAS, strict=True):
        yield ("added", letter), Cell() if plain else Cell(record[delta], signed=True)
    yield ("in range", "documents"), Cell(words=f"{record['in_range']} of {record['documents']}")
    yield ("in range", "share"), cell_of(record)
