"""The names of all metrics, of their keys, and of all subsets together. Light to
import."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pretrace.methods.settings import Column

if TYPE_CHECKING:
    import pandas as pd

EACH = "*"
"""A subset that stands for every one."""

METRIC_KEYS = [
    "unit", *Column._fields, "subset", "length", "evaluation_set", "selection",
]  # fmt: skip
"""What tells the rows of metrics, tests and curves apart."""

LEVELS = (1, 5, 10)
"""False-positive rates, in percent, at which true-positive rates are reported."""

METRICS = (
    "auc",
    *(f"tpr_at_{level}_fpr{strict}" for level in LEVELS for strict in ("", "_strict")),
)
"""Metrics of texts and documents."""

FEWEST_DOCUMENTS = 5
"""A class with fewer documents is resampled by text, conditional on these, and has no
test of its documents' means; one of fewer texts has no interval."""

FEW_TEXTS = "few_texts"
"""The mark of a value of a class of fewer than five texts, which has no interval."""

FEW_DOCUMENTS = "few_documents"
"""The mark of a value of a class of too few documents to choose a setting: the default
is taken."""

RANKS_AS = "ranks_as_"
"""How the mark begins of a chosen setting that ranks the texts as another method does,
whose name follows."""

AUC_AS_PUBLISHED = "auc_as_published"
ACCURACIES = ("accuracy_members", "accuracy_nonmembers")
SHOWN_METRICS = (*METRICS, AUC_AS_PUBLISHED, *ACCURACIES)
"""Metrics that a table can show; the last three are for documents only."""


def marks_in(marks: str | None) -> list[str]:
    """Return the marks of a row of metrics, which are joined by semicolons."""
    return [mark for mark in (marks or "").split(";") if mark]


def level_of(metric: str) -> int | None:
    """Return the false-positive rate in a metric's name, in percent; None for the
    AUC."""
    return None if metric == "auc" else int(metric.split("_")[2])


def rows_like(
    frame: "pd.DataFrame", row: Mapping[str, object], keys: Iterable[str]
) -> "pd.DataFrame":
    """Return the rows of a table that agree with a row in these keys; a missing value
    agrees with a missing one."""
    import pandas as pd

    for key in keys:
        value: Any = row[key]
        if pd.isna(value):
            is_like = frame[key].isna()
        else:
            is_like = frame[key].eq(value).fillna(False)
        frame = frame[is_like]
    return frame
