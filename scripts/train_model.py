"""Train a model on exactly the members of its benchmark: from random weights, or
another model further."""

from contextlib import suppress
from pathlib import Path

from pretrace.models.entries import Training
from pretrace.models.training.build import continue_model, train_model
from pretrace.passes.filling import fill_pairs
from pretrace.runtime.files import read_parquet
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import job_log

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

# The process has torch and the checkpoint is marked, so the model's passes are read here
# as far as their texts are ready. What fails is left to their own jobs.
with suppress(SystemExit), job_log(snakemake.log[0], mode="a"):
    checkpoint = Path(snakemake.output.checkpoint)
    fill_pairs(checkpoint=checkpoint, **snakemake.params.reading)
