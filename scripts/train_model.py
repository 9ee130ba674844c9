"""Train a small controlled model on exactly the members of its benchmark."""

from pathlib import Path

from pretrace.models.training.build import train_model
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import job_log

with job_log(snakemake.log[0]):
    train_model(
        snakemake.wildcards.model,
        snakemake.params.training,
        benchmark=read_parquet(snakemake.input.benchmark),
        other=[text for path in snakemake.input.documents for text in read_parquet(path)["text"]],
        tokenizer_json=Path(snakemake.input.tokenizer),
        out_dir=Path(snakemake.output.checkpoint).parent,
        threads=snakemake.params.threads,
    )
