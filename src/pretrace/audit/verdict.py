"""The answer of an audit: one of six verdicts, why, and what would make a better
audit."""

from dataclasses import dataclass
from math import log10
from typing import Literal

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
from pretrace.audit.design import (
    FEWEST_WAYS,
    LEVEL,
    TUNED,
    WHOLE_WORKS,
    checks_can_fail,
    documents_for_checks,
    known_for_p,
)
from pretrace.audit.form_features import OF_FILES
from pretrace.audit.own_features import ORDER, OWN_PHRASE, OWN_WORD
from pretrace.audit.rows import COMBINED
from pretrace.runtime.errors import count_noun

Kind = Literal["evidence", "none", "weak", "invalid", "impossible", "untested"]

DIFFERENCES = {
    WORDS: "a classifier tells your documents from the known ones by their words alone",
    LETTERS: "a classifier tells your documents from the known ones by their letters "
    "and signs alone",
    WORD: "a single word tells your documents from the known ones ({})",
    FORM: "your texts look different from the known ones ({})",
    SIZES: "your texts have another size than the known ones ({})",
    SPREAD: "documents of one side differ in form and words from those of the other "
    "side, or more from each other",
    PARTS: "documents are called parts of a work ({}), and parts of one work are not "
    "independent",
    EXPLAINED: "your texts are no longer surely higher once form is taken off ({})",
    COPIES: "two documents of one side are copies of each other ({})",
}
KIND_EXPLAINS = (
    "your texts are no longer surely higher once what tells the sides apart is taken "
    "off ({})"
)
MORE_DOCUMENTS = "Have {}."
SAME_KIND = (
    "Take known texts of the same kind, author, time and length as yours: drafts, "
    "withheld chapters, texts of the same authors from the same years."
)
MAKE_ALIKE = (
    "Make the {} of both sides alike: give the works' own files in two folders, whose "
    "lines and signs are then written alike, or cut them by `pretrace cut --alike`."
)
READ_IN_ORDER = (
    "Read some passages: lines of two columns may be read across. Give texts whose "
    "words are in their order."
)
LOOK_FOR_HEADS = (
    "Look for running heads, names of speakers or refrains that one side repeats, and "
    "leave them out."
)
MORE_TEXTS = "Add documents in question and known documents, with more texts each."
LARGER_MODEL = (
    "More texts may not help: this model has not read these verses, or these methods "
    "show too little of what it has read."
)


@dataclass(frozen=True)
class Verdict:
    """`kind`; the p of the whole audit (NaN: none); `reasons`, and `repairs` of what
    would make a better audit."""

    kind: Kind
    p: float
    reasons: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def verdict(audit: pd.DataFrame) -> Verdict:
    """Return the verdict on a table of `audit.audit`.

    `invalid`: a check fails, or all documents in question are outlying. `evidence`: p
    is at most `LEVEL` and the checks could have failed, or labels were drawn at random.
    `untested`: p is as low, and they could not. `impossible`: no p can be as low.
    `none`: p is higher, and the positive control, verses that most models of the web
    have read, lies above the smallest effect that this audit finds; with a base model,
    `TUNED` does. `weak`: p is higher, and that is not so.
    """
    design = audit[audit["unit"] == "design"].set_index("id")["score"]
    is_together = audit["unit"].eq("all") & audit["method"].eq(COMBINED)
    together = audit[is_together]["p"]
    p = float(together.iloc[0]) if len(together) else float("nan")
    documents = int(design.get("documents", 0))
    known = int(design.get("known_documents", 0))
    if reasons := invalid(audit):
        return Verdict("invalid", p, reasons, repairs(audit))
    few = (
        f"{count_noun(documents, 'document')} in question and "
        f"{count_noun(known, 'known document')}"
    )
    if pd.isna(p) or design["log10_ways"] < log10(FEWEST_WAYS):
        why = f"with {few}, no p can be as low as {LEVEL:g}"
        more = MORE_DOCUMENTS.format(known_for_p(documents))
        return Verdict("impossible", p, (why,), (more,))
    if p <= LEVEL:
        if design["randomised"] or checks_can_fail(documents, known):
            return Verdict("evidence", p)
        why = (
            f"{few} are too few to see whether they differ in kind, such as decade or "
            "genre"
        )
        more = MORE_DOCUMENTS.format(documents_for_checks(documents))
        return Verdict("untested", p, (why,), (more,))
    effect = design["smallest_effect"]
    finds = f"it finds {effect:.2f} standard deviations or more"
    if design.get("based"):
        if effect <= TUNED:
            return Verdict("none", p)
        why = (
            f"texts that a model was tuned on once, gently, lie {TUNED:g} above "
            f"others, and {finds}"
        )
        return Verdict("weak", p, (why,), (MORE_TEXTS,))
    positive = audit[audit["unit"] == "positive"]
    if positive.empty:
        why = (
            "no positive control shows how far above others this model scores what it "
            f"has read; {finds}"
        )
        return Verdict("weak", p, (why,), (MORE_TEXTS,))
    shown = positive[positive["p"].le(LEVEL)]["effect"].max()
    if pd.isna(shown):
        why = (
            "the same methods do not find verses that the web quotes every day, which "
            f"most models have read (p = {positive['p'].min():.2g})"
        )
        return Verdict("weak", p, (why,), (LARGER_MODEL,))
    if effect <= shown:
        return Verdict("none", p)
    why = (
        "verses that the web quotes every day lie only "
        f"{shown:.2f} above others, and {finds}"
    )
    return Verdict("weak", p, (why,), (MORE_TEXTS,))


