"""The rows of an audit's table, and the table that they make."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from pretrace.audit.design import LEVEL
from pretrace.audit.scores import OF_METHOD

COMBINED = "combined"
"""All methods that see the model together: the mean of a text's normal scores. Every p
is of them."""

AUDIT_UNITS = (
    "all", "document", "text", "control", "cause", "word", "positive", "design",
)  # fmt: skip
"""What a row can be of, in the order of the table."""


@dataclass(frozen=True)
class AuditRow:
    """A row of an audit; None and "" where a column has no meaning.

    `unit`, what is compared: `all` texts in question together, a `document` or a `text`
    of them; a check of whether texts are comparable (`control`), and why it fails
    (`cause`, `word`: `controls`); passages that most models of the web have read
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
    return AuditRow("design", id, score=float(number))


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
    table = pd.DataFrame([asdict(row) for row in rows]).reindex(columns=AUDIT_COLUMNS)
    table = table.astype(dict.fromkeys(NUMBERS, np.float64))
    table["q"] = _benjamini_hochberg(table)
    is_check = table["unit"].isin(["control", "cause"])
    has_failed = table["flagged"].eq(True)
    may_be_named = table["flagged"].ne(False)
    is_named = table["q"].le(LEVEL) & may_be_named
    table["flagged"] = np.where(is_check, has_failed, is_named)
    table["unit"] = pd.Categorical(table["unit"], AUDIT_UNITS, ordered=True)
    order = ["unit", *OF_METHOD, "id"]
    table = table.sort_values(order, kind="stable", ignore_index=True)
    return table.astype({"unit": object, "flagged": bool})


def _benjamini_hochberg(table: pd.DataFrame) -> "pd.Series[float]":
    """Return Benjamini and Hochberg's q over the documents.

    Not scipy's, whose import takes a second of every audit's job.
    """
    is_tested = table["unit"].eq("document") & table["p"].notna()
    ordered = table.loc[is_tested, "p"].sort_values(kind="stable")
    count = len(ordered)
    raised = ordered * (count / np.arange(1, count + 1))
    lowest = raised[::-1].cummin().clip(0, 1)
    return lowest.reindex(table.index)
