"""A corpus test as a page: every score with its effect and p, what is believed, and what follows."""

from collections.abc import Mapping

import pandas as pd

from pretrace.evaluation.corpus_test import DIFFERENCE
from pretrace.evaluation.corpus_units import BLIND, CHARACTERS, ENSEMBLE, REFERENCE
from pretrace.evaluation.evidence import LEVEL
from pretrace.render.names import method_label, panel_label
from pretrace.render.phrases import joined, with_interval
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results
from pretrace.render.rows import Panel, Record, estimate, number, panel_record, records_of
from pretrace.render.tables.table import Cell, Head, Placed, Table, lay_out, rows_of, table_of

HALF = "fitted on one half of the documents, tested on the other"
LABELS = {
    REFERENCE: "Loss of the reference model",
    DIFFERENCE: "Loss of the model less that of the reference model",
    ENSEMBLE: f"Ensemble of methods, {HALF}",
    BLIND: f"Words (control, no model), {HALF}",
    CHARACTERS: "Number of characters (control, no model)",
}
"""Scores in the order of the rows, after the score that is fixed beforehand."""

CONTROLS = (BLIND, CHARACTERS)
BELIEFS = {
    REFERENCE: "the same, and that the reference model read neither",
    DIFFERENCE: "apart from training, what sets them apart moves both models alike",
    **dict.fromkeys(CONTROLS, "nothing: a low p says that they differ in more than training"),
}
BY_DESIGN = "nothing: members were drawn at random within each document"
WITHIN = "the texts of a document could have exchanged their labels, had the model read none of them"
BETWEEN = "documents of the same subsets and lengths could have, had the model read none of them"

NOTES = (
    "Effect: mean score of the suspected less that of the held-out units, in standard deviations of the held-out "
    "ones, with a 95 % interval (bootstrap of documents). A unit is a document; where documents hold texts of both "
    "classes, a text.",
    "p: the share of relabellings with at least that effect, the labels as they are among them; exact where what is "
    "believed holds. The number of characters is tested in both directions. The difference has no p: its interval "
    "counts.",
    f"Smallest effect: this many units find it at p ≤ {LEVEL:g} with a probability of 80 %.",
)


@table("corpus_test", needs=("estimates",), statistic="corpus")
def render(artifact: Artifact, results: Results) -> Table:
    """A block a panel, a row a score, with what is believed beside it."""
    placed: list[Placed] = []
    frames, readings = [], []
    for panel in artifact["panels"]:
        rows = _rows(artifact, results, panel)
        randomised = bool(results.entry(panel).get("randomised"))
        labels = {name: _belief(row, randomised=randomised) for name, row in rows.items()}
        title = f"{panel_label({'length': None, **panel})}: {_documents(rows)}"
        placed += rows_of(title, [
            (LABELS.get(name, f"{method_label(name)}, fixed beforehand"), _cells(row, labels[name]), name in CONTROLS)
            for name, row in rows.items()
        ])  # fmt: skip
        frames.append(pd.DataFrame([row | panel_record(panel) | {"believed": labels[name]}
                                    for name, row in rows.items()]))  # fmt: skip
        readings.append(f"{panel_label({'length': None, **panel})}: {_reading(rows)}")
    frame = pd.concat(frames, ignore_index=True)
    cautions = results.cautions(artifact["panels"])
    return table_of(artifact, lay_out(placed, "Score"), [*NOTES, *cautions], frame, " ".join(readings))


def _rows(artifact: Artifact, results: Results, panel: Panel) -> dict[str, Record]:
    """By score, the fixed one first: documents, suspected, held_out, value, low, high, p, smallest_effect."""
    whole = {"subset": "", "length": None, **panel, "reference": ", ".join(panel.get("references", ()))}
    frame = results.estimates_of(artifact, whole, "corpus_effect", "corpus_p", "corpus_smallest_effect",
                                 "corpus_units")  # fmt: skip
    frame = frame[frame["start_token"] == panel["start_token"]]
    found: dict[str, dict[str, object]] = {}
    for row in records_of(frame):
        of = found.setdefault(
            str(row["method"]), {"method": row["method"], "p": None, "smallest_effect": None}
        )
        if row["quantity"] == "corpus_effect":
            of |= {"documents": row["n"]} | {key: row[key] for key in ("value", "low", "high")}
        elif row["quantity"] == "corpus_units":
            of["suspected" if row["label"] == 1 else "held_out"] = row["n"]
        else:
            of[row["quantity"].removeprefix("corpus_")] = row["value"]
    order = [*(name for name in found if name not in LABELS), *LABELS]
    return {name: found[name] for name in order if name in found}


def _documents(rows: Mapping[str, Record]) -> str:
    first = next(iter(rows.values()))
    suspected, held_out, documents = (first[key] for key in ("suspected", "held_out", "documents"))
    if suspected + held_out == documents:
        return f"{suspected} documents suspected, {held_out} held out"
    return f"{suspected} texts suspected, {held_out} held out, within {documents} documents"


def _belief(row: Record, *, randomised: bool) -> str:
    """What has to hold for a row's p or interval to be about training."""
    if row["method"] in BELIEFS:
        return BELIEFS[row["method"]]
    if row["suspected"] + row["held_out"] == row["documents"]:
        return BETWEEN
    return BY_DESIGN if randomised else WITHIN


def _cells(row: Record, believed: str) -> list[tuple[Head, Cell]]:
    p = number(row["p"])
    return [
        ("suspected", Cell(words=None if "suspected" not in row else str(row["suspected"]))),
        ("held out", Cell(words=None if "held_out" not in row else str(row["held_out"]))),
        ("effect", Cell(*estimate(row), signed=True)),
        ("p", Cell(words=None if p is None else f"{p:.2g}", bold=p is not None and p <= LEVEL)),
        ("smallest effect", Cell(number(row["smallest_effect"]))),
        ("believed", Cell(words=believed)),
    ]


def _reading(rows: Mapping[str, Record]) -> str:
    """What may be concluded from the score that was fixed beforehand, the controls and the reference model."""
    name, fixed = next(iter(rows.items()))
    differing = [LABELS[control].split(" (")[0].lower() for control in CONTROLS
                 if control in rows and rows[control]["p"] <= LEVEL]  # fmt: skip
    found = f"{method_label(name)} has an effect of {with_interval(estimate(fixed))} (p = {fixed['p']:.2g})"
    if fixed["p"] > LEVEL:
        least = number(fixed["smallest_effect"])
        missed = "" if least is None else f", and an effect below {least:.2f} would often be missed"
        return f"{found}. Nothing was found. That does not show that the documents were left out of training{missed}."
    if not differing:
        return (
            f"{found}, and no control tells the two apart: evidence of training, if what is believed holds."
        )
    doubt = f"{found}, but {joined(differing)} tell the two apart without a model"
    if DIFFERENCE in rows and (number(rows[DIFFERENCE]["low"]) or 0) > 0:
        of = with_interval(estimate(rows[DIFFERENCE]))
        return f"{doubt}. The reference model shows less of an effect, by {of}: evidence of training, if what is " \
               "believed of both models holds."  # fmt: skip
    return f"{doubt}: the effect may come from that alone."
