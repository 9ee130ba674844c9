"""An audit as a page that answers: the verdict first, then what could be found, documents, passages and checks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite

import pandas as pd

from pretrace.evaluation.audit import COMBINED, SOUGHT, low_shares
from pretrace.evaluation.audit_controls import CLASSIFIER, SIZES, WORDING
from pretrace.evaluation.averages import Record, number
from pretrace.evaluation.evidence import LEVEL
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.verdict import Verdict, failed_controls, share_above, verdict
from pretrace.render.names import in_order, method_label
from pretrace.render.phrases import joined, signed
from pretrace.render.registry import Artifact
from pretrace.render.results import Results, pair_of
from pretrace.render.rows import Panel, records_of
from pretrace.render.tables.table import Block, Box, Cell, Head, Table, p_cell, rows_of, table_of

MOST_ROWS = 50
"""Of documents and of passages, those with the lowest p are printed; the CSV has all."""

TOGETHER = "All documents together"

FOUND_AT_ALL = "Do the same methods find passages that the model surely read?"

WORDS_SHOWN = 10
"""A passage is called by its first words."""

CONTROL_LABELS = {
    WORDING: "Is the wording of your texts less typical of the known documents than their own?",
    SIZES: "Do your texts have another number of characters?",
    CLASSIFIER: "Can a classifier tell your texts from the known ones by their words?",
}


def audit(artifact: Artifact, results: Results) -> Table:
    """For each model and benchmark: the answer, what the audit can find, documents, passages, checks."""
    pairs = {(panel["model"], panel["benchmark"]): panel for panel in artifact["panels"]}
    audits = [(panel, results.read("audit", pair_of(panel))) for panel in pairs.values()]
    blocks = [block for panel, frame in audits for block in _blocks(panel, frame, results)]
    cautions = results.cautions([{**panel, "subset": ""} for panel, _ in audits])
    named = [frame.assign(model=panel["model"], benchmark=panel["benchmark"]) for panel, frame in audits]
    boxes = tuple(_box(panel, frame, results) for panel, frame in audits)
    drawn = table_of(artifact, blocks, [*_NOTES, *cautions], pd.concat(named, ignore_index=True))
    return replace(drawn, boxes=boxes)


_NOTES = (
    "Every p compares whole documents. p = 0.01: of 100 documents like the known ones, which the model cannot have "
    "read, one would score as high. It does not mean that the text was trained on with a probability of 99 %.",
    f"q is p corrected for the number of documents, or of passages (Benjamini and Hochberg). Evidence: q is at most "
    f"{LEVEL:g}; of the documents that are marked so, about one in twenty may be a false alarm.",
    "All methods together are the mean of their scores on a common scale. Single methods only show where the result "
    "comes from. Do not choose the best of them afterwards.",
    "Lies above: how much higher the model scores the text than the known documents, in standard deviations of a "
    "single text.",
)


def answer(model: str, frame: pd.DataFrame) -> tuple[str, str]:
    """Return the verdict and what follows, each as one sentence, for the page and for the terminal."""
    result = verdict(frame)
    if result.kind == "evidence":
        return (
            f"Evidence of training: {model} finds {_found(frame)} more familiar than texts that it cannot have read "
            f"(p = {_p(result.p)}).",
            "If the known texts were really unread, the likeliest reason is that the model was trained on these texts, "
            "or on copies or long quotations of them.",
        )
    reasons = joined(result.reasons) if result.reasons else ""
    if result.kind == "invalid":
        return (
            f"The comparison is invalid, because {reasons}.",
            "Nothing follows about training: your texts differ from the known ones in more than what the model read.",
        )
    if result.kind == "impossible":
        return (
            f"This audit could not have found anything, because {reasons}.",
            "Nothing follows about training, in either direction.",
        )
    return (
        f"No evidence of training found (p = {_p(result.p)}).",
        "This does not show that the texts were left out: "
        f"{_sensitivity(frame) or 'an audit misses most texts that a model read once.'}",
    )


def lines(frame: pd.DataFrame) -> list[str]:
    """Return the two sentences of each model and benchmark of `render`'s data, for a terminal."""
    words = ["id", "document", "setting"]
    frame[words] = frame[words].astype(object).where(frame[words].notna(), "")
    audits = frame.groupby(["model", "benchmark"], sort=False)
    several = audits.ngroups > 1
    answers = [(benchmark, " ".join(answer(str(model), own))) for (model, benchmark), own in audits]
    return [f"{benchmark}: {text}" if several else text for benchmark, text in answers]


def _found(frame: pd.DataFrame) -> str:
    """Name the documents that are marked, or all texts together."""
    documents = _units(frame, "document")
    marked = documents[documents["flagged"]]
    if len(documents) == 1:
        return (
            f"the document '{documents['id'].iloc[0]}'" if len(documents["id"].iloc[0]) < 60 else "the text"
        )
    return f"{len(marked)} of {len(documents)} documents" if len(marked) else "your documents together"


