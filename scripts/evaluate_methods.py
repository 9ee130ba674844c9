"""Metrics with intervals, three ways of choosing hyperparameters, tests between methods, and all else that is shown."""

from pathlib import Path

from pretrace.evaluation.cells import scores_of
from pretrace.evaluation.estimates import estimates_and_curves
from pretrace.evaluation.evaluate import evaluate
from pretrace.evaluation.placebos import nothing, placebos
from pretrace.evaluation.sets import evaluation_sets
from pretrace.questions import known
from pretrace.runtime.files import read_json, read_parquet, read_parquet_parts, write_parquet
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    benchmark = read_parquet(snakemake.input.benchmark)
    prefixes = read_parquet(snakemake.input.prefixes) if snakemake.input.prefixes else None
    sets = evaluation_sets(benchmark, prefixes, snakemake.params.draws_of_sets)
    own_sets = [one for one in sets if not one.nonmembers]
    shown = [tuple(cell) for cell in snakemake.params.shown]
    scores = scores_of(read_parquet_parts(snakemake.input.scores), benchmark)
    metrics, tests = evaluate(
        scores,
        benchmark,
        study=snakemake.params.study,
        model=snakemake.wildcards.model,
        benchmark_name=snakemake.wildcards.benchmark,
        resamples=snakemake.params.resamples,
        grid_intervals=set(snakemake.params.grid_intervals),
        evaluation_sets=own_sets,
        pooled=snakemake.params.pooled,
        randomised=snakemake.params.randomised,
        shown=shown,
    )
    placebo_values = nothing()
    if snakemake.params.placebos:
        placebo_values = placebos(
            scores,
            benchmark,
            name=snakemake.wildcards.benchmark,
            evaluation_sets=sets,
            shown=shown,
            settings=known,
            language=snakemake.params.language,
        )
    estimates, curves = estimates_and_curves(
        snakemake.params.asked,
        model=snakemake.wildcards.model,
        benchmark_name=snakemake.wildcards.benchmark,
        benchmark=benchmark,
        metrics=metrics,
        scores=scores,
        table=lambda: read_parquet(snakemake.input.scores),
        prefixes=prefixes,
        evaluation_sets=own_sets,
        answers=read_parquet(snakemake.input.answers) if snakemake.input.answers else None,
        calibrations=read_parquet(snakemake.input.calibration) if snakemake.input.calibration else None,
        manifest=read_json(snakemake.input.manifest) if snakemake.input.manifest else None,
        store=Path(snakemake.params.store),
        resamples=snakemake.params.resamples,
        pooled=snakemake.params.pooled,
        language=snakemake.params.language,
    )
    write_parquet(snakemake.output.metrics, metrics)
    write_parquet(snakemake.output.tests, tests)
    write_parquet(snakemake.output.placebos, placebo_values)
    write_parquet(snakemake.output.estimates, estimates)
    write_parquet(snakemake.output.curves, curves)
