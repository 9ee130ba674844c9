"""Train a model further on exactly the members of its benchmark."""

from pathlib import Path

from pretrace.models.training.build import continue_model
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    continue_model(
        snakemake.wildcards.model,
        snakemake.params.training,
        benchmark=read_parquet(snakemake.input.benchmark),
        start=Path(snakemake.input.start),
        out_dir=Path(snakemake.output.checkpoint).parent,
        threads=snakemake.params.threads,
    )
