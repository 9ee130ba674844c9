"""From scores to metrics with intervals, hyperparameter selections and significance tests."""

from pretrace.evaluation.cells import EvaluationSet
from pretrace.evaluation.evaluate import METRIC_COLUMNS, TEST_COLUMNS, evaluate
from pretrace.evaluation.roc import LEVELS, METRICS

__all__ = ["LEVELS", "METRICS", "METRIC_COLUMNS", "TEST_COLUMNS", "EvaluationSet", "evaluate"]
