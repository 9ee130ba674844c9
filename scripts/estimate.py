"""Estimate what a study takes: tokens, GPU hours, time, disk and US dollars; nothing is
fetched, run or asked."""

from pathlib import Path

from pretrace import config_folder
from pretrace.runtime.files import read_parquet, write_text
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import print_answer
from pretrace.studies import load_study
from pretrace.studies.estimate import (
    assumptions,
    budget,
    counted,
    jobs_of,
    measured,
    table,
)
from pretrace.studies.plan import Plan

with run_job(snakemake):
    plan = Plan(load_study(snakemake.config, config_folder()))
    known = {}
    for slug, path in measured(plan).items():
        texts = read_parquet(path).astype({"length": object})
        texts["length"] = texts["length"].where(texts["length"].notna(), None)
        known[slug] = counted(plan, slug, texts.itertuples())
    jobs = jobs_of(plan, known)
    lines = [*table(plan, jobs), *assumptions(plan, known)]
    if any(not job.model.is_local for job in jobs):
        from pretrace.models.api.endpoint import NANO
        from pretrace.models.api.store import AnswerStore

        stored = {}
        spent = 0
        if Path(snakemake.params.answers).is_file():
            with AnswerStore(Path(snakemake.params.answers)) as store:
                spent = sum(store.money())
                for model, (answers, cost) in store.counts().items():
                    stored[model] = (answers, cost / NANO)
        lines += budget(
            sum(job.dollars for job in jobs),
            stored,
            spent=spent / NANO,
            budget_usd=snakemake.config["budget_usd"],
        )
    write_text(snakemake.params.table, "\n".join(lines) + "\n")
    print_answer(lines)
