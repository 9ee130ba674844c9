"""A corpus test as a page: every score with its effect and p, what it assumes, and what follows."""

from collections.abc import Mapping

from pretrace.evaluation.averages import Record, estimate, number
from pretrace.evaluation.corpus_test import DIFFERENCE
from pretrace.evaluation.corpus_units import BLIND, CHARACTERS, ENSEMBLE, REFERENCE
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.significance import LEVEL
from pretrace.evaluation.tokens import CODEC
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.names import joined, method_label
from pretrace.render.phrases import with_interval
from pretrace.render.results import Results, long_frame, records_of
from pretrace.render.tables.table import Block, Cell, Head, Table, p_cell, rows_of, table_of

NOT_TESTED = (
    "there is no corpus test of its subset and length; the log of compute_statistic says why. Texts of both classes "
    "must have the same subsets and lengths, and documents with texts of both classes must be of one length"
)
GROUPS = {1: "suspected", 0: "held_out"}

HALF = "fitted on the other half of the documents"
LABELS = {
    REFERENCE: "Loss of the reference model",
    DIFFERENCE: "Loss of the model less that of the reference model",
    ENSEMBLE: f"Ensemble of methods, {HALF}",
    BLIND: f"Words (no model), {HALF}",
    CHARACTERS: "Number of characters (no model)",
    CODEC: "CoDeC: share of texts that context of their own class makes less likely",
}
"""Scores in the order of the rows, after the score that is fixed beforehand."""

CONTROLS = (BLIND, CHARACTERS)
ASSUMPTIONS = {
    REFERENCE: "the same, and that the reference model read neither",
    DIFFERENCE: "apart from training, what sets the two apart moves both models alike",
    **dict.fromkeys(CONTROLS, "nothing: a low p says that the two differ in more than training"),
    CODEC: "not a test: context should help less where the model knows the texts",
}
BY_DESIGN = "nothing: members were drawn at random within each document"
WITHIN = "had the model read none, the texts of a document would score alike"
BETWEEN = "had the model read none, documents of one subset and length would score alike"
UNEQUAL = "had the model read none, texts would score alike, and as much alike within every document"

NOTES = (
    "Effect: mean score of the suspected less that of the held-out units, in standard deviations of the held-out "
    "ones, with a 95 % interval (bootstrap of documents). A unit is a document; where documents hold texts of both "
    "classes, a text.",
    "p: the share of relabellings with at least that effect, the labels as they are among them; exact if the "
    "assumption holds. The number of characters is tested in both directions. The difference has no p: its interval "
    "counts.",
    f"Smallest effect: this many units find it at p ≤ {LEVEL:g} with a probability of 80 %.",
)
STUDENT = (
    "Documents have different numbers of texts, and the mean of many texts varies less than that of few. There p is "
    "Student's, with the variance that a document with this number of texts has if its texts are as much alike as the "
    f"scores leave likely; the greatest such p counts. It needs {LEAST_DOCUMENTS} documents of each class."
)
SIZE = (
    f"Size: how often p ≤ {LEVEL:g} where the labels are redrawn at random within strata, so that there is nothing to "
    f"find (Wilson's 95 % interval). An exact test has at most {LEVEL:g}."
)
SIZE_OF_STUDENT = (
    "Where documents have different numbers of texts, scores are redrawn: each document has the deviation of one drawn "
    "at random, scaled to its own number of texts."
)


def corpus_test(artifact: Artifact, results: Results) -> Table:
    """Lay out a block a panel, a row a score, with what its test takes for granted."""
    blocks: list[Block] = []
    records: list[Record] = []
    readings = []
    for panel in artifact.panels:
        rows = _rows(artifact, results, panel)
        randomised = bool(results.entries[panel.benchmark].get("randomised"))
        assumption = {score: _assumption(row, randomised=randomised) for score, row in rows.items()}
        name = panel.name
        shown = []
        for score, row in rows.items():
            label = LABELS.get(score, f"{method_label(score)}, fixed beforehand")
            shown.append((label, _cells(row, assumption[score], bool(panel.size)), score in CONTROLS))
        blocks += rows_of(f"{name}: {_documents(rows)}", shown, "Score")
        records += [panel.record | row | {"assumption": assumption[score]} for score, row in rows.items()]
        readings.append(f"{name}: {_reading(rows, next(iter(assumption.values())))}")
    unequal = any(record.get("unequal") for record in records)
    student = [STUDENT] if unequal else []
    redrawn = any(panel.size for panel in artifact.panels)
    sized = [SIZE, *[SIZE_OF_STUDENT] * unequal] if redrawn else []
    notes = [*NOTES, *student, *sized, *results.cautions(artifact.panels)]
    return table_of(artifact, blocks, notes, long_frame(records), " ".join(readings))


