"""From scores to metrics with intervals, hyperparameter selections and significance
tests."""
