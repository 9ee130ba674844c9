"""From scores to metrics with intervals, hyperparameter selections and significance tests."""

from pretrace.evaluation.cells import EvaluationSet
from pretrace.evaluation.evaluate import METRIC_COLUMNS, TEST_COLUMNS, evaluate
from pretrace.evaluation.null import misses
from pretrace.evaluation.roc import LEVELS, METRICS
from pretrace.evaluation.sets import evaluation_sets
from pretrace.evaluation.wasserstein import signed_wasserstein

__all__ = [
    "LEVELS",
    "METRICS",
    "METRIC_COLUMNS",
    "TEST_COLUMNS",
    "EvaluationSet",
    "evaluate",
    "evaluation_sets",
    "misses",
    "signed_wasserstein",
]
