"""The names of all metrics, of their keys, and of all subsets together. Light to import."""

from pretrace.methods.settings import Column

EACH = "*"
"""A subset that stands for every one."""

KEYS = ["unit", *Column._fields, "subset", "length", "evaluation_set", "selection"]
"""What tells the rows of metrics, tests and curves apart."""

LEVELS = (1, 5, 10)
"""False-positive rates, in percent, at which true-positive rates are reported."""

METRICS = ("auc", *(f"tpr_at_{level}_fpr{strict}" for level in LEVELS for strict in ("", "_strict")))
"""Metrics of texts and documents."""

AUC_AS_PUBLISHED = "auc_as_published"
ACCURACIES = ("accuracy_members", "accuracy_nonmembers")
SHOWN_METRICS = (*METRICS, AUC_AS_PUBLISHED, *ACCURACIES)
"""Metrics that a table can show; the last three are for documents only."""


def level_of(metric: str) -> int | None:
    """Return the false-positive rate in a metric's name, in percent; None for the AUC."""
    return None if metric == "auc" else int(metric.split("_")[2])
