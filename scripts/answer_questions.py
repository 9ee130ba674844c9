"""Ask a model the questions of a benchmark: multiple choice, completion, name cloze."""

from pathlib import Path

from pretrace.passes.shares import WHOLE, JobShare
from pretrace.questions.answerers import answerer_of
from pretrace.questions.job import answer_questions
from pretrace.questions.prompts import Wording
from pretrace.runtime.files import read_parquet, write_json, write_parquet
from pretrace.runtime.jobs import run_job
from pretrace.runtime.schema import read_keys
from pretrace.runtime.work_left import work_left
from pretrace.views.stored import read_views

name = f"{snakemake.wildcards.model}/{snakemake.wildcards.benchmark}"
share = JobShare.from_name(snakemake.wildcards.get("share", ""))
requests = snakemake.params.requests
checkpoint = snakemake.input.checkpoint
read = [snakemake.input.benchmark]
if checkpoint:
    read.append(checkpoint)

with (
    run_job(snakemake),
    work_left(snakemake.output[0], requests, read) as note_left,
    answerer_of(
        snakemake.params.entry,
        name,
        model=snakemake.wildcards.model,
        checkpoint_json=checkpoint,
        api_answers=Path(snakemake.params.answers),
        local_answers=Path(snakemake.params.store),
        # no parameter: a higher one starts no job again
        budget_usd=snakemake.config["budget_usd"],
        batch_tokens=snakemake.params.batch_tokens,
        threads=snakemake.params.threads,
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
    ) as answerer,
):
    answers, times = answer_questions(
        requests,
        benchmark=read_parquet(snakemake.input.benchmark),
        kind=snakemake.params.kind,
        views=read_views(snakemake.input.views),
        answerer=answerer,
        wording=read_keys(Path(snakemake.input.prompts), Wording),
        name=name,
        share=share or WHOLE,
        note_left=note_left,
    )
    if share is None:
        write_parquet(snakemake.output.answers, answers)
        write_parquet(snakemake.output.times, times)
    else:  # its answers are in the store
        done = {"share": share.number, "of": share.total, "rows": len(answers)}
        write_json(snakemake.output[0], done)
