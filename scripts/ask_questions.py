"""Ask a model behind an API the questions of a benchmark: multiple choice, completion, name cloze."""

from pathlib import Path

from pretrace.models.api.client import connected
from pretrace.models.tokens import load_tokenizer
from pretrace.questions.job import answer_questions
from pretrace.questions.over_api import ApiAnswerer
from pretrace.questions.prompts import read_wording
from pretrace.runtime.files import read_parquet, write_json, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views.stored import read_views

with (
    job_log(snakemake.log[0]),
    connected(
        snakemake.wildcards.model,
        snakemake.params.api,
        store=Path(snakemake.params.answers),
        budget_usd=snakemake.config["budget_usd"],
    ) as client,
):
    tokenizer = snakemake.input.tokenizer
    answers, times = answer_questions(
        snakemake.params.requests,
        benchmark=read_parquet(snakemake.input.benchmark),
        kind=snakemake.params.kind,
        views=read_views(snakemake.input.views),
        answerer=ApiAnswerer(client, load_tokenizer(Path(tokenizer)) if tokenizer else None),
        wording=read_wording(Path(snakemake.input.prompts)),
        name=f"{snakemake.wildcards.model}/{snakemake.wildcards.benchmark}",
    )
    write_parquet(snakemake.output.answers, answers)
    write_json(snakemake.output.times, times)
