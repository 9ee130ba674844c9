"""An audit as a page that answers: the verdict first, then what could be found, documents, passages and checks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite

import pandas as pd

from pretrace.evaluation.audit import COMBINED, SOUGHT, low_shares
from pretrace.evaluation.audit_controls import CLASSIFIER, FEWEST, MATERIAL, SIZES, WORDING
from pretrace.evaluation.averages import Record, number
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.significance import LEVEL
from pretrace.evaluation.verdict import failed_controls, share_above, verdict
from pretrace.render.names import in_order, joined, method_label
from pretrace.render.phrases import signed
from pretrace.render.registry import Artifact, Panel
from pretrace.render.results import Results
from pretrace.render.rows import records_of
from pretrace.render.tables.extraction import given_back
from pretrace.render.tables.table import Block, Box, Cell, Head, Table, p_cell, p_text, rows_of, table_of

MOST_ROWS = 50  # documents or passages with the lowest p that are printed; the CSV has all
WORDS_SHOWN = 10  # a passage is called by its first words
TOGETHER = "All documents together"
FOUND_AT_ALL = "Do the same methods find passages that the model surely read?"

CONTROL_LABELS = {
    WORDING: "Is the wording of your texts less typical of the known documents than their own?",
    SIZES: "Do your texts have another number of characters?",
    CLASSIFIER: "Can a classifier tell your texts from the known ones by their words?",
}

NOT_CHECKED = {
    WORDING: "Whether the wording of your texts is less typical of the known documents than their own.",
    SIZES: "Whether your texts have another number of characters than the known ones.",
    CLASSIFIER: "Whether a classifier tells your texts from the known ones by their words: it needs "
    f"{LEAST_DOCUMENTS} documents of each side, with {FEWEST} passages of one length.",
}
KNOWN_NOT_CHECKED = f"Whether known documents look trained on, too: it needs {LEAST_DOCUMENTS + 1} of them."


def audit(artifact: Artifact, results: Results) -> Table:
    """Lay out for each model and benchmark the answer, what the audit can find, documents, passages, checks."""
    panels = {panel.pair: panel for panel in artifact.panels}
    audits = [(panel, results.read("audit", pair)) for pair, panel in panels.items()]
    blocks = [block for panel, frame in audits for block in _blocks(panel, frame, results)]
    cautions = results.cautions([panel for panel, _ in audits])
    named = [frame.assign(model=panel.model, benchmark=panel.benchmark) for panel, frame in audits]
    boxes = tuple(_box(panel, frame, results) for panel, frame in audits)
    page = table_of(artifact, blocks, [*_NOTES, *cautions], pd.concat(named, ignore_index=True))
    return replace(page, boxes=boxes)


_NOTES = (
    "Every p compares whole documents. p = 0.01: one in 100 documents that the model never saw would score this high. "
    "It does not mean 99 % sure.",
    f"q is p corrected for the number of documents, or of passages (Benjamini and Hochberg). Evidence: q is at most "
    f"{LEVEL:g}; of the documents that are marked so, about one in twenty may be a false alarm.",
    "All methods together are the mean of their scores on a common scale. Single methods only show where the result "
    "comes from. Do not choose the best of them afterwards.",
    f"A check by wording, size or classifier fails if its p is at most {LEVEL:g}, divided by how many of the "
    f"three were made, and the difference is at least {MATERIAL:g} standard deviations. The last check fails if the "
    f"lower end of the share's 95 % interval is above {LEVEL:g}.",
    "Lies above: how much higher the model scores the text than the known documents, in standard deviations of a "
    "single text.",
)


def answer(model: str, frame: pd.DataFrame) -> tuple[str, str]:
    """Return the verdict and what follows, each as one sentence, for the page and for the terminal."""
    result = verdict(frame)
    if result.kind == "evidence":
        return (
            f"Evidence of training: {model} finds {_found(frame)} more familiar than the texts that you gave as unread "
            f"(p = {p_text(result.p)}).",
            "If the known texts were really unread, the likeliest reason is that the model was trained on these texts, "
            "or on copies or long quotations of them; but texts that are famous or often quoted score higher, too.",
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
        f"No evidence of training found (p = {p_text(result.p)}).",
        "This does not show that the texts were left out: "
        f"{_sensitivity(frame) or 'an audit misses most texts that a model read once.'}",
    )


def lines(frame: pd.DataFrame) -> list[str]:
    """Return the two sentences of each model and benchmark of `audit`'s data, for a terminal."""
    words = ["id", "document", "setting"]
    frame[words] = frame[words].astype(object).where(frame[words].notna(), "")
    audits = frame.groupby(["model", "benchmark"], sort=False)
    several = audits.ngroups > 1
    answers = [(benchmark, " ".join(answer(str(model), own))) for (model, benchmark), own in audits]
    return [f"{benchmark}: {text}" if several else text for benchmark, text in answers]


