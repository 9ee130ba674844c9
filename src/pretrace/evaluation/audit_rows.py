"""The rows of an audit's table, and the table that they make."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from pretrace.benchmarks.audit_design import LEVEL
from pretrace.evaluation.audit_scores import OF_METHOD

COMBINED = "combined"
"""All methods that see the model together: the mean of a text's normal scores. Every p
is of them."""

AUDIT_UNITS = (
    "all",
    "document",
    "text",
    "control",
    "cause",
    "word",
    "positive",
    "design",
)
"""What a row can be of, in the order of the table."""


@dataclass(frozen=True)
class AuditRow:
    """A row of an audit; None and "" where a column has no meaning.

    `unit`, what is compared: `all` texts in question together, a `document` or a `text`
    of them; a check of whether texts are comparable (`control`), and why it fails
    (`cause`, `word`: `audit_controls`); passages that most models of the web have read
    (`positive`); `design`, numbers by `id`. `texts`: the unit's texts. `score`: the
    mean of the method's scores (of `combined` none); of a `design` row its number.
    `effect`: how much higher the unit lies than the known documents, in standard
    deviations of a text. `p`: of `combined`, of `all` by exchange of labels, of a
    document or text its rank among known documents; of a control, that of the checks by
    exchange together; of `explained`, of what form leaves. `flagged`: of a control, it
    fails; of a document, False if it must not be named alone. `n`: known units that the
    unit is compared with.
    """

    unit: str
    id: str = ""
    document: str = ""
    method: str = ""
    setting: str = ""
    texts: int | None = None
    score: float | None = None
    effect: float | None = None
    p: float | None = None
    flagged: bool | None = None
    n: int | None = None


def design_row(id: str, number: float) -> AuditRow:
    return AuditRow("design", id, score=number)


AUDIT_COLUMNS = [
    "unit", "id", "document", "method", "setting", "texts", "score", "effect", "p", "q",
    "flagged", "n",
]  # fmt: skip
"""The columns of an audit's table: those of `AuditRow`, and `q`, of documents: p by
Benjamini and Hochberg. A document is `flagged` at q <= `LEVEL` if its form is like that
of known ones."""


NUMBERS = ("texts", "score", "effect", "p", "n")


def audit_table(rows: Sequence[AuditRow]) -> pd.DataFrame:
    """Return the table of `AUDIT_COLUMNS`, in the order of `AUDIT_UNITS`, methods and
    ids."""
    frame = pd.DataFrame([asdict(row) for row in rows]).reindex(columns=AUDIT_COLUMNS)
    frame = frame.astype(dict.fromkeys(NUMBERS, np.float64))
    frame["q"] = _benjamini_hochberg(frame)
    is_check = frame["unit"].isin(["control", "cause"])
    may_be_named = frame["flagged"].ne(False)
    is_named = frame["q"].le(LEVEL) & may_be_named
    frame["flagged"] = np.where(is_check, frame["flagged"].eq(True), is_named)
    frame["unit"] = pd.Categorical(frame["unit"], AUDIT_UNITS, ordered=True)
    order = ["unit", *OF_METHOD, "id"]
    frame = frame.sort_values(order, kind="stable", ignore_index=True)
    return frame.astype({"unit": object, "flagged": bool})


def _benjamini_hochberg(frame: pd.DataFrame) -> "pd.Series[float]":
    """Return Benjamini and Hochberg's q over the documents.

    Not scipy's, whose import takes a second of every audit's job.
    """
    tested = frame.loc[frame["unit"].eq("document") & frame["p"].notna(), "p"]
    ordered = tested.astype(np.float64).sort_values(kind="stable")
    raised = ordered * (len(ordered) / np.arange(1, len(ordered) + 1))
    lowest = raised[::-1].cummin().clip(0, 1)
    return lowest.reindex(frame.index)