def _rows(artifact: Artifact, results: Results, panel: Panel) -> dict[str, Record]:
    """Return by score, the fixed one first: documents, suspected, held_out, value, low, high, p, smallest_effect, size.

    Further `size_low`, `size_high`, unequal (1: documents have different numbers of texts) and needed (documents of
    each class, if there are fewer and so no p); of CoDeC the texts of each class, the share of each and the shots.
    """
    scores: dict[str, Record] = {}
    for row in records_of(results.tests_of(artifact, panel, "corpus", hint=NOT_TESTED)):
        missing = {"method": row["method"], "p": None, "smallest_effect": None}
        score = scores.setdefault(str(row["method"]), missing)
        if row["quantity"] == "effect":
            score |= {"documents": row["n"]} | {key: row[key] for key in ("value", "low", "high")}
        elif row["quantity"] == "units":
            score[GROUPS[row["label"]]] = row["n"]
        else:
            score[row["quantity"]] = row["value"]
    if panel.size:
        for row in records_of(results.tests_of(artifact, panel, "corpus_size")):
            scores[row["method"]] |= {"size": row["value"], "size_low": row["low"], "size_high": row["high"]}
    has_shots = results.has("codec", panel.pair)
    for row in records_of(results.tests_of(artifact, panel, "codec")) if has_shots else []:
        score = scores.setdefault(CODEC, {"method": CODEC, "p": None, "smallest_effect": None})
        group = GROUPS[row["label"]]
        score |= {group: row["n"], f"{group}_share": row["value"], "shots": row["shots"]}
    order = [*(name for name in scores if name not in LABELS), *LABELS]
    return {name: scores[name] for name in order if name in scores}


def _documents(rows: Mapping[str, Record]) -> str:
    first = next(iter(rows.values()))
    suspected, held_out, documents = (first[key] for key in ("suspected", "held_out", "documents"))
    if suspected + held_out == documents:
        return f"{suspected} documents suspected, {held_out} held out"
    return f"{suspected} texts suspected, {held_out} held out, within {documents} documents"


def _assumption(row: Record, *, randomised: bool) -> str:
    """Say what has to hold for a row's p or interval to be about training."""
    if row["method"] in ASSUMPTIONS:
        return ASSUMPTIONS[row["method"]]
    if row["suspected"] + row["held_out"] == row["documents"]:
        return UNEQUAL if row["unequal"] else BETWEEN
    return BY_DESIGN if randomised else WITHIN


def _cells(row: Record, assumption: str, sized: bool) -> list[tuple[Head, Cell]]:
    p = number(row["p"])
    cells: list[tuple[Head, Cell]] = [
        ("suspected", Cell(words=_group(row, "suspected"))),
        ("held out", Cell(words=_group(row, "held_out"))),
        ("effect", Cell(*estimate(row), signed=True) if "value" in row else Cell()),
        ("p", p_cell(p, bold=p is not None and p <= LEVEL)),
        ("smallest effect", Cell(number(row["smallest_effect"]))),
        ("assumption", Cell(words=assumption)),
    ]
    if sized:
        size, low, high = (number(row.get(key)) for key in ("size", "size_low", "size_high"))
        cells.insert(-1, ("size", Cell(size, low, high)))
    return cells


def _group(row: Record, group: str) -> str | None:
    """Return the units of a class; of CoDeC the share of the class's texts."""
    if group not in row:
        return None
    share = row.get(f"{group}_share")
    return str(row[group]) if share is None else f"{100 * share:.0f} % of {row[group]}"


def _reading(rows: Mapping[str, Record], assumption: str) -> str:
    """Say what follows from the score that was fixed beforehand, the controls and the reference model."""
    name, fixed = next(iter(rows.items()))
    if needed := number(fixed.get("needed")):
        return (
            f"{method_label(name)} has an effect of {with_interval(estimate(fixed))}, and there is no p. "
            f"Documents have different numbers of texts; then at least {needed:.0f} documents of each class, of the "
            f"same subset and length, are needed, and there are {fixed['suspected']} and {fixed['held_out']}. "
            "Add documents, or give all documents as many texts."
        )
    differing = [
        label.split(" (")[0].lower()
        for control, label in LABELS.items()
        if control in CONTROLS and control in rows and (number(rows[control]["p"]) or 1.0) <= LEVEL
    ]
    effect = f"{method_label(name)} has an effect of {with_interval(estimate(fixed))} (p = {fixed['p']:.2g})"
    if fixed["p"] > LEVEL:
        least = number(fixed["smallest_effect"])
        missed = "" if least is None else f", and an effect below {least:.2f} would often be missed"
        return f"{effect}. Nothing was found. That does not show that the documents were left out of training{missed}."
    if assumption == BY_DESIGN:
        return f"{effect}: evidence of training. The split was drawn at random, so p allows for every other difference."
    if not differing:
        return f"{effect}, and the controls find no other difference: evidence of training, if the assumption holds."
    doubt = f"{effect}, but the two differ in {joined(differing)} as well"
    if DIFFERENCE in rows and (number(rows[DIFFERENCE]["low"]) or 0) > 0:
        more = with_interval(estimate(rows[DIFFERENCE]))
        return (
            f"{doubt}. The effect on the reference model is smaller by {more}: evidence of training, if the assumption "
            "about both models holds."
        )
    return f"{doubt}: the effect may come from that alone."
