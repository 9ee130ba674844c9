"""Estimate the tokens and GPU hours of a study and of each of its artifacts; nothing is fetched or run."""

from pretrace.runtime.files import write_text
from pretrace.runtime.logs import job_log, print_answer
from pretrace.studies.compute import assumptions, compute_lines, table

with job_log(snakemake.log[0]):
    flops = float(snakemake.config["gpu_flops"])
    lines = table(compute_lines(snakemake.config), flops, assumptions(snakemake.config))
    write_text(snakemake.params.table, "\n".join(lines) + "\n")
    print_answer(lines)
