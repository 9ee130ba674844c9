"""Have a model continue the first half of each text of a benchmark: a checkpoint, or a model behind an API."""

from pathlib import Path

from pretrace.questions.continuing import continue_texts
from pretrace.questions.prompts import read_wording
from pretrace.questions.writing import writer_of
from pretrace.runtime.files import read_parquet, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views import stored

name = f"{snakemake.wildcards.benchmark} continued by {snakemake.wildcards.writer}"

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
        wording=read_wording(Path(snakemake.input.prompts)),
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
    ) as writer,
):
    benchmark = read_parquet(snakemake.input.benchmark)
    table = continue_texts(benchmark, writer, int(snakemake.wildcards.samples), name)
    write_parquet(snakemake.output[0], table, stored.schema())
