"""Count the distinct segments of one shard of a reference corpus."""

from pathlib import Path
from typing import TYPE_CHECKING

from pretrace import corpora
from pretrace.runtime.logs import job_log

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job_log(snakemake.log[0]):
    corpora.count_segments(Path(snakemake.input.documents), Path(snakemake.output[0]))
