"""Check an adapter against the model that it changes, and record the hash of each file
of both."""

from pathlib import Path

from pretrace.models.adapters import register_adapter
from pretrace.models.checkpoint import read_checkpoint
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    register_adapter(
        Path(snakemake.params.path),
        read_checkpoint(Path(snakemake.input.base)),
        Path(snakemake.output[0]),
    )
