"""Check a local checkpoint and record the hash of each of its files."""

from pathlib import Path

from pretrace.models.checkpoint import register_local
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    register_local(
        Path(snakemake.params.path),
        Path(snakemake.output[0]),
        remote_code=snakemake.params.remote_code,
    )
