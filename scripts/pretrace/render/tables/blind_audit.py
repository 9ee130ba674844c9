"""Every method against what needs no model and against documents that were not kept from the model."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pretrace.render.names import AT_EDGE, BLIND, method_label, ordered, panel_label, row_label
from pretrace.render.phrases import INTERVALS, conditions, joined, signed, with_interval
from pretrace.render.records import (
    STAR_LEVEL,
    estimate,
    is_starred,
    long_frame,
    multiplicity_note,
    number,
    number_record,
    other_texts_note,
)
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.selecting import Panel, Record, records_of
from pretrace.render.tables.estimates import keys_of
from pretrace.render.tables.table import Cell, Table, by_panel, cell_of, lay_out, rows_of, table_of

FEW = 4
"""Up to so many panels have a block each."""


@table("blind_audit", needs=("metrics", "tests", "placebos"))
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a method: its value, that of the placebos, its rank among them, whether it beats blind.

    The placebos are those of `evaluation.placebos`. Of more than `FEW` panels, those without placebos are rows of
    one block.
    """
    panels = results.panels(artifact)
    frame = long_frame(
        [row for at, panel in enumerate(panels) for row in _audit(artifact, results, panel, at)]
    )
    by_number = {at: frame[frame["panel"] == at] for at in range(len(panels))}
    apart = [at for at, own in by_number.items() if own["rank"].notna().any() or len(panels) <= FEW]
    together = frame[~frame["panel"].isin(apart)]
    cells = [
        one
        for at in apart
        for one in rows_of(
            panel_label(panels[at]),
            ((row_label(row["method"]), _cells(row), row["control"]) for row in records_of(by_number[at])),
        )
    ]
    blocks = lay_out(cells)
    reading = [_reading(panels[at], by_number[at]) for at in apart]
    if len(together):
        title = "Without placebos" if apart else ""
        blocks += lay_out(by_panel(artifact, panels, records_of(together), title, _value), "Panel")
        reading.append(_reading_of_many([own for at, own in by_number.items() if at not in apart]))
    notes = _notes(artifact, panels, frame, many=len(together) > 0)
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


def _audit(artifact: Artifact, results: Results, panel: Panel, at: int) -> Iterable[dict[str, Any]]:
    """A row a method: its value beside the placebos' and its test against blind; `beats_blind` is empty without one."""
    found = results.selected(artifact, panel, "held_out")
    tests = results.bootstrap_tests(artifact, panel, BLIND)
    for method in ordered(artifact, found):
        row, test = found[method], tests.get(method)
        verdict = ("yes" if is_starred(tests, method) else "no") if test else ""
        yield (
            keys_of(at, panel, row)
            | {"metric": artifact.get("metric", "auc"), "selection": "held_out"} | number_record(row)
            | results.among_placebos(panel, row)
            | {"difference_to_blind": test["difference"] if test else None}
            | {key: test[key] if test else None for key in ("p", "p_holm")} | {"beats_blind": verdict}
        )  # fmt: skip


def _value(record: Record) -> Cell:
    return cell_of({**record, "star": record["beats_blind"] == "yes"}, AT_EDGE)


def _cells(record: Record) -> Iterable[tuple[str, Cell]]:
    z, rank, beats = number(record["z"]), number(record["rank"]), record["beats_blind"]
    first = rank == 1 and not record["control"]
    yield "Benchmark", cell_of(record, AT_EDGE)
    yield "Placebos", Cell(number(record["placebo_mean"]), sd=number(record["placebo_sd"]))
    yield "z", Cell() if z is None else Cell(words=signed(z, 1))
    yield "Rank", Cell(words=f"{rank:.0f} of {record['placebos'] + 1:.0f}", bold=first) if rank else Cell()
    yield "Beats blind?", Cell(words=beats, bold=beats == "yes") if beats else Cell()


def _notes(artifact: Artifact, panels: Sequence[Panel], frame: pd.DataFrame, *, many: bool) -> list[str]:
    notes = [
        *conditions(artifact, records_of(frame)),
        f"Held-out settings. {INTERVALS}",
        "Placebos: each document of the members in turn plays the non-members, against the other members; mean ± "
        "standard deviation of the values. z: distance of the benchmark's value from their mean, in standard "
        "deviations. Rank: its place among them from the top; bold: the first. If the non-members' document were like "
        "the members', every rank would be equally likely. Only methods that rank first exceed the placebos.",
        f"Beats blind: above the bag-of-words classifier by the paired bootstrap, Holm-corrected p ≤ "
        f"{STAR_LEVEL:g}; a dash where no such test was made.",
        *multiplicity_note(len(panels), "panel"),
    ]
    if many:
        notes.append("* beats blind, in the same sense.")
    return [*notes, *other_texts_note(panels, frame)]


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
    start = f"The blind classifier reaches {with_interval(estimate(records_of(blind)[0]))} {where}"
    tested = methods[methods["beats_blind"] != ""]
    if tested.empty:
        return [f"{start}; no method was tested against it."]
    winners = [method_label(method) for method in tested.loc[tested["beats_blind"] == "yes", "method"]]
    if winners:
        return [f"{start}, and {joined(winners)} {'beat' if len(winners) > 1 else 'beats'} it."]
    none = "the method does not beat" if len(tested) == 1 else f"none of the {len(tested)} methods beats"
    return [f"{start}; {none} it."]
