"""From scores to metrics with intervals, hyperparameter selections and significance
tests.

In come the scores of a model and benchmark, a row for each text, method and setting,
and the benchmark's texts; out go tables of metrics, tests and placebos, and the
statistics behind figures.

Read `evaluate.evaluate` first. It takes the scores by units (`scores`), chooses
settings (`selection`), resamples texts or documents (`resampling`) and compares methods
(`comparison`). `statistics` lists what is computed for single figures.
"""
