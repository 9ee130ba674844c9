"""Methods against what finds nothing about training: controls, placebos, models that
saw neither class."""

from collections.abc import Iterable

import pandas as pd

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.names import BLIND, join_words, marked_label, method_label
from pretrace.render.phrases import (
    INTERVALS,
    conditions,
    exceeding_placebos,
    format_signed,
    multiplicity_note,
    other_texts_note,
    with_interval,
)
from pretrace.render.results import STAR_LEVEL, Results, beside_controls, records_of
from pretrace.render.tables.table import (
    Cell,
    Table,
    by_method,
    cell_of,
    false_alarms_of,
    rows_of,
    table_of,
    with_false_alarms,
)


def blind_audit(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a panel with placebos, a row a method: its value, the placebos',
    its rank, if it beats words.

    Panels without placebos are columns of one block.
    """
    panels = results.panels(artifact)
    frame = beside_controls(artifact, results)
    frame["null_model"] = frame["model"].isin(artifact.null_models)
    blocks, reading = [], []
    without = frame
    for place, panel in enumerate(panels):
        own = frame[frame["panel"] == place]
        if own["rank"].notna().any():
            rows = (
                (marked_label(row["method"]), _cells(row), row["control"])
                for row in records_of(own)
            )
            blocks += rows_of(panel.name, rows)
            reading.append(_read_controls(panel, own))
            without = without[without["panel"] != place]
    families, others = (
        " ".join(multiplicity_note(len(panels), "panel")),
        other_texts_note(panels, frame),
    )
    notes = [
        conditions(
            artifact,
            records_of(frame),
            " ".join(["Held-out settings.", INTERVALS, *others]),
        ),
        "Placebos: each document of the members in turn plays the non-members, "
        "against the other members; mean ± "
        "standard deviation of the values. z: distance of the benchmark's value "
        "from their mean, in standard "
        "deviations. Rank: its place among them from the top; bold: the first. "
        "If the non-members' document were like "
        "the members', every rank would be equally likely.",
        "Beats words? (*): above the bag of words by the paired bootstrap, "
        "Holm-corrected over the panel's methods, "
        f"p ≤ {STAR_LEVEL:g}. No test: of a control, and where a class has fewer "
        f"than ten documents. "
        f"{families}".rstrip(),
    ]
    if len(without):
        starred = with_false_alarms(artifact, without.assign(bold=False))
        blocks += by_method(
            starred, panels, ["auc"], title="Without placebos" if blocks else ""
        )
        own = starred[~starred["null_model"]]
        beaten = own.loc[own["star"], "panel"].nunique()
        if count := own["panel"].nunique():
            reading.append(
                f"Of {count} panels without placebos, a method beats the bag of "
                f"words on {beaten or 'none'}."
            )
        reading += false_alarms_of(starred)
    return table_of(artifact, blocks, notes, frame, " ".join(reading))


def _cells(record: Record) -> Iterable[tuple[str, Cell]]:
    z, rank, beats = number(record["z"]), number(record["rank"]), record["beats_blind"]
    beating: str = "no test" if pd.isna(beats) else "yes" if beats else "no"
    if beating == "yes" and record["null_model"]:
        beating = "yes: a false alarm"
    first = rank == 1 and not record["control"]
    yield "Benchmark", cell_of({**record, "star": False})
    yield (
        "Placebos",
        cell_of({"value": record["placebo_mean"], "sd": record["placebo_sd"]}),
    )
    yield "z", Cell() if z is None else Cell(words=format_signed(z, 1))
    yield (
        "Rank",
        Cell(words=f"{rank:.0f} of {record['placebos'] + 1:.0f}", bold=first)
        if rank
        else Cell(),
    )
    yield "Beats words?", Cell(words=beating, bold=beating == "yes")


def _read_controls(panel: Panel, frame: pd.DataFrame) -> str:
    """Name the methods that exceed every placebo, and those that beat the bag of
    words."""
    sentences = [exceeding_placebos(panel, frame)]
    tested = frame[~frame["control"] & frame["beats_blind"].notna()]
    for blind in records_of(frame[frame["method"] == BLIND]):
        winners = [
            method_label(method)
            for method in tested.loc[tested["beats_blind"], "method"]
        ]
        nobody = (
            f"none of the {len(tested)} tested"
            if len(tested)
            else "none could be tested"
        )
        verdict = join_words(winners) if winners else nobody
        if winners and blind["null_model"]:
            verdict += " (false alarms: the model read neither class)"
        value = with_interval(estimate(blind))
        sentences.append(
            f"The bag of words reaches {value} there; methods that beat it: {verdict}."
        )
    return " ".join(sentences)
