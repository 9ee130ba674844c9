"""Train a controlled model again on other halves of its benchmark, and score the texts
under each."""

from pathlib import Path

from pretrace.models.entries import Training
from pretrace.models.training.shadows import train_shadows
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    scores = train_shadows(
        snakemake.wildcards.model,
        Training.model_validate(snakemake.params.training),
        benchmark=read_parquet(snakemake.input.benchmark),
        lengths=snakemake.params.lengths,
        shadows=snakemake.params.shadows,
        tokenizer_json=Path(snakemake.input.tokenizer),
        threads=snakemake.params.threads,
    )
    write_parquet(snakemake.output[0], scores)