def _found(frame: pd.DataFrame) -> str:
    """Name the documents that are marked, or all texts together."""
    documents = _units(frame, "document")
    if len(documents) == 1:
        name = documents["id"].iloc[0]
        return f"the document '{name}'" if len(name) < 60 else "the text"
    marked = int(documents["flagged"].sum())
    return f"{marked} of {len(documents)} documents" if marked else "your documents together"


def _units(frame: pd.DataFrame, unit: str) -> pd.DataFrame:
    return frame[(frame["unit"] == unit) & (frame["method"] == COMBINED)]


def _design(frame: pd.DataFrame) -> dict[str, float]:
    own = frame[frame["unit"] == "design"]
    return dict(zip(own["id"], own["score"].astype(float), strict=True))


def _percent(effect: float) -> str:
    return f"{min(99, round(100 * share_above(effect)))} %"


def _sensitivity(frame: pd.DataFrame) -> str:
    """Say how large the smallest effect of a typical document is."""
    design = _design(frame)
    if "smallest_effect" not in design:
        return ""
    return (
        f"in four of five cases it finds a document of {design['typical_texts']:.0f} texts only if "
        f"{_percent(design['smallest_effect'])} of them score above the middle of the known texts."
    )


def _box(panel: Panel, frame: pd.DataFrame, results: Results) -> Box:
    """Return the question, the answer, what follows and what does not, and what would make a better audit."""
    result, design = verdict(frame), _design(frame)
    first, second = answer(panel.called(panel.model), frame)
    not_shown = "That the texts were not in the training data. An audit cannot show that."
    if result.kind == "evidence":
        not_shown = (
            "How often the model read the texts, from which source, and whether every passage was among them."
        )
    lines = [("What follows", second), ("What does not follow", not_shown)]
    if panel.pair in results.extraction:
        back = given_back(panel.called(panel.model), results.read("extraction", panel.pair))
        lines += [("Given back", back)] if back else []
    lines += [("Not checked", unchecked)] if (unchecked := _not_checked(frame)) else []
    lines += [("Left out", left)] if (left := _left_out(panel, frame, results)) else []
    lines += [("What would make it better", " ".join(result.repairs))] if result.repairs else []
    known = _counts(design, "known_documents", "known document", "known_texts")
    given = f"{known} that you gave as unread by the model and of the same kind as your texts."
    lines.append(("Rests on", f"{given} pretrace cannot check that."))
    own = _counts(design, "documents", "document", "texts")
    question = f"Was {panel.called(panel.model)} trained on {own} of '{panel.called(panel.benchmark)}'?"
    return Box(question, first, result.kind, tuple(lines))


def _counts(design: Mapping[str, float], documents: str, noun: str, texts: str) -> str:
    """Return `2 documents (10 passages)` of two numbers of a design."""
    return f"{_count(int(design.get(documents, 0)), noun)} ({_count(int(design.get(texts, 0)), 'passage')})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)


def _not_checked(frame: pd.DataFrame) -> str:
    """Return the checks that too few documents or passages did not allow, each with what it needs."""
    if _design(frame).get("known_documents", 0) < LEAST_DOCUMENTS:
        return f"Anything: every check needs {LEAST_DOCUMENTS} known documents."
    untested = set(frame[(frame["unit"] == "control") & frame["p"].isna()]["method"])
    unchecked = [words for method, words in NOT_CHECKED.items() if method in untested]
    return " ".join(unchecked + [KNOWN_NOT_CHECKED] * (not low_shares(frame)))


def _left_out(panel: Panel, frame: pd.DataFrame, results: Results) -> str:
    unlabelled = int(results.read("benchmarks", panel.benchmark)["label"].isna().sum())
    audited = frame[frame["unit"] == "text"]["id"].nunique()
    left = unlabelled - audited
    if not audited or left <= 0:
        return ""
    return f"{_count(left, 'passage')} without a label: no score, or no known text of the same length and subset."


def _blocks(panel: Panel, frame: pd.DataFrame, results: Results) -> Iterator[Block]:
    name = f"{panel.called(panel.model)} on {panel.called(panel.benchmark)}"
    failed = bool(failed_controls(frame))
    facts = ((label, [("", Cell(words=words))], False) for label, words in _can_find(frame))
    yield from rows_of(f"What this audit can find: {name}", facts, "")
    for unit, title in (("document", "Documents"), ("text", "Passages")):
        own = frame[frame["unit"] == unit]
        if unit == "document" and own["id"].nunique() > 1:
            own = pd.concat([frame[frame["unit"] == "all"].assign(id=TOGETHER), own])
        if own["id"].nunique() > (unit == "document" and own["texts"].max() <= 1):
            texts = results.read("benchmarks", panel.benchmark).set_index("text_id")["text"]
            yield from _unit_block(f"{title}: {name}", unit, own, texts, failed=failed)
    yield from rows_of(f"Checks: {name}", _checks(frame), "")


