"""Every method against what needs no model and against documents that were not kept from the model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pretrace.questions.known import is_control
from pretrace.render.names import AT_EDGE, BLIND, method_label, ordered, panel_label, row_label
from pretrace.render.phrases import INTERVALS, Estimate, conditions, joined, signed, with_interval
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    is_starred,
    long_frame,
    multiplicity_note,
    number,
    other_texts_note,
    panel_record,
)
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.by_panel import by_panel
from pretrace.render.tables.table import Block, Cell, Row, Table, said_once, signs_of

COLUMNS = (("Benchmark",), ("Placebos",), ("z",), ("Rank",), ("Beats blind?",))
FEW = 4
"""Up to so many panels have a block each."""


@table("blind_audit", needs=("metrics", "tests", "placebos"))
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: its value, that of the placebos, its rank among them, whether it beats blind.

    The placebos are those of `evaluation.placebos`. Of more than `FEW` panels, those without placebos are rows of
    one block.
    """
    panels = results.panels(artifact)
    frames = [_audit(artifact, results, panel) for panel in panels]
    audits = list(zip(panels, frames, strict=True))
    apart = [(panel, of) for panel, of in audits if _has_placebos(of) or len(panels) <= FEW]
    together = [(panel, of) for panel, of in audits if not _has_placebos(of) and len(panels) > FEW]
    found = [(panel, results.selected(artifact, panel, "held_out")) for panel in panels]
    blocks = [Block(panel_label(panel), tuple(map(_row, records_of(of)))) for panel, of in apart]
    readings = [_reading(panel, of) for panel, of in apart]
    if together:
        title = "Without placebos" if apart else ""
        blocks.append(by_panel(artifact, together, title, _value_cell))
        readings.append(_reading_of_many([of for _, of in together]))
    said, notes = said_once(blocks)
    return Table(
        caption=artifact["title"],
        label=artifact["artifact"],
        stub="Method",
        columns=COLUMNS,
        blocks=said,
        notes=(*_notes(artifact, found, many=bool(together)), *notes),
        frame=pd.concat(frames, ignore_index=True),
        reading=" ".join(readings),
    )


def _has_placebos(frame: pd.DataFrame) -> bool:
    return bool(frame["rank"].notna().any())


def _value_cell(record: Record) -> Cell:
    value, low, high = (number(record[name]) for name in ("value", "low", "high"))
    return Cell(
        value, low, high, star=record["beats_blind"] == "yes", signs=signs_of(record["marks"], AT_EDGE)
    )


def _audit(artifact: Artifact, results: Results, panel: Panel) -> pd.DataFrame:
    found = results.selected(artifact, panel, "held_out")
    tests = results.bootstrap_tests(artifact, panel, BLIND)
    records = []
    for method in ordered(artifact, found):
        value, low, high = estimate(found[method])
        records.append(
            panel_record(panel)
            | {"method": method, "control": is_control(method)}
            | {"metric": artifact.get("metric", "auc"), "selection": "held_out"}
            | {"value": value, "low": low, "high": high, "marks": found[method]["marks"]}
            | results.among_placebos(panel, found[method])
            | _against_blind(tests, method)
        )
    return long_frame(records)


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


def _row(record: Record) -> Row:
    first = record["rank"] == 1 and not record["control"]
    rank = f"{record['rank']:.0f} of {record['placebos'] + 1:.0f}" if number(record["rank"]) else None
    beats = record["beats_blind"]
    value, low, high = (number(record[name]) for name in ("value", "low", "high"))
    return Row(
        row_label(record["method"]),
        (
            Cell(value, low, high, signs=signs_of(record["marks"], AT_EDGE)),
            Cell(number(record["placebo_mean"]), spread=number(record["placebo_sd"])),
            Cell(words=signed(record["z"], 1)) if number(record["z"]) is not None else Cell(),
            Cell(words=rank, bold=first) if rank else Cell(),
            Cell(words=beats, bold=beats == "yes") if beats else Cell(),
        ),
        control=record["control"],
    )


def _notes(
    artifact: Artifact, found: Sequence[tuple[Panel, Mapping[str, Record]]], *, many: bool
) -> list[str]:
    rows = [row for _, of in found for row in of.values()]
    notes = [
        *conditions(artifact, rows),
        f"Held-out settings. {INTERVALS}",
        "Placebos: each document of the members in turn plays the non-members, against the other members; mean ± "
        "standard deviation of the values. z: distance of the benchmark's value from their mean, in standard "
        "deviations. Rank: its place among them from the top; bold: the first. If the non-members' document were like "
        "the members', every rank would be equally likely. Only methods that rank first exceed the placebos.",
        f"Beats blind: above the bag-of-words classifier by the paired bootstrap, Holm-corrected p ≤ "
        f"{STAR_LEVEL:g}; a dash where no such test was made.",
        *multiplicity_note(len(found), "panel"),
    ]
    if many:
        notes.append("* beats blind, in the same sense.")
    return [*notes, *other_texts_note(found)]


def _reading(panel: Panel, frame: pd.DataFrame) -> str:
    """Which methods rank first among the placebos, and which beat the blind classifier."""
    methods = frame[~frame["control"]]
    ranked = methods[methods["rank"].notna()]
    sentences = []
    if not ranked.empty:
        first = [method_label(method) for method in ranked.loc[ranked["rank"] == 1, "method"]]
        documents = f"the {ranked['placebos'].max():.0f} placebos"
        who = f"{joined(first)} {'exceed' if len(first) > 1 else 'exceeds'}" if first else "no method exceeds"
        sentences.append(f"On {panel_label(panel)}, {who} all of {documents}.")
    sentences += _blind_sentence(panel, frame, methods, bool(sentences))
    return (
        " ".join(sentences) or f"On {panel_label(panel)} there are neither placebos nor a blind classifier."
    )


def _reading_of_many(frames: Sequence[pd.DataFrame]) -> str:
    """On how many panels a method beats the blind classifier, and which methods do most often."""
    winners = [list(of.loc[of["beats_blind"] == "yes", "method"]) for of in frames]
    beaten = sum(map(bool, winners))
    text = f"Of {len(frames)} panels without placebos, a method beats the blind classifier on {beaten}"
    counts = Counter(method_label(method) for methods in winners for method in methods).most_common(3)
    if counts:
        text += f", most often {joined([f'{method} ({count})' for method, count in counts])}"
    return f"{text}."


def _blind_sentence(panel: Panel, frame: pd.DataFrame, methods: pd.DataFrame, placed: bool) -> Sequence[str]:
    blind = frame[frame["method"] == BLIND]
    if blind.empty:
        return []
    where = "there" if placed else f"on {panel_label(panel)}"
    start = f"The blind classifier reaches {with_interval(_estimate(blind.iloc[0]))} {where}"
    tested = methods[methods["beats_blind"] != ""]
    if tested.empty:
        return [f"{start}; no method was tested against it."]
    winners = [method_label(method) for method in tested.loc[tested["beats_blind"] == "yes", "method"]]
    if winners:
        return [f"{start}, and {joined(winners)} {'beat' if len(winners) > 1 else 'beats'} it."]
    none = "the method does not beat" if len(tested) == 1 else f"none of the {len(tested)} methods beats"
    return [f"{start}; {none} it."]


def _estimate(row: "pd.Series[Any]") -> Estimate:
    return float(row["value"]), number(row["low"]), number(row["high"])
