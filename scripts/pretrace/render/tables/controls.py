"""Methods against what finds nothing about training: controls, placebos, models that saw neither class."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.evaluation.null import null_counts, null_tests
from pretrace.evaluation.significance import LEVEL
from pretrace.render.names import BLIND, joined, marked_label, method_label
from pretrace.render.phrases import (
    INTERVALS,
    conditions,
    exceeding_placebos,
    multiplicity_note,
    other_texts_note,
    signed,
    with_interval,
)
from pretrace.render.registry import Artifact, Panel
from pretrace.render.results import Results, beside_controls, estimates
from pretrace.render.rows import STAR_LEVEL, in_print, records_of
from pretrace.render.tables.table import Cell, Table, by_method, cell_of, rows_of, table_of


def blind_audit(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a panel with placebos, a row a method: its value, the placebos', its rank, if it beats blind.

    Panels without placebos are columns of one block.
    """
    panels = results.panels(artifact)
    frame = beside_controls(artifact, results)
    blocks, reading = [], []
    without = frame
    for place, panel in enumerate(panels):
        own = frame[frame["panel"] == place]
        if own["rank"].notna().any():
            rows = ((marked_label(row["method"]), _cells(row), row["control"]) for row in records_of(own))
            blocks += rows_of(panel.name, rows)
            reading.append(_reading(panel, own))
            without = without[without["panel"] != place]
    notes = [
        *conditions(artifact, records_of(frame)),
        f"Held-out settings. {INTERVALS}",
        "Placebos: each document of the members in turn plays the non-members, against the other members; mean ± "
        "standard deviation of the values. z: distance of the benchmark's value from their mean, in standard "
        "deviations. Rank: its place among them from the top; bold: the first. If the non-members' document were like "
        "the members', every rank would be equally likely. Only methods that rank first exceed the placebos.",
        "Beats blind (*): above the bag-of-words classifier by the paired bootstrap, Holm-corrected over the panel's "
        f"methods, p ≤ {STAR_LEVEL:g}. No test: of a control, and where a class has fewer than ten documents.",
        *multiplicity_note(len(panels), "panel"),
    ]
    if len(without):
        starred = without.assign(star=without["beats_blind"].fillna(False))
        blocks += by_method(starred, panels, ["auc"], title="Without placebos" if blocks else "")
        count, beaten = starred["panel"].nunique(), starred[starred["star"]]["panel"].nunique()
        reading.append(
            f"Of {count} panels without placebos, a method beats the blind classifier on {beaten}."
        )
    notes += other_texts_note(panels, frame)
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


def _cells(record: Record) -> Iterable[tuple[str, Cell]]:
    z, rank, beats = number(record["z"]), number(record["rank"]), record["beats_blind"]
    first = rank == 1 and not record["control"]
    yield "Benchmark", cell_of({**record, "star": False})
    yield "Placebos", Cell(number(record["placebo_mean"]), sd=number(record["placebo_sd"]))
    yield "z", Cell() if z is None else Cell(words=signed(z, 1))
    yield "Rank", Cell(words=f"{rank:.0f} of {record['placebos'] + 1:.0f}", bold=first) if rank else Cell()
    yield (
        "Beats blind?",
        Cell(words="no test") if pd.isna(beats) else Cell(words="yes" if beats else "no", bold=beats),
    )


def _reading(panel: Panel, frame: pd.DataFrame) -> str:
    """Name the methods that exceed every placebo, and those that beat the blind classifier."""
    sentences = [exceeding_placebos(panel, frame)]
    tested = frame[~frame["control"] & frame["beats_blind"].notna()]
    for blind in records_of(frame[frame["method"] == BLIND]):
        winners = [method_label(method) for method in tested.loc[tested["beats_blind"], "method"]]
        nobody = f"none of the {len(tested)} tested" if len(tested) else "none could be tested"
        verdict = joined(winners) if winners else nobody
        value = with_interval(estimate(blind))
        sentences.append(f"The blind classifier reaches {value} there; methods that beat it: {verdict}.")
    return " ".join(sentences)


BLOCKS = {
    "models": "Methods that see a model",
    "all": "All panels together",
    "controls": "Controls, which see no model",
}


