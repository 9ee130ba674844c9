"""Add the token counts of a corpus's shards."""

from pathlib import Path

from pretrace.corpora.counts import reduce_counts
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    reduce_counts(
        [Path(path) for path in snakemake.input.counts], Path(snakemake.output[0])
    )
