"""Estimate what a study's models behind APIs will be asked and what that costs; nothing is asked."""

from pathlib import Path

from pretrace.models.api.endpoint import Endpoint
from pretrace.models.api.store import AnswerStore
from pretrace.questions.estimate import estimate, table
from pretrace.runtime.files import read_parquet, write_text
from pretrace.runtime.logs import job_log, print_answer

with job_log(snakemake.log[0]):
    endpoints = {slug: Endpoint(name=slug, **api) for slug, api in snakemake.params.apis.items()}
    tables = dict(zip(snakemake.params.benchmarks, map(read_parquet, snakemake.input), strict=True))
    stored, spent = {}, 0
    if Path(snakemake.params.answers).is_file():
        with AnswerStore(Path(snakemake.params.answers)) as store:
            stored, spent = store.counts(), sum(store.money())
    lines = table(
        estimate(snakemake.params.work, endpoints, tables),
        stored,
        spent=spent,
        budget_usd=snakemake.config["budget_usd"],
    )
    write_text(snakemake.params.table, "\n".join(lines) + "\n")
    print_answer(lines)
