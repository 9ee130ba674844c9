"""An audit as a page for readers without statistics: texts, documents, controls, and conclusions."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from pretrace.evaluation.audit import COMBINED, low_shares
from pretrace.evaluation.audit_scores import is_control
from pretrace.evaluation.averages import Record, estimate, grouped, number
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.shift import SIZES, WORDS
from pretrace.evaluation.weights import WEIGHTED
from pretrace.render.names import in_order, marked_label, method_label
from pretrace.render.phrases import joined, with_interval
from pretrace.render.registry import Artifact, table
from pretrace.render.results import Results, pair_of
from pretrace.render.rows import Panel, records_of
from pretrace.render.tables.table import Block, Cell, Head, Table, p_cell, rows_of, table_of

MOST_ROWS = 50
"""Of texts and of documents, the strongest are printed; the CSV has all."""

TOGETHER = (COMBINED, WEIGHTED)
UNIT_TITLES = {"document": "Documents", "text": "Texts"}
CONTROL_LABELS = {
    WORDS: "Words: can a bag of words tell the audited texts from the known non-members?",
    SIZES: "Sizes: does the number of characters tell them apart?",
}


@table("audit", needs=("audit", "benchmarks"))
def render(artifact: Artifact, results: Results) -> Table:
    """For each model and benchmark: documents, texts (strongest first) and controls, with scores, p and q."""
    pairs = {(panel["model"], panel["benchmark"]): panel for panel in artifact["panels"]}
    audits = [(panel, results.read("audit", pair_of(panel))) for panel in pairs.values()]
    blocks = [block for panel, frame in audits for block in _blocks(panel, frame)]
    cautions = results.cautions([{**panel, "subset": ""} for panel, _ in audits])
    named = [of.assign(model=panel["model"], benchmark=panel["benchmark"]) for panel, of in audits]
    reading = " ".join(_reading(results, panel, frame) for panel, frame in audits)
    return table_of(artifact, blocks, [*_NOTES, *cautions], pd.concat(named, ignore_index=True), reading)


_NOTES = (
    "p: the share of known non-members of the same subset and length that score as high as this text, counting the "
    "text itself; it is small where the model finds the text more familiar than nearly all of them. It is not the "
    "probability that the text was left out of training.",
    "A document's p, and that of all methods combined, join several by Cauchy's rule, which holds although they "
    "depend on each other; q is p corrected for the number of texts, or of documents (Benjamini and Hochberg). "
    f"Flagged: q of all methods combined is at most {LEVEL:g}: about one in twenty of the flagged may be a false "
    "alarm. Single methods are shown to explain the result; do not choose the best of them afterwards.",
    "All methods weighted: one score with weights that were fitted on texts whose membership is known, of other "
    "documents; only where the known texts include members. The estimated share of texts that were trained on is "
    "Storey's, from p-values above one half; the CSV has q with it (q_storey) for single scores of texts, where it is "
    "proved if p-values are independent.",
    "A method whose highest score many non-members share cannot speak, and is not combined. Controls see no model.",
)


def _blocks(panel: Panel, frame: pd.DataFrame) -> list[Block]:
    name = f"{panel['model']} on {panel['benchmark']}"
    found: list[Block] = []
    for unit, title in UNIT_TITLES.items():
        of = frame[frame["unit"] == unit]
        if len(of):
            found += _units(f"{title}: {name}", unit, of)
    return found + rows_of(f"Controls: {name}", _controls(frame), "Control")


def _units(title: str, unit: str, of: pd.DataFrame) -> list[Block]:
    """A row a unit, by ascending combined p; each method with score and p."""
    methods = [method for method in in_order(of["method"]) if method not in TOGETHER]
    units = grouped(records_of(of.sort_values("id", kind="stable")), "id")
    found = {str(rows[0]["id"]): {str(row["method"]): row for row in rows} for rows in units}
    strongest = sorted(found, key=lambda id: found[id].get(COMBINED, {"p": 2.0})["p"])
    shown = f", the {MOST_ROWS} strongest of {len(found)}" if len(found) > MOST_ROWS else ""
    rows = ((id, _cells(found[id], methods), False) for id in strongest[:MOST_ROWS])
    return rows_of(title + shown, rows, unit.capitalize())


def _cells(of: Mapping[str, Record], methods: Sequence[str]) -> Iterable[tuple[Head, Cell]]:
    for name in TOGETHER:
        if name == COMBINED or name in of:
            together = of.get(name, {})
            yield (method_label(name), "flagged"), _verdict(bool(together.get("flagged", False)))
            yield (method_label(name), "p"), p_cell(together.get("p"))
            yield (method_label(name), "q"), p_cell(together.get("q"))
    for method in methods:
        row = of.get(method, {})
        yield (marked_label(method), "score"), Cell(number(row.get("score")))
        yield (marked_label(method), "p"), p_cell(row.get("p"))


def _verdict(found: bool) -> Cell:
    return Cell(words="yes" if found else "no", bold=found)


def _controls(frame: pd.DataFrame) -> Iterable[tuple[str, list[tuple[Head, Cell]], bool]]:
    """What words and sizes tell apart, what blind flags, and the known non-members as if they were audited."""

    def cells(found: Cell, p: Cell, too_many: bool) -> list[tuple[Head, Cell]]:
        return [("found", found), ("p", p), ("more than chance", _verdict(too_many))]

    for row in records_of(frame[frame["unit"] == "control"]):
        score = Cell() if pd.isna(row["score"]) else Cell(words=f"AUC {row['score']:.3f}")
        yield CONTROL_LABELS[row["method"]], cells(score, p_cell(row["p"]), bool(row["flagged"])), True
    for row in records_of(frame[frame["unit"] == "share"]):
        label = f"{method_label(row['method'])}: estimated share of the audited texts that were trained on"
        yield label, cells(Cell(row["score"]), Cell(), False), is_control(row["method"])
    shares = low_shares(frame)
    for unit, what in (("text", "audited texts"), ("nonmember", "known non-members, each as if audited")):
        of = {row["method"]: row for row in records_of(shares[shares["unit"] == unit])}
        together = [name for name in TOGETHER if unit == "nonmember" and name in of]
        for method in [*together, *filter(is_control, in_order(of))]:
            row, label = of[method], f"{marked_label(method)}: {what} with p at most {LEVEL:g}"
            share = Cell(words=f"{row['low_p']} of {row['n']}: {with_interval(estimate(row))}")
            yield label, cells(share, Cell(), row["too_many"]), True


def _reading(results: Results, panel: Panel, frame: pd.DataFrame) -> str:
    """The result, and the conclusions that it allows and does not allow."""
    together = frame[frame["method"] == COMBINED]
    texts, documents = (together[together["unit"] == unit] for unit in ("text", "document"))
    known = frame[frame["unit"] == "nonmember"]["id"].nunique()
    unlabelled = results.read("benchmarks", panel["benchmark"])["label"].isna().sum()
    left = int(unlabelled) - texts["id"].nunique()
    units = [(own, what) for own, what in ((texts, "texts"), (documents, "documents")) if len(own)]
    flagged = [f"{int(own['flagged'].sum())} of {len(own)} {what}" for own, what in units] or ["nothing"]
    said = [
        f"{panel['model']} on {panel['benchmark']}: {joined(flagged)} flagged, compared with {known} known "
        "non-members."
    ]
    if left > 0 and len(texts):
        said.append(
            f"{left} further texts without a label could not be audited (no score, or no comparable non-member)."
        )
    said += [
        f"{int((own['p'] <= LEVEL).sum())} {what} have a p of at most {LEVEL:g}, where chance alone gives about "
        f"{LEVEL * len(own):.0f}."
        for own, what in units
    ]
    is_flagged = any(own["flagged"].any() for own, _ in units)
    return " ".join([*said, *_conclusions(is_flagged, _doubts(frame))])


def _conclusions(flagged: bool, doubts: Sequence[str]) -> list[str]:
    """The conclusions that the result allows and does not allow, in plain words."""
    if flagged and not doubts:
        may = (
            "the model finds what is flagged more familiar than it would find texts like the known non-members, "
            "and the controls name no other reason; that is evidence, not proof, that it or copies of it were in "
            "the training data, with about one false alarm in twenty."
        )
    elif flagged:
        may = (
            f"nothing about training, because {joined(doubts)}. What is flagged may differ from the known "
            "non-members for that reason alone; audit again with non-members of the same kind, source and time."
        )
    else:
        may = (
            "nothing about any single text or document. This does not show that it was left out of training: "
            "methods miss most texts that a model saw once, and with few known non-members no p-value is low "
            "enough for many texts."
        )
        may += f" Besides, {joined(doubts)}." if doubts else ""
    return [
        f"What may be concluded: {may}",
        "What may not: that a text that is not flagged was not in the training data; how often, or from where, "
        "the model read one that is; or anything, if the known non-members were in fact trained on or are of "
        "another kind.",
    ]


def _doubts(frame: pd.DataFrame) -> Sequence[str]:
    """Reasons why a low p may come from something else than training."""
    controls = {str(row["method"]): row for row in records_of(frame[frame["unit"] == "control"])}
    found: list[str] = []
    if controls[WORDS]["flagged"]:
        found.append(
            f"their words alone tell the texts from the non-members (AUC {controls[WORDS]['score']:.2f})"
        )
    if controls[SIZES]["flagged"]:
        found.append(f"their sizes differ (AUC {controls[SIZES]['score']:.2f})")
    shares = low_shares(frame)
    for checked in records_of(shares[shares["unit"].eq("nonmember") & shares["method"].eq(COMBINED)]):
        if checked["too_many"]:
            found.append("too many known non-members would be flagged themselves")
        if 1 / (1 + checked["n"]) > LEVEL:
            found.append(f"{checked['n']} known non-members are too few for any p-value of {LEVEL:g}")
    return found
