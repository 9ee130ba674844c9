"""Metrics with intervals of every setting, three ways of choosing hyperparameters,
tests between methods, placebos."""

from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.placebos import empty_placebos, placebos
from pretrace.evaluation.scores import evaluation_sets, scores_of
from pretrace.runtime.files import (
    read_parquet,
    read_parquet_if_given,
    read_parquet_parts,
    write_parquet,
)
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    benchmark = read_parquet(snakemake.input.benchmark)
    prefixes = read_parquet_if_given(snakemake.input.prefixes)
    sets = evaluation_sets(benchmark, prefixes, snakemake.params.draws)
    scores = scores_of(read_parquet_parts(snakemake.input.scores), benchmark)
    metrics, tests = evaluate(
        scores,
        benchmark,
        study=snakemake.params.study,
        model=snakemake.wildcards.model,
        benchmark_name=snakemake.wildcards.benchmark,
        resamples=snakemake.params.resamples,
        evaluation_sets=[chosen for chosen in sets if not chosen.nonmembers],
        pooled=snakemake.params.pooled,
    )
    placebo_values = empty_placebos()
    if snakemake.params.placebos:
        placebo_values = placebos(
            scores,
            benchmark,
            name=snakemake.wildcards.benchmark,
            evaluation_sets=sets,
            language=snakemake.params.language,
        )
    write_parquet(snakemake.output.metrics, metrics)
    write_parquet(snakemake.output.tests, tests)
    write_parquet(snakemake.output.placebos, placebo_values)