def null_audit(artifact: Artifact, results: Results) -> Table:
    """Lay out a row a panel and one for all: how many 95 % intervals of held-out metrics exclude chance.

    Methods that see a model are counted; controls have their own rows below. Holm's correction is over the whole
    table. The permutation tests are shown for the rows that have one.
    """
    chance, panels = artifact.chance, results.panels(artifact)
    frame = estimates(artifact, results, ["held_out"])
    frame = frame[frame["low"].notna()].sort_values("panel", kind="stable", ignore_index=True)
    tests = [results.tests_against(artifact, panel, "chance", "permutation") for panel in panels]
    pairs = zip(frame["panel"], frame["method"], strict=True)
    exact = [tests[panel].get(method, {"p": np.nan})["p"] for panel, method in pairs]
    frame = null_tests(frame.assign(p_permutation=exact), chance)
    counts = null_counts(frame)
    blocks = []
    for block, title in BLOCKS.items():
        rows = []
        for row in [row for row in counts if row["block"] == block]:
            label = block if row["panel"] is None else panels[row["panel"]].name
            rows.append((label, _null_cells(row), block == "controls"))
        blocks += rows_of(title, rows, "Panel")
    notes = [*conditions(artifact, records_of(frame)), *_null_notes(chance)]
    (together,) = (row for row in counts if row["block"] == "all")
    reading = _null_reading(in_print(frame[~frame["control"]], artifact.names), together)
    return table_of(artifact, blocks, notes, frame, reading)


def _null_cells(row: Record) -> Iterable[tuple[str, Cell]]:
    yield "Methods", Cell(words=f"{row['methods']}")
    yield "Intervals that miss", Cell(words=f"{row['misses']}", bold=row["misses"] > row["allowed"])
    yield "Expected", Cell(words=f"{row['expected']:.1f}")
    yield "Allowed", Cell(words=f"{row['allowed']}")
    yield "p of as many", Cell(words=f"{row['p']:.3f}")
    yield "Least Holm p", Cell(number(row["p_holm"]))
    yield "of permutation", Cell(number(row["p_permutation_holm"]))
    far = row["farthest"]
    yield "Farthest", Cell(words=f"{method_label(far['method'])} {with_interval(estimate(far))}")


def _null_notes(chance: float) -> list[str]:
    return [
        f"Held-out settings. Intervals that miss: 95 % intervals without {chance:g}; bold where chance "
        "allows fewer. Expected: 5 % of the intervals. Allowed: the largest count with a chance of 5 % or more. p of "
        "as many: the chance of this many or more. Both take the methods as independent. On the same texts they are "
        "not, so counts vary more than that.",
        "Least Holm p: of a normal error as wide as each interval, corrected over every method and panel of the table.",
        "Of permutation: the same of an exact test, for which the texts of each document exchange labels at random and "
        "held-out settings are chosen again. A dash: not tested, because the split was not drawn at random within "
        "documents, or because the score is learned from labels.",
    ]


def _null_reading(models: pd.DataFrame, counts: Record) -> str:
    """Say whether more intervals miss chance than chance allows, and what corrected tests find."""
    allowed, misses = counts["allowed"], "misses" if counts["misses"] == 1 else "miss"
    verdict = "no more than" if counts["misses"] <= allowed else f"more than the {allowed} that"
    leaks = _leaks(models, "p_holm")
    corrected = (
        f"there is something to find: {leaks}"
        if leaks
        else f"no method differs from chance (least p {counts['p_holm']:.2f})"
    )
    text = (
        f"{counts['misses']} of {counts['methods']} intervals {misses} {models['chance'].max():g}, {verdict} chance "
        f"allows ({counts['expected']:.1f} are expected). Corrected over the table, {corrected}."
    )
    tested = models["p_permutation_holm"].count()
    if not tested:
        return text
    leaks = _leaks(models, "p_permutation_holm")
    least = counts["p_permutation_holm"]
    verdict = f"find a difference: {leaks}" if leaks else f"find no difference (least Holm p {least:.2f})"
    return f"{text} {tested} exact permutation tests within documents {verdict}."


def _leaks(models: pd.DataFrame, p: str) -> str:
    """Name the methods whose corrected p is significant, at most four; empty if there are none."""
    leaks = models[models[p] <= LEVEL].sort_values(p, kind="stable")
    named = "; ".join(
        f"{method_label(row['method'])} on {row['model']}, {row['benchmark']} ({with_interval(estimate(row))})"
        for row in records_of(leaks.head(4))
    )
    return f"{named}{f' and {len(leaks) - 4} more' if len(leaks) > 4 else ''}"
