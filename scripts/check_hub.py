"""Ask the hub for everything that the study will fetch, and say what would fail;
nothing is fetched."""

from pathlib import Path

from pretrace import config_folder
from pretrace.runtime.errors import InputError
from pretrace.runtime.jobs import run_job
from pretrace.runtime.logs import print_answer
from pretrace.studies import load_study
from pretrace.studies.hub_check import check_hub, report
from pretrace.studies.plan import Plan

with run_job(snakemake):
    partitions = None
    if snakemake.params.partitions:
        partitions = Path(snakemake.params.partitions)
    plan = Plan(load_study(snakemake.config, config_folder()))
    lines, problems = report(plan, check_hub(plan), partitions)
    print_answer(lines)
    if problems:
        raise InputError("\n".join(["this will fail:", *problems]))
