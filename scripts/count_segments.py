"""Count the distinct segments of one shard of a reference corpus."""

from pathlib import Path

from pretrace.corpora.segments import count_segments
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    count_segments(Path(snakemake.input.documents), Path(snakemake.output[0]))