def _can_find(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield what an audit of this size can find: labels with their words."""
    design = _design(frame)
    for label, keys in (
        ("Known documents, with passages", ("known_documents", "known_texts")),
        ("Your documents, with passages", ("documents", "texts")),
    ):
        yield label, ", ".join(f"{design.get(key, 0):,.0f}" for key in keys)
    if design.get("known_documents", 0) < LEAST_DOCUMENTS:
        yield "Known documents that a p-value needs", f"{LEAST_DOCUMENTS}"
        return
    invalid = " (not valid: a check failed)" if failed_controls(frame) else ""
    yield "p of the whole audit", p_text(design["verdict_p"]) + invalid
    if pd.notna(icc := design.get("icc", float("nan"))):
        yield "How alike the passages of one known document are (0: not at all, 1: equal)", f"{icc:.2f}"
    typical = f"a document of {design['typical_texts']:.0f} passages"
    for suffix, what in (("", typical), ("_all", "all together")):
        if f"smallest_effect{suffix}" in design and (not suffix or design["documents"] > 1):
            effect = design[f"smallest_effect{suffix}"]
            words = f"{effect:.1f} standard deviations ({_percent(effect)} of passages above the middle known one)"
            yield f"Found in four of five cases, {what}: if it lies above by", words
    if "texts_needed" in design:
        needed = design["texts_needed"]
        words = f"{needed:.0f}" if isfinite(needed) else "more known documents, with more passages each"
        yield f"Passages that a document needs to be found where it lies above by {SOUGHT:g}", words
    if "least_p" in design:
        label = "Least p of such a document, if all its passages outscore all known ones"
        yield label, p_text(design["least_p"])
    positive = records_of(_units(frame, "positive"))
    for row in positive:
        words = "yes" if row["p"] <= LEVEL else "no"
        words += f": above by {row['effect']:.1f} standard deviations (p = {p_text(row['p'])})"
        yield f"{FOUND_AT_ALL} ({row['texts']:.0f} of {row['id']})", words
    if not positive:
        yield FOUND_AT_ALL, "not tested"


def _unit_block(
    title: str, unit: str, own: pd.DataFrame, texts: "pd.Series[str]", *, failed: bool
) -> Iterator[Block]:
    """Yield a block with a row a document or passage, the lowest p first; passages are called by their first words."""
    together = own[own["method"] == COMBINED].sort_values(["p", "id"], kind="stable", na_position="last")
    together = together.sort_values("unit", key=lambda units: units.ne("all"), kind="stable")
    alone = own[own["method"] != COMBINED]
    single = {(row["id"], row["method"]): row["p"] for row in records_of(alone)}
    methods = in_order(alone["method"])
    rows, details = [], []
    for row in records_of(together.head(MOST_ROWS)):
        text = str(texts.get(row["id"], "")) if unit == "text" else ""
        label = first_words(text) if text else row["id"]
        rows.append((label, _unit_cells(row, unit, methods, single, failed), False))
        details.append(f"{row['id']}: {text}" if text else "")
    shown = f", the {MOST_ROWS} with the lowest p of {len(together)}" if len(together) > MOST_ROWS else ""
    for block in rows_of(title + shown, rows, "Document" if unit == "document" else "Passage"):
        detailed = (replace(row, detail=detail) for row, detail in zip(block.rows, details, strict=True))
        yield replace(block, rows=tuple(detailed))


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
    """Return whether a document or passage is evidence, which it is not if the controls failed."""
    if pd.isna(row["p"]):
        return Cell(words="not tested: too few")
    if not row["flagged"]:
        return Cell(words="no")
    return Cell(words="yes, but the controls failed") if failed else Cell(words="yes", bold=True)


def _checks(frame: pd.DataFrame) -> Iterable[tuple[str, list[tuple[Head, Cell]], bool]]:
    """Yield what differs without a model, and the known documents as if each were audited."""
    for row in records_of(frame[frame["unit"] == "control"]):
        words = "yes, so the check fails" if row["flagged"] else "no"
        words = "not tested: too few" if pd.isna(row["p"]) else f"{words} (p = {p_text(row['p'])})"
        yield CONTROL_LABELS[row["method"]], [("", Cell(words=words, bold=bool(row["flagged"])))], True
    label = f"Known documents with p at most {LEVEL:g}, each compared with the others (1 in 20 expected)"
    checked = list(low_shares(frame))
    for row in checked:
        words = f"{row['low_p']} of {row['n']}" + (": too many" if row["too_many"] else "")
        yield label, [("", Cell(words=words, bold=row["too_many"]))], True
    if not checked:
        yield label, [("", Cell(words="not tested: too few"))], True
