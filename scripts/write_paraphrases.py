"""Have a model write three paraphrases of each passage of a benchmark: a checkpoint, or a model behind an API."""

from pathlib import Path

from pretrace.questions.paraphrasing import paraphrase, read_prompts
from pretrace.questions.writing import writer_of
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

name = f"paraphrases of {snakemake.wildcards.benchmark} by {snakemake.wildcards.writer}"

with (
    job_log(snakemake.log[0]),
    writer_of(
        snakemake.params.entry,
        name,
        model=snakemake.params.model,
        checkpoint_json=snakemake.input.checkpoint,
        store=Path(snakemake.params.answers),
        budget_usd=snakemake.config["budget_usd"],  # no parameter: a higher one starts no job again
        batch_tokens=snakemake.params.batch_tokens,
        threads=snakemake.params.threads,
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
    ) as writer,
):
    prompts = read_prompts(Path(snakemake.input.prompts))
    table = paraphrase(read_parquet(snakemake.input.benchmark), writer, prompts, name)
    write_parquet(snakemake.output[0], table, stored.schema())