def _units(frame: pd.DataFrame, unit: str) -> pd.DataFrame:
    return frame[(frame["unit"] == unit) & (frame["method"] == COMBINED)]


def _design(frame: pd.DataFrame) -> dict[str, float]:
    own = frame[frame["unit"] == "design"]
    return dict(zip(own["id"], own["score"].astype(float), strict=True))


def _p(p: float) -> str:
    return p_cell(p).number


def _percent(effect: float) -> str:
    return f"{min(99, round(100 * share_above(effect)))} %"


def _sensitivity(frame: pd.DataFrame) -> str:
    """The smallest effect of a typical document, in words."""
    design = _design(frame)
    if "smallest_effect" not in design:
        return ""
    return (
        f"in four of five cases it finds a document of {design['typical_texts']:.0f} texts only if "
        f"{_percent(design['smallest_effect'])} of them score above the middle of the known texts."
    )


def _box(panel: Panel, frame: pd.DataFrame, results: Results) -> Box:
    """The question, the answer, why, what follows and what does not, and what would make a better audit."""
    result, design = verdict(frame), _design(frame)
    first, second = answer(panel["model"], frame)
    documents, texts = int(design.get("documents", 0)), int(design.get("texts", 0))
    what = f"{_count(documents, 'document')} ({_count(texts, 'passage')})"
    lines = [("What follows", second), ("What does not follow", _not_following(result))]
    if left := _left_out(panel, frame, results):
        lines.append(("Left out", left))
    lines += [("What would make it better", " ".join(result.repairs))] * bool(result.repairs)
    lines.append(("Rests on", _assumption(design)))
    return Box(
        f"Was {panel['model']} trained on {what} of '{panel['benchmark']}'?", first, result.kind, tuple(lines)
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)


def _not_following(result: Verdict) -> str:
    if result.kind == "evidence":
        return (
            "How often the model read the texts, from which source, and whether every passage was among them."
        )
    return "That the texts were not in the training data. An audit cannot show that."


def _assumption(design: Mapping[str, float]) -> str:
    known = int(design.get("known_documents", 0)), int(design.get("known_texts", 0))
    return (
        f"{_count(known[0], 'known document')} ({_count(known[1], 'passage')}) that you gave as unread by the model "
        "and of the same kind as your texts. pretrace cannot check that."
    )


def _left_out(panel: Panel, frame: pd.DataFrame, results: Results) -> str:
    unlabelled = int(results.read("benchmarks", panel["benchmark"])["label"].isna().sum())
    audited = frame[frame["unit"] == "text"]["id"].nunique()
    left = unlabelled - audited
    if not audited or left <= 0:
        return ""
    return f"{_count(left, 'passage')} without a label: no score, or no known text of the same length and subset."


def _blocks(panel: Panel, frame: pd.DataFrame, results: Results) -> Iterator[Block]:
    name = f"{panel['model']} on {panel['benchmark']}"
    failed = bool(failed_controls(frame))
    yield from rows_of(f"What this audit can find: {name}", _can_find(frame), "")
    for unit, title in (("document", "Documents"), ("text", "Passages")):
        own = frame[frame["unit"] == unit]
        if unit == "document" and own["id"].nunique() > 1:
            own = pd.concat([frame[frame["unit"] == "all"].assign(id=TOGETHER), own])
        if own["id"].nunique() > (unit == "document" and own["texts"].max() <= 1):
            texts = results.read("benchmarks", panel["benchmark"]).set_index("text_id")["text"]
            yield from _unit_block(f"{title}: {name}", unit, own, texts, failed=failed)
    yield from rows_of(f"Checks: {name}", _checks(frame), "")


def _can_find(frame: pd.DataFrame) -> Iterator[tuple[str, list[tuple[Head, Cell]], bool]]:
    design = _design(frame)

    def line(label: str, words: str) -> tuple[str, list[tuple[Head, Cell]], bool]:
        return label, [("", Cell(words=words))], False

    yield line("Known documents, with passages", _pair(design, "known_documents", "known_texts"))
    yield line("Your documents, with passages", _pair(design, "documents", "texts"))
    if design.get("known_documents", 0) < LEAST_DOCUMENTS:
        yield line("Known documents that a p-value needs", f"{LEAST_DOCUMENTS}")
        return
    if pd.notna(icc := design.get("icc", float("nan"))):
        yield line("How alike the passages of one known document are (0: not at all, 1: equal)", f"{icc:.2f}")
    for suffix, what in (
        ("", f"a document of {design['typical_texts']:.0f} passages"),
        ("_all", "all together"),
    ):
        if f"smallest_effect{suffix}" in design and (not suffix or design["documents"] > 1):
            effect = design[f"smallest_effect{suffix}"]
            words = f"{effect:.1f} standard deviations ({_percent(effect)} of passages above the middle known one)"
            yield line(f"Found in four of five cases, {what}: if it lies above by", words)
    if "texts_needed" in design:
        needed = design["texts_needed"]
        words = f"{needed:.0f}" if isfinite(needed) else "more known documents, with more passages each"
        yield line(f"Passages that a document needs to be found where it lies above by {SOUGHT:g}", words)
    if "least_p" in design:
        yield line(
            "Least p of such a document, if all its passages outscore all known ones", _p(design["least_p"])
        )
    positive = records_of(_units(frame, "positive"))
    for row in positive:
        words = "yes" if row["p"] <= LEVEL else "no"
        words += f": above by {row['effect']:.1f} standard deviations (p = {_p(row['p'])})"
        yield line(f"{FOUND_AT_ALL} ({row['texts']:.0f} of {row['id']})", words)
    if not positive:
        yield line(FOUND_AT_ALL, "not tested")


