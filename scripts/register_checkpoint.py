"""Check a local checkpoint and record the hash of each of its files."""

from pathlib import Path
from typing import TYPE_CHECKING

from pretrace import models
from pretrace.runtime.logs import job_log

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with job_log(snakemake.log[0]):
    models.register_local(
        Path(snakemake.params.path), Path(snakemake.output[0]), remote_code=snakemake.params.remote_code
    )
