"""An audit as a page that answers: the verdict first, then what could be found,
documents, passages and checks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from types import MappingProxyType

import pandas as pd

from pretrace.audit.adjusted_scores import EXPLAINED
from pretrace.audit.controls import (
    COPIES,
    FORM,
    LETTERS,
    PARTS,
    SIZES,
    SPREAD,
    WORD,
    WORDS,
)
from pretrace.audit.design import CHECK_LEVEL, LEVEL
from pretrace.audit.rows import COMBINED
from pretrace.audit.verdict import (
    failed_checks,
    share_above,
    silent_control,
    verdict,
)
from pretrace.evaluation.averages import Record, number
from pretrace.evaluation.resampling import DRAWN
from pretrace.render.artifact import Artifact, Panel
from pretrace.render.frames import records_of
from pretrace.render.names import in_order, join_words, method_label
from pretrace.render.phrases import beginning, false_alarms, format_signed
from pretrace.render.results import Results
from pretrace.render.tables.extraction import given_back
from pretrace.render.tables.table import (
    Block,
    Box,
    Cell,
    Head,
    Table,
    p_cell,
    p_text,
    rows_of,
    table_of,
)
from pretrace.runtime.errors import count_noun, shorten

# documents or passages with the lowest p in Markdown and LaTeX
MOST_ROWS = 50
# log10 of the ways to deal labels out from which on they are not printed as a number
MANY = 6
PASSAGE_SHOWN = 800  # characters, of 128 words
WORDS_SHOWN = 10  # a passage is called by its first words
NAMES_ROOM = (
    # characters of names that the first page has room for; works in question are named
    # in any case
    2_400
)
FEWEST_SHOWN = 3  # works that are named in any case
PLACES_ROOM = 200
MOSTLY_CHANCE = 0.5  # a reliability below it: more of what is measured is chance
CAUSES_SHOWN = 3  # documents that are named where a check fails
TOGETHER = "All documents together"
TAKEN_OFF = "told apart, and taken off the scores"
FOUND_AT_ALL = (
    "Positive control: do the same methods find verses of the Bible that the web "
    "quotes every day?"
)

CHECKS = {
    WORDS: (
        "words",
        "Can a classifier tell your documents from the known ones by their words?",
    ),
    LETTERS: (
        "letters and signs",
        "Can a classifier tell them by their letters and signs (spelling, scanning "
        "errors, language)?",
    ),
    WORD: ("single words", "Does a single word tell them, such as a stage direction?"),
    FORM: (
        "form",
        "Do your texts look different (digits, line ends, signs, order of words)?",
    ),
    SIZES: ("size", "Have your texts another size in characters or words?"),
    SPREAD: (
        "spread of form and words",
        "Do documents of one side differ from those of the other side, or more from "
        "each other?",
    ),
    EXPLAINED: (
        "higher without form",
        "Does the difference vanish once form is taken off?",
    ),
    PARTS: ("parts given as works", "Are documents called parts of a work?"),
    COPIES: ("copies", "Are two documents of a side copies of each other?"),
}
"""Of each check its label and its question."""


def audit(artifact: Artifact, results: Results) -> Table:
    """Lay out for each model and benchmark the answer, what the audit can find,
    documents, passages, checks."""
    panels = {panel.pair: panel for panel in artifact.panels}
    blocks: list[Block] = []
    boxes = []
    frames = []
    for pair, panel in panels.items():
        frame = results.read("audit", pair)
        null = panel.model in artifact.null_models
        frame = frame.assign(
            model=panel.model, benchmark=panel.benchmark, null_model=null
        )
        blocks += _blocks(panel, frame, results)
        if _design(frame).get("based"):
            frame = frame.assign(base=panel.title_of((panel.references or [""])[0]))
        boxes.append(_box(panel, frame, results))
        frames.append(frame)
    cautions = results.cautions([*panels.values()])
    notes = [*_NOTES, *cautions, *_false_alarms(frames)]
    if any(map(base_of, frames)):
        notes.insert(3, _WITH_BASE)
    page = table_of(artifact, blocks, notes, pd.concat(frames, ignore_index=True))
    return replace(page, boxes=tuple(boxes))


_NOTES = (
    "p of a document: its rank among the known ones. q is p corrected for the number "
    "of documents (Benjamini and Hochberg). A document is named if q is at most "
    f"{LEVEL:g}: about one in twenty named ones is a false alarm.",
    "All methods together are the mean of their scores on a common scale. Single "
    "methods only show where the result comes from.",
    "The checks by words, letters, single words, form, size and spread exchange "
    "documents as well. Each p is corrected for their number; a check fails if it is "
    f"at most {CHECK_LEVEL:g}. Another check takes form off the scores, all of it "
    "together and each feature alone: it fails if any p of what is left is above "
    f"{LEVEL:g}.",
    "Lies above: how much higher the model scores the text than the known documents, "
    "in standard deviations of a single text.",
)


_WITH_BASE = (
    "With a base model a difference of texts fails no check by itself. Words, letters "
    "and form, all of them and their main components, are taken off the scores, and "
    "the last check fails if any p of what is left is above 0.05."
)


def answer(model: str, frame: pd.DataFrame) -> tuple[str, str]:
    """Return the verdict and what follows, each as one sentence, for the page and for
    the terminal."""
    result = verdict(frame)
    odds = f", {one_in(result.p)}" if result.p <= LEVEL else ""
    p = f"(p = {p_text(result.p)}{odds})"
    reasons = "; ".join(result.reasons)
    by_design = bool(_design(frame).get("randomised"))
    if result.kind == "evidence" and frame["null_model"].any():
        return (
            f"A false alarm: {model} finds {_found(frame)} more familiar than the "
            f"known texts {p}.",
            f"It was trained here on neither, so this is chance ({one_in(result.p)}), "
            "or the texts differ in more than what the checks see.",
        )
    base = base_of(frame)
    if result.kind == "evidence":
        than = "the known texts"
        if base:
            than = f"{base} does, by more than the known texts"
        follows = _follows(model, base, one_in(result.p), by_design=by_design)
        counted = f"; {_number_read(_design(frame))} are" if _is_counted(frame) else ""
        return (
            f"Evidence of training: {model} finds {_found(frame)} more familiar than "
            f"{than} {p}{counted}.",
            follows + _silent_control(frame),
        )
    if result.kind == "untested":
        return (
            "Higher than the known texts; whether they are comparable could not be "
            f"tested {p}.",
            f"Nothing follows about training: {reasons}.",
        )
    if result.kind == "invalid":
        return (
            f"The comparison is invalid, because {reasons}.",
            "Nothing follows about training: your texts may differ from the known ones "
            "in more than what the model read.",
        )
    if result.kind == "impossible":
        return (
            f"This audit could not have found anything, because {reasons}.",
            "Nothing follows about training, in either direction.",
        )
    if result.kind == "weak":
        return (
            f"No evidence of training found {p}, but this audit may be too weak to "
            f"find any, because {reasons}.",
            "Nothing follows about training, in either direction.",
        )
    nothing = f"No evidence of training found {p}."
    if base:
        nothing = (
            "No evidence of training found: your texts are not, or no longer, more "
            f"familiar to {model} than to {base}, beside the known texts {p}."
        )
    return (
        nothing,
        "This does not show that the texts were left out: in four of five cases such "
        "an audit finds a difference only if "
        f"{_percent(_design(frame)['smallest_effect'])} of the passages score above "
        "the middle of the known ones. Texts that were reworded before the training "
        "can be missed.",
    )


def _follows(model: str, base: str, chance: str, *, by_design: bool) -> str:
    """Return what follows from evidence: of labels drawn at random, beside a base, and
    of an audit without one."""
    if by_design:
        return (
            "What is published was drawn at random, so only reading it, copies of it, "
            f"or chance ({chance}) explain this."
        )
    if base:
        return (
            f"If {model} was not tuned on the known texts or on others of one side's "
            "kind alone, the likeliest reason is that it was tuned on these texts, or "
            "on copies, close paraphrases or long quotations of them."
        )
    return (
        "If the known texts are unread and of the same kind, the likeliest reason is "
        "that the model was trained on these texts, or on copies or long quotations of "
        "them; but texts that are famous or often quoted score higher, too."
    )


def base_of(frame: pd.DataFrame) -> str:
    """Return the name of the base model that the model is compared with; "": none."""
    named = [] if "base" not in frame else frame["base"].dropna().tolist()
    return str(named[0]) if named else ""


def _silent_control(frame: pd.DataFrame) -> str:
    """Say beside evidence that the positive control was not found, as what it is; empty
    where it was."""
    p = silent_control(frame)
    if p is None:
        return ""
    return (
        " But the same methods do not find passages that most models of the web have "
        f"read (p = {p_text(p)}): either this model has not read them, or take the "
        "evidence with more care."
    )


def one_in(p: float) -> str:
    """Return a p-value as odds with two significant digits: `1 in 43,000`."""
    return f"1 in {float(f'{1 / p:.2g}'):,.0f}"


def audit_lines(frame: pd.DataFrame) -> list[str]:
    """Return the two sentences of each model and benchmark of `audit`'s data, for a
    terminal."""
    words = ["id", "document", "setting"]
    frame[words] = frame[words].astype(object).where(frame[words].notna(), "")
    audits = frame.groupby(["model", "benchmark"], sort=False)
    several = audits.ngroups > 1
    lines = []
    frames = []
    for (model, benchmark), own in audits:
        text = " ".join(answer(str(model), own))
        lines.append(f"{benchmark}: {text}" if several else text)
        frames.append(own)
    return lines + _false_alarms(frames)


def _false_alarms(audits: Sequence[pd.DataFrame]) -> list[str]:
    """Return the sentence that counts false alarms among audits of null models; none
    without such an audit."""
    results = [verdict(frame) for frame in audits if frame["null_model"].any()]
    tested = [result for result in results if pd.notna(result.p)]
    found = sum(result.kind == "evidence" for result in tested)
    return [false_alarms(found, len(tested), "audits", LEVEL)] if tested else []


def _found(frame: pd.DataFrame) -> str:
    """Name your documents, and how many of them are marked alone."""
    documents = _units(frame, "document")
    if len(documents) == 1:
        name = documents["id"].iloc[0]
        return f"the document '{name}'" if len(name) < 60 else "the text"
    marked = int(documents["flagged"].sum())
    if documents.empty:
        return "the published texts"
    alone = f" ({marked} of {len(documents)} also alone)" if marked else ""
    return f"your {len(documents)} documents together{alone}"


def _is_counted(frame: pd.DataFrame) -> bool:
    """Tell whether the page says how many documents were read: beside evidence of
    several, by a model that may have read them."""
    design = _design(frame)
    has_number = "read_at_least" in design and design["documents"] > 1
    is_null = frame["null_model"].any()
    return has_number and not is_null and verdict(frame).kind == "evidence"


def _number_read(design: Mapping[str, float]) -> str:
    """Return `at least 5 of the 12`, or `all 12`."""
    number, documents = design["read_at_least"], design["documents"]
    if number == documents:
        return f"all {documents:.0f}"
    return f"at least {number:.0f} of the {documents:.0f}"


def _units(frame: pd.DataFrame, unit: str) -> pd.DataFrame:
    return frame[(frame["unit"] == unit) & (frame["method"] == COMBINED)]


def _design(frame: pd.DataFrame) -> dict[str, float]:
    own = frame[frame["unit"] == "design"]
    return dict(zip(own["id"], own["score"].astype(float), strict=True))


def _percent(effect: float) -> str:
    return f"{min(99, round(100 * share_above(effect)))} %"


def _box(panel: Panel, frame: pd.DataFrame, results: Results) -> Box:
    """Return the question, the answer, what it means, what was compared and checked,
    and what would be better."""
    result = verdict(frame)
    design = _design(frame)
    model = panel.title_of(panel.model)
    first, second = answer(model, frame)
    not_shown = (
        "That the texts were not in the training data. An audit cannot show that."
    )
    if result.kind == "evidence" and frame["null_model"].any():
        not_shown = "That the model read any of the texts: it read neither side."
    elif result.kind == "evidence":
        not_shown = (
            "How often the model read the texts, from which source, and whether every "
            "passage was among them."
        )
    base = base_of(frame)
    texts = results.read("benchmarks", panel.benchmark)
    lines = dict(works_compared(texts, design))
    if base:
        lines["Base model"] = _meaning_of_base(model, base)
    if result.kind in ("evidence", "untested", "none", "weak"):
        lines["What p means"] = _meaning_of_p(design)
    lines["What follows"] = second
    if _is_counted(frame):
        lines["How many"] = _how_many(design)
    lines["What does not follow"] = not_shown
    if none_can_be_named(design):
        lines["Single documents"] = _not_named(design)
    if results.has("extraction", panel.pair):
        back = given_back(model, results.read("extraction", panel.pair))
        if back:
            lines["Given back"] = back
    left_out = _left_out(panel, frame, results)
    if left_out:
        lines["Left out"] = left_out
    lines |= _checked(frame)
    lines |= _causes(frame)
    if result.repairs:
        lines["What would make it better"] = " ".join(result.repairs)
    if design.get("randomised"):
        known = count_noun(int(design.get("known_texts", 0)), "private text")
        given = "drawn like the published ones"
        own = count_noun(int(design.get("texts", 0)), "published text")
    else:
        known = _counts(design, "known_documents", "known document", "known_texts")
        given = "given as unread"
        own = _counts(design, "documents", "document", "texts")
    lines["Rests on"] = f"{known}, {given}. pretrace cannot check that."
    benchmark = panel.title_of(panel.benchmark)
    question = f"Was {model} trained on {own} of '{benchmark}'?"
    if base:
        question = f"Compared with {base}: {question[0].lower()}{question[1:]}"
    return Box(question, first, result.kind, tuple(lines.items()))


def _meaning_of_base(model: str, base: str) -> str:
    return (
        f"{base}. A text's score is by how much likelier its words are in {model} than "
        f"in {base}, so that what both find easy or hard does not count. Nothing "
        f"follows about what {base} was trained on."
    )


def _meaning_of_p(design: Mapping[str, float]) -> str:
    """Say what p is; it is exact where the units that are exchanged have as many
    passages."""
    if design.get("randomised"):
        exchanged, sides = "texts of each place", "published and private ones"
        exact, own, kind = "exact", "the published ones", ""
    else:
        exchanged, sides = "documents", "yours and known ones"
        exact = "exact" if design.get("even") else "nearly exact"
        own, kind = "yours", " and all are of one kind"
    return (
        f"Of all ways to deal the {exchanged} out into {sides}, the share in which "
        f"{own} would score at least as high. It is {exact} if the model read none of "
        f"them{kind}. It is not the probability that the model did not read them."
    )


def _how_many(design: Mapping[str, float]) -> str:
    """Return how many documents in question were read, and how this is found."""
    number = _number_read(design)
    return (
        f"{number[0].upper()}{number[1:]} documents in question were read, if none of "
        "the known ones were and they are of the same kind. Of twenty audits, those "
        "that find nothing among them, at most one says a number that is too high. "
        "The highest documents are taken out one by one until those that are left are "
        "no longer surely higher than the known ones; form is not taken off here."
    )


def none_can_be_named(design: Mapping[str, float]) -> bool:
    """Tell whether the known documents are too few for any single one in question."""
    is_of_documents = "known_documents" in design and not design.get("randomised")
    return is_of_documents and lowest_p(design["known_documents"]) > LEVEL


def lowest_p(known: float) -> float:
    """Return the p of a document that lies above all of so many known ones."""
    return 1 / (1 + known)


def _not_named(design: Mapping[str, float]) -> str:
    known = design["known_documents"]
    return (
        f"None can be named alone: with {count_noun(int(known), 'known document')} "
        f"the p of one is at least {p_text(lowest_p(known))}, whatever the model read. "
        f"Naming one takes {design['documents_to_name']:,.0f} known documents."
    )


def works_compared(
    texts: pd.DataFrame, design: Mapping[str, float] = MappingProxyType({})
) -> Iterator[tuple[str, str]]:
    """Yield which works are in question and which are known, by title and author.

    Where a draw within documents decides what is published, these are texts of the same
    documents and of one length, which `design`, the audit's numbers, counts.
    """
    label = texts["label"]
    is_asked = label.isna() if label.isna().any() else label.eq(1)
    asked = texts[is_asked.fillna(False)]
    known = texts[label.eq(0).fillna(False)]
    if design.get("randomised"):
        lengths = texts["length"].dropna().unique()
        shared = asked[asked["document"].isin(known["document"])]
        if len(lengths) > 1:
            shared = shared[shared["length"].eq(design["length"])]
        names = _listed(_names_of_works(shared, with_document=True), PLACES_ROOM)
        published = count_noun(int(design["texts"]), "text")
        private = count_noun(int(design["known_texts"]), "private text")
        places = count_noun(int(design["documents"]), "place")
        yield "In question", f"{published} published in {places}: {names}"
        yield "Compared with", f"{private} of the same places, drawn in the same way"
        if len(lengths) > 1:
            listed = join_words([f"{length:,}" for length in sorted(lengths)])
            yield (
                "Length",
                f"{design['length']:,.0f}, of {listed}. Shorter texts may be parts of "
                "longer ones, so only texts of one length are compared: of those that "
                "were scored the most frequent, of equals the longest.",
            )
        return
    in_question = _names_of_works(asked, with_document=True)
    compared = _names_of_works(known, with_document=False)  # no table has them
    if in_question:
        yield "In question", "; ".join(in_question)
    if compared:
        yield (
            "Compared with",
            _listed(compared, NAMES_ROOM - len("; ".join(in_question))),
        )


def _names_of_works(texts: pd.DataFrame, *, with_document: bool) -> list[str]:
    """Return the works that texts are of, each once; with the names by which the page's
    tables call them."""
    named = texts[texts["document"] != ""].drop_duplicates("document")
    return [_work(row, with_document=with_document) for row in records_of(named)]


def _listed(names: Sequence[str], room: int) -> str:
    """Join names; those beyond so many characters are counted."""
    shown: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room >= 0 or len(shown) < FEWEST_SHOWN:
            shown.append(name)
    more = len(names) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def _work(row: Record, *, with_document: bool) -> str:
    """Return `title, author (document)`."""
    title = str(row.get("title") or "")
    author = str(row.get("author") or "")
    document = str(row.get("document") or "")
    name = ", ".join(map(shorten, filter(None, (title or document, author))))
    is_called_otherwise = bool(title) and title != document
    if with_document and is_called_otherwise:
        return f"{name} ({shorten(document)})"
    return name


def _checked(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield which checks were made, with their result, and which were not."""
    rows = {row["method"]: row for row in records_of(frame[frame["unit"] == "control"])}
    if rows:
        labels: dict[str, list[str]] = {"passed": [], TAKEN_OFF: [], "failed": []}
        for method, (label, _) in CHECKS.items():
            if method in rows:
                labels[_result_of(rows[method], frame)].append(label)
        told = [f"{name}: {', '.join(own)}" for name, own in labels.items() if own]
        yield "Checked", "; ".join(told)
    # without a higher score, form has nothing to explain
    made = {*rows, EXPLAINED} if rows else set()
    open_ones = [label for method, (label, _) in CHECKS.items() if method not in made]
    if _design(frame).get("randomised"):
        yield (
            "Not checked",
            f"{', '.join(open_ones)}: not needed, because what is published was drawn "
            "at random",
        )
        return
    if _design(frame).get("reliability_of_order", 1) < MOSTLY_CHANCE:
        open_ones.append("the order of words (documents this short hardly show it)")
    open_ones += ["whether the known texts are unread", "and as famous as yours"]
    yield "Not checked", ", ".join(open_ones)


