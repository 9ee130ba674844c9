"""The answer of an audit: one of four verdicts, why, what follows, and what would make a better audit."""

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from pretrace.evaluation.audit import COMBINED, low_shares
from pretrace.evaluation.audit_controls import CLASSIFIER, SIZES, WORDING
from pretrace.evaluation.resampling import LEAST_DOCUMENTS
from pretrace.evaluation.significance import LEVEL

Kind = Literal["evidence", "none", "invalid", "impossible"]

TOO_LARGE = 2.0
"""An audit that finds only larger effects, in standard deviations of a text, finds nothing: passages that the web
repeats most lie about 1.5 above others."""

DIFFERENCES = {
    WORDING: "the wording of your texts is less typical of the known documents than their own wording is",
    SIZES: "your texts have another number of characters than the known ones",
    CLASSIFIER: "a classifier tells your texts from the known ones by their words alone",
}
MORE_DOCUMENTS = "Add known documents: at least {}, each with several texts. Twenty or more find much more."
MORE_TEXTS = "Add texts of your documents, and known documents with as many texts each."
SAME_KIND = (
    "Take known texts of the same kind, author, time and length as yours: drafts, withheld chapters, texts of the same "
    "authors from after the model's release."
)
LARGER_MODEL = "Nothing can be repaired in the texts: this model, read with these methods, shows too little."
CHECK = "too many known documents look trained on when each is compared with the others"


@dataclass(frozen=True)
class Verdict:
    """`kind`; the p of the whole audit (NaN: none); reasons for an audit that is invalid or impossible; `repairs`."""

    kind: Kind
    p: float
    reasons: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def verdict(frame: pd.DataFrame) -> Verdict:
    """Return the verdict on a table of `audit.audit`.

    `impossible`: too few known documents, or nothing was found and nothing could have been. `invalid`: a control fails.
    `evidence`: the p of the whole audit (`audit.verdict_rows`) is at most `LEVEL`, so that at most one audit in twenty
    of texts that were not trained on has it. `none`: the rest.
    """
    design = frame[frame["unit"] == "design"].set_index("id")["score"]
    p = float(design.get("verdict_p", float("nan")))
    known = int(design.get("known_documents", 0))
    if pd.isna(p) or known < LEAST_DOCUMENTS:
        documents = "1 known document" if known == 1 else f"{known} known documents"
        why = f"it compares whole documents, and {documents} cannot show how much such documents differ"
        return Verdict("impossible", float("nan"), (why,), (MORE_DOCUMENTS.format(LEAST_DOCUMENTS),))
    if failed := failed_controls(frame):
        return Verdict("invalid", p, tuple(failed), (SAME_KIND,))
    if p <= LEVEL:
        return Verdict("evidence", p)
    if blind := _blind_spots(frame, design):
        return Verdict("impossible", p, *map(tuple, zip(*blind, strict=True)))
    return Verdict("none", p)


def share_above(effect: float) -> float:
    """Return the share of a document's texts above the median known text, if it lies `effect` SD above."""
    from scipy.special import ndtr

    return float(ndtr(effect))


def failed_controls(frame: pd.DataFrame) -> list[str]:
    """Return why a low p may come from something other than training, one reason a failed control."""
    controls = frame[(frame["unit"] == "control") & frame["flagged"]]
    reasons = [DIFFERENCES[method] for method in DIFFERENCES if method in set(controls["method"])]
    return reasons + [CHECK] * any(row["too_many"] for row in low_shares(frame))


def _blind_spots(frame: pd.DataFrame, design: "pd.Series[float]") -> list[tuple[str, str]]:
    """Return why nothing could have been found, each with its repair."""
    spots = []
    documents = int(design["documents"])
    attainable = design["least_p"] if documents == 1 else 2 * design[["least_p", "least_p_all"]].min()
    effect = design[["smallest_effect", *["smallest_effect_all"] * (documents > 1)]].min()
    if attainable > LEVEL:
        spots.append((f"even texts above every known text would only reach p = {attainable:.2g}", MORE_TEXTS))
    elif effect > TOO_LARGE:
        reason = f"it would only find texts that lie {effect:.1f} standard deviations above the known ones"
        spots.append((reason, MORE_TEXTS))
    positive = frame[(frame["unit"] == "positive") & (frame["method"] == COMBINED)]["p"]
    if positive.gt(LEVEL).any():
        reason = "the same methods do not find passages that the model surely read often"
        spots.append((f"{reason} (p = {positive.iloc[0]:.2g})", LARGER_MODEL))
    return spots
