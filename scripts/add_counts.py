"""Add the token counts of a corpus's shards."""

from pathlib import Path

from pretrace.corpora.counts import reduce_counts
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    reduce_counts([Path(path) for path in snakemake.input.counts], Path(snakemake.output[0]))
