"""Read a benchmark's source and write its table of texts."""

from pathlib import Path

from pretrace import benchmarks
from pretrace.benchmarks.table import schema_of
from pretrace.runtime.files import write_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    table = benchmarks.build(
        snakemake.wildcards.benchmark,
        snakemake.params.entry,
        [Path(path) for path in snakemake.input[:-1]],  # the last is its identity
        seed=snakemake.params.seed,
    )
    write_parquet(snakemake.output[0], table, schema_of(table))
