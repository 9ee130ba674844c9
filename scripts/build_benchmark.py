"""Read a benchmark's source and write its table of texts."""

from pathlib import Path

from pretrace import benchmarks
from pretrace.benchmarks.table import schema_of
from pretrace.runtime.files import write_parquet
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    source = snakemake.input.get("source", [])
    table = benchmarks.build(
        snakemake.wildcards.benchmark,
        snakemake.params.entry,
        [Path(file) for file in ([source] if isinstance(source, str) else source)],
        seed=snakemake.params.seed,
    )
    write_parquet(snakemake.output[0], table, schema_of(table))
