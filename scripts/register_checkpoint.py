"""Check a local checkpoint and record the hash of each of its files."""

from pathlib import Path

from pretrace.models.checkpoint import register_local
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    register_local(
        Path(snakemake.params.path), Path(snakemake.output[0]), remote_code=snakemake.params.remote_code
    )
