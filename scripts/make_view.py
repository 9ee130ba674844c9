"""Store a view of a benchmark: from a file, of words that a model puts in place of
others, or as a model writes it."""

from functools import partial
from pathlib import Path

from pretrace.questions.view_jobs import make_table
from pretrace.runtime.files import read_parquet
from pretrace.runtime.jobs import run_job
from pretrace.views.stored import write_view

with run_job(snakemake):
    files, params = snakemake.input, snakemake.params
    make = partial(
        make_table,
        params.way,
        name=params.view,
        benchmark=params.benchmark,
        texts=read_parquet(files.benchmark),
        entry=params.entry,
        source=files.source,
        checkpoint=files.checkpoint,
        prompts=files.prompts,
        threads=params.threads,
        device=params.device,
        answering={
            "api_answers": Path(params.answers),
            "local_answers": Path(params.store),
            # no parameter: a higher one starts no job again
            "budget_usd": snakemake.config["budget_usd"],
            "batch_tokens": params.batch_tokens,
            "gpus": snakemake.resources.gpu,
        },
    )
    write_view(Path(snakemake.output[0]), make)
