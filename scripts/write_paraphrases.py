"""Have a model write three paraphrases of each passage of a benchmark: a checkpoint, or a model behind an API."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pretrace import models
from pretrace.questions.paraphrasing import paraphrase, read_prompts
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


entry = snakemake.params.entry


def client_of_api():
    from pretrace.models.api import connected

    return connected(
        snakemake.params.model,
        entry["api"],
        store=Path(snakemake.params.answers),
        budget_usd=snakemake.config["budget_usd"],
    )


def writer_of(client, name):
    if client is not None:
        from pretrace.questions.writing import ApiWriter

        return ApiWriter(client)
    from pretrace.questions.sampling import LocalWriter

    target = models.load_checkpoint(
        Path(snakemake.input.checkpoint),
        device=snakemake.config["device"],
        gpus=snakemake.resources.gpu,
        **entry,
    )
    return LocalWriter(target, name, snakemake.config["batch_tokens"])


with job_log(snakemake.log[0]), client_of_api() if "api" in entry else nullcontext() as client:
    name = f"paraphrases of {snakemake.wildcards.benchmark} by {snakemake.wildcards.maker}"
    table = paraphrase(
        read_parquet(snakemake.input.benchmark),
        writer_of(client, name),
        read_prompts(Path(snakemake.input.prompts)),
        name,
    )
    write_parquet(snakemake.output[0], table, stored.schema())