def invalid(audit: pd.DataFrame) -> tuple[str, ...]:
    """Return why a comparison is invalid; nothing if it may be valid.

    The rows of `audit.checks_before_scores` suffice: a check that fails there fails
    whatever the scores are.
    """
    design = audit[audit["unit"] == "design"].set_index("id")["score"]
    if not design.get("documents", 0) and design["outliers"]:
        return ("your documents are unlike all others in their words or letters",)
    return tuple(failed_checks(audit).values())


def repairs(audit: pd.DataFrame) -> tuple[str, ...]:
    """Return what would make an invalid comparison a valid one."""
    failed = _failed_rows(audit)
    advice = []
    if failed.get(FORM) in OF_FILES:
        advice.append(MAKE_ALIKE.format(failed[FORM]))
    named = {failed.get(FORM), failed.get(EXPLAINED)}
    if ORDER in named:
        advice.append(READ_IN_ORDER)
    if named & {"repeated lines", OWN_WORD, OWN_PHRASE, ORDER}:
        advice.append(LOOK_FOR_HEADS)
    if failed and {*failed} <= {PARTS, COPIES}:
        advice.append(WHOLE_WORKS)
    else:
        advice.append(SAME_KIND)
    return tuple(advice)


def silent_control(audit: pd.DataFrame) -> float | None:
    """Return the lowest p of positive controls if all of them failed; None if one was
    found or none was read."""
    lowest = audit[audit["unit"] == "positive"]["p"].min()
    return float(lowest) if lowest > LEVEL else None


def share_above(effect: float) -> float:
    """Return the share of a document's texts above the median known text, if it lies
    `effect` SD above."""
    from scipy.special import ndtr

    return float(ndtr(effect))


def failed_checks(audit: pd.DataFrame) -> dict[str, str]:
    """Return by check why a low p may come from something other than training."""
    failed = _failed_rows(audit)
    is_based = audit["unit"].eq("design") & audit["id"].eq("based")
    differences = dict(DIFFERENCES)
    if is_based.any():
        differences[EXPLAINED] = KIND_EXPLAINS
    reasons = {}
    for method, words in differences.items():
        if method in failed:
            reasons[method] = words.format(failed[method])
    return reasons


def _failed_rows(audit: pd.DataFrame) -> dict[str, str]:
    """Return by failed check the feature, word or documents that tell the sides
    apart."""
    failed = audit[(audit["unit"] == "control") & audit["flagged"]]
    return dict(zip(failed["method"], failed["id"], strict=True))
