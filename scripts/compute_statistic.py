"""Compute one statistic of a model and benchmark (`evaluation.statistics`)."""

from pathlib import Path

from pretrace.evaluation.statistics import STATISTICS, StatisticInputs
from pretrace.runtime.files import write_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    files = {}
    for kind, path in snakemake.input.items():
        if path and kind != "identity":
            files[kind] = path
    inputs = StatisticInputs(
        model=snakemake.wildcards.model,
        benchmark_name=snakemake.wildcards.benchmark,
        files=files,
        store=Path(snakemake.params.store),
        resamples=snakemake.params.resamples,
        **dict(snakemake.params.options),
    )
    statistic = STATISTICS[snakemake.wildcards.statistic]
    write_parquet(snakemake.output[0], statistic.table(inputs))
