"""Ask a checkpoint the questions of a benchmark: multiple choice, completion, name cloze."""

from pathlib import Path

from pretrace.models.settings import torch_settings
from pretrace.models.target import load_checkpoint
from pretrace.questions.job import answer_questions
from pretrace.questions.local import LocalAnswerer
from pretrace.questions.prompts import read_wording
from pretrace.runtime.files import read_parquet, write_json, write_parquet
from pretrace.runtime.logs import job_log
from pretrace.views.stored import read_views

with job_log(snakemake.log[0]), torch_settings(snakemake.params.threads):
    name = f"{snakemake.wildcards.model}/{snakemake.wildcards.benchmark}"
    target = load_checkpoint(
        Path(snakemake.input.checkpoint),
        device=snakemake.params.device,
        gpus=snakemake.resources.gpu,
        **snakemake.params.loading,
    )
    answers, times = answer_questions(
        snakemake.params.requests,
        benchmark=read_parquet(snakemake.input.benchmark),
        kind=snakemake.params.kind,
        views=read_views(snakemake.input.views),
        answerer=LocalAnswerer(target, name, snakemake.params.batch_tokens),
        wording=read_wording(Path(snakemake.input.prompts)),
        name=name,
    )
    write_parquet(snakemake.output.answers, answers)
    write_json(snakemake.output.times, times)
