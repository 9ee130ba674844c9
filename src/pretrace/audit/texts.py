"""What an audit finds in its texts without any score: which documents take part, and
whether the two sides are of one kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pretrace.audit.controls import checks, outliers
from pretrace.audit.documents import Documents
from pretrace.audit.rows import AuditRow
from pretrace.seeds import seed_of


@dataclass(frozen=True)
class ComparedDocuments:
    """The documents that take part, and the names of `outlying` ones, which do not."""

    usual: Documents
    outlying: Sequence[str]

    @property
    def has_both_sides(self) -> bool:
        return 0 < self.usual.suspect.sum() < len(self.usual.names)


def compared_documents(
    ours: pd.DataFrame, theirs: pd.DataFrame, language: str
) -> ComparedDocuments:
    """Return the documents of texts in question and of known ones (`text_id, text,
    document, subset, length`)."""
    documents = Documents.of(_as_many_of_each(ours, theirs), language)
    is_out = outliers(documents)
    outlying = [documents.names[place] for place in np.flatnonzero(is_out).tolist()]
    return ComparedDocuments(documents.where(~is_out), outlying)


def check_rows(documents: Documents, *, based: bool) -> list[AuditRow]:
    """Return the rows of the checks of documents, and why those fail that do.

    With a base model (`based`) no difference of texts makes a comparison invalid by
    itself: it is taken off the scores, as form is.
    """
    rows = checks(documents)
    if not based:
        return rows
    controls = []
    for row in rows:
        if row.unit == "control":
            is_by_exchange = row.p is not None
            controls.append(replace(row, flagged=False) if is_by_exchange else row)
    return controls


def _as_many_of_each(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return `text, document, slice, suspect` of the texts of both sides.

    Of each document as many as the median document of the side with fewer has: means of
    few texts vary more.
    """
    sides = []
    medians = []
    for suspect, table in ((True, ours), (False, theirs)):
        lengths = table["length"].fillna(-1).astype(np.int64).astype(str)
        table = table.assign(slice=table["subset"] + "/" + lengths, suspect=suspect)
        of_document = table.groupby("document")
        slices = of_document["slice"].transform(_joined)
        sides.append(table.assign(slice=slices))
        medians.append(of_document.size().median())
    most = max(1, int(min(medians)))
    both = pd.concat(sides).sort_values("text_id", key=_drawn)
    is_among_first = both.groupby("document").cumcount() < most
    both = both[is_among_first].sort_values("text_id")
    return both[["text", "document", "slice", "suspect"]].reset_index(drop=True)


def _joined(slices: "pd.Series[str]") -> str:
    return "|".join(sorted({*slices}))


def _drawn(ids: "pd.Series[str]") -> "pd.Series[int]":
    """Return the place of each text in an order that depends on its id alone."""
    return ids.map(lambda id: seed_of("even", id))