def _pair(design: Mapping[str, float], first: str, second: str) -> str:
    return f"{design.get(first, 0):,.0f}, {design.get(second, 0):,.0f}"


def _unit_block(
    title: str, unit: str, own: pd.DataFrame, texts: "pd.Series[str]", *, failed: bool
) -> list[Block]:
    """A row a document or passage, the lowest p first; passages are called by their first words."""
    together = own[own["method"] == COMBINED].sort_values(["p", "id"], kind="stable", na_position="last")
    together = together.sort_values("unit", key=lambda units: units.ne("all"), kind="stable")
    alone = own[own["method"] != COMBINED]
    single = {
        (str(id), str(method)): p for id, method, p in alone[["id", "method", "p"]].itertuples(index=False)
    }
    methods = in_order(alone["method"])
    rows, details = [], []
    for row in records_of(together.head(MOST_ROWS)):
        text = str(texts.get(row["id"], "")) if unit == "text" else ""
        label = first_words(text) if text else row["id"]
        rows.append((label, _unit_cells(row, unit, methods, single, failed), False))
        details.append(f"{row['id']}: {text}" if text else "")
    shown = f", the {MOST_ROWS} with the lowest p of {len(together)}" if len(together) > MOST_ROWS else ""
    blocks = rows_of(title + shown, rows, unit.capitalize() if unit == "document" else "Passage")
    return [
        replace(
            block,
            rows=tuple(replace(row, detail=detail) for row, detail in zip(block.rows, details, strict=True)),
        )
        for block in blocks
    ]


def first_words(text: str) -> str:
    """Return the first words of a passage; of a text without spaces, the first characters."""
    words = text.split()
    short = " ".join(words[:WORDS_SHOWN])
    if len(words) < WORDS_SHOWN < len(text) / 8:
        return text[: 2 * WORDS_SHOWN] + " ..."
    return short + " ..." * (len(words) > WORDS_SHOWN)


def _unit_cells(
    row: Record, unit: str, methods: Sequence[str], single: Mapping[tuple[str, str], float], failed: bool
) -> Iterator[tuple[Head, Cell]]:
    yield "evidence", Cell() if row["unit"] == "all" else evidence_cell(row, failed=failed)
    if unit == "document":
        yield "passages", Cell(words=f"{row['texts']:.0f}")
    elif row["document"] and row["document"] != row["id"]:
        yield "document", Cell(words=row["document"])
    effect = number(row["effect"])
    yield "lies above", Cell() if effect is None else Cell(words=signed(effect, 1))
    yield "p", p_cell(row["p"])
    yield "q", p_cell(row["q"])
    for method in methods:
        yield f"p: {method_label(method)}", p_cell(single.get((row["id"], method)))


def evidence_cell(row: Record, *, failed: bool) -> Cell:
    """Return what a document or passage shows, honestly: a flag is none where the controls failed."""
    if pd.isna(row["p"]):
        return Cell(words="not tested: too few")
    if not row["flagged"]:
        return Cell(words="no")
    return Cell(words="yes, but the controls failed") if failed else Cell(words="yes", bold=True)


def _checks(frame: pd.DataFrame) -> Iterable[tuple[str, list[tuple[Head, Cell]], bool]]:
    """What differs without a model, and the known documents as if each were audited."""
    for row in records_of(frame[frame["unit"] == "control"]):
        words = "yes" if row["flagged"] else "no"
        words = "not tested: too few" if pd.isna(row["p"]) else f"{words} (p = {_p(row['p'])})"
        yield CONTROL_LABELS[row["method"]], [("", Cell(words=words, bold=bool(row["flagged"])))], True
    label = f"Known documents with p at most {LEVEL:g}, each compared with the others (1 in 20 expected)"
    checked = list(low_shares(frame))
    for row in checked:
        words = f"{row['low_p']} of {row['n']}" + (": too many" if row["too_many"] else "")
        yield label, [("", Cell(words=words, bold=row["too_many"]))], True
    if not checked:
        yield label, [("", Cell(words="not tested: too few"))], True
