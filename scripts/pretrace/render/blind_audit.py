"""Every method against what needs no model and against what has nothing to find."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.by_panel import by_panel
from pretrace.render.names import method_label, ordered, panel_label, row_label
from pretrace.render.phrases import (
    INTERVALS,
    Estimate,
    conditions,
    difference,
    joined,
    signed_interval,
    with_interval,
)
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    is_starred,
    long_frame,
    number,
    other_texts_note,
    panel_record,
)
from pretrace.render.registry import Artifact
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.table import Block, Cell, Row, Table

COLUMNS = (("Benchmark",), ("Placebo",), ("Excess",), ("Beats blind?",))
BLIND = "blind"
FEW = 4
"""Of as many panels, each has a block of its own."""


def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: value, that on the placebo, the excess, whether it beats blind.

    The placebo of a panel is the one among the panels of the same model, length and source; the excess has an
    interval combined from the two as if they were independent (`phrases.difference`). Of more than `FEW`
    panels, those without a placebo are rows of one block.
    """
    everything = results.panels(artifact)
    panels = [panel for panel in everything if not results.is_placebo(panel)] or everything
    placebos = [results.placebo_of(panel, everything) for panel in panels]
    frames = [_audit(artifact, results, *both) for both in zip(panels, placebos, strict=True)]
    audits = list(zip(panels, frames, placebos, strict=True))
    apart = [(panel, of) for panel, of, placebo in audits if placebo or len(panels) <= FEW]
    together = [(panel, of) for panel, of, placebo in audits if not placebo and len(panels) > FEW]
    found = [(panel, results.selected(artifact, panel, "held_out")) for panel in panels]
    blocks = [Block(panel_label(panel), tuple(map(_row, records_of(of)))) for panel, of in apart]
    readings = [_reading(panel, of) for panel, of in apart]
    if together:
        title = "Without a placebo" if apart else ""
        blocks.append(by_panel(artifact, together, title, _value_cell))
        readings.append(_reading_of_many([of for _, of in together]))
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=COLUMNS,
        blocks=tuple(blocks),
        notes=tuple(_notes(artifact, found, many=bool(together))),
        frame=pd.concat(frames, ignore_index=True),
        reading=" ".join(readings),
    )


def _value_cell(record: Record) -> Cell:
    value, low, high = (number(record[name]) for name in ("value", "low", "high"))
    return Cell(value, low, high, star=record["beats_blind"] == "yes")


def _audit(artifact: Artifact, results: Results, panel: Panel, placebo: Panel | None) -> pd.DataFrame:
    found = results.selected(artifact, panel, "held_out")
    on_placebo = results.selected(artifact, placebo, "held_out") if placebo else {}
    tests = results.bootstrap_tests(artifact, panel, BLIND)
    records = []
    for method in ordered(artifact, found):
        value = estimate(found[method])
        other = estimate(on_placebo[method]) if method in on_placebo else None
        records.append(
            panel_record(panel)
            | {
                "placebo": placebo["benchmark"] if placebo else "",
                "method": method,
                "control": is_control(method),
            }
            | {"metric": artifact.get("metric", "auc"), "selection": "held_out"}
            | _named("", value)
            | _named("placebo_", other)
            | _named("excess_", difference(value, other) if other else None)
            | _against_blind(tests, method)
        )
    return long_frame(records)


def _named(prefix: str, value: Estimate | None) -> dict[str, Any]:
    return dict(
        zip((f"{prefix}value", f"{prefix}low", f"{prefix}high"), value or (None, None, None), strict=True)
    )


def _against_blind(tests: Mapping[str, Record], method: str) -> dict[str, Any]:
    """`beats_blind`: yes or no, empty where no test was made."""
    if method not in tests:
        return {"difference_to_blind": None, "p": None, "p_holm": None, "beats_blind": ""}
    test = tests[method]
    return {
        "difference_to_blind": test["difference"],
        "p": test["p"],
        "p_holm": test["p_holm"],
        "beats_blind": "yes" if is_starred(tests, method) else "no",
    }


def _cell(record: dict[str, Any], prefix: str, **other: Any) -> Cell:
    value, low, high = (number(record[f"{prefix}{part}"]) for part in ("value", "low", "high"))
    return Cell(value, low, high, **other)


