"""Train a model on exactly the members of its benchmark: from random weights, or
another model further."""

from pathlib import Path

from pretrace.models.entries import Training
from pretrace.models.training.build import continue_model, train_model
from pretrace.runtime.files import read_parquet
from pretrace.runtime.jobs import run_job

with run_job(snakemake):
    options = {
        "benchmark": read_parquet(snakemake.input.benchmark),
        "out_dir": Path(snakemake.output.checkpoint).parent,
        "threads": snakemake.params.threads,
    }
    name = snakemake.wildcards.model
    training = Training.model_validate(snakemake.params.training)
    if snakemake.input.start:
        continue_model(name, training, start=Path(snakemake.input.start), **options)
    else:
        other = []
        for path in snakemake.input.documents:
            other += read_parquet(path)["text"].tolist()
        train_model(
            name,
            training,
            other=other,
            tokenizer_json=Path(snakemake.input.tokenizer),
            **options,
        )