def _result_of(row: Record, frame: pd.DataFrame) -> str:
    """Return what came of a check: `passed`, `failed` or, with a base, `TAKEN_OFF`."""
    if row["flagged"]:
        return "failed"
    is_apart = row["method"] != EXPLAINED and row["p"] <= CHECK_LEVEL
    return TAKEN_OFF if is_apart and base_of(frame) else "passed"


def _causes(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the documents and the words that make a check fail."""
    units = frame.sort_values("effect", ascending=False, key=abs, kind="stable")
    for method, own in units[units["unit"] == "cause"].groupby("method", sort=False):
        apart = own[own["effect"] > 0]
        in_question = f"{apart['flagged'].sum()} of {own['flagged'].sum()} in question"
        known = f"{(~apart['flagged']).sum()} of {(~own['flagged']).sum()} known"
        most = ", ".join(map(shorten, apart["id"].head(CAUSES_SHOWN)))
        label = CHECKS[str(method)][0]
        yield (
            f"Told apart by {label}",
            f"{in_question} and {known} lie on their own side, most clearly {most}.",
        )
    words = records_of(units[units["unit"] == "word"])
    note = (
        ". In brackets: how many documents in question have it, and how many known "
        "ones."
    )
    for sign, kind in ((1, "in question"), (-1, "in known ones")):
        listed = []
        for row in words:
            if sign * row["effect"] > 0:
                listed.append(f"{row['id']} ({row['texts']:.0f}, {row['n']:.0f})")
        if listed:
            yield f"Words more frequent {kind}", ", ".join(listed) + note
            note = "."


def _counts(design: Mapping[str, float], documents: str, noun: str, texts: str) -> str:
    """Return `2 documents (10 passages)` of two numbers of a design."""
    named = count_noun(int(design.get(documents, 0)), noun)
    passages = count_noun(int(design.get(texts, 0)), "passage")
    return f"{named} ({passages})"


def _left_out(panel: Panel, frame: pd.DataFrame, results: Results) -> str:
    """Say which documents and passages take no part."""
    design = _design(frame)
    out = frame[(frame["unit"] == "document") & (frame["method"] == "")]
    known = int(design.get("known_outliers", 0))
    parts = [f"your document '{name}'" for name in out["id"]]
    if known:
        parts.append(count_noun(known, "known document"))
    words = []
    if parts:
        words.append(f"{join_words(parts)}: unlike all others in words or letters.")
    unlabelled = int(results.read("benchmarks", panel.benchmark)["label"].isna().sum())
    left = unlabelled - int(design.get("texts", 0)) - int(out["texts"].sum())
    if left > 0 and not frame[frame["unit"] == "text"].empty:
        words.append(
            f"{count_noun(left, 'passage')} without a label: no score, or no known "
            "text of the same length and subset."
        )
    return " ".join(words)


def _blocks(panel: Panel, frame: pd.DataFrame, results: Results) -> Iterator[Block]:
    name = f"{panel.title_of(panel.model)} on {panel.title_of(panel.benchmark)}"
    failed = bool(failed_checks(frame))
    facts = []
    for label, words in _can_find(frame):
        facts.append((label, [("", Cell(words=words))], False))
    yield from rows_of(f"What this audit can find: {name}", facts, "")
    for unit, title in (("document", "Documents"), ("text", "Passages")):
        own = frame[(frame["unit"] == unit) & (frame["method"] != "")]
        if unit == "document" and own["id"].nunique() > 1:
            own = pd.concat([frame[frame["unit"] == "all"].assign(id=TOGETHER), own])
        # a single document of a single text is all texts together
        is_text = unit == "document" and own["texts"].max() <= 1
        if own["id"].nunique() > is_text:
            table = results.read("benchmarks", panel.benchmark)
            texts = table.set_index("text_id")["text"]
            yield from _unit_block(f"{title}: {name}", unit, own, texts, failed=failed)
    yield from rows_of(f"Checks: {name}", _checks(frame), "")


def _can_find(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield what an audit of this size can find: labels with their words."""
    design = _design(frame)
    known, own = "Known documents, with passages", "Your documents, with passages"
    if design.get("randomised"):
        known, own = "Places, with private texts", "Places, with published texts"
    for label, keys in (
        (known, ("known_documents", "known_texts")),
        (own, ("documents", "texts")),
    ):
        yield label, ", ".join(f"{design.get(key, 0):,.0f}" for key in keys)
    p = verdict(frame).p
    if pd.notna(p):
        invalid = " (not valid: a check failed)" if failed_checks(frame) else ""
        yield "p of the whole audit", p_text(p) + invalid
        ways = "more than a million"
        if design["log10_ways"] < MANY:
            ways = f"{10 ** design['log10_ways']:,.0f}"
        yield (
            f"Ways to deal the labels out (of more than {DRAWN + 1:,}, {DRAWN:,} are "
            "drawn)",
            ways,
        )
    if _is_counted(frame):
        yield (
            "Your documents that were read, at least",
            f"{design['read_at_least']:.0f}",
        )
    if pd.notna(icc := design.get("icc", float("nan"))):
        yield (
            "How alike the passages of one document are (0: not at all, 1: equal)",
            f"{icc:.2f}",
        )
    if isfinite(effect := design.get("smallest_effect", float("inf"))):
        words = (
            f"{effect:.2f} standard deviations ({_percent(effect)} of passages above "
            "the middle known one)"
        )
        yield "Found in four of five cases: if all lie above by", words
    if not design.get("randomised") and "documents_to_name" in design:
        yield (
            "Known documents that naming a single document needs",
            f"{design['documents_to_name']:,.0f}",
        )
    positive = records_of(_units(frame, "positive"))
    for row in positive:
        words = "yes" if row["p"] <= LEVEL else "no"
        words += (
            f": above by {row['effect']:.2f} standard deviations (p = "
            f"{p_text(row['p'])})"
        )
        yield (
            f"{FOUND_AT_ALL} ({row['texts']:.0f} verses in English, against others of "
            "the same books)",
            words,
        )
    if not positive:
        yield (
            FOUND_AT_ALL,
            "not tested: it is for English texts and models that others trained",
        )


def _unit_block(
    title: str, unit: str, own: pd.DataFrame, texts: "pd.Series[str]", *, failed: bool
) -> Iterator[Block]:
    """Yield a block with a row a document or passage, the lowest p first; passages are
    called by their first words."""
    together = own[own["method"] == COMBINED].sort_values(["p", "id"], kind="stable")
    is_document = together["unit"].ne("all")  # all together come first
    together = together.loc[is_document.sort_values(kind="stable").index]
    alone = own[own["method"] != COMBINED]
    effects = alone.set_index(["id", "method"])["effect"].to_dict()
    methods = in_order(alone["method"])
    rows = []
    details = []
    for row in records_of(together):
        id = row["id"]
        text = str(texts.get(id, "")) if unit == "text" else ""
        cells: list[tuple[Head, Cell]] = [*_unit_cells(row, unit, failed=failed)]
        for method in methods:
            head = f"above: {method_label(method)}"
            cells.append((head, _effect(effects.get((id, method)))))
        rows.append((first_words(text) if text else id, cells, False))
        details.append(f"{id}: {beginning(text, PASSAGE_SHOWN)}" if text else "")
    for block in rows_of(title, rows, "Document" if unit == "document" else "Passage"):
        detailed = []
        for shown, detail in zip(block.rows, details, strict=True):
            detailed.append(replace(shown, detail=detail))
        yield replace(block, rows=tuple(detailed), most=MOST_ROWS)


def first_words(text: str) -> str:
    """Return the first words of a passage; of a text without spaces, the first
    characters."""
    words = text.split()
    short = " ".join(words[:WORDS_SHOWN])
    if len(words) < WORDS_SHOWN < len(text) / 8:
        return text[: 2 * WORDS_SHOWN] + " ..."
    return short + " ..." * (len(words) > WORDS_SHOWN)


def _effect(effect: float | None) -> Cell:
    effect = number(effect)
    return Cell() if effect is None else Cell(words=format_signed(effect, 1))


def _unit_cells(row: Record, unit: str, *, failed: bool) -> Iterator[tuple[Head, Cell]]:
    if unit == "document":
        alone = Cell()
        if row["unit"] != "all":
            alone = named_cell(row, failed=failed)
        yield "named alone", alone
        yield "passages", Cell(words=f"{row['texts']:.0f}")
    elif row["document"] and row["document"] != row["id"]:
        yield "document", Cell(words=row["document"])
    yield "lies above", _effect(row["effect"])
    yield "p", p_cell(row["p"])
    if unit == "document":
        yield "q", p_cell(row["q"])


def named_cell(row: Record, *, failed: bool) -> Cell:
    """Return whether a document is evidence alone, which it is not if a check
    failed."""
    if pd.isna(row["p"]):
        return Cell(words="not tested: too few")
    if lowest_p(row["n"]) > LEVEL:
        return Cell(words="too few known ones")
    if not row["flagged"]:
        is_unlike = row["q"] <= LEVEL
        return Cell(words="no: looks unlike the known ones" if is_unlike else "no")
    if failed:
        return Cell(words="yes, but a check failed")
    return Cell(words="yes", bold=True)


def _checks(frame: pd.DataFrame) -> Iterable[tuple[str, list[tuple[Head, Cell]], bool]]:
    """Yield whether the two sides differ without a model."""
    rows = {row["method"]: row for row in records_of(frame[frame["unit"] == "control"])}
    for method, (_, label) in CHECKS.items():
        if method not in rows:
            words = "not tested"
            if rows and method == EXPLAINED:
                words = "not asked: p is high"
            elif _design(frame).get("randomised"):
                words = "not needed: drawn at random"
            yield label, [("", Cell(words=words))], True
            continue
        row = rows[method]
        tested: str = f" (p = {p_text(row['p'])})" if pd.notna(row["p"]) else ""
        result = _result_of(row, frame)
        words = {
            "passed": "no",
            TAKEN_OFF: "yes; this is taken off the scores",
            "failed": "yes, so the check fails",
        }[result]
        if result != "passed" and row["id"]:
            words += f": {row['id']}"
        cell = Cell(words=words + tested, bold=bool(row["flagged"]))
        yield label, [("", cell)], True