def _row(record: dict[str, Any]) -> Row:
    clear = record["excess_low"] is not None and record["excess_low"] > 0
    beats = (
        Cell(words=record["beats_blind"], bold=record["beats_blind"] == "yes")
        if record["beats_blind"]
        else Cell()
    )
    excess = _cell(record, "excess_", signed=True, bold=bool(clear) and not record["control"])
    return Row(
        row_label(record["method"]),
        (_cell(record, ""), _cell(record, "placebo_"), excess, beats),
        control=record["control"],
    )


def _notes(
    artifact: Artifact, found: Sequence[tuple[Panel, Mapping[str, Record]]], *, many: bool
) -> list[str]:
    rows = [row for _, of in found for row in of.values()]
    notes = [
        *conditions(artifact, rows),
        f"Held-out settings. {INTERVALS}",
        "Excess: benchmark minus placebo, whose classes the model knows alike; its interval combines the two "
        "as if they were independent (method of variance estimates recovery, Zou and Donner 2008). "
        "Bold: it is above 0.",
        f"Beats blind: above the bag-of-words classifier by the paired bootstrap, Holm-corrected p ≤ "
        f"{STAR_LEVEL:g}; a dash where no such test was made.",
    ]
    if many:
        notes.append("* beats blind, in the same sense.")
    return [*notes, *other_texts_note(found)]


def _reading(panel: Panel, frame: pd.DataFrame) -> str:
    """Which methods exceed the placebo, and which beat the blind classifier."""
    methods = frame[~frame["control"]]
    sentences = []
    paired = methods[methods["excess_value"].notna()]
    if not paired.empty:
        above = paired[(paired["excess_low"] > 0).fillna(False)]
        best = paired.sort_values("excess_value", kind="stable").iloc[-1]
        excess = signed_interval(_estimate(best, "excess_"))
        largest = f"the largest excess is that of {method_label(best['method'])}, {excess}"
        who = joined([method_label(method) for method in above["method"]]) if len(above) else "no method"
        verb = "exceed" if len(above) > 1 else "exceeds"
        sentences.append(f"On {panel_label(panel)}, {who} clearly {verb} the placebo ({largest}).")
    sentences += _blind_sentence(panel, frame, methods, bool(sentences))
    return (
        " ".join(sentences) or f"On {panel_label(panel)} there is neither a placebo nor a blind classifier."
    )


def _reading_of_many(frames: Sequence[pd.DataFrame]) -> str:
    """On how many panels a method beats the blind classifier, and which methods do most often."""
    winners = [list(of.loc[of["beats_blind"] == "yes", "method"]) for of in frames]
    beaten = sum(map(bool, winners))
    text = f"Of {len(frames)} panels without a placebo, a method beats the blind classifier on {beaten}"
    counts = Counter(method_label(method) for methods in winners for method in methods).most_common(3)
    if counts:
        text += f", most often {joined([f'{method} ({count})' for method, count in counts])}"
    return f"{text}."


def _blind_sentence(panel: Panel, frame: pd.DataFrame, methods: pd.DataFrame, placed: bool) -> Sequence[str]:
    blind = frame[frame["method"] == BLIND]
    if blind.empty:
        return []
    where = "there" if placed else f"on {panel_label(panel)}"
    start = f"The blind classifier reaches {with_interval(_estimate(blind.iloc[0], ''))} {where}"
    tested = methods[methods["beats_blind"] != ""]
    if tested.empty:
        return [f"{start}; no method was tested against it."]
    winners = [method_label(method) for method in tested.loc[tested["beats_blind"] == "yes", "method"]]
    if winners:
        return [f"{start}, and {joined(winners)} {'beat' if len(winners) > 1 else 'beats'} it."]
    none = "the method does not beat" if len(tested) == 1 else f"none of the {len(tested)} methods beats"
    return [f"{start}; {none} it."]


def _estimate(row: "pd.Series[Any]", prefix: str) -> Estimate:
    return float(row[f"{prefix}value"]), number(row[f"{prefix}low"]), number(row[f"{prefix}high"])
