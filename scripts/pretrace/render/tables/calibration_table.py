"""How evenly clean documents choose among the letters, before and after calibration: DE-COP table 12."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pretrace.questions.answering import LETTERS
from pretrace.questions.calibration import DELTAS, MEANS, RANGE, well_calibrated
from pretrace.render.names import CALIBRATION_LABELS, panel_label
from pretrace.render.phrases import Estimate
from pretrace.render.records import long_frame, panel_record
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel
from pretrace.render.tables.table import Cell, Table, cell_of, lay_out, rows_of, table_of
from pretrace.runtime.errors import InputError

CLASSES = {0: "non-members", 1: "members"}


@table("calibration_table", needs=("metrics", "calibration"))
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
    table = results.calibrations(artifact, panel)
    table = table[table["label"].notna()]
    if not table["label"].eq(0).any():
        raise InputError(f"artifact {artifact['artifact']}, panel {panel_label(panel)}: no clean document")
    records = []
    for kind in CLASSES:
        for name in CALIBRATION_LABELS:
            of = table[(table["label"] == kind) & (table["calibration"] == name)]
            if len(of):
                records.append(_record(of, kind, name) | panel_record(panel))
    return records


def _record(of: pd.DataFrame, kind: int, calibration: str) -> dict[str, Any]:
    within = int(well_calibrated(of).sum())
    value, low, high = wilson(within, len(of))
    after = of[MEANS].to_numpy(np.float64) + of[DELTAS].to_numpy(np.float64)
    means = dict(zip(MEANS, after.mean(axis=0), strict=True))
    deltas = {name: float(of[name].mean()) for name in DELTAS}
    counts = {"documents": len(of), "in_range": within, "value": value, "low": low, "high": high}
    return {"class": CLASSES[kind], "calibration": calibration} | means | deltas | counts


def wilson(successes: int, trials: int) -> Estimate:
    """A share with Wilson's 95 % interval. E. B. Wilson, J. American Statistical Association, 1927."""
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    return successes / trials, float(interval.low), float(interval.high)


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
